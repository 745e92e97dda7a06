"""The page that says what holdfast does. Every shell (command line, HTTP, MCP) walks it:
name -> command or tool, signature -> flags or schema, docstring -> help, table -> read or write.

Only the operation that was asked for is imported: laziness lives here and nowhere else.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

READS = {
    "batch.plan": "holdfast.ops.batch:plan",
    "board.list": "holdfast.ops.board:list_all",
    "budget.estimate": "holdfast.ops.budget:estimate",
    "budget.plan": "holdfast.ops.budget:plan",
    "budget.show": "holdfast.ops.budget:show",
    "checkpoint.check": "holdfast.ops.integrity:check",
    "checkpoint.diff": "holdfast.ops.checkpoints:diff",
    "checkpoint.list": "holdfast.ops.checkpoints:list_all",
    "checkpoint.show": "holdfast.ops.checkpoints:show",
    "checkpoint.verify": "holdfast.ops.checkpoints:verify",
    "context.budget": "holdfast.ops.budget:show",
    "context.usage": "holdfast.ops.contract:usage",
    "breakpoints": "holdfast.ops.breakpoints:list_all",
    "brief": "holdfast.ops.survival:brief",
    "events": "holdfast.ops.events:events",
    "explain": "holdfast.ops.explain:explain",
    "facts": "holdfast.ops.survival:facts",
    "health": "holdfast.ops.health:health",
    "history": "holdfast.ops.history:history",
    "latency": "holdfast.ops.latency:latency",
    "memory.around": "holdfast.ops.recall:around",
    "memory.collections": "holdfast.ops.remember:collections",
    "memory.lint": "holdfast.ops.topics:lint",
    "memory.list": "holdfast.ops.topics:list_all",
    "memory.show": "holdfast.ops.topics:show",
    "memory.timeline": "holdfast.ops.recall:timeline",
    "preserve": "holdfast.ops.survival:preserve",
    "recall": "holdfast.ops.recall:recall",
    "receipt": "holdfast.ops.survival:receipt",
    "replay": "holdfast.ops.replay:replay",
    "rules.conflicts": "holdfast.ops.rules:disputed",
    "rules.enforced": "holdfast.ops.rules:enforced",
    "rules.list": "holdfast.ops.rules:list_all",
    "rules.show": "holdfast.ops.rules:show",
    "saves.list": "holdfast.ops.saves:list_all",
    "saves.show": "holdfast.ops.saves:show",
    "saves.tags": "holdfast.ops.saves:tags",
    "sessions": "holdfast.ops.sessions:list_all",
    "status": "holdfast.ops.upkeep:status",
    "summaries.list": "holdfast.ops.summaries:list_all",
    "summaries.show": "holdfast.ops.summaries:show",
    "task.chain": "holdfast.ops.tasks:chain",
    "task.list": "holdfast.ops.tasks:list_all",
    "task.show": "holdfast.ops.tasks:show",
    "usage": "holdfast.ops.context:usage",
    "verify": "holdfast.ops.checkpoints:verify",
}
WRITES = {
    "board.ack": "holdfast.ops.board:ack",
    "board.post": "holdfast.ops.board:post",
    "board.read": "holdfast.ops.board:read",
    "budget.evict": "holdfast.ops.budget:evict",
    "budget.pin": "holdfast.ops.budget:pin",
    "budget.rebalance": "holdfast.ops.budget:rebalance",
    "budget.set": "holdfast.ops.budget:put",
    "budget.unpin": "holdfast.ops.budget:unpin",
    "checkpoint.pin": "holdfast.ops.checkpoints:pin",
    "checkpoint.take": "holdfast.ops.checkpoints:take",
    "hooks.git-commit": "holdfast.ops.breakpoints:commit",
    "hooks.test-result": "holdfast.ops.breakpoints:result",
    "context.auto-save": "holdfast.ops.contract:auto_save",
    "memory.drain": "holdfast.ops.remember:drain",
    "memory.erase": "holdfast.ops.remember:erase",
    "memory.fix": "holdfast.ops.topics:fix",
    "memory.forget": "holdfast.ops.topics:forget",
    "memory.learn": "holdfast.ops.remember:learn",
    "memory.move": "holdfast.ops.topics:move",
    "memory.update": "holdfast.ops.topics:update",
    "memory.write": "holdfast.ops.topics:write",
    "ss": "holdfast.ops.saves:ss",
    "task.add": "holdfast.ops.tasks:add",
    "task.claim": "holdfast.ops.tasks:claim",
    "task.finish": "holdfast.ops.tasks:finish",
    "task.release": "holdfast.ops.tasks:release",
    "task.renew": "holdfast.ops.tasks:renew",
}
#: For the command line only: a model or a web page never reaches these.
LOCAL = {
    "aliases": "holdfast.ops.aliases:aliases",
    "batch.calibrate": "holdfast.ops.batch:calibrate",
    "checkpoint.approve": "holdfast.ops.checkpoints:approve",
    "checkpoint.prune": "holdfast.ops.integrity:prune",
    "checkpoint.repair": "holdfast.ops.integrity:repair",
    "config.check": "holdfast.ops.config:check",
    "config.compile": "holdfast.ops.config:compile_now",
    "config.get": "holdfast.ops.config:get",
    "config.path": "holdfast.ops.config:path",
    "config.set": "holdfast.ops.config:put",
    "config.show": "holdfast.ops.config:show",
    "config.unset": "holdfast.ops.config:drop",
    "dashboard": "holdfast.serve.link:dashboard",
    "demo": "holdfast.demo.command:demo",
    "doctor": "holdfast.install.doctor:doctor",
    "install": "holdfast.install.operations:install",
    "mcp": "holdfast.mcp.command:serve",
    "memory.rebuild": "holdfast.ops.remember:rebuild",
    "monitor": "holdfast.ops.monitor:monitor",
    "report": "holdfast.report.page:report",
    "rs": "holdfast.ops.resume:rs",
    "run": "holdfast.agents.conductor:run",
    "serve": "holdfast.serve.service:serve",
    "summaries.clear": "holdfast.ops.summaries:clear",
    "sync": "holdfast.ops.sync:sync",
    "task.wait": "holdfast.ops.tasks:wait",  # whoever waits would hold up all that others write
    "team.backup": "holdfast.ops.team:back_up",
    "team.init": "holdfast.ops.team:migrate",
    "team.join": "holdfast.ops.joining:join",
    "team.leave": "holdfast.ops.joining:leave",
    "team.member.add": "holdfast.ops.members:member_add",
    "team.member.list": "holdfast.ops.members:member_list",
    "team.member.remove": "holdfast.ops.members:member_remove",
    "team.migrate": "holdfast.ops.team:migrate",
    "team.prune": "holdfast.ops.team:prune",
    "team.restore": "holdfast.ops.team:restore",
    "team.status": "holdfast.ops.team:status",
    "team.token.add": "holdfast.ops.members:token_add",
    "team.token.list": "holdfast.ops.members:token_list",
    "team.token.revoke": "holdfast.ops.members:token_revoke",
    "test-result": "holdfast.ops.breakpoints:junit",
    "watch": "holdfast.agents.watcher:watch",
    "uninstall": "holdfast.install.operations:uninstall",
}
#: What a shared service does for the members of a team, with their rights and without its own home: of the
#: operations above, these, as written here. All others are refused there.
SHARED = {
    "board.ack": "holdfast.ops.desk:board_ack",
    "board.list": "holdfast.ops.desk:board_list",
    "board.post": "holdfast.ops.desk:board_post",
    "checkpoint.list": "holdfast.ops.desk:checkpoint_list",
    "checkpoint.show": "holdfast.ops.desk:checkpoint_show",
    "events": "holdfast.ops.desk:event_list",
    "recall": "holdfast.ops.desk:recalled",
    "task.add": "holdfast.ops.shared:add",
    "task.chain": "holdfast.ops.shared:chain",
    "task.claim": "holdfast.ops.shared:claim",
    "task.finish": "holdfast.ops.shared:finish",
    "task.list": "holdfast.ops.shared:list_all",
    "task.release": "holdfast.ops.shared:release",
    "task.renew": "holdfast.ops.shared:renew",
    "task.show": "holdfast.ops.shared:show",
}
#: Parameters that name a file to write, or one of the person's to read: for the command line only.
BY_HAND = {"batch.plan": ("out",), "replay": ("png", "html"), "task.add": ("plan",)}

#: The tools that an agent always has before it; the others it has to look for, by their names.
ALWAYS_LOADED = ("brief", "checkpoint.take", "context.usage", "health", "recall")
#: Writes that take something away, and writes that may be done twice to the same end.
DESTRUCTIVE = ("memory.erase", "memory.forget", "memory.update")
IDEMPOTENT = (
    "board.ack",
    "budget.evict",
    "budget.pin",
    "budget.set",
    "checkpoint.pin",
    "memory.drain",
    "memory.fix",
    "memory.move",
    "task.finish",
    "task.release",
    "task.renew",
)

#: These go on while the settings are wrong: they say what is, or mend it, or take holdfast out.
_MENDING = ("config.", "doctor", "status", "uninstall")


class Operation:
    __slots__ = ("local", "name", "place", "writes")

    def __init__(self, name: str, place: str, *, writes: bool, local: bool) -> None:
        self.name = name
        self.place = place
        self.writes = writes
        self.local = local

    @property
    def mends(self) -> bool:
        return self.name.startswith(_MENDING)

    def load(self) -> Callable[..., Any]:
        module, _, function = self.place.partition(":")
        return getattr(import_module(module), function)  # type: ignore[no-any-return]


def everything() -> list[Operation]:
    return [
        *(Operation(name, place, writes=False, local=False) for name, place in READS.items()),
        *(Operation(name, place, writes=True, local=False) for name, place in WRITES.items()),
        *(Operation(name, place, writes=True, local=True) for name, place in LOCAL.items()),
    ]


def shared() -> list[Operation]:
    return [Operation(name, place, writes=name in WRITES, local=False) for name, place in SHARED.items()]
