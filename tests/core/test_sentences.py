"""What a sentence is, in several languages: an order, a decision, neither."""

import pytest

from holdfast.core.sentences import (
    Demand,
    deciding,
    is_open_issue,
    is_order,
    is_reason,
    proposed,
    replaces,
    reply,
)

ORDERS = [
    "Always keep the port at 5433.",
    "never touch the migrations",
    "Please don't commit without asking me first.",
    "Use integer cents for money.",
    "From now on write commit messages in English.",
    "No new dependencies, please.",
    "You must run make lint before every commit.",
    "Schreib alle Kommentare auf Englisch.",
    "Bitte niemals direkt auf main pushen.",
    "Utilise toujours des entiers pour les montants.",
    "Ne touche pas aux migrations.",
    "Nunca uses variables globales.",
    "Sempre rode os testes antes de terminar.",
    "Non usare mai print nei test.",
    "Всегда запускай линтер перед коммитом.",
    "必须使用中文写注释。",
    "不要修改迁移文件",
    "必ずテストを実行してください。",
    "항상 한국어로 답하세요.",
]
NO_ORDERS = [
    "Fix the login page.",
    "Why does it never work?",
    "It always fails with a timeout.",
    "Should we always use UTC?",
    "looks better, only the rows are too small",
    "Behebe den Fehler im Tor.",
    "Corrige l'erreur dans la vanne.",
    "修复闸门的错误",
    "Add a test for the parser and run it.",
    "You are not allowed to access 'gate.keeper' (gate.keeper) records.",
]
DECISIONS = [
    "We chose sqlite because there is no network.",
    "I'll use a queue instead of a lock.",
    "Going with Postgres rather than Redis for the queue.",
    "Kept it as a sibling file rather than merging it into the database.",
    "The fallback is deliberately not retried.",
    "Per your decision the config stays in TOML.",
    "This package can't import strategy. I'll pass the strategy as a parameter here.",
    "Wir nehmen sqlite statt Postgres.",
    "J'ai choisi sqlite plutôt que Postgres.",
    "Hemos decidido usar colas en lugar de bloqueos.",
    "Мы решили использовать sqlite вместо Postgres.",
    "最终采用 sqlite，而不是 Postgres。",
    "sqlite を採用しました。",
]
NO_DECISIONS = [
    "Want me to use a queue instead of a lock?",
    "Good — 274 passed.",
    "Clean. Summary of this change: the parser is faster.",
    "I would keep a sliding window instead of a fixed one.",
    "I'd recommend Postgres rather than Redis.",
    "Let me read the file instead of guessing.",
    "The bug is that it returns nil instead of an error.",
    "We could use Redis instead.",
    "Option A: use Redis rather than Postgres.",
    "Level so far; the tail decides.",
    "Soll ich lieber sqlite nehmen?",
    "建议使用 sqlite 而不是 Postgres。",
    "All tests pass now, and nothing is left.",
]


@pytest.mark.parametrize("words", ORDERS)
def test_it_is_an_order_that_stays(words):
    assert is_order(words)


@pytest.mark.parametrize("words", NO_ORDERS)
def test_it_is_no_order_that_stays(words):
    assert not is_order(words)


@pytest.mark.parametrize("words", DECISIONS)
def test_it_tells_a_decision(words):
    assert deciding(words) == words


@pytest.mark.parametrize("words", NO_DECISIONS)
def test_it_tells_no_decision(words):
    assert deciding(words) == ""


def test_of_a_unit_the_decision_and_its_reason_are_told_and_nothing_else():
    told = "We chose sqlite over a server. It needs no network, so that it runs anywhere."
    assert deciding(f"The suite is green. {told} Next?") == told


@pytest.mark.parametrize(
    ("later", "earlier", "does"),
    [
        ("Forget the port 5433, use 6000 from now on.", "Always keep the port at 5433.", True),
        ("Actually, use spaces instead of tabs.", "Use tabs.", True),
        ("Keep the port at 6000.", "Keep the port at 5433.", True),
        ("Never use tabs.", "Always use tabs.", True),
        ("Ab jetzt Kommentare auf Deutsch.", "Schreib Kommentare auf Englisch.", True),
        ("Never change lamp1 on pier1.", "Never change lamp0 on pier0.", False),
        ("Never use print; use logging instead.", "Always use logging for errors.", False),
        ("Always run the linter.", "Never touch the migrations.", False),
    ],
)
def test_an_order_takes_another_back_only_where_it_is_about_the_same(later, earlier, does):
    assert replaces(Demand(later), Demand(earlier)) is does


def test_an_answer_agrees_or_not_where_it_begins_so():
    assert [reply(words) for words in ("yes, do it", "No, a fixed one", "nein, lieber nicht", "好的")] == [
        "yes",
        "no",
        "no",
        "yes",
    ]
    assert reply("and the parser?") == ""
    assert reply("yes and I am more curious now about what else it could be") == ""


def test_what_says_why_is_told_from_what_asks_or_leads():
    assert is_reason("It broke because the lock was never released.")
    assert is_reason("Das Problem ist die Sperre, weil sie nie frei wird.")
    assert not is_reason("Is it because of the lock?")
    assert not is_reason("Now the parser.")


def test_an_issue_is_open_until_it_is_said_to_be_mended():
    assert is_open_issue("The upload still fails behind a proxy.")
    assert not is_open_issue("The upload that still failed is fixed.")
    assert not is_open_issue("The upload works.")


def test_what_is_proposed_is_the_sentence_that_proposes():
    assert proposed("All is read. I would keep a sliding window. Fine?") == "I would keep a sliding window."
