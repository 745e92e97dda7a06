"""What an operation takes and gives, as its signature and docstring say it."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.app import Holdfast
from holdfast.ops.described import REQUIRED, Taken, described, fields_of
from holdfast.ops.registry import everything


@dataclass(frozen=True)
class Value:
    number: int


class Named(list[Value]):
    """Shown well."""


def operation(app: Holdfast, name: str, *, limit: int | None = None, flag: bool = False) -> Named:
    """What it does: in one
    sentence.

    And more of it.

    Parameters
    ----------
    name
        Its name,
        on two lines.
    limit
        How many.
    """
    return Named()


def test_an_operation_is_described_by_its_signature_and_docstring() -> None:
    says = described(operation)
    assert (says.summary, says.about) == ("What it does: in one sentence.", "And more of it.")
    assert says.gives == list[Value]
    assert says.takes == [
        Taken("name", str, REQUIRED, "Its name, on two lines.", by_place=True),
        Taken("limit", int | None, None, "How many.", by_place=False),
        Taken("flag", bool, False, "", by_place=False),
    ]


def test_every_parameter_of_every_operation_is_described() -> None:
    for one in everything():
        for taken in described(one.load()).takes:
            assert taken.what, f"{one.name}: {taken.name}"


def test_types_that_are_imported_for_type_checkers_alone_are_known() -> None:
    (sessions,) = (one for one in everything() if one.name == "sessions")
    listed, spending = described(sessions.load()).gives.__args__
    assert set(fields_of(listed.__args__[0])) >= {"session", "used", "max"}
    assert list(fields_of(spending)) == list(spending.__slots__)
    assert fields_of(int) == fields_of(list[int]) == {}
