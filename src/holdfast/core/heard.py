"""What the hooks themselves were told: the part of a session's state that nothing can rebuild.

The client's transcript lags its hooks and may not exist at all (`--no-session-persistence`); then
this is all there is. Counters and sizes only, no text. The transcript, where there is one, is the
truth: what stdin says is laid over it until the file has caught up, never added to it twice.
"""

from holdfast.core import sizes, speaker
from holdfast.core.events import Event, calls, exit_code, ran_out, was_run
from holdfast.core.jsontext import text
from holdfast.core.seen import LONGEST_STEP_MS, counter, fingerprint, tally
from holdfast.core.transcript import count, usage

#: The client shows the model no more of one result than this.
_LARGEST_RESULT = 120_000
#: Stands for the turns read so far, which `State` knows.
_NOW = -1
#: As much of the time before a prompt is work where no turn was heard to end: it may have been interrupted
#: long ago, or the prompt was typed while the model worked.
_PAUSE_MS = 5 * 60_000
#: Hooks after which a session waits for a person, and those that tell whether it does. The rest come at any
#: time, and a compaction comes in the middle of a turn.
RESTING = ("Stop", "StopFailure", "SessionStart", "SessionEnd", "")
_TELLING = (
    *("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"),
    *("PermissionRequest", "SubagentStart", "SubagentStop", *RESTING),
)
_MOST_EVENTS, _MOST_TASKS, _MOST_PENDING = 64, 64, 64
_SAVED = (
    "prompts typed calls failures batches stops compactions cut units tokens messages reads edited "
    "tools_used subagents compacting awaits told window window_of first_at last_at model model_at cwd "
    "transcript ended trouble project events tools tasks pending client active saved owed green injected "
    "lost cold guard burst habit pressed tree broke tests committed logged process full role last stage "
    "board mail asked started begun summarised autosave talked resumed"
).split()
#: The client's statusline and the plugin's mod are no hooks, but tell us as much as one.
STATUSLINE, MEASURED = "StatusLine", "Measured"
#: The name under which a prompt waits to be read in the transcript.
PROMPT = "prompt"


class Heard:
    # Since the session began.
    prompts = typed = calls = failures = batches = stops = compactions = cut = 0
    # Since the last compaction.
    units = tokens = 0.0
    messages = reads = edited = tools_used = subagents = 0
    # The number of the compaction that PreCompact announced; 0: none.
    compacting = 0
    window = 0  # as the client itself reported it, for the model `window_of`
    model_at = 0  # turns read when `model` was told
    first_at = last_at = 0
    lost = 0  # whether a summary lost something that is still to be said
    full = 0  # whether the last turn ended for want of room
    talked = 0  # the turns by which nothing but talk was found, the last time that was looked for
    resumed = ""  # uid of the checkpoint that the session was told of when it began
    burst = 0  # the number of the last compaction that was spoken of, because there were too many
    active = 0  # milliseconds of work since the last checkpoint
    process = 0  # of the client that began the session last
    begun = 0  # when that was
    started = ""  # by which part of holdfast the client was started, if by one
    role = ""  # what kind of agent this is; "": the session itself
    last = ""  # the hook that was heard of last
    stage = ""  # the one that last told whether the session is at work or waits for a person
    model = window_of = cwd = transcript = ended = ""
    project = ""  # the folder the session was started in
    tree = ""  # under which name breakpoints of its working tree are spooled
    committed = ""  # its commit when the session began, or when it last ran git to make another
    logged = 0  # and how long git's log of HEAD was then
    trouble = ""  # what keeps the hooks of this session from doing all they should

    def __init__(self) -> None:
        self.events: dict = {}  # name -> times
        self.tools: dict = {}  # name -> [calls, failures, units]
        self.tasks: dict = {}  # id -> status
        # Number of the compaction heard of but not yet read, and the turns read until then.
        self.awaits: list = []
        # How far the transcript stood when a summary was asked for, and how often it had been read anew.
        self.summarised: list = []
        # Context and output as the client itself reported them; turns and compactions read until then.
        self.told: list = []
        self.pending: dict = {}  # what the transcript does not hold yet -> [units, tokens, ...]
        self.client: dict = {}  # the client's own settings when the session began
        self.saved: dict = {}  # the last checkpoint, and what had been done by then
        self.injected: list = []  # how often something was said into the session; tokens in all
        self.owed: dict = {}  # a checkpoint that is due and not taken yet
        self.autosave: dict = {}  # a save of the session that is due and not made yet
        # The newest breakpoint taken in (`uid`), and while a checkpoint is due for it `why` and `trigger`.
        self.broke: dict = {}
        self.tests: list = []  # whether tests last passed, and the turns by then
        self.green: list = []  # the commit on which tests last passed, and when
        # When finished work was last looked through: turns and rereads by then, and the offset before
        # which every stretch has been dealt with; -1: what a rewind abandoned is still to be removed.
        self.cold: list = []
        self.habit: list = []  # of this user: [model, tokens a turn adds, seconds it takes, past sessions]
        self.board: list = []  # the project's board, and what its file looked like: key, size, time
        # How far the board was read, how many messages wait to be said, and how many triggers.
        self.mail: dict = {}
        # Somebody asked for a checkpoint: `id` of the message, `why`, `after` which time, and once it is
        # taken which one: `done`.
        self.asked: dict = {}
        self.guard: dict = {}  # where the window stands on the ladder, and what was told in this cycle
        self.pressed: list = []  # where in the transcript was said what was said above L2: [from, to)

    def to_json(self) -> dict:
        return {name: value for name in _SAVED if (value := getattr(self, name))}

    @classmethod
    def from_json(cls, saved: dict) -> "Heard":
        heard = cls()
        for name in _SAVED:
            if name in saved:
                setattr(heard, name, saved[name])
        return heard


