"""An operation called by a shell: with settings as they are now, and its value as JSON can carry it."""

from __future__ import annotations

import math

from holdfast.app import Holdfast
from holdfast.core.config import HOME, PREFIX
from holdfast.disk.compiled import STILL_HOLDS
from holdfast.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from holdfast.ops.registry import Operation


def call(operation: Operation, given: dict[str, Any], config: tuple[str, ...] = ()) -> Any:
    """`config`: keys that are set for this call alone, as KEY=VALUE."""
    app = opened(config)
    if app.trouble and not operation.mends:
        raise BadInput(f"{app.trouble.replace(STILL_HOLDS, '')} (correct it and run this again)")
    return operation.load()(app, **given)


def opened(config: tuple[str, ...] = ()) -> Holdfast:
    app = Holdfast.open()
    variables = [name for name in app.environ if name.startswith(PREFIX) and name != HOME]
    if app.compiled.is_stale or app.compiled.trouble or config or variables:
        from holdfast.ops.config import settled  # which loads the library for YAML

        return settled(app, config)
    return app


def plain(value: object) -> Any:
    """A value as JSON can carry it."""
    names = getattr(value, "__dataclass_fields__", None) or getattr(value, "__slots__", None)
    if names:
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
