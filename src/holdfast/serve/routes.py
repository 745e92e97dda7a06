"""Every operation that is not local, as a route, made from the registry: a new one needs no change here.

`context.usage` becomes GET /context/usage with a query, `context.auto-save` POST /context/auto-save with a
JSON body. Signature, docstring and result say what stands in /openapi.json; every error has one shape.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import reduce
from inspect import Parameter, Signature
from operator import or_
from types import UnionType
from typing import Annotated, Any, get_args, get_origin

import msgspec
from fastapi import Body, Depends, FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from starlette.exceptions import HTTPException

import holdfast
from holdfast.errors import BadInput, HoldfastError, is_full
from holdfast.ops.described import REQUIRED, Described, described, fields_of
from holdfast.ops.registry import BY_HAND, Operation, everything

#: Carries an operation out: which, its function, what it is given.
Do = Callable[[Operation, Callable[..., Any], Mapping[str, Any]], Awaitable[Any]]
#: What a write meets on a disk that takes none.
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
#: Routes are tried in their order, and these are asked for again and again by scripts.
_OFTEN = ("context.", "hooks.")
_MOST_SHOWN, _MOST_ERRORS = 80, 5
_WHY = {"description": "Why there is no other answer."}
#: The same for routes whose answers are not JSON; their errors are.
REFUSED: dict[int | str, dict[str, Any]] = {
    "default": {
        **_WHY,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
#: Said, not checked: nothing gets here that the gate has not let in.
TOKEN = [Depends(HTTPBearer(description="What stands in home/token."))]


def _of_slots(value: object) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}  # type: ignore[attr-defined]


_encode = msgspec.json.Encoder(enc_hook=_of_slots).encode


@dataclass(frozen=True)
class Problem:
    """Why there is no other answer: what is wrong, where, and what to do."""

    error: str


def application(do: Do, operations: Iterable[Operation] | None = None) -> FastAPI:
    """With a route for each of the operations; without any named, for all that are not local."""
    app = FastAPI(
        title="holdfast",
        version=holdfast.__version__,
        summary="Keeps a coding agent's work alive when its context window fills up.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        responses={"default": {"model": Problem, **_WHY}},
        exception_handlers={
            HTTPException: _not_found,
            RequestValidationError: _misunderstood,
            Exception: _mistaken,
        },
    )
    wanted = [one for one in everything() if not one.local] if operations is None else operations
    for operation in sorted(wanted, key=lambda one: not one.name.startswith(_OFTEN)):
        _add(app, do, operation)
    return app


def path_of(operation: Operation) -> str:
    return "/" + operation.name.replace(".", "/")


def _add(app: FastAPI, do: Do, operation: Operation) -> None:
    function = operation.load()
    says = described(function)
    takes = _model(operation, says)

    async def endpoint(given: Mapping[str, Any]) -> Response:
        return answer(await do(operation, function, given))

    given = Parameter(
        "given",
        Parameter.POSITIONAL_ONLY,
        annotation=Annotated[takes, Body() if operation.writes else Query()],
    )
    endpoint.__signature__ = Signature([given])  # type: ignore[attr-defined]
    app.router.add_api_route(
        path_of(operation),
        endpoint,
        route_class_override=_Route,
        dependencies=TOKEN,
        methods=["POST" if operation.writes else "GET"],
        operation_id=operation.name,
        tags=[operation.name.partition(".")[0]],
        summary=says.summary,
        description=says.about or says.summary,
        response_model=_shape(says.gives),
    )


def _model(operation: Operation, says: Described) -> type[BaseModel]:
    """What an operation takes. A query is text, from which a number is read; JSON says what is one."""
    fields: dict[str, Any] = {
        one.name: (one.kind, Field(... if one.default is REQUIRED else one.default, description=one.what))
        for one in says.takes
        if one.name not in BY_HAND.get(operation.name, ())
    }
    config = ConfigDict(extra="forbid", strict=operation.writes, allow_inf_nan=False)
    return create_model(operation.name, __config__=config, **fields)


def _shape(kind: Any) -> Any:
    """The same type, with models for classes that the framework could not describe."""
    parts = tuple(map(_shape, get_args(kind)))
    if get_origin(kind) is UnionType:
        return reduce(or_, parts)
    if get_origin(kind) in (list, dict):
        return get_origin(kind)[parts]
    if is_dataclass(kind) or not fields_of(kind):
        return kind
    fields: dict[str, Any] = {name: (_shape(one), ...) for name, one in fields_of(kind).items()}
    return create_model(kind.__name__, **fields)


class _Route(APIRoute):
    """The framework describes a route; what it takes is read here. That is twice as fast, and one place
    says what an error looks like."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        takes = self.dependant.body_params or self.dependant.query_params
        model: type[BaseModel] = takes[0].field_info.annotation  # type: ignore[assignment]
        call: Callable[[Mapping[str, Any]], Coroutine[Any, Any, Response]] = self.endpoint
        read = _from_body if self.dependant.body_params else _from_query
        many = frozenset(name for name, field in model.model_fields.items() if _is_many(field.annotation))

        async def handle(request: Request) -> Response:
            try:
                given = await read(request, model, many)
                return await call(given.__dict__)
            except ValidationError as problem:
                return failure(_misread(problem.errors(include_url=False, include_input=False)))
            except (HoldfastError, OSError) as problem:
                return failure(problem)

        return handle


