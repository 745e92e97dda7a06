"""Every value an operation gives is shown on purpose, not as whatever Python makes of it."""

from __future__ import annotations

import io
import re
from importlib import import_module

import pytest
from rich.console import Console

from holdfast.cli import show
from holdfast.ops import spent
from holdfast.ops.fills import Session
from holdfast.ops.fitting import Fitting
from holdfast.ops.registry import everything


@pytest.mark.parametrize("operation", everything(), ids=lambda operation: operation.name)
def test_every_value_has_a_text(operation) -> None:
    for module in show._ELSEWHERE.values():
        import_module(module)
    function = operation.load()
    kinds = re.findall(r"\w+", re.sub(r"\[.*?\]", "", function.__annotations__["return"]))
    assert kinds
    for kind in kinds:
        made = {**vars(spent), "str": str, **function.__globals__}.get(kind, object)
        assert kind in show.render._known or made.__str__ is not object.__str__, kind


def test_a_value_may_not_be_shown_in_two_ways() -> None:
    render = show.Render()

    def shown(value: Thing) -> str: ...  # type: ignore[name-defined]  # noqa: F821

    render.register(shown)
    with pytest.raises(TypeError, match="two functions would show a Thing"):
        render.register(shown)


def _printed(width: int, row: tuple[str, ...]) -> str:
    table = Fitting(("id", "where", "turns"), spare=("turns",), wrapped=("where",), right=("turns",))
    table.add_row(*row)
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_a_table_gives_up_a_column_before_it_cuts_a_word() -> None:
    session = "0" * 36
    wide = _printed(80, (session, "a long way to go home", "1,234"))
    assert "turns" in wide
    assert "1,234" in wide
    narrow = _printed(60, (session, "a long way to go home", "1,234"))
    assert "turns" not in narrow
    assert session in narrow
    assert "a long way" in narrow


def test_sessions_can_be_read_on_a_terminal_of_80_columns() -> None:
    session = "11111111-2222-4333-8444-555555555555"
    row = Session(
        session=session,
        project="/home/mira/tidegate",
        model="claude-opus-4-6",
        used=135158,
        max=200000,
        fill=80.9,
        level="proactive checkpoint",
        turns=72,
        compactions=1,
        last="2026-03-12T16:01:16Z",
    )
    console = Console(width=80, file=io.StringIO())
    console.print(show.render([row]))
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert session in said
    assert "/home/mira/tidegate" in said
    assert "81 %" in said
    assert "…" not in said
