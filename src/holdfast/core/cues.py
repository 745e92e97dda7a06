"""What a unit looks like: its class, what it is about, and what it is worth wherever it was said.

Words alone decide, because no model may be asked. English first; the commonest signs of each class are
known in some more languages, and where none is, form and names still speak.
"""

INSTRUCTION, DECISION, DEAD_END, ISSUE, NEXT, DONE, VALUE, OTHER = (
    "instruction",
    "decision",
    "deadend",
    "issue",
    "next",
    "done",
    "value",
    "other",
)
#: Signs of each class: whole phrases, found anywhere in the lower-case text, which a blank stands before.
_SIGNS = {
    INSTRUCTION: (
        "always|never|leave |unless|don't|do not|must|should|prefer|instead|make sure|only |from now"
        "|please|keep |avoid|stop |i want|we want|let's|lets |require|remember|rather|no need|not "
        "|too much|too verbose|be concise|whenever|every | each |all new|no exception|off limits|read-only"
        "|hands off|ask me|ask first|before you|until i|skip |treat |convention|next to|say so|everywhere"
        "|by default| use |belongs|owns |allowed"
    ),
    DECISION: (
        "decid|decision|choos|settle|pick |go with|stick with|in favour|in favor|against |instead of"
        "|rather than|because|so that|agreed|approach|i'll use|we'll use|chose|option|prefer|design"
        "|trade|going with|should be|makes sense|since |recommend|the right|simpl|will be|stays|keep "
        "|in place of|opted|choice|going for|better | wins |replaces|moved from|alternative|would |that way"
        "|given |reason|deliberate|by design|on purpose|, not "
    ),
    DEAD_END: (
        "doesn't work|dead end|no effect|any effect|ignores|gave up|tried |doesn't help|does not work"
        "|didn't work|failed|turned out|turns out|can't|cannot|won't|revert|not possible|abandon"
        "|root cause|the problem|the issue|actually|unfortunately|wrong|incorrect|reject|not viable"
        "|no longer|never |bug|mistake|instead|drop|silently|would not|wouldn't|isn't|circular"
        "|n't help|not help|no luck|no good|no use|no avail|no difference|back out|backed out|roll back"
        "|rolled back|undo|undid|ruled out| is out.| is out,|not an option|unable|impossible|unsupported"
        "|overwr|overrid|too slow|slower|worse|broke|breaks|misread|no way to|couldn't|could not"
        "|workaround|promising|refus|hangs|deadlock|no point|pointless|wasted|same result"
    ),
    ISSUE: (
        "error|fail|bug|todo|remain|still|open |unresolved|broken|flaky|missing|blocked|not yet|pending"
        "|unanswered|question|issue|caveat|limitation|risk|concern|warning|edge case|need|mismatch"
    ),
    NEXT: (
        "next|then |need to|will |should|remaining|todo|follow up|follow-up|after |want me to|ready"
        "|left|to do|would you|shall i|once "
    ),
    DONE: (
        "done|added|implemented|fixed|updated|created|pass|commit|pushed|merged|removed|renamed|now "
        "|complete|moved|refactor|wrote|changed|replaced|extracted|deleted|verified|filed|successfully"
    ),
}
#: The same in German, French, Spanish, Portuguese, Italian, Russian, Chinese, Japanese and Korean.
_ELSEWHERE = {
    INSTRUCTION: (
        "immer|niemals|nicht |bitte|musst |muss |sollst |sollte |darfst |keinen fall|keinesfalls| nur "
        "|verwende |benutze | nutze |schreib| lass |vor jedem|ab jetzt|statt "
        "|toujours|jamais|il faut|faut pas|n'utilise| ne touche|ne pas | dois |devez|utilise |évite|surtout"
        "|seulement|uniquement|désormais|écris |veuillez|s'il te pla|avant chaque|avant de "
        "|siempre|nunca|debes |debe |hay que|no uses|no toques|no hagas| usa |solo |solamente|escribe "
        "|evita |por favor|antes de |a partir de |tienes que|sempre|não use|não toque| deve |apenas|evite "
        "| mai | devi |non usare|non toccare|per favore|prima di "
        "|всегда|никогда|не надо|нужно|надо |обязательно|только |не используй|не трогай|нельзя|пожалуйста"
        "|должен|должна|перед каждым|используй|избегай"
        "|必须|不要|总是|始终|请|务必|禁止|不得|不能|只用|只能|应该|记得|以后|改用|每次|一律|勿|使用|用英文|用中文"
        "|必ず|ないで|ください|下さい|こと。|べき|絶対|常に|だけ|のみ|使って|以降|毎回|してほしい|お願い"
        "|항상|절대|반드시|마세요|하지 마|해야|하세요|주세요|금지|꼭 |앞으로"
    ),
    DECISION: (
        "entschied|entscheid|weil | da es|anstelle|anstatt|stattdessen|lieber |gewählt|wir nehmen|deshalb"
        "|daher |besser |beschlossen|parce que|choisi|plutôt|car il|car elle|car c|à la place|décid| donc "
        "|gardons|on garde|au lieu de|porque|elegi|en lugar de|en vez de|ya que|mejor |por eso"
        "|escolh|em vez de|melhor |por isso|optamos|perché|scelto|deciso|invece di|meglio "
        "|потому|решил|выбра|вместо|так как|поэтому|лучше"
        "|因为|决定|选择|采用|而不是|代替|改为|所以|理由|方案|更好|倾向"
        "|なので|決め|採用|選ん|選択|ではなく|代わりに|ため、|ので、|方針|ことにし|때문|결정|선택|대신|채택|이유|그래서"
    ),
    DEAD_END: (
        "funktioniert nicht|klappt|geht nicht|ging nicht|ließ sich|zurückgenommen|rückgängig|verworfen"
        "|sackgasse|leider|falsch|ohne wirkung|nicht möglich|scheiter|aufgegeben|bringt nichts"
        "|marche pas|fonctionn|impasse|annulé|malheureusement|sans effet|pas possible"
        "|no funcion|no hay manera|imposible|sin efecto|no sirve|descart|no se puede|não funcion|sem efeito"
        "|impossível|não dá|non funzion|annullato|senza effetto|vicolo cieco|purtroppo|scartat"
        "|не работает|не сработал|не помог|откат|тупик|невозможно|к сожалению|бесполезно|не получ"
        "|不行|无法|行不通|没有效果|没用|无效|回退|撤销|放弃|不起作用|不可行|死路"
        "|できない|うまくい|動作しない|動かない|元に戻|無効|諦め|断念|だめ|ダメ|できません|取り消"
        "|작동하지 않|안 됩니다|안 돼|되돌|효과가 없|불가능|포기"
    ),
    ISSUE: (
        "fehler|schlägt|fehlt |noch nicht|ungelöst|erreur|échoue|manque|en suspens|falla|pendiente"
        "|todavía|sigue |erro |falha|pendente|ainda |fallisce|ancora |ошибк|падает|не хватает|ещё"
        "|错误|失败|仍然|尚未|未解决|报错|缺少|还没|エラー|失敗|まだ|未解決|不足|오류|실패|아직|에러"
    ),
    NEXT: (
        "als nächstes|danach|anschließend|ensuite|prochain|reste à|luego|siguiente|queda por|próximo|далее"
        "|следующ|осталось|接下来|下一步|然后|待办|还需要|次に|次は|これから|残り|다음|남은"
    ),
    DONE: (
        "erledigt|fertig|behoben|hinzugefügt|umgesetzt|geändert|terminé|corrigé|ajouté|modifié"
        "|hecho|corregido|añadido|agregado|feito|corrigido|adicionado|concluído|готово|исправ|добав|сделан"
        "|完成|已修|已添加|已更新|通过|修复了|已提交|しました|完了|修正し|追加し|済み|완료|수정했|추가했|했습니다"
    ),
}
_TABLE = tuple((name, tuple(signs.split("|"))) for name, signs in _SIGNS.items())
_WIDE_TABLE = tuple((name, (*signs, *_ELSEWHERE[name].split("|"))) for name, signs in _TABLE)
#: One of these is in nearly every English sentence, and in none of the others'.
_ENGLISH = (" the ", " to ", " is ", " and ", " of ", " for ", " it ", " with ")
#: How much a sign speaks for its class. What the person said is an instruction sooner than what the model
#: said.
_SPEAKS = {INSTRUCTION: 0.2, DECISION: 0.5, DEAD_END: 0.8, ISSUE: 0.3, NEXT: 0.25, DONE: 0.35}
_SPEAKS_TYPED = {**_SPEAKS, INSTRUCTION: 0.9}
#: What a unit gains by three signs of a class: rules are the person's to make, and whoever goes on has to
#: know what the model has done.
_GAIN = {INSTRUCTION: 0.0, DECISION: 0.5, DEAD_END: 0.65, ISSUE: 0.3, NEXT: 0.25, DONE: 0.55}
_GAIN_TYPED = {**_SPEAKS, INSTRUCTION: 0.5}
_FORMS = {"c": -0.4, "r": -0.3, "i": -0.1, "o": -1.0}
_ANNOUNCES = ("let me", "now ", "i'll ", "i need to", "looking at", "i can see", "i see", "first")
_STOP = frozenset(
    "the a an to of in is it and or for on that this with as be are was by at from not we i you if but so "
    "can has have will its our your no do does all any when then than into one only which there would "
    "should could been also just more use using used what how out up now let me see get got they them "
    "their where while".split()
)
_SIGNS_APART = b"`'\"()[]{}<>,;:!?*|=+&%$~^"
_APART = bytes.maketrans(_SIGNS_APART, b" " * len(_SIGNS_APART))
_WIDE_APART = "⏎→—–“”‘’…•、，。：；（）「」《》"
_WIDE = 0x2E80


