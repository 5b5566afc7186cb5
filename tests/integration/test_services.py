"""The servers that the suite finds, starts and ends."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support import suite
from tests.support.services import Absent, Environment, Server, available

Commands = Callable[[Path, int], Iterator[list[str]]]


def _ping(env: Mapping[str, str]) -> None:
    with socket.create_connection(("127.0.0.1", int(env["FAKE_PORT"])), timeout=3):
        pass


def _web_server(_: Path, port: int) -> Iterator[list[str]]:
    yield [sys.executable, "-c", "print('prepared')"]
    yield [sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1"]


def _not_installed(_: Path, __: int) -> Iterator[list[str]]:
    raise LookupError("faked is not installed")


def _dies(_: Path, __: int) -> Iterator[list[str]]:
    yield [sys.executable, "-c", "raise SystemExit('no space left')"]


def _server(port: int = 1, commands: Commands = _web_server) -> Server:
    return Server(
        name="Fake",
        defaults={"FAKE_PORT": str(port)},
        ping=_ping,
        commands=commands,
        account="root",
        variables=lambda port: {"FAKE_PORT": str(port)},
    )


def _answers(env: Environment) -> bool:
    try:
        _ping(env)
    except OSError:
        return False
    return True


def test_a_running_server_is_used_and_left_alone() -> None:
    with socket.create_server(("127.0.0.1", 0)) as running:
        port = running.getsockname()[1]

        with available(_server(port)) as env:
            assert env == {"FAKE_PORT": str(port)}

        assert _answers(env)


def test_a_missing_server_is_started_and_ended_again() -> None:
    with available(_server()) as env:
        assert _answers(env)

    assert not _answers(env)


def test_a_started_server_is_ended_when_the_tests_fail() -> None:
    with pytest.raises(ZeroDivisionError), available(_server()) as env:
        raise ZeroDivisionError

    assert not _answers(env)


@pytest.mark.parametrize(
    ("commands", "reason"),
    [(_not_installed, "faked is not installed"), (_dies, "no space left")],
    ids=["not installed", "dies at once"],
)
def test_a_server_that_cannot_start_is_absent_with_its_reason(
    commands: Commands, reason: str
) -> None:
    with (
        pytest.raises(Absent, match=reason),
        available(_server(commands=commands)),
    ):
        pytest.fail("nothing can have been available")


@pytest.mark.parametrize(("required", "code"), [("1", 1), ("", 0)])
def test_an_absent_server_is_named_and_fails_the_run_where_it_is_required(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    required: str,
    code: int,
) -> None:
    monkeypatch.setenv("SAGA_REQUIRE_SERVERS", required)
    monkeypatch.setattr(suite, "SERVERS", (_server(commands=_not_installed),))

    assert suite.main(["--version"]) == code

    assert "Fake: not tested. none answers" in capsys.readouterr().out


def test_a_failing_run_of_pytest_fails_the_suite(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suite, "SERVERS", ())

    assert suite.main(["--no-such-option"]) == 4
