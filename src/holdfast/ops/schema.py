"""What an operation takes and gives as JSON Schema, and whether what it is given fits."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection
from typing import Any, Literal, Union, get_args, get_origin

from holdfast.ops.described import REQUIRED, described, fields_of

Schema = dict[str, Any]
_PLAIN = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
#: A value that is no object is given under this name: what a tool gives is one.
WRAPPED = "result"


def taken(function: Callable[..., Any], without: Collection[str] = ()) -> Schema:
    """Its parameters, but those in `without`. One that may be None may be left out, which says the same."""
    properties: Schema = {}
    required = []
    for one in described(function).takes:
        if one.name in without:
            continue
        properties[one.name] = of(_given(one.kind))
        if one.what:
            properties[one.name]["description"] = one.what
        if one.default is REQUIRED:
            required.append(one.name)
        elif one.default or one.default == 0:
            properties[one.name]["default"] = one.default
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | {"required": required} if required else schema


def given(function: Callable[..., Any]) -> Schema:
    """What it gives, as `structured` makes it."""
    schemas = [_wrapped(of(kind)) for kind in _alternatives(described(function).gives)]
    return schemas[0] if len(schemas) == 1 else {"type": "object", "anyOf": schemas}


def structured(value: Any) -> dict[str, Any]:
    """A plain value as an object."""
    return value if type(value) is dict else {WRAPPED: value}


def of(kind: Any, inside: tuple[Any, ...] = ()) -> Schema:
    """A type as a schema. One that holds itself is told once."""
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    alternatives = _alternatives(kind)
    if len(alternatives) > 1:
        return {"anyOf": [of(one, inside) for one in alternatives]}
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"type": _PLAIN[type(parts[0])], "enum": list(parts)}
    named = fields_of(kind)
    if named and kind not in inside:
        properties = {name: of(one, (*inside, kind)) for name, one in named.items()}
        return {"type": "object", "properties": properties, "required": list(named)}
    if named:
        return {"type": "object"}
    if origin is dict:
        return {"type": "object", "additionalProperties": of(parts[1], inside)}
    if origin in (list, tuple):
        same = origin is list or parts[1:] == (...,)
        return {"type": "array", "items": of(parts[0], inside)} if same else {"type": "array"}
    return {"type": "object"} if kind is dict else {"type": "array"} if kind is list else {}


def unfit(value: object, schema: Schema, name: str = "") -> str:
    """What is wrong with a value, in words; "" if nothing. Knows what `taken` writes, and no more."""
    wanted = schema.get("type", "")
    if wanted and _name_of(value) != wanted and (wanted, type(value)) != ("number", int):
        return f"`{name}` is {_name_of(value)}, and has to be {wanted}" if name else f"not {wanted}"
    if "enum" in schema and value not in schema["enum"]:
        return f"`{name}` is {value!r}; it takes {', '.join(map(str, schema['enum']))}"
    if type(value) is list:
        found = (unfit(item, schema.get("items", {}), f"{name}[{i}]") for i, item in enumerate(value))
        return next(filter(None, found), "")
    if type(value) is dict and "properties" in schema:
        return _unfit_object(value, schema)
    if "anyOf" in schema and all(unfit(value, one, name) for one in schema["anyOf"]):
        return f"`{name}` is {_name_of(value)}, which it does not take"
    return ""


def _unfit_object(value: dict[str, Any], schema: Schema) -> str:
    known = schema["properties"]
    for name in value:
        if name not in known:
            return f"there is no `{name[:80]}`; it takes {', '.join(known) or 'nothing'}"
    for name in schema.get("required", ()):
        if name not in value:
            return f"`{name}` is missing"
    return next(filter(None, (unfit(item, known[name], name) for name, item in value.items())), "")


def _name_of(value: object) -> str:
    plain = _PLAIN.get(type(value))
    return plain or ("array" if type(value) is list else "object")


def _given(kind: Any) -> Any:
    """A parameter's type without None."""
    alternatives = [one for one in _alternatives(kind) if one is not type(None)]
    return alternatives[0] if len(alternatives) == 1 else Union[tuple(alternatives)]  # noqa: UP007


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _wrapped(schema: Schema) -> Schema:
    if schema.get("type") == "object":
        return schema
    return {"type": "object", "properties": {WRAPPED: schema}, "required": [WRAPPED]}
