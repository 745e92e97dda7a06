"""How much of the window a piece of a transcript takes, before the price of a character is known.

A size is two numbers: `units` (characters as the tokenizer weighs them, to be divided by a ratio
that is learned per session) and `tokens` (costs known outright: wrapping, images). The constants
were fitted on real sessions with the API's own usage; `bench/gauge.py` shows what they are worth.
"""

#: Tokens around a tool result, a prompt or an attachment; around a tool call; of any image.
PER_ITEM, PER_TOOL_USE, IMAGE, TOOL_SCHEMA = 15, 60, 1500, 500
#: What the model writes is cheaper per character than what it is given.
TEXT, INPUT, THINKING = 0.85, 0.9, 0.8
#: Where thinking is not shown, its length shows in its signature.
SIGNATURE_CHARS, SIGNATURE_BASE = 3.6, 70

_FIELDS = {
    "hook_additional_context": ("content",),
    "edited_text_file": ("snippet",),
    "queued_command": ("prompt",),
    "agent_listing_delta": ("addedLines",),
    "deferred_tools_delta": ("addedNames", "addedLines"),
    "mcp_instructions_delta": ("addedBlocks",),
    "total_tokens_reminder": ("text",),
    "invoked_skills": ("skills",),
    "read_truncation_notice": ("banner",),
    "hook_blocking_error": ("blockingError",),
    "plan_file_reference": ("planContent",),
    "instructions": ("files",),
}
_FIXED = {
    "date_change": 60,
    "compact_file_reference": 40,
    "plan_mode": 600,
    "plan_mode_exit": 100,
    "auto_mode": 600,
}
_UNSEEN = frozenset(
    (
        "hook_system_message",
        "command_permissions",
        "async_hook_response",
        "hook_cancelled",
        "hook_non_blocking_error",
        "prompt_snapshot",
    )
)
_REMINDERS = ("task_reminder", "todo_reminder")
_DEEPEST, _MOST_BLOCKS = 12, 4096


def units(text: str) -> float:
    """Characters, with letters of other scripts counted for more: half of their extra bytes in
    UTF-8. Typographic marks, arrows and box drawing (U+2000 to U+2FFF, all of which begin with the
    byte E2) take three bytes but about one token, like ASCII."""
    size = len(text)
    if text.isascii():
        return size
    data = text.encode("utf-8", "replace")
    return size + max(0, len(data) - size - 2 * data.count(b"\xe2")) / 2


def leaves(value: object, depth: int = 0) -> float:
    """Units of every string inside a value."""
    if type(value) is str:
        return units(value)
    if depth > _DEEPEST:
        return 0
    if type(value) is list:
        return sum(leaves(item, depth + 1) for item in value)
    if type(value) is dict:
        return sum(leaves(item, depth + 1) for item in value.values())
    return 0


def of_content(content: object, depth: int = 0) -> tuple[float, float]:
    """(units, tokens) of the content of a user message or of a tool result."""
    if type(content) is str:
        return units(content), 0
    total, tokens = 0.0, 0.0
    if type(content) is not list or depth > 2:
        return total, tokens
    for block in content[:_MOST_BLOCKS]:
        if type(block) is str:
            total += units(block)
        elif type(block) is dict:
            kind = block.get("type")
            if kind == "text":
                total += leaves(block.get("text"))
            elif kind == "tool_result":
                more, fixed = of_content(block.get("content"), depth + 1)
                total += more
                tokens += fixed + PER_ITEM
            elif kind in ("image", "document"):
                tokens += IMAGE
            elif kind == "tool_reference":
                tokens += TOOL_SCHEMA
    return total, tokens


def of_input(value: object) -> float:
    """Units of a tool call's input: its strings and the JSON around them."""
    if type(value) is not dict:
        return 0
    return INPUT * (leaves(value) + 6 * len(value))


def of_thinking(block: dict) -> tuple[float, float]:
    thought = block.get("thinking")
    if type(thought) is str and thought:
        return THINKING * units(thought), 0
    signature = block.get("signature")
    if type(signature) is not str:
        return 0, 0
    return 0, max(0, len(signature) / SIGNATURE_CHARS - SIGNATURE_BASE)


def of_attachment(attachment: dict) -> tuple[float, float]:
    """(units, tokens) of an attachment line: only what the model is shown of it."""
    kind = attachment.get("type")
    if type(kind) is not str:
        return 0, 0
    if attachment.get("rendered"):
        return leaves(attachment["rendered"]), PER_ITEM
    if kind in _UNSEEN:
        return 0, 0
    if kind == "hook_success":  # only these two events show a hook's plain output to the model
        shown = attachment.get("hookEvent") in ("SessionStart", "UserPromptSubmit")
        return (leaves(attachment.get("content")), PER_ITEM) if shown else (0, 0)
    if kind in _REMINDERS:
        items = attachment.get("content")
        items = [i for i in items if type(i) is dict] if type(items) is list else []
        subjects = (i.get("subject") or i.get("content") or "" for i in items)
        return sum((leaves(subject) + 15.0 for subject in subjects), 0.0), 130
    if kind == "diagnostics":  # one line each reaches the model, not the JSON
        return 0.6 * leaves(attachment.get("files")), PER_ITEM
    if kind in _FIXED:
        return 0, _FIXED[kind]
    content = attachment.get("content")
    if (
        type(content) is dict and content.get("type") == "image"
    ):  # a file that was named; its bytes in base64
        return 0, IMAGE
    fields = _FIELDS.get(kind, ("content",))
    return sum((leaves(attachment.get(field)) for field in fields), 0.0), PER_ITEM
