"""What comes after the story: a second compaction, and three agents at once."""

from __future__ import annotations

from holdfast.demo.story import CAPACITY, GIVEN, HOME, Call, Session, Workspace, perform

#: (id, what it is asked to do, the modules it reads)
AGENTS = (
    ("a7d3c01e", "Check that no reload loses a bucket", ("config", "cli", "admin")),
    ("b41f9a20", "Check every reply for RateLimit headers", ("headers", "errors", "proxy")),
    ("c90e77d3", "Look for walks over all clients", ("pool", "metrics", "upstream")),
)
_ASKED = """
> one more thing before I review: /admin/limits must show the ten clients that were refused most. Read-only,
  and never write a client's token into it, only its name
? Counting refusals per client is cheap; sorting them all for every look is the walk we have just removed.
A counter per client, and heapq.nlargest when somebody looks. :: read tidegate/admin.py ;; grep refuse
"""
_AFTER = """
! remind
:: run make lint => ruff: 62 files checked, no findings\\nmypy: no issues found
:: run git add -A && git commit -m 'Show the clients that are refused most' =>
  [rate-limits 9b07c3f] Show the clients that are refused most\\n 4 files changed, 61 insertions(+)
/admin/limits shows the ten clients that were refused most, by name. Committed, migrations/ untouched.
> good. what is left?
The load test with the new counter, and your review. Nothing else is open.
"""
_SUMMARY = """This session is being continued from a previous conversation that ran out of context.

1. Primary Request and Intent: rate limiting in tidegate, per client, with token buckets; per-route limits;
   docs. Now: /admin/limits shows the ten clients that were refused most, read-only.
2. Files and Code: tidegate/limits.py, tidegate/admin.py, tidegate/metrics.py, docs/limits.md, CHANGELOG.md.
3. Errors and Fixes: p99 rose because of a walk over all buckets; the table is a bounded OrderedDict now.
4. Current Work: counting refusals per client, nlargest on demand.
5. Next Step: make lint, then commit on rate-limits.
"""


def go_on(session: Session, workspace: Workspace) -> None:
    """From where the story ends, until it is compacted once more, and a little beyond."""
    perform(session, workspace, _ASKED)
    session.turn("Three things can be checked side by side.", *(_agent(*one) for one in AGENTS))
    files = sorted(path for path in workspace.files if path.endswith(".py"))
    turns = iter(range(1, 10_000))
    while session.used < CAPACITY:
        path = files[next(turns) % len(files)]
        session.turn("", _part(workspace, path, session))
    workspace.texts["SUMMARY2"] = _SUMMARY
    perform(session, workspace, "! compact SUMMARY2")
    perform(session, workspace, _AFTER)


def _agent(name: str, task: str, modules: tuple[str, ...]) -> Call:
    given = {
        "description": task,
        "subagent_type": "Explore",
        "prompt": f"{task}: tidegate/{modules[0]}.py first.",
    }
    result = {"status": "completed", "agentId": name, "totalTokens": 38_204, "totalToolUseCount": 3}
    return Call(
        "Agent", given, f"Done: {task.lower()}. Nothing found in {', '.join(modules)}.", result, seconds=45
    )


def _part(workspace: Workspace, path: str, session: Session) -> Call:
    """As much of a file as brings the window nearer to full, and not much beyond."""
    lines = workspace.files[path].splitlines()
    room, count = (CAPACITY - session.used + 800) * GIVEN, 0
    for count, line in enumerate(lines, 1):
        room -= len(line) + 6
        if room < 0 or count >= 260:
            break
    return workspace.read(f"{path} 1 {max(12, count)}")


def of_agent(name: str, task: str, modules: tuple[str, ...], workspace: Workspace) -> Session:
    """What an agent says and does, in a window of its own."""
    own = Session()
    own.picks.seed(name)
    own.used, own.cached = 14_000.0, 0
    own.prompt(f"{task}. Read what is there, change nothing, report what you find.")
    for module in modules:
        own.turn(f"Reading {module}.", workspace.read(f"tidegate/{module}.py"))
    own.turn(f"{task}: nothing found in {', '.join(modules)}. I decided to leave {HOME}/migrations alone.")
    return own
