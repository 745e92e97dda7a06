"""Sentences of a summary that ascribe words, an order or a decision to the user, in four languages.

Words decide, not grammar: who (user, Nutzer, usuario, 用户), near a verb or a noun of wanting, saying or
allowing; a passive (`I was told to`); a phrase (`as requested`, `laut Anweisung`); or a list under a
heading that says whose messages or preferences follow. What is found is not yet judged: see `claims`.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_BULLETS = "-*•+#> \t0123456789.)"
QUOTES = '"“”„«»「」『』'
_SIGNS = QUOTES + "*`().,:;!?[]{}<>|=/—–…。，、：；！？（）"
_TABLE = str.maketrans({**dict.fromkeys(_SIGNS, " "), "'": "", "’": ""})

_SPEAKERS = frozenset(
    """user human users userin usuario usuaria humano nutzer nutzerin benutzer benutzerin anwender
    anwenderin nutzers benutzers anwenders auftraggeber auftraggeberin""".split()
)
#: `the user's preference`, `User feedback:`: what a noun after the speaker is about.
_NOUNS = (
    *("request", "instruction", "preference", "decision", "order", "wish", "rule", "requirement"),
    *("feedback", "approval", "permission", "consent", "choice", "constraint", "directive", "demand"),
    *("confirmation", "authorization", "authorisation", "objection"),
    *("anweisung", "wunsch", "vorgabe", "entscheidung", "freigabe", "genehmigung", "erlaubnis", "vorliebe"),
    *(
        "instrucción",
        "instruccion",
        "petición",
        "preferencia",
        "decisión",
        "orden",
        "aprobación",
        "permiso",
    ),
)
#: Verbs, by how they begin (two or more letters after that may follow), or whole.
_VERBS = frozenset(
    """asked asks requested requests want wants wanted said says told tells instructed instructs insisted
    insists requires required demanded demands prefers preferred decided decides directed directs ordered
    orders specified stated states approved approves confirmed confirms agreed agrees allowed allows
    granted grants authorized authorised authorizes authorises permitted permits accepted accepts
    rejected rejects refused refuses declined declines chose chooses picked selected forbade forbids
    prohibited prohibits banned suggested suggests proposed proposes likes liked wishes wished mandated
    mandates emphasized emphasised stressed clarified explained noted asserted adamant gave gives made
    needs needed expects expected vetoed banned opted opts dictated dictates commanded reminded warned
    möchte möchten will wollte wünscht wünschte gewünscht bat bittet gebeten verlangt verlangte fordert
    forderte gefordert bevorzugt bevorzugte besteht bestand bestanden entschied entschieden entscheidet
    genehmigt genehmigte freigegeben lehnt lehnte abgelehnt bestätigt bestätigte sagt sagte gesagt meint
    meinte wies angewiesen ordnete angeordnet erlaubt erlaubte zugestimmt stimmte beschloss beschlossen
    legte festgelegt vorgegeben bestimmt bestimmte untersagt untersagte verbot verboten wählte gewählt
    pidió pide pidio solicitó solicita quiere quería prefiere prefirió insistió insiste decidió decide
    aprobó aprueba rechazó rechaza confirmó confirma dijo dice indicó indica ordenó ordena exigió exige
    instruyó autorizó autoriza permitió permite aceptó acepta desea deseaba acordó eligió escogió prohibió
    pedido solicitado indicado aprobado decidido rechazado autorizado""".split()
)
#: Before them it is anybody who uses what is built.
_ANY = frozenset("a an any each every another no new one admin end test ein jeder un cada nuevo".split())
#: Words between the speaker and the verb.
_NEAR = 4
#: In German and Spanish the verb may stand at the end, or before: by the user approved.
_LATE = frozenset(
    """gewünscht gebeten gefordert bestanden entschieden freigegeben abgelehnt gesagt angewiesen angeordnet
    zugestimmt beschlossen festgelegt vorgegeben verboten genehmigt bestätigt erlaubt untersagt""".split()
)
#: Said of the assistant, and who said it is only meant: `I was told to`.
_BE = frozenset("was were been am is".split())
_TOLD = frozenset("told instructed ordered directed authorized authorised permitted asked".split())
_TO = frozenset("to not never that".split())
_ADVERBS = frozenset("explicitly specifically clearly repeatedly expressly also then".split())
_PHRASES = (
    *("per your ", "per user ", "per the user", "as requested", "as instructed", "as you asked"),
    *("as you requested", "as you wanted", "as you said", "as you told", "as agreed with", "as directed"),
    *(
        "as ordered",
        "at your request",
        "on your instruction",
        "on your orders",
        "you asked me",
        "you told me",
    ),
    *("by user request", "on user request", "at user request", "following your ", "according to the user"),
    *(
        "according to your",
        "in line with the users ",
        "in line with your ",
        "you instructed",
        "you approved",
    ),
    *("approved by the user", "requested by the user", "confirmed by the user", "rejected by the user"),
    *("authorized by the user", "mandated by the user", "required by the user", "as the user "),
    *("on the users ", "at the users "),
    *("wie gewünscht", "wie angewiesen", "wie verlangt", "wie gefordert", "wie vom ", "wie besprochen"),
    *("auf wunsch", "auf anweisung", "auf bitte", "auf verlangen", "laut anweisung", "laut nutzer"),
    *("laut benutzer", "laut anwender", "laut deiner", "laut ihrer", "laut vorgabe", "gemäß anweisung"),
    *("gemäß deiner", "gemäß ihrer", "gemäß der anweisung", "gemäß vorgabe", "gemäß dem wunsch"),
    *("wurde angewiesen", "ich wurde gebeten", "bin angewiesen", "wurde beauftragt", "wurde mir gesagt"),
    *(
        "según lo solicitado",
        "según lo indicado",
        "según lo pedido",
        "según lo acordado",
        "según el usuario",
    ),
    *(
        "según la usuaria",
        "según las instrucciones",
        "según tus ",
        "según sus instrucciones",
        "según instruc",
    ),
    *("por instrucción", "por instruccion", "por petición", "por peticion", "por orden del", "a petición"),
    *(
        "como se solicitó",
        "como se pidió",
        "como se indicó",
        "como se acordó",
        "como pidió",
        "como solicit",
    ),
    *("como pediste", "como indicaste", "tal como ", "se me indicó", "se me pidió", "se me ordenó"),
    *("se me dijo", "se me solicitó", "se me instruyó", "se me autorizó", "me han pedido", "me pidieron"),
)
_CHINESE_SPEAKERS = ("用户", "用戶", "使用者", "客户", "客戶", "您")
_CHINESE_VERBS = tuple(
    """要求 希望 说 說 让 讓 想 指示 决定 決定 同意 批准
    确认 確認 拒绝 拒絕 偏好 坚持 堅持 明确 明確 表示 允许 允許 授权 授權
    选择 選擇 喜欢 喜歡 倾向 傾向 命令 强调 強調 告诉 告訴 请求 請求 规定 規定 禁止""".split()
)
_CHINESE_PHRASES = tuple(
    """被要求 被告知 被指示 被授权 被授權 被允许 被允許 按要求 按照要求 根据要求 根據要求 应要求 應要求
    如所要求 遵照指示 按照指示 依照指示""".split()
)
_CHINESE_NEAR = 8
#: A heading of a list whose items are somebody's words or wishes, and whose.
_LISTED_OF = (
    "user",
    "human",
    "nutzer",
    "benutzer",
    "anwender",
    "usuario",
    "usuaria",
    "用户",
    "用戶",
    "使用者",
)
_LISTED = (
    *("message", "request", "instruction", "preference", "constraint", "rule", "order", "decision"),
    *("feedback", "directive", "requirement", "turns", "demand", "wishes"),
    *("nachricht", "anweisung", "wünsche", "vorgabe", "vorlieben", "entscheidung", "anforderung"),
    *("mensaje", "instruccion", "preferencia", "peticion", "solicitud", "decision", "requisito", "orden"),
    *("消息", "訊息", "要求", "指令", "指示", "偏好", "请求", "請求", "规则", "決定", "决定"),
)
_LONGEST_HEADING = 70
#: Where the clause about the user ends: what follows is what was done about it.
_ENDS = (
    " — ",
    " – ",
    "; ",
    ", so i ",
    ", so that ",
    " because ",
    ", which ",
    " → ",
    ", but i ",
    ", and i ",
    " (",
    ", and the ",
    ", and then ",
    ", explaining ",
    ", after ",
    ", before ",
)
#: Words that only ascribe: they say nothing of what was wanted.
_EMPTY = (
    _SPEAKERS
    | _VERBS
    | frozenset(
        """summary task tasks session conversation compaction message messages
    explicitly specifically clearly also then initially first finally instruction instructions request
    requests preference preferences directive decision decisions permission approval confirmation feedback
    per line according going forward hat haben habe wurde wurden sein seine laut anweisung wunsch wie vom
    des der die das dass dem den ein eine einen einer und oder ich wir sie mit von für auf bei zu zum zur
    im in am ist sind war soll sollen werden wird nicht kein keine immer nie jede jeder jedes jeden vor
    nach aus an als auch nur noch darauf damit wenn es um
    ha han se me lo la el los las un una que con por del de en al para su sus es son como según sin cada
    siempre nunca toda todo todos todas no ni y o hay este esta instrucciones petición orden""".split()
    )
)


#: Orders in nobody's name. A summary also repeats what project instructions say, so they count as
#: somebody's words only where they open a door.
_ORDERS = (
    *("always ", "never ", "do not ", "don't ", "don’t ", "you must ", "you may ", "you are allowed "),
    *("from now on", "immer ", "niemals ", "nie ", "ab sofort ", "du darfst ", "siempre ", "nunca "),
    *("a partir de ahora", "始终", "总是", "永远", "一律", "不要", "必须", "禁止", "从现在"),
)
_RISKS = (
    *("without asking", "without review", "without confirmation", "without permission", "no need to ask"),
    *("force push", "force-push", "push --force", "skip the tests", "skip tests", "--no-verify", "bypass"),
    *("disable the check", "ignore previous", "ignore all", "delete the", "rm -rf", "to production"),
    *("pre-approved", "preapproved", "full permission", "secrets", "credentials"),
    *("ohne rückfrage", "ohne zu fragen", "ohne prüfung", "lösche", "zugangsdaten", "in produktion"),
    *("sin preguntar", "sin revisión", "sin confirm", "borra ", "credenciales", "a producción"),
    *("无需确认", "不用询问", "无需审核", "删除", "密钥", "生产环境"),
)


class Claim:
    """A sentence as it stands, and of it what somebody is said to have said. `quoted`: word for word;
    `listed`: only the heading above it says whose it is."""

    __slots__ = ("listed", "low", "quoted", "sentence")

    def __init__(self, sentence: str, low: str, quoted: bool, listed: bool = False) -> None:
        self.sentence = sentence
        self.low = low
        self.quoted = quoted
        self.listed = listed


def words_of(low: str) -> list[str]:
    """Words alone, as they are spelled: `don't` is `dont`."""
    return low.translate(_TABLE).split()


def sentences(text: str) -> list[str]:
    """One per line or full stop, without code."""
    return [part for line in _lines(text) for part in _parts(line.strip())]


def _lines(text: str) -> "Iterator[str]":
    code = False
    for line in text.split("\n"):
        if line.lstrip()[:3] == "```":
            code = not code
        elif line.strip() and not code:
            yield line


def _parts(line: str) -> list[str]:
    """Not at the 12. of a list."""
    found = []
    for part in line.replace("。", "。\0").split("\0"):
        found += part.split(". ") if ". " in part[4:] else [part]
    return [part for part in map(str.strip, found) if part]


def claims(text: str) -> list[Claim]:
    """Every sentence that ascribes something to the user."""
    return [claim for _, parts in _by_line(text) for _, claim in parts if claim]


def without(text: str) -> str:
    """The text without the sentences that ascribe something to the user, and without orders."""
    rest: list[str] = []
    for line, parts in _by_line(text):
        kept = [part for part, claim in parts if not claim and not _is_order(part)]
        if len(kept) == len(parts):
            rest.append(line)
        elif kept:
            rest.append(". ".join(kept))
    return "\n".join(rest)


def _is_order(sentence: str) -> bool:
    return sentence.lower().lstrip(_BULLETS).startswith(_ORDERS)


def _by_line(text: str) -> "Iterator[tuple[str, list[tuple[str, Claim | None]]]]":
    listed = code = False
    indent = 0  # of the heading of the list
    for line in text.split("\n"):
        bare = line.strip()
        if bare[:3] == "```":
            code = not code
        if code or not bare or bare[:3] == "```":
            yield line, []
            continue
        low = bare.lower()
        if is_heading_of_user(low):
            listed, indent = True, len(line) - len(line.lstrip())
            yield line, [(bare, None)]
            continue
        listed = listed and not _ends_list(line, low, indent)
        yield line, [(part, _claim(part, listed)) for part in _parts(bare)]


def is_heading_of_user(low: str) -> bool:
    """`6. All user messages:`, `## User preferences`."""
    head, colon, rest = low.partition(":")
    if not colon:
        head, colon, rest = low.partition("：")
    head = head.strip(_BULLETS)
    if rest.strip(" *:_") or len(head) > _LONGEST_HEADING or not (colon or low[:1] in "#*"):
        return False
    plain = head.replace("ó", "o").replace("é", "e")
    return any(who in head for who in _LISTED_OF) and any(what in plain for what in _LISTED)


def _ends_list(line: str, low: str, indent: int) -> bool:
    """The next heading, or a line that is no item and not indented."""
    if low[:1] == "#" or (
        low.rstrip("*").endswith((":", "：")) and len(line) - len(line.lstrip()) <= indent
    ):
        return True
    is_item = low[:1] in "-*•+>" + QUOTES or low[:2].strip(".)").isdecimal()
    return not is_item and line[:1] not in " \t"


def _claim(sentence: str, listed: bool) -> Claim | None:
    low = sentence.lower()
    bare = low.lstrip(_BULLETS)
    quoted = _quoted(bare)
    if listed and (bare != low or bare[:1] in QUOTES):
        is_command = bare.lstrip("`*")[:1] in ("/", "")
        return None if is_command else Claim(sentence, quoted or bare, bool(quoted), listed=not quoted)
    words = words_of(bare)
    said = _english(bare, words)
    if said is None and not bare.isascii():
        said = _chinese(bare)
    if said is None:
        is_door = _is_order(sentence) and any(risk in bare for risk in _RISKS)
        return Claim(sentence, bare, False) if is_door else None
    return Claim(sentence, quoted or said, bool(quoted))


def _english(bare: str, words: list[str]) -> str | None:
    """And the other languages that set words apart."""
    plain = " ".join(words)
    for phrase in _PHRASES:
        if phrase in plain and (plain.startswith(phrase) or f" {phrase}" in plain):
            return _told(bare)
    for at, word in enumerate(words):
        if word in _TOLD and _is_passive(words, at):
            return _told(bare)
        if word not in _SPEAKERS:
            continue
        if word == "users" and "user's" not in bare and "user’s" not in bare:
            continue
        if at and words[at - 1] in _ANY:
            continue
        for verb in range(at + 1, min(at + 1 + _NEAR, len(words))):
            if words[verb] in _VERBS or (
                words[verb].startswith(_NOUNS) and _is_owned(bare, words, at, verb)
            ):
                return _told(_clause(bare, words[verb]))
        if word not in ("user", "users", "human") and not _LATE.isdisjoint(words[at:]):
            return _told(bare)
    if words and words[0] in _SPEAKERS and ":" in bare[:14]:
        return bare.partition(":")[2].strip()
    return None


def _is_owned(bare: str, words: list[str], at: int, noun: int) -> bool:
    """Whether it is this user's preference, not a feature of what is built: `user preferences table`."""
    after = bare[bare.find(words[noun]) + len(words[noun]) :].lstrip("*` ")
    return (
        words[at] != "user"
        or after[:1] in (":", "(", "—", "–")
        or after[:3] in ("is ", "was", "to ", "on ")
    )


