"""Whether what a person typed wants something done, or only greets, thanks or asks.

A session in which nobody wanted anything done must not stand between today's work and tomorrow's. Words
alone decide, clause by clause, in the languages that most people write in. Three answers, because a wrong
"only asks" would cost a checkpoint: where nothing speaks for either, nobody knows.
"""

WANTS, ASKS, UNKNOWN = "wants", "asks", "unknown"
#: More of a text is not looked at; a clause of more words than this is no greeting.
_LOOKED_AT, _SHORT = 4096, 6
_ENDS = str.maketrans(dict.fromkeys('.!;:,…。！；：，、\n()"“”«»¡', "\n"))
_ASKED = str.maketrans(dict.fromkeys("?？؟", "?"))
#: A clause of nothing but these says hello, thanks, yes or goodbye.
_POLITE = frozenset(
    (
        # English
        "hello hi hey hiya yo howdy greetings morning afternoon evening good day night there again "
        "everyone team all thanks thank you thx ty cheers ta bye goodbye cya see ya later tomorrow "
        "soon ok okay k kk yes yep yeah yup no nope sure fine great nice cool perfect awesome "
        "excellent super wow lol right alright got it i understand understood makes sense sounds so "
        "much very well done a lot for now then that is that's all continue go on ahead carry proceed "
        "next please claude never mind nevermind welcome back hmm ah oh i'm am we're we are im enough "
        "the today this just stop nothing test testing ping "
        # German
        "hallo moin servus grüß gott guten tag morgen abend danke schön vielen dank bitte tschüss "
        "tschüs bis dann später ja nein gut alles klar prima super weiter mach weiter los jetzt passt "
        "verstanden okay genau "
        # French
        "bonjour salut bonsoir merci beaucoup au revoir à bientôt demain oui non d'accord parfait "
        "très bien continue continuez vas-y ça va "
        # Spanish, Portuguese, Italian
        "hola buenos buenas días tardes noches gracias muchas vale bien perfecto sí si adiós hasta "
        "luego mañana sigue continúa claro listo de acuerdo olá oi bom boa dia tarde noite obrigado "
        "obrigada tchau até logo amanhã sim não certo continue ciao buongiorno buonasera grazie mille "
        "arrivederci va bene perfetto continua certo "
        # Russian
        "привет здравствуйте здравствуй добрый день утро вечер доброе спасибо большое пока до "
        "свидания да нет хорошо ок ладно понятно продолжай продолжим отлично"
    ).split()
)
_POLITE_WIDE = (
    "你好 您好 早上好 下午好 晚上好 早安 晚安 嗨 谢谢 多谢 谢了 再见 拜拜 好的 好 嗯 行 可以 是的 "
    "不用 继续 明白 明白了 知道了 没事 了解 你 您 吧 了 啊 哦 こんにちは おはよう おはようございます "
    "こんばんは ありがとう ありがとうございます はい いいえ わかりました 了解 了解です 続けて "
    "続けてください お疲れ様 お疲れ様です さようなら よろしく お願いします 안녕하세요 안녕 감사합니다 "
    "고마워 네 예 아니요 알겠습니다 계속 계속해 좋아요"
).split()
#: Words that lead to what is wanted, and say nothing of it.
_LEADS = frozenset(
    (
        "please can you could you would you will you now then ok okay so and also but first next "
        "let's lets let us we need to i need you to you need to i want you to i'd like you to i would "
        "like you to we should you should we have to go ahead and just maybe perhaps finally again "
        "alright great good yes thanks hi hello hey too help me us but "
        "bitte kannst du könntest du jetzt dann und "
        "auch noch zuerst als nächstes wir müssen du sollst s'il te plaît s'il vous plaît peux-tu "
        "pouvez-vous pourrais-tu maintenant et aussi puis d'abord por favor puedes podrías ahora y "
        "también luego primero pode poderia você agora e também per favore puoi potresti ora poi "
        "anche пожалуйста можешь можете теперь и ещё потом сначала нужно надо"
    ).split()
)
#: What somebody says who wants something done: the first word after those.
_VERBS = frozenset(
    (
        # English
        "fix add implement change make write create refactor rename move remove delete drop update "
        "build migrate replace convert upgrade downgrade bump install configure set put use keep "
        "raise lower increase decrease reduce extend support handle port clean split extract merge "
        "rebase revert undo finish complete commit push deploy release publish repair improve "
        "optimise optimize speed simplify document translate format debug investigate diagnose solve "
        "resolve wire connect enable disable turn switch adjust tweak correct patch edit modify "
        "insert append generate design plan draft prepare cover rewrite redo apply integrate hook "
        "validate test stop start allow forbid avoid prefer never always don't must remember ensure "
        "bring get store save log cache limit round sort group filter decide choose pick "
        # German
        "behebe repariere füge ergänze ändere schreibe schreib erstelle implementiere baue bau "
        "entferne lösche benenne verschiebe aktualisiere mach mache setze stelle verwende benutze "
        "nutze ersetze korrigiere teste optimiere bereinige portiere räume sorge behalte vermeide "
        "immer niemals nie "
        # French
        "corrige corriger ajoute ajouter implémente implémenter change changer modifie modifier écris "
        "écrire crée créer supprime supprimer renomme déplace remplace remplacer utilise utiliser "
        "mets mettre fais faire répare réparer refactorise nettoie teste garde toujours jamais "
        # Spanish, Portuguese, Italian
        "arregla arreglar corrige corregir añade añadir agrega agregar implementa implementar cambia "
        "cambiar escribe escribir crea crear elimina eliminar borra borrar renombra mueve reemplaza "
        "usa utiliza pon poner haz hacer actualiza actualizar repara limpia prueba termina siempre "
        "nunca corrija corrigir adicione adicionar implemente mude mudar altere escreva crie criar "
        "remova remover apague renomeie mova substitua use atualize conserte faça sempre correggi "
        "aggiungi implementa cambia modifica scrivi crea elimina rimuovi rinomina sposta sostituisci "
        "aggiorna ripara metti sempre mai "
        # Russian
        "исправь исправьте почини добавь добавьте реализуй сделай измени поменяй напиши создай удали "
        "убери переименуй перенеси замени обнови используй оптимизируй проверь всегда никогда не"
    ).split()
)
#: Infinitives that stand at the end of a German request, and words that say a rule wherever they stand.
_AT_THE_END = (
    "beheben reparieren hinzufügen einfügen ergänzen ändern schreiben erstellen implementieren bauen "
    "entfernen löschen umbenennen verschieben aktualisieren verwenden benutzen ersetzen korrigieren "
    "testen einbauen"
).split()
_RULES = (
    *(" always ", " never ", " must ", " must not ", " from now on", " do not ", " don't ", " only use "),
    *(
        " we decided ",
        " i decided ",
        " we agreed ",
        " agreed ",
        " go with ",
        " stick with ",
        " instead of ",
    ),
    *(" rather than ", " should be ", " should not ", " needs to ", " has to ", " have to ", " make sure "),
    *(" immer ", " niemals ", " ab jetzt ", " nie ", " wir nehmen ", " muss ", " toujours ", " jamais "),
    *(" siempre ", " nunca ", " a partir de ahora ", " sempre ", " всегда ", " никогда "),
    # A fault that a person tells of is work as well.
    *(
        " bug ",
        " bugs ",
        " broken ",
        " crashes ",
        " fails ",
        " failing ",
        " leaks ",
        " hangs ",
        " doesn't work ",
    ),
    *(" does not work ", " is wrong ", " fehler ", " kaputt ", " funktioniert nicht ", " ne marche pas "),
    *(" no funciona ", " não funciona ", " non funziona ", " не работает ", " ошибка "),
)
_WANTED_WIDE = (
    "修复 修改 修正 添加 增加 加上 加入 实现 创建 新建 删除 去掉 移除 重构 重命名 更新 升级 替换 改成 "
    "改为 改用 写一 编写 优化 部署 提交 合并 报错 错误 不工作 坏了 必须 不要 务必 始终 总是 禁止 以后 "
    "使用 追加して 実装 直して 変更して 作成して 作って 削除して 更新して 書いて 置き換え 修正して "
    "使って 必ず 常に ないで 수정해 추가해 구현해 변경해 작성해 만들어 삭제해 고쳐 바꿔 항상 절대"
).split()
#: A question without its mark.
_QUESTIONS = frozenset(
    (
        "what what's whats where where's when who who's why which whose how how's is are was were am "
        "does did any explain tell "
        "describe remind summarise summarize recap wondering "
        "was wo wie wann wer warum wieso welche welcher welches wozu ist sind war "
        "waren hat haben hast habt kannst könntest gibt erkläre erklär beschreibe "
        "erinnere fasse sag où que qu'est-ce quoi comment quand qui pourquoi quel quelle quels "
        "est-ce est sont explique montre-moi décris rappelle résume dis qué que dónde cómo cuándo "
        "quién por cuál cuáles es está están hay explica muéstrame describe recuérdame resume "
        "dime onde como quando quem qual quais explique mostre-me descreva dove come chi perché quale "
        "spiega mostrami riassumi что где как когда кто почему зачем какой какая какие сколько "
        "есть ли объясни опиши напомни расскажи на чём чем"
    ).split()
)
#: What shows a question only before the one who does something: `have we`, not `have the gate open`. The
#: first can begin an order; before the others it may also be a thing: `should the gate`, not `should be`.
_MAY_ORDER = frozenset("do have has had".split())
_MAY_TELL = frozenset("can could would will should shall may might".split())
_SUBJECTS = frozenset("you we i they it he she there anyone anybody any these those".split())
_THINGS = frozenset("the this that my our your a an".split())
#: And what only before such a word: `when is`, not `when the tide is high`.
_WHEN = "when"
_AUXILIARIES = frozenset("did do does is are was were will should can have has had".split())
#: What is shown to the person is an answer: `show me the diff`, not `show the total in the header`.
_SHOWS = frozenset("show list read print tell zeig zeige nenn lies покажи".split())
_TO_ME = frozenset("me us mir uns мне нам".split())
#: Before what somebody is asked to do: a verb that is listed nowhere may stand behind it.
_REQUESTS = (
    *("can you ", "could you ", "would you ", "will you ", "kannst du ", "könntest du ", "puedes "),
    *("podrías ", "pode ", "poderia ", "peux-tu ", "pouvez-vous ", "pourrais-tu ", "puoi ", "potresti "),
    *("можешь ", "можете "),
)
#: After `do`: what was spoken of is to be done, or not to be done.
_DONE_TO = frozenset("it that this so not them both all".split())
#: Between two things that are asked for; the second counts where it begins with a verb. Of the verbs that
#: are names of things, too, only those that have something behind them to be done to.
_JOINTS = (" and ", " then ", " but ", " und ", " et ", " puis ", " y ", " luego ", " e ", " и ")
_NOUNS = frozenset(
    "test plan document patch commit build format store log group limit cover design draft save set port "
    "hook round cache release change update upgrade support debug push clean split extract use finish "
    "start stop turn switch hold keep put make always never must don't".split()
)
_OBJECTS = frozenset("it them the a an this that these those all my our its their every each any".split())
_HOW = (" how to ", " how do ", " how can ", " how i ", " how we ")
#: Clauses that begin like a question, and tell what is wanted.
_TELLING = ("what we need", "what i need", "what we want", "what i want", "what i'd like")
_QUESTIONS_WIDE = (
    "什么 哪 怎么 怎样 为什么 为何 吗 呢 多少 几个 谁 是否 有没有 如何 解释 说明一下 告诉我 看看 介绍 "
    "总结 列出 どこ 何 なに いつ 誰 なぜ どう どの どれ ですか ますか ましたか 教えて 説明 見せて "
    "어디 무엇 뭐 언제 누가 왜 어떻게 어떤 까요 나요 습니까 설명 보여 알려"
).split()
#: What asks for an answer although a verb of work stands in it: where a clause begins so.
_ASKS_FOR = (
    *(
        "give me a summary",
        "give me a recap",
        "give me an overview",
        "give me a list",
        "give me the status",
    ),
    *("give me the list", "help me understand", "i want to understand", "i want to know"),
    *("i'd like to know", "i would like to know", "i wonder", "get me up to speed", "bring me up to speed"),
    *(f"{no} {verb} any" for no in ("don't", "do not") for verb in "change do edit touch write".split()),
    *(
        "write me a summary",
        "save nothing",
        "don't worry",
        "remind me",
        "catch me up",
        "pick up where",
    ),
    *("i forgot", "i don't remember", "i do not remember", "i can't remember", "i lost track"),
)
#: What may be an answer, or a file.
_MAY_ASK = ("write a summary", "make a list of")
_LEFT_ALONE = ("anything", "any of it", "any code", "any file", "any files")
_OURS = ("/holdfast:", "holdfast ", "!holdfast ", "`holdfast ", "run holdfast ", "run `holdfast ")
_WIDE = "\u2e80"


