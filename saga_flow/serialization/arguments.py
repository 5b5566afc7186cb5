"""Arguments of actions, workflows and undos: checked, stored, read back."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from inspect import Parameter, Signature
from typing import Any, Final, Unpack, get_args, get_origin, get_type_hints

from saga_flow.exceptions import (
    PayloadNotDecodable,
    ResultPathMissing,
    WrongArguments,
)
from saga_flow.serialization import codec
from saga_flow.serialization.encoding import Allowed
from saga_flow.serialization.markers import RESULT, escaped, unescaped
from saga_flow.serialization.mismatch import Mismatch, json_name
from saga_flow.serialization.records import hints_of
from saga_flow.serialization.result import ResultReference
from saga_flow.serialization.sealing import unseal
from saga_flow.serialization.text import from_json, to_json, tree_of

_KINDS: Final = (
    Parameter.POSITIONAL_ONLY,
    Parameter.POSITIONAL_OR_KEYWORD,
    Parameter.VAR_POSITIONAL,
    Parameter.KEYWORD_ONLY,
    Parameter.VAR_KEYWORD,
)
_POSITIONAL: Final = _KINDS[:2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """A call that fits its signature, in one form however it was written."""

    what: str
    """What is called, as errors name it."""
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    names: tuple[str, ...]
    """What each of *args* is called, e.g. ``order`` or ``items[2]``."""

    def named(self) -> Iterator[tuple[str, Any]]:
        """Yield every argument with its name."""
        yield from zip(self.names, self.args, strict=True)
        yield from self.kwargs.items()


def bind(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    what: str,
    skip_self: bool = False,
) -> Arguments:
    """
    Check a call against the signature of *function*; defaults are not filled in.

    *what* names the function in errors, by its durable name. *skip_self* leaves out
    the first parameter of an unbound method. Raises WrongArguments.
    """
    signature = signature_of(function, skip_self=skip_self)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise WrongArguments(
            f"{what} can't be called like this: {error}. "
            f"It is {_name(function)}{signature}."
        ) from None
    return Arguments(
        what=what,
        args=bound.args,
        kwargs=bound.kwargs,
        names=_names(function, len(bound.args), skip_self=skip_self),
    )


def encode_arguments(
    arguments: Arguments,
    *,
    limit: int = codec.MAX_PAYLOAD_BYTES,
    allow_models: bool = False,
    allow_result: bool = False,
) -> str:
    """
    Return *arguments* as text to be stored: ``{"args": […], "kwargs": {…}}``.

    *allow_models* is for actions, *allow_result* for undos. Raises Unserialisable and
    PayloadTooLarge, which name the argument.
    """
    what = f"arguments of {arguments.what}"
    text = codec.plain_text(
        {"args": list(arguments.args), "kwargs": dict(arguments.kwargs)}
    )
    if text is None:
        allowed = Allowed(models=allow_models, result=allow_result)
        text = codec.node_text(_nodes(arguments, allowed), what=what)
    if 0 < limit < len(text):
        what = f"{what} (the largest is {_largest(arguments, allow_models)!r})"
    return codec.within(text, what=what, limit=limit)


def decode_arguments(
    text: str,
    function: Callable[..., Any],
    *,
    what: str | None = None,
    skip_self: bool = False,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """
    Return stored arguments as the annotations of *function* ask for them.

    Raises WrongArguments if its signature no longer takes them, PayloadNotDecodable if
    an annotation doesn't.
    """
    what = what or _name(function)
    tree = _tree(text, what)
    kwargs = {unescaped(key): node for key, node in tree["kwargs"].items()}
    bound = bind(function, tree["args"], kwargs, what=what, skip_self=skip_self)
    hints = _hints(function, skip_self=skip_self)

    def value(name: str, hint: Any, node: Any) -> Any:
        told = f"argument {name!r} of {what}"
        return codec.decoded(node, hint, what=told, root=name)

    return (
        tuple(
            value(name, hints.positional[name.partition("[")[0]], node)
            for name, node in zip(bound.names, bound.args, strict=True)
        ),
        {
            name: value(name, hints.keyword.get(name, hints.others), node)
            for name, node in bound.kwargs.items()
        },
    )


def resolve_results(arguments_text: str, result_text: str | None) -> str:
    """
    Return stored arguments with RESULT filled in from a stored result.

    A *result_text* of None is a step without a result, because it failed: RESULT and
    every part of it become None. Raises ResultPathMissing for a part that a result
    does not have.
    """
    raw = unseal(arguments_text, what="arguments of an undo")
    if f'"{RESULT}"' not in raw:
        return arguments_text
    tree = from_json(raw, what="arguments of an undo")
    what = "result of the undone step"
    if result_text is None:
        return to_json(_fill(tree, lambda _: None))
    result = tree_of(result_text, what=what)
    return to_json(_fill(tree, lambda path: _part(result, path)))


@lru_cache(maxsize=2048)
def signature_of(function: Callable[..., Any], *, skip_self: bool = False) -> Signature:
    """Return the signature of *function* with its annotations resolved if they can."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, SyntaxError, AttributeError):
        signature = inspect.signature(function)
    if not skip_self:
        return signature
    return signature.replace(parameters=list(signature.parameters.values())[1:])


