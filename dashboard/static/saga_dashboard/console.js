// Without this module the theme buttons submit their form, which does the same.
const form = document.querySelector("[data-themes]");

form?.addEventListener("submit", (event) => {
  const chosen = event.submitter;
  if (!chosen) return;
  event.preventDefault();
  document.documentElement.dataset.theme = chosen.value;
  for (const button of form.querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button === chosen));
  }
  const body = new FormData(form);
  body.set(chosen.name, chosen.value);
  fetch(form.action, { method: "POST", body, redirect: "manual" });
});

// "/" jumps to the find box, unless somebody is typing.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  document.getElementById("find")?.focus();
});
