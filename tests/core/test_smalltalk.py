"""What a person typed: whether it wants something done, or only greets or asks."""

import pytest

from holdfast.core.smalltalk import kind

TYPED = [
    ("hello, where were we", "asks"),
    ("ok then", "asks"),
    ("hi claude!", "asks"),
    ("Hi! Can you tell me where we left off?", "asks"),
    ("What does poll_gauge do? And which port did we choose?", "asks"),
    ("thanks, bye", "asks"),
    ("continue", "asks"),
    ("Let's continue", "asks"),
    ("let's pick up where we left off", "asks"),
    ("remind me what we did", "asks"),
    ("could you explain src/gate.py?", "asks"),
    ("how do i run the tests?", "asks"),
    ("is the gate fixed", "asks"),
    ("don't change anything, just tell me what is left", "asks"),
    ("/holdfast:load", "asks"),
    ("/holdfast:save before the rebase", "asks"),
    ("/compact", "asks"),
    ("run `holdfast report`", "asks"),
    ("Hallo, wo waren wir stehen geblieben", "asks"),
    ("Alles klar, danke. Was fehlt noch?", "asks"),
    ("Guten Morgen! Woran haben wir gearbeitet?", "asks"),
    ("Hola, ¿dónde estábamos?", "asks"),
    ("buenos días, qué queda por hacer", "asks"),
    ("Bonjour, où en étions-nous", "asks"),
    ("d'accord merci", "asks"),
    ("Olá, onde estávamos", "asks"),
    ("Ciao, dove eravamo rimasti?", "asks"),
    ("Привет, на чём мы остановились", "asks"),
    ("спасибо", "asks"),
    ("你好，我们上次做到哪里了", "asks"),
    ("好的，谢谢", "asks"),
    ("上次修改了什么文件？", "asks"),
    ("こんにちは、どこまで進んでいましたか", "asks"),
    ("ありがとう", "asks"),
    ("안녕하세요, 어디까지 했죠?", "asks"),
    ("Fix the gate so that it opens at high tide", "wants"),
    ("hello, please fix src/gate.py", "wants"),
    ("can you fix the gate?", "wants"),
    ("Now write the tide table", "wants"),
    ("Agreed, we go with plain files and never sqlite.", "wants"),
    ("From now on write commit messages in the imperative", "wants"),
    ("Always keep the harbour port at 5433, whatever the linter says", "wants"),
    ("we have a bug in the gate", "wants"),
    ("The gate leaks at high tide", "wants"),
    ("/review the parser", "wants"),
    ("Kannst du den Fehler beheben?", "wants"),
    ("Behebe den Fehler im Tor", "wants"),
    ("Arregla la compuerta, siempre con el puerto 5433", "wants"),
    ("Corrige la porte", "wants"),
    ("Исправь шлюз", "wants"),
    ("修复闸门的错误", "wants"),
    ("用 sqlite，不要用服务器", "wants"),
    ("水門を修正して", "wants"),
    ("수문을 고쳐 주세요", "wants"),
    ("before the rebase", "unknown"),
    ("Napraw błąd w bramie", "unknown"),
    ("the gulls are loud today on the pier", "unknown"),
]


@pytest.mark.parametrize(("words", "expected"), TYPED)
def test_what_was_typed_is_judged(words, expected):
    assert kind(words) == expected


def test_any_text_is_judged():
    for words in (
        "",
        " ",
        "?",
        "？",
        "…",
        "/",
        "\x00",
        "a" * 100_000,
        "。" * 5000,
        "\ud800",
        "👍",
        "1.",
        "-- ",
    ):
        assert kind(words) in ("wants", "asks", "unknown")