def judge(unit: str, form: str, typed: bool) -> tuple[float, str]:
    """(what it is worth by itself, its class)."""
    lower = f" {unit.lower()}"
    gains, speaks = (_GAIN_TYPED, _SPEAKS_TYPED) if typed else (_GAIN, _SPEAKS)
    worth, best, most = 0.0, OTHER, 0.0
    for name, signs in _TABLE if any(map(lower.__contains__, _ENGLISH)) else _WIDE_TABLE:
        found = sum(sign in lower for sign in signs)
        if found:
            share = (found if found < 3 else 3) / 3
            worth += gains[name] * share
            if speaks[name] * share > most:
                best, most = name, speaks[name] * share
    if form == "o" and best == INSTRUCTION:
        form = "p"  # it names many things, but it is an order
    digits = _has_value(unit)
    worth += 0.3 if digits else 0.0
    worth += _FORMS.get(form, 0.0)
    size = _size(unit)
    if size < 60:
        worth += 0.3 if size >= 40 else -0.2
    if lower.endswith((":", "：")):  # what it leads to says it; a short one says nothing without that
        worth -= 0.8 if size >= 60 else 1.5
    if typed and ("?" in unit or "？" in unit):  # what the person asked got its answer, mostly
        worth -= 0.1
    if " — " in unit or " - " in unit:  # where a reason is given in passing
        worth += 0.25
    if not typed and lower[1:].startswith(_ANNOUNCES):
        worth -= 0.4
    if form == "o":
        return worth, OTHER
    if best == OTHER and digits:
        best = VALUE
    return worth, best


