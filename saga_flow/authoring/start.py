"""Starting runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import (
    Any,
    Final,
    Generic,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
)

from saga_flow import conf, registry, structural, tenancy
from saga_flow.authoring import metadata, ports
from saga_flow.authoring.handle import Handle
from saga_flow.authoring.members import duration
from saga_flow.authoring.requests import check_options, idempotency_key, principal
from saga_flow.authoring.times import limit
from saga_flow.authoring.twins import twin
from saga_flow.exceptions import DefinitionError
from saga_flow.names import (
    MAX_QUEUE,
    MAX_TENANT,
    MAX_VERSION,
    identifier,
    line,
)
from saga_flow.records import Answer, ChildCall, Duplicate, Request, StartOrder
from saga_flow.registry import WorkflowDefinition
from saga_flow.serialization import bind, encode_arguments

P = ParamSpec("P")
Rc_co = TypeVar("Rc_co", covariant=True)


class StartOptions(TypedDict, total=False):
    """What ``W.using(...)`` takes (docs/authoring.md)."""

    instance_id: str
    """1 to 191 letters, digits and ``. _ : -``; made up when absent."""

    tags: Mapping[str, str | None]
    """Over those of the workflow; None takes one away."""

    memo: Mapping[str, Any]
    subject: object
    """A saved model instance: its label and key become the business key."""

    business_key: str
    queue: str
    expires_in: timedelta | None
    """From the start; the run expires when it is over. None: it never does."""

    run_after: timedelta
    """How long the first pass is put off."""

    on_duplicate: Duplicate
    version: str
    idempotency_key: str
    principal: object
    tenant: str


_OPTIONS: Final = frozenset(StartOptions.__annotations__)


class Handles(Protocol[P, Rc_co]):
    """What a workflow class is to a type checker."""

    def handle(self, *args: P.args, **kwargs: P.kwargs) -> Rc_co: ...


class Start(Generic[P, Rc_co]):
    """A start of one workflow, with its options; it may be used again."""

    def __init__(self, definition: WorkflowDefinition, options: StartOptions) -> None:
        self._definition = definition
        self._options = options
        self._order = _order(definition, options)
        self._request = Request(
            principal=principal(options.get("principal")),
            idempotency_key=idempotency_key(options.get("idempotency_key")),
        )

    def using(self, **options: Unpack[StartOptions]) -> Start[P, Rc_co]:
        """Return a start with these options too. Raises UnknownOption, …"""
        return Start(self._definition, {**self._options, **options})

    def start(self, /, *args: P.args, **kwargs: P.kwargs) -> Handle[Rc_co]:
        """
        Start a run; it joins the caller's transaction.

        Raises DuplicateInstance when the instance id is taken, and leaves the caller's
        transaction usable; WrongArguments, Unserialisable or PayloadTooLarge before
        any row is written.
        """
        return self._handle(self._accepted(self._filled(args, kwargs)))

    def attempt_start(self, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        """Start a run as :meth:`start` does; a rejection is an answer, no exception."""
        return ports.client().start(self._filled(args, kwargs), self._request)

    def order(self, /, *args: P.args, **kwargs: P.kwargs) -> StartOrder:
        """Return what :meth:`start` would ask for, checked and not yet asked."""
        return self._filled(args, kwargs)

    def child_call(self, /, *args: P.args, **kwargs: P.kwargs) -> ChildCall:
        """Return the start as a workflow asks for it. Raises DefinitionError, …"""
        definition = self._definition
        _refuse_for_child(self._options, definition.name)
        order = replace(
            self._order, arguments=self._arguments(args, kwargs), tenancy=None
        )
        return ChildCall(
            order=order,
            annotation=definition.result_annotation,
            restores_tenancy=definition.tenancy,
        )

    def run_sync(self, /, *args: P.args, **kwargs: P.kwargs) -> Handle[Rc_co]:
        """
        Start a run and drive it in this process until it has ended or waits.

        Raises InsideTransaction within an open transaction, before any row is written.
        """
        order = replace(self._filled(args, kwargs), here=True)
        client = ports.client()
        client.refuse_inside(f"{self._definition.name}.run_sync()")
        answer = self._accepted(order)
        if answer.run_id is not None:
            client.drive(answer.run_id)
        return self._handle(answer).refresh()

    def reserve(self) -> Handle[Rc_co]:
        """
        Hold the instance id; a later start with it takes it up.

        ``flows.release()`` gives it up. Raises DuplicateInstance when it is taken.
        """
        if not self._order.instance_id:
            raise DefinitionError(
                "reserve() holds an instance id, so it needs one: "
                "using(instance_id=...).reserve()."
            )
        return self._handle(self._accepted(self._order))

    astart = twin(start)
    aattempt_start = twin(attempt_start)
    arun_sync = twin(run_sync)
    areserve = twin(reserve)

    def _filled(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> StartOrder:
        text = self._arguments(args, kwargs)
        kept = tenancy.captured(restored=self._definition.tenancy)
        return replace(self._order, arguments=text, tenancy=kept)

    def _arguments(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        definition = self._definition
        what = f"workflow {definition.name}"
        handle = definition.cls.handle
        arguments = bind(handle, args, kwargs, what=what, skip_self=True)
        text = encode_arguments(arguments, limit=conf.get().MAX_PAYLOAD_BYTES)
        structural.note_size(text, what=f"arguments of {what}")
        # Made once, and thrown away: an engine call in __init__ shows here, before
        # there is a run that could never be driven.
        definition.cls()
        return text

    def _accepted(self, order: StartOrder) -> Answer:
        client = ports.client()
        answer = client.start(order, self._request)
        client.raise_for(answer)
        return answer

    def _handle(self, answer: Answer) -> Handle[Rc_co]:
        return Handle.of_answer(answer, tenant=self._order.tenant)


def starting(flow: object, options: StartOptions) -> Start[Any, Any]:
    """Return the start of a workflow class. Raises UnknownOption, InvalidName, …"""
    return Start(definition_of(flow), options)


def _order(definition: WorkflowDefinition, options: StartOptions) -> StartOrder:
    what = f"{definition.name}.using"
    check_options(options, _OPTIONS, f"{what}()")
    _check(options, what)
    return StartOrder(
        workflow_name=definition.name,
        arguments=None,
        contract=definition.contract,
        version=options.get("version", definition.version),
        queue=options.get("queue", definition.queue),
        expires_in=_expires_in(definition, options),
        tags=metadata.labels(definition.tags, options.get("tags", {})),
        memo=metadata.memo_text(options.get("memo", {})),
        business_key=_business_key(options),
        instance_id=options.get("instance_id", ""),
        tenant=options.get("tenant", ""),
        run_after=options.get("run_after"),
        on_duplicate=options.get("on_duplicate", Duplicate.REJECT),
    )


def _expires_in(
    definition: WorkflowDefinition, options: StartOptions
) -> timedelta | None:
    """The start's word, else the workflow's, else that of the settings."""
    if "expires_in" in options:
        return options["expires_in"]
    if definition.names_deadline:
        return definition.expires_in
    return conf.get().RUN_EXPIRES_IN


def definition_of(flow: object) -> WorkflowDefinition:
    """Return the definition of a workflow class. Raises UnknownDefinition."""
    if not isinstance(flow, type):
        raise DefinitionError(
            f"{flow!r} is no workflow class; for a durable name use "
            "flows.workflow('app.name')."
        )
    name = registry.workflow_name(flow.__module__, flow.__qualname__)
    return registry.workflow(name)


def _check(options: StartOptions, what: str) -> None:
    given = cast(Mapping[str, Any], options)
    for key, longest in _IDENTIFIERS.items():
        if key in given:
            identifier(given[key], what=f"{what}({key}=...)", limit=longest)
    if "expires_in" in given:
        limit(given["expires_in"], what=f"{what}(expires_in=...)")
    if "run_after" in given:
        duration(given["run_after"], what=f"{what}(run_after=...)")
    policy = given.get("on_duplicate", Duplicate.REJECT)
    if not isinstance(policy, Duplicate):
        raise DefinitionError(
            f"{what}(on_duplicate={policy!r}) takes Duplicate.REJECT, "
            "Duplicate.RETURN_EXISTING or Duplicate.ALLOW_AFTER_CLOSED."
        )


_IDENTIFIERS: Final = {
    "instance_id": 191,
    "queue": MAX_QUEUE,
    "version": MAX_VERSION,
    "tenant": MAX_TENANT,
}


def _business_key(options: StartOptions) -> str:
    subject = options.get("subject")
    if subject is None:
        return line(options.get("business_key", ""), what="business_key")
    if "business_key" in options:
        raise DefinitionError(
            "subject= and business_key= say the same thing; give one of them."
        )
    return subject_key(subject)


def subject_key(subject: Any) -> str:
    """Return the business key of a saved model instance: ``app_label.model:pk``."""
    label = getattr(getattr(subject, "_meta", None), "label_lower", None)
    if label is None or isinstance(subject, type):
        raise DefinitionError(
            f"subject={subject!r} is no model instance; for anything else give "
            "business_key='...'."
        )
    if subject.pk is None:
        raise DefinitionError(
            f"subject={subject!r} is not saved, so it has no key yet; save it first."
        )
    return line(f"{label}:{subject.pk}", what="the business key of subject")


def _refuse_for_child(options: StartOptions, what: str) -> None:
    """Raise DefinitionError for options that belong to a client's start alone."""
    given = cast(Mapping[str, Any], options)
    for name in _NOT_FOR_CHILDREN:
        if name in given:
            raise DefinitionError(
                f"self.child({what}.using({name}={given[name]!r})): a child takes no "
                f"{name}. It is its parent's alone and in its parent's tenant; leave "
                "it out."
            )


_NOT_FOR_CHILDREN: Final = ("on_duplicate", "idempotency_key", "principal", "tenant")