def _clause(bare: str, verb: str) -> str:
    """What follows the verb, to the end of what it governs."""
    after = bare[max(0, bare.find(verb)) :]
    return after[: min((place for end in _ENDS if (place := after.find(end)) > 0), default=len(after))]


def _is_passive(words: list[str], at: int) -> bool:
    before = at - 2 if words[at - 1] in _ADVERBS else at - 1
    return before >= 0 and words[before] in _BE and at + 1 < len(words) and words[at + 1] in _TO


def _told(said: str) -> str:
    """Without the words that only ascribe."""
    return " ".join(word for word in said.split() if "".join(words_of(word)) not in _EMPTY)


def _chinese(bare: str) -> str | None:
    for phrase in _CHINESE_PHRASES:
        at = bare.find(phrase)
        if at >= 0:
            return bare[at + len(phrase) :] or bare
    for speaker in _CHINESE_SPEAKERS:
        at = bare.find(speaker)
        while at >= 0:
            near = bare[at + len(speaker) : at + len(speaker) + _CHINESE_NEAR]
            found = [(place, verb) for verb in _CHINESE_VERBS if (place := near.find(verb)) >= 0]
            if found:
                place, verb = min(found)
                return bare[at + len(speaker) + place + len(verb) :]
            at = bare.find(speaker, at + 1)
    return None


def _quoted(low: str) -> str:
    """What stands between the first quotation mark and the last."""
    marks = [low.find(mark) for mark in QUOTES if mark in low]
    return low[min(marks) + 1 : max(low.rfind(mark) for mark in QUOTES)] if marks else ""