def kind(words: str) -> str:
    """WANTS, ASKS, or UNKNOWN of one text that a person typed."""
    words = words.strip()[:_LOOKED_AT]
    low = words.lower().translate(_ASKED).replace("’", "'")
    if low.startswith(_OURS) or (low.startswith("/") and " " not in low):
        return ASKS  # a command of ours, or one for the client alone
    if low.startswith("/"):
        return WANTS
    kinds = {_clause(clause) for clause in _clauses(low)}
    kinds.discard("")
    if WANTS in kinds:
        return WANTS
    return UNKNOWN if UNKNOWN in kinds else ASKS


def _clauses(low: str) -> list[str]:
    """A question keeps its mark. A dot inside a word, as in a file's name, ends no clause."""
    spaced = low.replace("?", "? \n ").replace("¿", " ").replace("\n", " \n ")
    plain = " ".join(map(_plain, spaced.split(" ")))
    return [clause.strip() for clause in plain.translate(_ENDS).split("\n") if clause.strip()]


def _plain(word: str) -> str:
    """A name with marks in it says nothing of how a clause ends."""
    name = word.rstrip(".,;:!?")
    return "x" + word[len(name) :] if name.isascii() and any(map(name.__contains__, ".:,;!")) else word


def _clause(clause: str) -> str:
    asked = clause.endswith("?")
    clause = clause.rstrip("? ").strip("-–— ")
    if not clause:
        return ASKS if asked else ""
    if max(clause) >= _WIDE:
        return _wide(clause, asked)
    words = clause.split()
    rest = _after_leads(words)
    polite = len(rest) < len(words)
    is_question = _is_question(rest) or _is_question(words)
    if (polite or not (asked or is_question)) and _wants_more(clause):
        return WANTS
    if _begins(clause, _ASKS_FOR):
        return ASKS
    if len(words) <= _SHORT and _POLITE.issuperset(words):
        return ASKS
    if _POLITE.issuperset(rest):
        return ASKS
    if _begins(clause, _MAY_ASK):
        return UNKNOWN
    if _is_verb(rest) and not (asked and not polite):
        return WANTS
    if polite and rest[-1] in _AT_THE_END:
        return WANTS
    if rest and _begins(clause, _REQUESTS) and not _is_question(rest):
        return UNKNOWN
    if asked or is_question:
        return ASKS
    if any(sign in f" {clause} " for sign in _RULES):
        return WANTS
    return UNKNOWN


