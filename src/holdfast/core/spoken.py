"""What each speaker says in a record of the transcript: their words, without what stands around them.

`speaker` decides who speaks. Only what a person typed may be told as theirs.
"""

from holdfast.core import speaker
from holdfast.core.jsontext import text
from holdfast.core.plain import excerpt
from holdfast.core.redact import public
from holdfast.core.speaker import REFUSED, SENT, STARTED, USER
from holdfast.core.transcript import tag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Redact = Callable[[str], str]

#: So much of one text is looked at; and no secret is longer than what of it is not kept.
LOOKED_AT, _SPARE = 1 << 16, 1 << 12
#: What the client writes before the reason that a person gave for their no.
REASON = "the user said:\n"
#: What the client adds to that reason, and what it says in their name where they gave none.
_ADDED, _GAVE_NONE = "\n\nNote: The user's next message", "The user wants to clarify these questions."
_ANSWERED = (
    "User has answered your questions: ",
    "Your questions have been answered: ",
    "The user answered: ",
)
_GO_ON = ("You can now continue", "Read the answers carefully")
_MOST_QUESTIONS, _QUESTION = 8, 140
#: How a command for the model begins: one that the client carries out itself is written in another order.
_FOR_MODEL = "<command-message>"
#: What may be typed and is nothing for the model.
TO_CLIENT = ("", "/compact", "/clear", "/exit", "/quit")
#: Around a plan for which the client empties the window: its own words, where the plan was made, and what
#: the person typed when they accepted it.
_EDITED = "## Approved Plan (edited by user):\n"
_BEGIN_WITH = "Implement the following plan:\n\n"
_MADE_IN, _FEEDBACK = "read the full transcript at: ", "\n\nUser feedback on this plan: "
#: The client's own words stand at the end; a summary may say the same further up.
_AROUND = 800
#: Characters of what the client says before what it hands over.
HEAD = 200
#: Before what the lead of a subagent asks of it: those are not the words of a person.
FROM_LEAD = "From the lead: "
_SUMMARY_ENDS = (
    "If you need specific details from before",
    "Please continue the conversation",
    "Continue the",
)
_HANDED_BACK = "The report follows:\n"
_PRIVATE_ENDS = "</private"
_AGENT_ID = "\nagentId: "
_MESSAGE = (" -m", " -am", " --message")
_SIGNED = ("Co-Authored-By", "Co-authored-by", "🤖", "Signed-off-by")


def redacted(words: str, redact: "Redact", most: int = LOOKED_AT) -> str:
    """As much as is looked at, without what is private. What is cut is cut afterwards: half a secret is not
    known as one."""
    words = public(words) if len(words) > most else words
    return redact(words) if len(words) <= most else redact(words[:most])[:-_SPARE]


# A person


def plan(record: dict) -> str:
    """A plan that a person accepted, where the client begins anew with it. The words are the model's."""
    return text(record, "planContent")


def edited_plan(words: str) -> str:
    """A proposed plan as the person changed it before they accepted it; "": they did not."""
    return words.partition(_EDITED)[2]


def _behind(record: dict) -> tuple[str, str]:
    """(where the plan was made, what the person typed with it)."""
    behind = said(record).partition(_BEGIN_WITH + plan(record))[2]
    around, _, words = behind.partition(_FEEDBACK)
    return around.partition(_MADE_IN)[2].partition("\n")[0].strip(), words


def accepted(record: dict) -> str:
    """That plan, and where all that led to it can be read."""
    place = _behind(record)[0] if plan(record) else ""
    return f"{plan(record)}\n\nPlanned in {place}" if place else plan(record)


def asked(record: dict) -> str:
    """What is to be done: in the words of who asks for it, or by the plan that a person accepted."""
    return "\n".join(filter(None, (plan(record), typed(record))))


def typed(record: dict) -> str:
    """What was typed, in a line that holds a prompt: by a person, or, in a subagent, by its lead."""
    if plan(record):
        return _behind(record)[1]
    message = record.get("message")
    content = message.get("content") if type(message) is dict else None
    if type(content) is not list:
        words = joined(content)
        return slash_command(record) if speaker.is_command(words) else words
    texts = [text(block, "text") for block in content if type(block) is dict]
    return "\n".join(words for words in texts if speaker.of_block(words) == USER)


def beside_results(record: dict) -> str:
    """What was typed while a tool ran."""
    texts = [text(block, "text") for block in blocks(record) if block.get("type") == "text"]
    return "\n".join(words for words in texts if speaker.of_block_beside(record, words) == USER)


def slash_command(record: dict) -> str:
    """A slash command with what was typed after it; alone it is a prompt only where it gives the model
    something to do. Only where the client writes it: elsewhere the same tags are anybody's words."""
    words = said(record)
    if not speaker.is_typed_command(record, words):
        return ""
    command, given = tag(words, "command-name"), tag(words, "command-args")
    if not command.startswith("/"):
        return ""
    if command and given:
        return f"{command} {given}"
    return command if words.startswith(_FOR_MODEL) else ""


