"""Who speaks: whose words a line of the transcript, a part of it, or a hook's payload holds.

Structure decides: the type of a line, the marks its client sets, the tool that answered. Words decide only
where a version of the client sets no mark. They are listed here, and nowhere else.
"""

from holdfast.core.jsontext import text

#: Every speaker. AGENT is any other agent: a lead, a subagent, a teammate, another session.
USER, ASSISTANT, TOOL, FILE = "user", "assistant", "tool", "file"
WEB, HOOK, CLIENT, AGENT = "web", "hook", "client", "agent"
SPEAKERS = (USER, ASSISTANT, TOOL, FILE, WEB, HOOK, CLIENT, AGENT)

#: What the client writes when the person says no, in place of a result, or in a line of its own.
REFUSED, INTERRUPTED = "The user doesn't want", "[Request interrupted"
#: How that begins which another session, or whatever else the client listens to, has sent.
SENT = (
    *("<teammate-message ", "<cross-session-message ", "<agent-message ", "<coordinator-relay "),
    "<channel source=",
)
#: Around a command that a person gives the client, and around what the client itself carries out.
_COMMAND, _CARRIED_OUT = "<command-", "<local-command"
_BASH_TYPED, _BASH_PRINTED = "<bash-input", ("<bash-stdout", "<bash-stderr")
#: Notices of the client: what ran in the background has ended.
_NOTICES = ("<task-notification", "<bash-notification")
#: Lines of these are nobody's prompt, even where the client marks them as typed.
_CARRIED = (_CARRIED_OUT, _BASH_TYPED, *_BASH_PRINTED, *_NOTICES)
#: What the client puts beside the words of a person: reminders, and what they look at in their editor.
_AROUND = ("<system-reminder", "<ide_")
_BESIDE = (*_AROUND, *_CARRIED)
#: The words of each, in lines of clients that do not mark them. A tag is written by no person by chance;
#: of sentences only those are here that the client writes word for word.
_BY_WORDS = (
    (AGENT, (*SENT, "Another Claude session sent a message", "A peer session sent a message while")),
    (
        HOOK,
        (
            *("Stop hook feedback:", "SubagentStop hook feedback:", "TeammateIdle hook feedback:"),
            *("TaskCreated hook feedback:", "TaskCompleted hook feedback:", "Stop hook blocking error"),
            *(
                "Operation stopped by hook",
                "Execution stopped by hook",
                "UserPromptSubmit operation blocked",
            ),
            *("<user-prompt-submit-hook>", "<session-start-hook>", "<holdfast-"),
        ),
    ),
    (TOOL, _BASH_PRINTED),
    (FILE, ("Base directory for this skill: ",)),
    (
        CLIENT,
        (
            *(
                _COMMAND,
                _CARRIED_OUT,
                *_NOTICES,
                _BASH_TYPED,
                *_AROUND,
                "<tick>",
                "<persisted-output",
            ),
            *(INTERRUPTED, "[Tool call interrupted", "[Image: source: ", "[Image: original "),
            *("Caveat: The messages below", "This session is being continued"),
        ),
    ),
)
_WORDED = tuple(opening for _, openings in _BY_WORDS for opening in openings)
#: Commands that a client puts into its own queue.
_QUEUED = ("/rate-limit-options",)
#: What a client says of a command it does not know: this, and one name.
_UNKNOWN = ("Unknown skill: ", "Unknown slash command: ", "Unknown command: ")
#: What the client tells the model to do after a mishap.
_PROMPTED = (
    *("Continue from where you left off", "The previous response failed", "Your tool call was malformed"),
    *("[Your previous response", "Output token limit hit", "Your response", "The PermissionDenied hook"),
    *("The turn did not end", "Please continue"),
)
#: `origin.kind`, where the client says where a line came from. What is not here was not typed either.
_ORIGINS = {
    "human": USER,
    "plugin": HOOK,  # a module of a plugin, which runs inside the client
    **dict.fromkeys(
        "peer coordinator channel observer observer-activity slack-ping teammate subagent lead".split(),
        AGENT,
    ),
}
_BY_TOOL = {
    **dict.fromkeys(("Read", "NotebookRead"), FILE),
    **dict.fromkeys(("WebFetch", "WebSearch"), WEB),
    **dict.fromkeys(("Task", "Agent"), AGENT),
}
#: Tools of servers: they may print whatever they like, also what a client says.
_FOREIGN = "mcp__"
#: Clients from 2.1.179 (which does not) to 2.1.211 (which does) began to mark that.
_MARKED_SINCE = [2, 1, 211]
#: How the result of an agent begins that was started and has not come back yet.
STARTED = "Async agent launched"
_WRONG, _BY_HOOK = "<tool_use_error>", " hook error: "
_NO_RULE = "Permission to use "
FILES = frozenset(
    "file edited_text_file compact_file_reference already_read_file directory pdf_reference "
    "selected_lines_in_ide opened_file_in_ide read_truncation_notice edited_image_file".split()
)
MEMORY = frozenset("instructions nested_memory relevant_memories".split())
_ATTACHED = {
    **dict.fromkeys((*FILES, *MEMORY, "invoked_skills", "dynamic_skill", "plan_file_reference"), FILE),
    **dict.fromkeys(("opened_file_in_ide", "read_truncation_notice"), CLIENT),
    **dict.fromkeys(("async_hook_response", "hook_success"), HOOK),
    **dict.fromkeys("teammate_mailbox team_context agent_mailbox".split(), AGENT),
    **dict.fromkeys("mcp_resource mcp_instructions_delta".split(), TOOL),
}
_LINES = {"away_summary": ASSISTANT, "stop_hook_summary": HOOK}
_PROGRESS = {
    "bash_progress": TOOL,
    "powershell_progress": TOOL,
    "mcp_progress": TOOL,
    "agent_progress": AGENT,
    "hook_progress": HOOK,
    "query_update": ASSISTANT,
    "search_results_received": ASSISTANT,
}


