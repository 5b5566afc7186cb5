"""``self.saga(...)``: members that run in order and share how they are undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from saga_flow.authoring.blocks import Block
from saga_flow.authoring.members import Member, Shared, undo_policy
from saga_flow.authoring.ports import Pass
from saga_flow.exceptions import DefinitionError
from saga_flow.records import UndoPolicy

T = TypeVar("T")


class Group(Member[list[T]]):
    """
    Members of any kind, groups among them, one after another.

    What a member says itself wins over the group, the group wins over the settings.
    """

    def __init__(
        self,
        pass_: Pass,
        members: Sequence[Member[T]],
        shared: Shared,
        *,
        one_level: bool,
    ) -> None:
        self._pass = pass_
        self.members = members
        self._shared = shared
        self._one_level = one_level

    def run(self) -> list[T]:
        """
        Perform the members in order and return their results.

        Raises what the first of them raises that fails; those after it do not begin.
        """
        shared = self._shared
        if self._one_level and shared.block is None:
            shared = replace(shared, block=self._pass.next_ordinal)
        return [
            member._under(shared).run()  # noqa: SLF001 - a part of Member
            for member in self.members
        ]

    def _check(self) -> None:
        for member in self.members:
            member._check()  # noqa: SLF001 - a part of Member

    def _under(self, group: Shared) -> Group[T]:
        own = self._shared.on_own_failure
        shared = Shared(
            policy=self._shared.policy or group.policy,
            on_own_failure=group.on_own_failure if own is None else own,
            block=group.block,
        )
        return Group(self._pass, self.members, shared, one_level=self._one_level)


def group(
    pass_: Pass,
    members: Sequence[Member[T]],
    *,
    policy: object,
    on_own_failure: object,
    one_level: object,
) -> Group[T]:
    """
    Return the group of ``self.saga(...)``.

    Raises DefinitionError for what is no member, and for options of a wrong kind,
    before any member runs.
    """
    for place, member in enumerate(members):
        if not isinstance(member, Member):
            raise DefinitionError(
                f"Member {place} of self.saga() is {member!r}; it takes members that "
                "have not run, such as self.action(...) without .run()."
            )
    said: UndoPolicy | None = None
    if policy is not None:
        what = f"on_compensation_failure={policy!r} of self.saga()"
        said = undo_policy(policy, what=what)
    shared = Shared(
        policy=said.value if said else "",
        on_own_failure=_flag("compensate_on_own_failure", on_own_failure),
    )
    flag = _flag("compensate_in_parallel", one_level)
    if flag and any(map(_has_block, members)):
        raise DefinitionError(
            "compensate_in_parallel=True of self.saga() is for steps and waits: a "
            "block, as self.parallel() makes it, is a level of its own already. Leave "
            "the block out of this group, or the option."
        )
    found = Group(pass_, members, shared, one_level=bool(flag))
    found._check()  # noqa: SLF001 - a part of Member
    return found


def _has_block(member: Member[Any]) -> bool:
    if isinstance(member, Group):
        return any(map(_has_block, member.members))
    return isinstance(member, Block)


def _flag(option: str, value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise DefinitionError(f"{option}={value!r} of self.saga() takes True or False.")
