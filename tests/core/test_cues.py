"""What a unit looks like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gathering import OTHER_SCRIPTS
from holdfast.core import cues
from holdfast.core.cues import judge, terms_of

ANY = st.text(st.characters(categories=None), max_size=240)


@pytest.mark.parametrize(
    ("unit", "typed", "expected"),
    [
        ("always run the linter before you push", True, cues.INSTRUCTION),
        ("never touch the migrations, please", True, cues.INSTRUCTION),
        ("Bitte niemals direkt schieben", True, cues.INSTRUCTION),
        ("请始终使用端口，不要修改", True, cues.INSTRUCTION),
        ("必ずテストを実行してください", True, cues.INSTRUCTION),
        ("всегда запускай линтер, никогда не пропускай", True, cues.INSTRUCTION),
        ("We decided on sqlite rather than a server, because it needs no setup", False, cues.DECISION),
        ("It turned out that the cache doesn't work; the root cause is a race", False, cues.DEAD_END),
        ("The login error is still unresolved, and a risk", False, cues.ISSUE),
        ("Fixed and committed: added the parser, renamed it and updated both", False, cues.DONE),
        ("The port: 5433", False, cues.VALUE),
        ("The limit is set at weir.py:431 of src/gate.py:17", False, cues.VALUE),
        ("A look at src/gauge_3.py", False, cues.OTHER),
        ("The lock stays in the ferry; the weir was the alternative", False, cues.DECISION),
        ("Taking the pier: the buoy would need a second pass", False, cues.DECISION),
        ("Setting the flag makes no difference to the gauge", False, cues.DEAD_END),
        ("Backed out the tide cache, it broke the ferry", False, cues.DEAD_END),
        ("The weir is off limits, whenever the gate is open", True, cues.INSTRUCTION),
        ("A house by the lake", False, cues.OTHER),
        ("", False, cues.OTHER),
    ],
)
def test_the_class_of_a_unit(unit, typed, expected):
    assert judge(unit, "p", typed)[1] == expected


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("Antworte mir bitte auf Deutsch und fasse dich kurz.", cues.INSTRUCTION),
        ("Kommentare gehören nur in Ausnahmefällen in den Code.", cues.INSTRUCTION),
        (
            "Ich habe mich gegen Redis entschieden, weil der Dienst dann einen Server bräuchte.",
            cues.DECISION,
        ),
        ("Mit dem Cache ging es leider auch nicht schneller.", cues.DEAD_END),
        ("Im Build fehlt die Lizenzdatei, das ist ungelöst.", cues.ISSUE),
        ("Réponds toujours en français, et évite les longues listes.", cues.INSTRUCTION),
        ("Tu dois demander avant de supprimer un fichier.", cues.INSTRUCTION),
        ("J'ai décidé de garder le format actuel parce que les clients le lisent déjà.", cues.DECISION),
        ("La mise en cache est sans effet ici.", cues.DEAD_END),
        ("Il manque un index sur la table users.", cues.ISSUE),
        ("Hay que mantener compatible la API pública.", cues.INSTRUCTION),
        ("Nunca borres datos sin preguntar.", cues.INSTRUCTION),
        ("Mejor dejamos el formato actual, porque los clientes ya lo leen.", cues.DECISION),
        ("Con la caché no se puede, no sirve de nada.", cues.DEAD_END),
        ("Todavía queda pendiente el índice de la tabla users.", cues.ISSUE),
        ("所有接口都要写单元测试，以后不要跳过。", cues.INSTRUCTION),
        ("回答请用中文。", cues.INSTRUCTION),
        ("最后采用了 gRPC，因为延迟更低。", cues.DECISION),
        ("缓存方案不可行，只好放弃。", cues.DEAD_END),
        ("编译时报错，缺少头文件。", cues.ISSUE),
        ("回答は日本語でお願いします。", cues.INSTRUCTION),
        ("ファイルを消す前に必ず確認すること。", cues.INSTRUCTION),
        ("遅延が少ないため、gRPC を採用しました。", cues.DECISION),
        ("キャッシュを使う案は効果がなく、断念しました。", cues.DEAD_END),
        ("ビルドでエラーがまだ出ています。", cues.ISSUE),
        ("Отвечай только на русском языке.", cues.INSTRUCTION),
        ("Никогда не удаляй файлы без спроса.", cues.INSTRUCTION),
        ("Решил оставить текущий формат, потому что клиенты его уже читают.", cues.DECISION),
        ("С кешем ничего не получилось, пришлось откатить.", cues.DEAD_END),
        ("В сборке осталась ошибка линковки.", cues.ISSUE),
        ("답변은 항상 한국어로 해 주세요.", cues.INSTRUCTION),
        ("지연이 적기 때문에 gRPC를 선택했습니다.", cues.DECISION),
        ("캐시 방식은 효과가 없어서 포기했습니다.", cues.DEAD_END),
        ("빌드에서 아직 오류가 납니다.", cues.ISSUE),
        ("Responda sempre em português.", cues.INSTRUCTION),
        ("Optamos por manter o formato atual.", cues.DECISION),
        ("Com o cache não funcionou.", cues.DEAD_END),
        ("Ainda falta um índice na tabela.", cues.ISSUE),
        ("Rispondi sempre in italiano, per favore.", cues.INSTRUCTION),
        ("Ho scelto gRPC perché la latenza è minore.", cues.DECISION),
        ("Con la cache purtroppo non funziona.", cues.DEAD_END),
        ("La compilazione fallisce ancora.", cues.ISSUE),
        ("Verwende immer Leerzeichen statt Tabs.", cues.INSTRUCTION),
        ("Vor jedem Push musst du die Tests laufen lassen.", cues.INSTRUCTION),
        ("Der Ansatz mit inotify hat nicht geklappt, die Ereignisse kommen doppelt.", cues.DEAD_END),
        ("N'utilise pas de tabulations, seulement des espaces.", cues.INSTRUCTION),
        ("Écris les messages de commit en anglais.", cues.INSTRUCTION),
        ("L'approche inotify n'a pas fonctionné, les événements arrivent en double.", cues.DEAD_END),
        ("No uses tabuladores, solo espacios.", cues.INSTRUCTION),
        ("Escribe los mensajes de commit en inglés.", cues.INSTRUCTION),
        ("Lo he revertido, no hay manera.", cues.DEAD_END),
        ("每次推送之前必须先运行测试。", cues.INSTRUCTION),
        ("我们决定使用 SQLite 而不是 Postgres，因为它更轻量。", cues.DECISION),
        ("这个方法没有效果，已经回退。", cues.DEAD_END),
        ("プッシュする前に必ずテストを実行してください。", cues.INSTRUCTION),
        ("Postgres ではなく SQLite を採用しました。理由は軽いからです。", cues.DECISION),
        ("test_poll はまだ失敗しています。", cues.ISSUE),
        ("Decidimos usar SQLite em vez de Postgres porque é mais leve.", cues.DECISION),
        ("Не используй табы, только пробелы.", cues.INSTRUCTION),
        ("Подход с inotify не сработал, события дублируются.", cues.DEAD_END),
        ("푸시하기 전에 반드시 테스트를 실행하세요.", cues.INSTRUCTION),
        ("test_poll 테스트가 아직 실패합니다.", cues.ISSUE),
    ],
)
def test_the_class_of_a_unit_in_other_languages(unit, expected):
    assert judge(unit, "p", expected == cues.INSTRUCTION)[1] == expected


def test_an_english_sentence_is_not_judged_by_words_of_other_languages():
    """`falla`, `solo` and `fonctionn` are signs elsewhere."""
    words = "falla of the solo fonctionn is here"
    assert judge(words, "p", typed=False)[1] == cues.OTHER
    assert judge(words.replace(" of the ", " ").replace(" is ", " "), "p", typed=False)[1] != cues.OTHER


def test_a_sentence_of_few_wide_letters_is_not_a_short_one():
    assert (
        judge("缓存在第二次读取之后就会失去所有条目", "p", typed=False)[0]
        > judge("abcdefgh ijklmnop", "p", typed=False)[0]
    )


def test_what_a_person_typed_is_an_instruction_sooner():
    unit = "please prefer the small one, because the large one failed"
    assert judge(unit, "p", True)[1] == cues.INSTRUCTION
    assert judge(unit, "p", False)[1] != cues.INSTRUCTION


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (("The server listens on port 5433 there", "p"), ("The server listens on some port there", "p")),
        (("We chose sqlite because it is small", "p"), ("We chose sqlite because it is small", "c")),
        (("The build failed on the second run", "p"), ("The build failed on the second run:", "p")),
        (("The cache is dropped here and there", "p"), ("Looking at the cache that is dropped", "p")),
    ],
)
def test_what_is_worth_more_than_what(better, worse):
    assert judge(*better, False)[0] > judge(*worse, False)[0]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("Use src/poll.py and poll_gauge() on port 5433", ["src/poll.py", "poll_gauge", "5433"]),
        ("Node v18.2.1, not 16", ["v18.2.1"]),
        ("readFile and XMLHttpRequest, but not README or Word", ["readfile", "xmlhttprequest"]),
        ("see file:12 and `--no-verify`.", []),
        ("a1b2c3d is the commit", ["a1b2c3d"]),
        ("端口在 config.toml 里", ["config.toml"]),
        ("twice: poll.py and poll.py", ["poll.py"]),
    ],
)
def test_names_are_what_a_summary_gets_wrong(unit, expected):
    assert terms_of(unit)[0] == expected


@pytest.mark.parametrize("words", OTHER_SCRIPTS.values(), ids=OTHER_SCRIPTS)
def test_every_script_has_topics(words):
    assert terms_of(words)[1]


def test_where_words_are_not_set_apart_pairs_of_letters_stand_for_them():
    assert terms_of("修改迁移")[1] == ["修改", "改迁", "迁移"]
    assert set(terms_of("不要修改迁移文件")[1]) & set(terms_of("修改迁移")[1])


@given(ANY, st.sampled_from("pirc"), st.booleans())
def test_any_text_is_judged(unit, form, typed):
    worth, name = judge(unit, form, typed)
    assert -4 < worth < 6
    assert name in vars(cues).values()
    named, topics = terms_of(unit)
    for word in named + topics:
        assert word
        assert not any(letter.isspace() for letter in word)