def hear(heard: Heard, event: Event) -> None:
    """Take in one event. Each is handled once: a tool call counts when its result is told."""
    name = event.name if event.name.isidentifier() and len(event.name) <= 40 else "unknown"
    if name not in heard.events and len(heard.events) >= _MOST_EVENTS:
        name = "unknown"
    heard.events[name] = heard.events.get(name, 0) + 1
    role = event.agent_type
    if role and len(role) <= 64 and len(role.split()) == 1:  # a name: words have no place in the state
        heard.role = role
    if name not in (STATUSLINE, MEASURED):
        heard.last = name
    pass_time(heard, name, event.at, is_compact=event.data.get("source") == "compact")
    heard.first_at = heard.first_at or event.at
    heard.cwd = event.cwd[:4096] or heard.cwd
    heard.transcript = event.transcript[:4096] or heard.transcript
    heard.cut += event.cut
    model = event.data.get("to_model" if event.name == "PostModelSwitch" else "model")
    if type(model) is dict:  # the statusline's shape
        model = model.get("id")
    if type(model) is str and model:
        heard.model, heard.model_at = model[:128], _NOW
    _WHAT.get(event.name, _nothing)(heard, event)


def pass_time(heard: Heard, name: str, at: int, is_compact: bool = False) -> None:
    """Count what has passed since the last event as work, if it is: a tool that runs for 25 minutes is, a
    person who is away is not. No step counts as more than an hour, whatever the clock says."""
    passed = max(0, at - heard.last_at) if heard.last_at and heard.stage not in RESTING else 0
    if name in ("UserPromptSubmit", "SessionStart") and not is_compact:
        passed = min(passed, _PAUSE_MS)
    heard.active += min(passed, LONGEST_STEP_MS)
    heard.last_at = at
    if name in _TELLING and not is_compact:
        heard.stage = name


def _nothing(heard: Heard, event: Event) -> None:
    pass


def _measured(heard: Heard, event: Event) -> None:
    """The only surfaces on which the client itself says how large the window is and what is in it."""
    window = event.data.get("context_window")
    if type(window) is not dict:
        return
    size = count(window.get("context_window_size"))
    if size >= 1000:
        heard.window, heard.window_of = size, heard.model
    told = usage(window.get("current_usage"))
    # Absent before the first response, zeros right after a compaction. The mod knows no output: what the
    # statusline said of the same response stands.
    if told and (told.output or heard.told[:1] != [told.context]):
        heard.told = [told.context, told.output]


