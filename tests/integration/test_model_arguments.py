"""Model instances as arguments: stored as a reference, loaded afresh."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission

from saga_flow.exceptions import PayloadNotDecodable, Unserialisable
from saga_flow.serialization import bind, decode_arguments, encode_arguments

pytestmark = pytest.mark.django_db


def admit(
    group: Group, others: list[Group] | None = None, any_: Any = None
) -> None: ...


def permit(permission: Permission) -> None: ...


def stored(*args: Any) -> str:
    arguments = bind(admit, args, {}, what="shop.admit")
    return encode_arguments(arguments, allow_models=True)


def test_an_instance_is_stored_as_a_reference() -> None:
    group = Group.objects.create(name="staff")

    assert json.loads(stored(group))["args"] == [
        {"$model": "auth.group", "pk": group.pk, "using": "default"}
    ]


def test_it_is_loaded_as_it_is_now_with_or_without_an_annotation() -> None:
    group = Group.objects.create(name="staff")
    text = stored(group, [group], {"in": [group]})

    Group.objects.update(name="renamed")
    args, _ = decode_arguments(text, admit)

    assert args == (group, [group], {"in": [group]})
    assert args[0].name == args[2]["in"][0].name == "renamed"


def test_a_deleted_instance_raises_and_never_turns_into_none() -> None:
    group = Group.objects.create(name="staff")
    text = stored(group)
    group.delete()

    with pytest.raises(PayloadNotDecodable, match=r"auth\.group \d+ .* no longer in"):
        decode_arguments(text, admit)


def test_an_unsaved_instance_is_refused() -> None:
    with pytest.raises(Unserialisable, match="not saved"):
        stored(Group(name="new"))


def test_an_instance_of_another_model_is_refused() -> None:
    text = stored(Group.objects.create(name="staff"))

    with pytest.raises(PayloadNotDecodable, match=r"it refers to a auth\.group"):
        decode_arguments(text, permit)


def test_a_plain_key_is_not_taken_for_an_instance() -> None:
    with pytest.raises(PayloadNotDecodable, match="from a reference only"):
        decode_arguments('{"args":[1],"kwargs":{}}', admit)


def test_a_model_that_is_not_installed_is_named() -> None:
    text = '{"args":[{"$model":"gone.thing","pk":1,"using":"default"}],"kwargs":{}}'

    with pytest.raises(PayloadNotDecodable, match=r"'gone\.thing', which is not"):
        decode_arguments(text, admit)
