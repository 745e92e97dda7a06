"""JSON-RPC 2.0 as the Model Context Protocol speaks it: a message in, what is answered out.

No stream and no thread: `stdio` and `http` bring those. What can be answered at once is answered without
importing anything; `is_work` says of which messages that is not so.
"""

from holdfast import __version__
from holdfast.core.jsontext import UNREADABLE, dump, load, text
from holdfast.mcp import tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Methods = dict[str, Callable[[dict[str, Any]], str]]

#: Newest first: what a client is offered that asks for none of them.
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
#: No message of a client is longer. A line or a body that is, is refused unread.
LARGEST = 4 << 20
_MOST_IN_BATCH = 100
_INSTRUCTIONS = (
    "holdfast keeps work alive when the context window fills. `context_usage`: how full it is. "
    "`checkpoint_take`: before anything risky, and in a good state. `brief`: what was ordered, "
    "decided and ruled out, when unsure after a compaction. Where no session is named, tools mean this one."
)
_UNREADABLE, INVALID, _UNKNOWN, _PARAMS, BUSY = -32700, -32600, -32601, -32602, -32000


class Refused(Exception):
    def __init__(self, code: int, what: str) -> None:
        super().__init__(what)
        self.code = code


def parse(raw: bytes) -> object:
    try:
        return load(raw.decode())
    except UNREADABLE:
        raise Refused(_UNREADABLE, "not one JSON value in UTF-8") from None


def is_work(message: object) -> bool:
    """Whether answering may take a while."""
    return type(message) is list or (type(message) is dict and message.get("method") == "tools/call")


def tool_of(message: object) -> str:
    """The tool that a message calls; "" if none."""
    params = message.get("params") if type(message) is dict and is_work(message) else None
    return text(params, "name") if type(params) is dict else ""


def answer(message: object, methods: "Methods | None" = None) -> str:
    """As JSON on one line; "" where there is nothing to answer."""
    methods = methods or METHODS
    if type(message) is not list:
        return _answered(message, methods)
    return unfit(message) or joined([_answered(one, methods) for one in message])


def unfit(batch: list) -> str:
    """What is answered to a batch that is not looked at; "" to any other."""
    if 0 < len(batch) <= _MOST_IN_BATCH:
        return ""
    return refusal(Refused(INVALID, f"a batch has from 1 to {_MOST_IN_BATCH} messages"))


def joined(answers: list[str]) -> str:
    """Those to the messages of a batch, as one."""
    told = ",".join(filter(None, answers))
    return f"[{told}]" if told else ""


def refusal(problem: Refused, id_: object = None) -> str:
    return dump({"jsonrpc": "2.0", "id": id_, "error": {"code": problem.code, "message": str(problem)}})


def too_large() -> str:
    return refusal(Refused(INVALID, f"a message of more than {LARGEST} bytes"))


def busy(message: object) -> str:
    return refusal(
        Refused(BUSY, "too many calls wait already: ask again when some are answered"), id_of(message)
    )


def ended(message: object) -> str:
    """To work that had not been done when there was nobody left to wait for it; "" to a notification."""
    problem = Refused(BUSY, "stdin ended, and this took too long after it: ask again and keep stdin open")
    if type(message) is not list:
        return refusal(problem, id_of(message)) if id_of(message) is not None else ""
    return unfit(message) or joined([ended(one) for one in message if type(one) is not list])


def id_of(message: object) -> "str | int | None":
    id_ = message.get("id") if type(message) is dict else None
    return id_ if type(id_) in (str, int) else None


def _answered(message: object, methods: "Methods") -> str:
    id_ = id_of(message)
    try:
        result = _result(message, id_, methods)
    except Refused as problem:
        return refusal(problem, id_)
    return result and f'{{"jsonrpc":"2.0","id":{dump(id_)},"result":{result}}}'


def _result(message: object, id_: object, methods: "Methods") -> str:
    if type(message) is not dict or message.get("jsonrpc") != "2.0":
        raise Refused(INVALID, 'a message is an object with "jsonrpc": "2.0"')
    if "method" not in message and ("result" in message or "error" in message):
        return ""  # an answer to something, and we never ask
    method, params = message.get("method"), message.get("params", {})
    if type(method) is not str:
        raise Refused(INVALID, "a request has a `method`, which is a string")
    if "id" not in message:
        return ""  # a notification, of which none changes anything here
    if id_ is None:
        raise Refused(INVALID, "an `id` is a string or an integer")
    if method not in methods:
        raise Refused(_UNKNOWN, f"there is no method {method[:80]!r}")
    if type(params) is not dict:
        raise Refused(_PARAMS, "`params` is an object")
    return methods[method](params)


def _initialize(params: "dict[str, Any]") -> str:
    return dump({**_hello(params), "instructions": _INSTRUCTIONS})


def _initialize_quietly(params: "dict[str, Any]") -> str:
    return dump(_hello(params))


def _hello(params: "dict[str, Any]") -> "dict[str, Any]":
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": {"name": "holdfast", "version": __version__},
    }


def _ping(params: "dict[str, Any]") -> str:
    return "{}"


def _list(params: "dict[str, Any]") -> str:
    return tools.listed()


def _list_nothing(params: "dict[str, Any]") -> str:
    return '{"tools":[]}'


def _call(params: "dict[str, Any]") -> str:
    name, arguments = text(params, "name"), params.get("arguments")
    if arguments is not None and type(arguments) is not dict:
        raise Refused(_PARAMS, "`arguments` is an object")
    result = tools.call(name, arguments or {})
    if not result:
        raise Refused(_PARAMS, f"there is no tool {name[:80]!r}; see tools/list")
    return result


METHODS: "Methods" = {
    "initialize": _initialize,
    "ping": _ping,
    "tools/list": _list,
    "tools/call": _call,
}
#: Of a server whose client has the same tools from another one of ours.
STANDING_DOWN: "Methods" = {
    "initialize": _initialize_quietly,
    "ping": _ping,
    "tools/list": _list_nothing,
}
