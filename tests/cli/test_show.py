"""Every value an operation gives is shown on purpose, not as whatever Python makes of it."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from holdfast.cli import show
from holdfast.ops import spent
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