def _begins(clause: str, phrases: tuple[str, ...]) -> bool:
    """Whether nothing but greetings and what leads to it stands before one of these."""
    for phrase in phrases:
        before, found, after = clause.partition(phrase)
        is_first = all(word in _LEADS or word in _POLITE for word in before.split())
        if not found or not is_first or (phrase == "i forgot" and after.startswith(" to ")):
            continue
        if phrase.endswith(" any"):  # nothing at all is to be changed; or something is not
            return ("any" + after).startswith(_LEFT_ALONE) and len(("any" + after).split()) <= 3
        return True
    return False


def _is_verb(words: list[str]) -> bool:
    """Whether an order begins so."""
    return bool(words) and (
        words[0] in _VERBS or (words[0] == "do" and not _DONE_TO.isdisjoint(words[1:2]))
    )


def _is_question(words: list[str]) -> bool:
    """Whether it begins as a question does, mark or none."""
    first, then = [*words, "", ""][:2]
    if " ".join(words).startswith(_TELLING):
        return False
    if first in _SHOWS and then in _TO_ME:
        return True
    if first == _WHEN:
        return then in _AUXILIARIES
    if first in _MAY_ORDER or first in _MAY_TELL:
        return then in _SUBJECTS or (first in _MAY_TELL and then in _THINGS)
    return first in _QUESTIONS


def _wants_more(clause: str) -> bool:
    """Whether something is to be done behind an `and`: `check why it hangs and fix it`."""
    for joint in _JOINTS:
        before, *parts = clause.split(joint)
        if any(how in f" {before} " for how in _HOW):
            continue
        for part in parts:
            rest = _after_leads(part.split())
            if _is_verb(rest) and (rest[0] not in _NOUNS or not _OBJECTS.isdisjoint(rest[1:2])):
                return True
    return False


def _after_leads(words: list[str]) -> list[str]:
    """Without what only leads to it."""
    at = 0
    while at < len(words) and words[at] in _LEADS:
        at += 1
    return words[at:]


def _wide(clause: str, asked: bool) -> str:
    """Where words are not set apart a sign is looked for anywhere."""
    if asked or any(sign in clause for sign in _QUESTIONS_WIDE):
        return ASKS
    if any(sign in clause for sign in _WANTED_WIDE):
        return WANTS
    left = clause
    for polite in sorted(_POLITE_WIDE, key=len, reverse=True):
        left = left.replace(polite, "")
    return UNKNOWN if left.strip(" ~～") else ASKS