def _start(heard: Heard, event: Event) -> None:
    heard.ended = ""
    heard.pending = {}  # what a client that was killed did not write will not be written
    if event.data.get("source") == "compact":
        _forget(heard)
    else:
        heard.begun = event.at


def _end(heard: Heard, event: Event) -> None:
    heard.ended = text(event.data, "reason")[:32] or "other"


def _prompt(heard: Heard, event: Event) -> None:
    heard.prompts += 1
    heard.typed += speaker.of_payload(text(event.data, "prompt")) == speaker.USER
    heard.messages += 1
    _weigh(heard, PROMPT, sizes.leaves(event.data.get("prompt")), sizes.PER_ITEM)


def _batch(heard: Heard, event: Event) -> None:
    heard.batches += 1
    heard.messages += 1
    if event.cut:  # too large to be read: its length is what is known
        _call(heard, {}, event.size)
    for call in calls(event):
        _call(heard, call, *sizes.of_content(call.get("tool_response")))


def _call(heard: Heard, call: dict, result: float, fixed: float = 0.0) -> None:
    """A tool call, and how much the model is answered."""
    name = text(call, "tool_name")
    failed, result = exit_code(call) != 0 or not was_run(call), min(result, _LARGEST_RESULT)
    heard.calls += 1
    heard.failures += failed
    row = tally(heard.tools, name or "other")
    row[0] += 1
    row[1] += failed
    row[2] += int(result)
    # The call itself is in the transcript before its result is; only the result is pending.
    heard.units += sizes.of_input(call.get("tool_input"))
    heard.tokens += sizes.PER_TOOL_USE
    uid = text(call, "tool_use_id")
    _weigh(heard, str(fingerprint(uid)) if uid else "", result, fixed + sizes.PER_ITEM)
    counted = counter(name)
    setattr(heard, counted, getattr(heard, counted) + 1)


def _stop(heard: Heard, event: Event) -> None:
    heard.full = 0
    heard.stops += 1
    heard.messages += 1
    heard.units += sizes.TEXT * sizes.leaves(event.data.get("last_assistant_message"))


def _stop_failure(heard: Heard, event: Event) -> None:
    heard.full = int(ran_out(event))


def _compacted(heard: Heard, event: Event) -> None:
    """PostCompact: all that came before is now the summary."""
    heard.compactions += 1
    _forget(heard)
    heard.units = sizes.units(text(event.data, "compact_summary").rpartition("</analysis>")[2])


def _forget(heard: Heard) -> None:
    """What was said before a compaction is no longer in the window."""
    heard.messages = heard.reads = heard.edited = heard.tools_used = heard.subagents = 0
    heard.units = heard.tokens = 0.0
    heard.pending = {}
    heard.told = []
    heard.full = 0


def _task_made(heard: Heard, event: Event) -> None:
    _task(heard, event, "pending")


def _task_done(heard: Heard, event: Event) -> None:
    _task(heard, event, "completed")


def _task(heard: Heard, event: Event, status: str) -> None:
    task = text(event.data, "task_id")
    if task and len(task) <= 64 and (task in heard.tasks or len(heard.tasks) < _MOST_TASKS):
        heard.tasks[task] = status


def _weigh(heard: Heard, what: str, units: float, tokens: float) -> None:
    heard.units += units
    heard.tokens += tokens
    if what:
        heard.pending[what] = [int(units), int(tokens)]
        if len(heard.pending) > _MOST_PENDING:
            del heard.pending[next(iter(heard.pending))]


_WHAT = {
    "SessionStart": _start,
    "SessionEnd": _end,
    "UserPromptSubmit": _prompt,
    "PostToolBatch": _batch,
    "Stop": _stop,
    "StopFailure": _stop_failure,
    STATUSLINE: _measured,
    MEASURED: _measured,
    "PostCompact": _compacted,
    "TaskCreated": _task_made,
    "TaskCompleted": _task_done,
}
