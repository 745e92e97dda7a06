"""The facts of made sessions, taken in without a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from holdfast.core.facts import Facts
from holdfast.core.lines import Account, records
from holdfast.core.redact import Redactor
from holdfast.core.transcript import entry
from session import Script

#: Of several scripts, with marks and signs as people use them.
OTHER_SCRIPTS = {
    "Chinese": "请始终使用端口五四三三。不要修改迁移文件，因为生产环境依赖它们！下一步是什么？",
    "Japanese": "必ずテストを実行してください。データベースは触らないで。次に画面を直します。",
    "Russian": "Всегда запускай линтер перед коммитом. Не трогай миграции: от них зависит прод!",
    "Arabic": "استخدم المنفذ ٥٤٣٣ دائماً. لا تغيّر ملفات الترحيل؟",
    "Hindi": "हमेशा परीक्षण चलाओ। माइग्रेशन मत बदलो।",
    "emoji": "🚀 ship it 👍🏽 but 🚫 never on a Friday 🙈🙉🙊",
    "German": "Bitte niemals direkt auf den Hauptzweig schieben – immer über einen Antrag.",
}


def facts_of(
    script: Script | Iterable[bytes],
    agent: str = "",
    redact: Callable[[str], str] | None = None,
    known: Facts | None = None,
) -> Facts:
    """Of a script, or with what is `known` of lines that come next."""
    facts = known or Facts()
    offset = facts.offset
    for raw in script.lines if isinstance(script, Script) else script:
        for record in records(raw, Account()):
            made = entry(record, offset, len(raw))
            if made is not None and made.agent == agent:
                facts.take(record, made, redact or Redactor(b"k").text)
        offset += len(raw)
    facts.offset = offset
    return facts


def said(facts: Facts, *kinds: int) -> list[str]:
    """The units of these kinds (or of all), in order."""
    wanted = {saying[5] for saying in facts.sayings if not kinds or saying[0] in kinds}
    return [row[1] for row in facts.units if row[0] in wanted]


def kinds(facts: Facts) -> list[int]:
    return [saying[0] for saying in facts.sayings]