@lru_cache(maxsize=2048)
def result_annotation(function: Callable[..., Any]) -> Any:
    """Return what *function* is annotated to return (awaited, if it is async)."""
    return _resolved(function).get("return", Any)


# --------------------------------------------------------------------- storing


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


@lru_cache(maxsize=4096)
def _names(
    function: Callable[..., Any], count: int, *, skip_self: bool
) -> tuple[str, ...]:
    parameters = signature_of(function, skip_self=skip_self).parameters.values()
    names = [each.name for each in parameters if each.kind in _POSITIONAL][:count]
    rest = [each.name for each in parameters if each.kind is Parameter.VAR_POSITIONAL]
    more = range(count - len(names))
    return (*names, *(f"{rest[0]}[{index}]" for index in more))


def _nodes(arguments: Arguments, allowed: Allowed) -> dict[str, Any]:
    nodes = [
        codec.checked_node(
            value, allowed, f"argument {name!r} of {arguments.what}", name
        )
        for name, value in arguments.named()
    ]
    count = len(arguments.args)
    keys = map(escaped, arguments.kwargs)
    return {
        "args": nodes[:count],
        "kwargs": dict(zip(keys, nodes[count:], strict=True)),
    }


def _largest(arguments: Arguments, allow_models: bool) -> str:  # noqa: FBT001 - as given
    allowed = Allowed(models=allow_models, result=True)
    sizes = {
        name: len(to_json(codec.checked_node(value, allowed, name)))
        for name, value in arguments.named()
    }
    return max(sizes, key=sizes.__getitem__)


# ---------------------------------------------------------------- reading back


def _tree(text: str, what: str) -> dict[str, Any]:
    told = f"arguments of {what}"
    tree = tree_of(text, what=told)
    if isinstance(tree, dict):
        args, kwargs = tree.get("args"), tree.get("kwargs")
        if isinstance(args, list) and isinstance(kwargs, dict):
            return tree
    raise PayloadNotDecodable(
        f"The {told} are {json_name(tree)} of another shape; stored arguments are "
        'written {"args": […], "kwargs": {…}}.'
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hints:
    """What each parameter of a function is annotated with."""

    positional: Mapping[str, Any]
    keyword: Mapping[str, Any]
    others: Any
    """The annotation of ``**kwargs``."""


def _resolved(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return hints_of(inspect.unwrap(function))
    except Mismatch as mismatch:
        raise PayloadNotDecodable(
            f"Values of {_name(function)} can't be read back: {mismatch.reason}."
        ) from mismatch


@lru_cache(maxsize=2048)
def _hints(function: Callable[..., Any], *, skip_self: bool) -> _Hints:
    hints = _resolved(function)
    parameters = signature_of(function, skip_self=skip_self).parameters.values()
    by_kind: dict[Any, dict[str, Any]] = {kind: {} for kind in _KINDS}
    for parameter in parameters:
        by_kind[parameter.kind][parameter.name] = hints.get(parameter.name, Any)
    only, either, rest, keyword, others = (by_kind[kind] for kind in _KINDS)
    keyword = either | keyword
    hint = next(iter(others.values()), Any)
    if get_origin(hint) is Unpack:
        keyword |= get_type_hints(get_args(hint)[0], include_extras=True)
    return _Hints(positional=only | either | rest, keyword=keyword, others=hint)


# ------------------------------------------------------------- RESULT filled in


def _fill(node: Any, part: Callable[[list[str | int]], Any]) -> Any:
    if type(node) is list:
        return [_fill(item, part) for item in node]
    if type(node) is not dict:
        return node
    if RESULT in node:
        return part(node[RESULT])
    return {key: _fill(item, part) for key, item in node.items()}


def _part(result: Any, path: list[str | int]) -> Any:
    node = result
    for depth, key in enumerate(path):
        try:
            node = _item(node, key)
        except (LookupError, TypeError):
            raise ResultPathMissing(
                f"{ResultReference(*path)!r} is not in the step's result: "
                f"{ResultReference(*path[:depth])!r} is {_described(node)}. Change the "
                "undo's arguments, or what the step returns."
            ) from None
    return node


def _item(node: Any, key: str | int) -> Any:
    if isinstance(node, dict) and isinstance(key, str):
        return node[escaped(key)]
    if isinstance(node, list) and isinstance(key, int):
        return node[key]
    raise TypeError(f"{key!r} is no key of {json_name(node)}")


def _described(node: Any) -> str:
    if isinstance(node, dict):
        keys = ", ".join(repr(unescaped(key)) for key in list(node)[:20])
        return f"an object with the keys {keys}" if keys else "an empty object"
    return f"an array of {len(node)}" if isinstance(node, list) else json_name(node)