def reason(record: dict, words: str) -> str:
    """What they said with their no. What an interrupted tool had printed by then is not theirs."""
    interrupted = "interruptedMessageId" in record and "toolDenialKind" not in record
    said = words.partition(REASON)[2] if words.startswith(REFUSED) and not interrupted else ""
    said = text(record, "userFeedback") or said
    return "" if said.startswith(_GAVE_NONE) else said.partition(_ADDED)[0]


def answers(record: dict, words: str, redact: "Redact") -> list[tuple[str, str]]:
    """(question and answer, what of it was typed). Questions and options are the model's; a note, and an
    answer that is none of the options, were typed."""
    result = record.get("toolUseResult")
    given = result.get("answers") if type(result) is dict else None
    if type(result) is not dict or type(given) is not dict:
        for opening in _ANSWERED:
            words = words.removeprefix(opening)
        said = min((words.partition(end)[0] for end in _GO_ON), key=len)
        return [(f"Asked and answered by the user: {said}", "")]
    notes, offered = result.get("annotations"), _offered(result.get("questions"))
    found = []
    for question, answer in list(given.items())[:_MOST_QUESTIONS]:
        chosen = ", ".join(map(str, answer)) if type(answer) is list else str(answer)
        note = notes.get(question) if type(notes) is dict else None
        noted = text(note, "notes") if type(note) is dict else ""
        if not noted and question in offered and _is_typed(chosen, offered[question]):
            noted = chosen
        asked = excerpt(redacted(question, redact), _QUESTION)
        found.append((f"Asked: {asked} The user answered: {chosen}", noted))
    return found


def _offered(questions: object) -> dict[str, list[str]]:
    """The options of each question."""
    found = {}
    for one in questions if type(questions) is list else ():
        options = one.get("options") if type(one) is dict else None
        if type(options) is list:
            found[text(one, "question")] = [text(each, "label") for each in options if type(each) is dict]
    return found


def _is_typed(answer: str, options: list[str]) -> bool:
    """Whether something is left of an answer without the options that were chosen."""
    for option in sorted(options, key=len, reverse=True):
        if option:
            answer = answer.replace(option, "")
    return bool(answer.strip(" ,"))


# The model, its agents, and the client


def summary(record: dict) -> str:
    """Without what the client says around it."""
    words = said(record)
    words = words.partition("Summary:")[2] or words
    last = words[-_AROUND:]
    return words[:-_AROUND] + min((last.partition(end)[0] for end in _SUMMARY_ENDS), key=len)


def sent(record: dict) -> str:
    """What another session has sent, as the client wraps it."""
    words = said(record)
    for opening in SENT:
        if opening in words[:HEAD]:
            name = opening[1:].partition(" ")[0]
            parts = [part.partition(opening) for part in words.split(f"</{name}>")]
            return "\n\n".join(part.partition(">")[2] for _, found, part in parts if found)
    return ""


def tail(words: str, most: int) -> str:
    """The end of a text, from the beginning of a line; without what is left of a key or of a private part
    whose beginning was cut off: half a secret is not known as one."""
    words = public(words)
    if len(words) > most:
        words = words[-most:].partition("\n")[2]
    last = words.lower().rfind(_PRIVATE_ENDS)  # none is left that began in what is here
    if last >= 0:
        words = words[last:].partition(">")[2]
    begins, ends = words.find("-----BEGIN "), words.find("-----END ")
    return words[ends:].partition("\n")[2] if ends >= 0 and not 0 <= begins < ends else words


def report(words: str) -> str:
    """What an agent came back with: not that it was started, nor how to go on with it."""
    if words.startswith(STARTED):
        return ""
    words = words.rpartition(_HANDED_BACK)[2]
    before, found, _ = words.rpartition(_AGENT_ID)
    return before if found else words


def commit_message(command: str) -> str:
    """What was given with -m, or in a here-document, without the signatures."""
    given = command.partition("git commit")[2]
    places = [(at, flag) for flag in _MESSAGE if (at := given.find(flag)) >= 0]
    at, flag = min(places, default=(0, ""))
    words = given[at + len(flag) :].lstrip(" =")
    quote = words[:1]
    if not flag or words[1:].lstrip().startswith("$(") or quote not in ("'", '"'):
        opening, _, rest = given.partition("<<")[2].partition("\n")
        end = opening.split(" ")[0].strip("-'\"\\ )")
        body = rest.partition("\n" + end)[0] if end else ""
    else:
        body = words[1:].partition(quote)[0]
    return "\n".join(line for line in body.split("\n") if not line.strip().startswith(_SIGNED))


# Records


def said(record: dict) -> str:
    message = record.get("message")
    return joined(message.get("content")) if type(message) is dict else ""


def blocks(record: dict) -> list:
    message = record.get("message")
    content = message.get("content") if type(message) is dict else None
    return [block for block in content if type(block) is dict] if type(content) is list else []


def joined(content: object) -> str:
    if type(content) is str:
        return content
    parts = content if type(content) is list else ()
    return "\n".join(text(part, "text") for part in parts if type(part) is dict)