def of_user_line(record: dict, words: str) -> str:
    """The speaker of a line on the user's side that holds no result; `words`: how it begins."""
    if record.get("isCompactSummary") is True:
        return ASSISTANT
    origin, source = _of_origin(record), record.get("promptSource")
    if record.get("isMeta") is True or record.get("isVisibleInTranscriptOnly") is True:
        return origin if origin in (AGENT, HOOK) else _of_meta(record, words, source)
    if origin == USER and (record.get("textNotTyped") is True or record.get("handedOff") is True):
        return CLIENT
    is_marked = origin == USER or (type(source) is str and source != "system")
    if is_marked and words.startswith(_CARRIED):
        return of_words(words)
    if origin:
        return origin
    if record.get("isSidechain") is True:  # in a subagent only a marked line is a person's
        found = of_words(words)
        return AGENT if found == USER else found
    if type(source) is str:
        return CLIENT if source == "system" else USER
    return of_words(words)


def _of_origin(record: dict) -> str:
    """Whom the client names as the origin of a line; "": it names nobody."""
    origin = record.get("origin")
    if type(origin) is not dict or "kind" not in origin:
        return ""
    return _ORIGINS.get(text(origin, "kind"), CLIENT)


def _of_meta(record: dict, words: str, source: object) -> str:
    """The client marks with `isMeta` what it says itself, and what it reads from files for the model."""
    found = of_words(words)
    if found != USER:
        return found
    if type(record.get("sourceToolUseID")) is str:  # a skill that the model has loaded
        return FILE
    if type(source) is str or words.startswith(_PROMPTED):
        return CLIENT
    message = record.get("message")
    # The text of a command, or of a skill that a person has called, comes in blocks.
    return FILE if type(message) is dict and type(message.get("content")) is list else CLIENT


def of_words(words: str) -> str:
    """The speaker of words that carry no mark: of a client that sets none, or of a hook's payload."""
    if words.startswith(_WORDED):
        for speaker, openings in _BY_WORDS:
            if words.startswith(openings):
                return speaker
    is_unknown = words.startswith(_UNKNOWN) and len(words.partition(": ")[2].split()) == 1
    return CLIENT if is_unknown or words in _QUEUED else USER


def of_payload(words: str) -> str:
    """The speaker of a `prompt` as the hook UserPromptSubmit is given it. No mark comes with it, and a
    notice of the client comes in quotation marks."""
    return of_words(words.removeprefix('"'))