def _size(unit: str) -> int:
    """Its length in letters of an alphabet: one that stands for a syllable or a word says as much as 3."""
    return len(unit) if unit.isascii() else len(unit) + 2 * sum(ord(letter) >= _WIDE for letter in unit)


def _has_value(unit: str) -> bool:
    """Whether there is a number in it, a hash, a version: the figures in a file's name are none."""
    return any(any(map(str.isdigit, word)) for word in unit.split() if "/" not in word or ":" in word)


def _apart(words: str) -> list[str]:
    """Bytes are looked up in one table, letters beyond ASCII each by itself, which takes far longer."""
    if not words.isascii():
        for sign in _WIDE_APART:
            if sign in words:
                words = words.replace(sign, " ")
    return words.encode("utf-8", "surrogatepass").translate(_APART).decode("utf-8", "surrogatepass").split()


def terms_of(unit: str) -> tuple[list[str], list[str]]:
    """(names, topics). Names are identifiers, paths, numbers with letters, flags: what a summary gets wrong
    or drops. Topics are the words it is about; where words are not set apart, every pair of letters stands
    for one."""
    names: dict[str, None] = {}
    topics: dict[str, None] = {}
    for word in _apart(unit):
        word = word.strip(".-/#\\")
        low = word.lower()
        if not word.isascii() and any(ord(letter) >= _WIDE for letter in low):
            for at in range(len(low) - 1):
                topics[low[at : at + 2]] = None
        elif len(word) > 2:
            if low not in _STOP:
                topics[low] = None
            if len(word) < 80 and _is_name(word):
                names[low] = None
    return list(names), list(topics)


def _is_name(word: str) -> bool:
    if not word.isascii():
        return False
    rest = word[1:]
    if "_" in word or "/" in rest:
        return True
    if "." in rest:
        return not word.replace(".", "").isalpha() or len(word.rpartition(".")[2]) <= 5
    if word.isdecimal():
        return len(word) > 2
    if any(map(str.isdigit, word)):
        return True
    return rest != rest.lower() and rest != rest.upper()