async def _from_body(request: Request, model: type[BaseModel], _: frozenset[str]) -> BaseModel:
    return model.model_validate_json(await request.body())


async def _from_query(request: Request, model: type[BaseModel], many: frozenset[str]) -> BaseModel:
    given: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name in many:
            given.setdefault(name, []).append(value)
        elif name in given:
            raise BadInput(f"{name[:_MOST_SHOWN]!r} is given twice; it takes one value")
        else:
            given[name] = value
    return model.model_validate(given)


def _is_many(kind: Any) -> bool:
    return any(get_origin(part) in (list, tuple) for part in (kind, *get_args(kind)))


def _misread(errors: Sequence[Any]) -> BadInput:
    """What is wrong with each parameter. What was given is not repeated: it may be long, or a secret."""
    said = []
    for one in errors[:_MOST_ERRORS]:
        where = ".".join(map(str, one["loc"]))[:_MOST_SHOWN]
        what = "there is no such parameter" if one["type"] == "extra_forbidden" else one["msg"]
        said.append(f"{where}: {what}" if where else what)
    return BadInput("; ".join(said))


def answer(value: object, status: int = 200) -> Response:
    try:
        body = _encode(value)
    except UnicodeEncodeError:  # the name of a file that is no text
        body = json.dumps(msgspec.to_builtins(value, enc_hook=_of_slots)).encode()
    return Response(body, status, media_type="application/json")


def failure(problem: HoldfastError | OSError) -> Response:
    if isinstance(problem, HoldfastError):
        said, status = str(problem), problem.status
    else:
        where = f"{problem.filename}: " if problem.filename else ""
        said = f"{where}{problem.strerror or problem}; see `holdfast status`"
        status = 507 if is_full(problem) else 503 if problem.errno in _READ_ONLY else 500
    response = answer(Problem(said), status)
    if status == 503:
        response.headers["retry-after"] = "1"
    return response


async def _not_found(request: Request, problem: HTTPException) -> Response:
    path = request.url.path[:_MOST_SHOWN]
    allowed = (problem.headers or {}).get("Allow")
    if allowed:
        response = answer(Problem(f"{path!r} takes {allowed}"), problem.status_code)
        response.headers["allow"] = allowed
        return response
    return answer(Problem(f"there is no {path!r}; /openapi.json lists what there is"), problem.status_code)


async def _misunderstood(_: Request, problem: RequestValidationError) -> Response:
    return failure(_misread(problem.errors()))


async def _mistaken(_: Request, problem: Exception) -> Response:
    what = f"a mistake in holdfast: {type(problem).__name__}; the service's output says where"
    return answer(Problem(what), 500)