def of_block(words: str) -> str:
    """The speaker of a block of text in a line that a person typed: theirs, or the client's beside it."""
    return CLIENT if words.lstrip().startswith(_BESIDE) else USER


def is_around(words: str) -> bool:
    """Return whether a block of text says nothing of who speaks in its line: the client puts it before and
    behind anybody's words."""
    return words.lstrip().startswith(_AROUND)


def of_block_beside(record: dict, words: str) -> str:
    """The speaker of a block of text beside a result: typed while a tool ran. The client's own remarks are
    in brackets."""
    if record.get("isMeta") is True or words.lstrip()[:1] in ("<", "["):
        return CLIENT
    return _of_origin(record) or (AGENT if record.get("isSidechain") is True else USER)


def of_attachment(attachment: dict, words: str, in_subagent: bool) -> str:
    """The speaker of an attachment; `words`: how a prompt begins that waited for its turn."""
    kind = text(attachment, "type")
    if kind == "queued_command":
        if attachment.get("commandMode") == "prompt":
            found = of_user_line(attachment, words)
            return AGENT if found == USER and in_subagent and "origin" not in attachment else found
        found = of_words(words)
        return CLIENT if found == USER else found
    return HOOK if kind.startswith("hook_") else _ATTACHED.get(kind, CLIENT)


def of_result(record: dict, tool: str, is_error: bool, words: str) -> str:
    """The speaker of what came back from a tool; `words`: how it begins. A refusal is the client's; the
    reason in it is the person's (`spoken.reason`)."""
    if not is_error:
        found = _BY_TOOL.get(tool, TOOL)
        return TOOL if found == AGENT and words.startswith(STARTED) else found
    if is_refused(record, tool, words):
        return CLIENT
    if type(record.get("toolDenialKind")) is str:  # by a rule, by a hook, or for want of somebody to ask
        by_rule = record["toolDenialKind"] == "permission-rule" and not words.startswith(_NO_RULE)
        return HOOK if by_rule else CLIENT
    if _BY_HOOK in words[:80] and words.startswith("PreToolUse:"):
        return HOOK
    return CLIENT if words.startswith(_WRONG) and not tool.startswith(_FOREIGN) else TOOL


def is_refused(record: dict, tool: str, words: str) -> bool:
    """Return whether a person said no: not a rule or a hook, and not a tool that only says so."""
    kind = record.get("toolDenialKind")
    if type(kind) is str:
        return kind.startswith("user")
    if "interruptedMessageId" in record:
        return True
    return words.startswith(REFUSED) and not tool.startswith(_FOREIGN) and not _marks_refusals(record)


def _marks_refusals(record: dict) -> bool:
    """Return whether this version marks what a person refused: there, what only says so is a tool's."""
    parts = text(record, "version").split(".")
    version = [int(part) for part in parts[:3] if part.isdecimal() and len(part) < 9]
    return version >= _MARKED_SINCE


def of_record(record: dict) -> str:
    """The speaker of a record that is neither an answer nor a line of the user's side."""
    kind = record.get("type")
    if kind == "system":
        return _LINES.get(text(record, "subtype"), CLIENT)
    if kind == "progress":
        data = record.get("data")
        return _PROGRESS.get(text(data, "type"), CLIENT) if type(data) is dict else CLIENT
    return ASSISTANT if kind == "summary" else CLIENT


def is_command(words: str) -> bool:
    """Return whether the client has written down a command in these words: in tags of its own."""
    return words.startswith(_COMMAND)


def is_typed_command(record: dict, words: str) -> bool:
    """Return whether a person gave that command: not the model, which loads skills, nor another agent."""
    marked = ("isMeta", "isSidechain", "textNotTyped")
    is_theirs = _of_origin(record) in ("", USER) and not any(record.get(mark) is True for mark in marked)
    return is_theirs and is_command(words) and "sourceToolUseID" not in record


def is_client_answer(record: dict, model: str) -> bool:
    """Return whether the client speaks in the shape of an answer: an error of the API, or a stopgap."""
    return record.get("isApiErrorMessage") is True or model == "<synthetic>"
