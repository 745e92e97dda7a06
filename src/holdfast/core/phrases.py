"""Phrases by which a sentence is known for what it is, in ten languages. `|` stands between them."""

#: Letters from here on stand for words or syllables, which are not set apart.
WIDE = "\u2e80"


def _listed(words: str) -> list[str]:
    return [part.strip() for part in words.replace("\n", "|").split("|") if part.strip()]


def _anywhere(words: str) -> tuple[str, ...]:
    """To be found in what `spaced` gives: as whole words, where words are set apart."""
    return tuple(part if max(part) >= WIDE else f" {part} " for part in _listed(words))


def _first(words: str) -> tuple[str, ...]:
    """To be found at its beginning."""
    return tuple(f" {part}" + ("" if max(part) >= WIDE else " ") for part in _listed(words))


#: What asks without a question mark.
ASKS = _anywhere(
    """want me to | would you like | shall i | should i | do you want | let me know | which would you
    | what do you think | say the word | if you'd like | if you want | tell me which
    | which do you prefer | soll ich | möchtest du | willst du | voulez-vous | veux-tu
    | souhaitez-vous | dois-je | quieres que | te parece | quer que | devo | vuoi che | хочешь
    | мне сделать | 要不要 | 需要我 | 是否 | 吗 | しましょうか | ますか | 할까요 | 드릴까요"""
)
#: Of an order: that it holds from now on, or in general.
LASTING = _anywhere(
    """always | never | from now on | going forward | at all times | every time | whenever
    | under no circumstances | no exceptions | no exception | off limits | hands off | ask me before
    | ask before | ask first | must | mustn't | don't ever | unless i | until i | without asking me
    | before you commit | before every | before each | after every | after each | has to stay
    | have to stay | stays at | required to | may only | immer | niemals | nie | ab jetzt | ab sofort
    | künftig | auf keinen fall | unter keinen umständen | muss | müssen | musst | darf | dürfen
    | darfst | vor jedem | nach jedem | grundsätzlich | keinesfalls | toujours | jamais | désormais
    | dorénavant | à partir de maintenant | doit | doivent | dois | il faut | ne faut pas
    | en aucun cas | avant chaque | après chaque | interdit | ne pas | siempre | nunca | jamás
    | a partir de ahora | debe | deben | debes | hay que | tienes que | bajo ningún concepto
    | antes de cada | después de cada | prohibido | sempre | a partir de agora | deve | devem
    | em hipótese alguma | proibido | mai | d'ora in poi | devi | devono | prima di ogni | vietato
    | всегда | никогда | отныне | впредь | с этого момента | должен | должна | должны | нельзя
    | запрещено | обязательно | перед каждым | после каждого | 必须 | 始终 | 永远不 | 务必 | 禁止
    | 不得 | 一律 | 从现在起 | 今后 | 以后都 | 不要 | 请使用 | 请用 | 绝不 | 必ず | 絶対に | 常に
    | 今後は | 毎回 | ないで | 以降は | 使わない | 항상 | 절대 | 반드시 | 앞으로 | 금지 | 하지 마
    | 지 마세요 | 지 마"""
)
#: An order, at the beginning of a clause.
FORBIDS = _first(
    """don't | do not | never | avoid | always | only | refrain from | no more | no new | nothing new
    | without | vermeide | kein | keine | nur | bitte nicht | bitte keine | évite | évitez | n'utilise
    | ne touche | ne modifie | ne change | ne fais | ne commite | n'utilisez | ne touchez | pas de
    | uniquement | seulement | evita | no uses | no toques | no hagas | no cambies | no modifiques
    | solo | sin | evite | não use | não toque | não altere | não mude | somente | apenas | non usare
    | non toccare | non modificare | не трогай | не трогайте | не используй | не используйте
    | не меняй | избегай | только | 避免 | 勿 | 不可"""
)
#: An order, at the beginning of a sentence: elsewhere it is the next step.
RULES = _first(
    """stop | keep | leave | use | prefer | treat | make sure | ensure | remember | respect | follow
    | stick to | limit | write all | write every | we use | we keep | verwende | benutze | nutze
    | nimm | lass | achte | halte | schreib | behalte | utilise | utilisez | garde | gardez | laisse
    | laissez | respecte | écris | usa | utiliza | mantén | deja | escribe | mantenha | deixe
    | mantieni | lascia | scrivi | используй | используйте | пиши | держи | 保持 | 改用"""
)
#: What may stand before a clause that gives an order.
JOINTS = _anywhere(
    """please | and | but | also | so | then | ok | okay | yes | no , | just | bitte | und | aber
    | s'il te plaît | s'il vous plaît | et | mais | por favor | y | pero | e | mas | per favore | ma
    | пожалуйста | и | но"""
)
#: It says what somebody sees or knows, however much it sounds like an order.
TELLS = _anywhere(
    """looks | i don't | it doesn't | it didn't | still not | doesn't work | not working | why | looks like
    | seems | i think it | i see | it only | it always | it never | is always | are always
    | was always | has always | that's why | error | i can't | cannot | can't | was never
    | we don't have | there is no | there are no | i have never | i've never
    | are not allowed to access | must occur | must be checked | in future sessions | to suppress
    | could be used | i never | before this change | following packages | ich weiß nicht
    | je ne sais pas | no sé | não sei | non so | не знаю"""
)
#: What stays an order although one of those is in it.
ORDERS_ME = _anywhere(
    """you must | you may not | don't ever | from now on | never touch | never use | never commit
    | never push | never | change | never edit | must never | always use | always run | always write
    | do not touch | don't touch"""
)
#: An order that may take another back.
TAKES_BACK = _anywhere(
    """forget | scrap | instead | from now on | no longer | not anymore | any more | anymore
    | changed my mind | change of plan | actually | on second thought | i was wrong | ignore what
    | ignore my | take that back | switch to | switch from | drop the | after all | replaces | now use
    | use now | no need to | you can now | you may now | is lifted | not needed | vergiss | doch
    | stattdessen | statt | ab jetzt | nicht mehr | jetzt doch | ich habe mich umentschieden | anstatt
    | oublie | finalement | désormais | plutôt | ne plus | à partir de maintenant | j'ai changé d'avis
    | au lieu | olvida | mejor | a partir de ahora | ya no | en lugar | en vez | cambié de opinión
    | esquece | agora | em vez | já não | dimentica | invece | d'ora in poi | non più | забудь
    | вместо | теперь | больше не | передумал | 改为 | 改成 | 改用 | 不再 | 算了 | 现在 | 忘掉 | 忘记
    | 取消 | 代わりに | やっぱり | もう | 変更 | 이제 | 대신 | 취소 | 더 이상"""
)
#: An order not to.
NEGATES = _anywhere(
    """never | don't | do not | no | not | avoid | must not | mustn't | stop | without | nie | niemals
    | nicht | kein | keine | jamais | ne | pas | nunca | jamás | non | mai | não | не | никогда
    | нельзя | 不要 | 不得 | 禁止 | 勿 | 不能 | ないで | 마세요 | 마"""
)
#: That a choice was made, and that it stands.
CHOSEN = _anywhere(
    """i decided | we decided | you decided | user decided | was decided | it was decided | i've decided
    | we've decided | decided against | the decision is | the decision was | i chose | we chose
    | you chose | user chose | was chosen over | i've chosen | we've chosen | i opted | we opted
    | user opted | i settled on | we settled on | i'm going with | we're going with | i'll go with
    | we'll go with | let's go with | i went with | we went with | i'm sticking with | i'll stick with
    | we'll stick with | let's stick with | deliberately not | deliberately left | deliberately kept
    | deliberately leave | deliberately leaving | deliberately don't | deliberately did not
    | i deliberately | we deliberately | is deliberately | are deliberately | intentionally left
    | intentionally kept | intentionally not | on purpose | i rejected | we rejected
    | rejected because | considered and rejected | rejected in favor | rejected in favour | i declined
    | we declined | per your choice | per your decision | per your instruction | per your call
    | per your preference | per user decision | as you decided | as you chose | you picked
    | you approved | you confirmed that | your choice of | user approved | user rejected | user picked
    | user selected | user prefers | user decision | user changed mind | user changed their mind
    | we agreed on | i'm deferring | we keep | we'll keep | i'm keeping | ich habe mich entschieden
    | haben uns entschieden | habe entschieden | entschieden für | entschieden gegen | wir nehmen
    | wir bleiben bei | ich bleibe bei | beschlossen | verworfen , weil | verworfen , da
    | bewusst nicht | absichtlich nicht | bewusst | j'ai choisi | nous avons choisi | on a choisi
    | j'ai décidé | on a décidé | nous avons décidé | on garde | nous gardons | je garde | opté pour
    | on part sur | je pars sur | écarté | volontairement | he decidido | decidí | decidimos
    | hemos decidido | elegí | elegimos | he elegido | hemos elegido | opté por | optamos por
    | nos quedamos con | me quedo con | descartado porque | descarté | a propósito | decidi | escolhi
    | escolhemos | optei por | descartei | ficamos com | ho deciso | abbiamo deciso | ho scelto
    | abbiamo scelto | optato per | scartato perché | я решил | мы решили | решил использовать
    | решили использовать | решено | я выбрал | мы выбрали | выбрали | остановились на | отказались от
    | намеренно | 我决定用 | 我决定采用 | 我决定不 | 我们决定 | 决定使用 | 决定采用 | 决定用 | 决定不
    | 最终选择了 | 最终采用 | 放弃了 | 不采用 | 已确认采用 | ことにしました | ことにした
    | ことにします | に決めました | に決定 | を採用し | を選びました | を選択しました | 見送りました
    | 却下しました | 하기로 했 | 하기로 결정 | 결정했습니다 | 선택했습니다 | 채택했 | 택했습니다"""
)
#: The same, where it begins a sentence.
CHOSEN_FIRST = _first(
    """decided to | decided on | decided | decision : | chose | chosen | opted | settled on | going with
    | sticking with | declined | deferring | skipping : | skipping the | deferred | user decision
    | entschieden | entscheidung : | gewählt | décision : | choisi | retenu | decisión : | elegido
    | decisão : | decisione : | решение : | 决定 | 选择了 | 决策： | 選定 | 決定： | 결정 :"""
)
#: What was done in place of something else.
CONTRAST = _anywhere(
    """instead of | rather than | in favour of | in favor of | in place of | as opposed to | anstatt
    | anstelle | statt | stattdessen | sondern | plutôt que | au lieu de | à la place de | en lugar de
    | en vez de | em vez de | ao invés de | invece di | piuttosto che | вместо | а не | 而不是 | 而非
    | 代替 | ではなく | の代わりに | 대신"""
)
#: Enough for that where somebody says what they do themselves.
INSTEAD = _anywhere(
    """instead | , not | ; not | — not | lieber | , nicht | , pas | , no | , não | , non | , не"""
)
#: Why something is done.
BECAUSE = _anywhere(
    """because | since | so that | so the | so it | to avoid | to keep | to prevent | that way
    | which keeps | which avoids | otherwise | in order to | for consistency | weil | da | damit
    | sonst | denn | parce que | car | afin de | pour éviter | pour que | puisque | porque
    | para evitar | para que | ya que | pois | para manter | perché | così | per evitare | потому что
    | чтобы | так как | поскольку | 因为 | 以便 | 为了 | 避免 | 由于 | ため | ので | なので | から、
    | 때문 | 위해 | 도록"""
)
#: What was wrong.
CAUSES = _anywhere(
    """root cause | the problem is | the problem was | the cause | the bug is | the bug was
    | the issue is | the issue was | caused by | due to | the reason | is why | that's why
    | which is why | which means | this means | the fix is | the fix | ursache | grund | problem war
    | das problem ist | la cause | le problème | raison | causa | el problema | la razón | o problema
    | il problema | причина | проблема | 原因 | 问题是 | 导致 | 根因 | 原因は | 問題は | 원인 | 문제는"""
)
#: What could not be had: a reason to choose something else.
CANNOT = _anywhere(
    """can't | cannot | doesn't | does not | isn't | is not | won't | would | kann nicht | geht nicht
    | ne peut pas | no puede | não pode | non può | не может | 不能 | 无法 | できない | できません
    | 수 없"""
)
#: Not settled: proposed, asked, imagined, said of others.
OPEN = _anywhere(
    """i'd | i would | we could | you could | could be | i could | i'd recommend | recommend
    | recommended | recommendation | i suggest | suggest | suggestion | my suggestion | proposal
    | propose | i propose | we might | might be | might want | may want | perhaps | maybe | one option
    | option a | option b | option c | option 1 | option 2 | option 3 | options : | alternatively
    | if we | if you | whether | either | consider | should we | we should | you should | it should
    | would be | would you | i lean | leaning | my lean | worth considering | to decide | not decided
    | undecided | decide whether | decide between | decide how | decide if
    | needs a decision | open question | which approach | trade-off | tradeoff | tradeoffs | pros
    | cons | verdict | todo | not sure | unclear | probably | i think we | let me check | let me see
    | let me look | let me verify | let me read | let me find | let me try | trying | let's see
    | let's check | before deciding | when you decide | once you | until you decide | unless you
    | nothing was | the question is | a choice between | ich würde | wir könnten | vielleicht
    | vorschlag | ich schlage | empfehle | empfehlung | falls | ob wir | je proposerais | je propose
    | on pourrait | peut-être | je recommande | je suggère | je préférerais | yo usaría | propongo
    | podríamos | quizás | sugiero | recomiendo | eu usaria | sugiro | talvez | poderíamos | recomendo
    | proporrei | forse | potremmo | suggerisco | я бы | предлагаю | можно было | возможно
    | рекомендую | 建议 | 可以考虑 | 或者 | 如果 | 可能 | 推荐 | 方案一 | 方案二 | 提案 | かもしれ
    | 推奨 | おすすめ | と思います | べきで | 제안 | 추천 | 아마 | 고려"""
)
#: Announces a step, or reports a look, a run, a result.
ROUTINE = _anywhere(
    """let me | now let | i'll check | i'll run | i'll look | i'll read | i'll verify | i'll start
    | i'll begin | i'll search | i'll try | i'll continue | i'll now | now i'll | now i | next i
    | i'll re-run | i'll rerun | i'll wait | i'll grep | i'll use the bash | i'll use grep | i see
    | i can see | i notice | i need to | passed | failed | failing | tests pass | all green | all done
    | exit code | 让我 | 我来 | 接下来 | 现在让 | 我将 | 我需要"""
)
#: What follows takes back what was said before it.
WAITS = _anywhere("""actually , | wait , | hmm | on second thought | no wait | 等等 | 不对 | いや、""")
#: A summary says that the user has chosen.
USER_CHOSE = _anywhere(
    """user chose | user decided | user approved | user rejected | user picked | user selected
    | user opted | user prefers | user decision | user changed mind | user changed their mind
    | per user decision | benutzer entschied | l'utilisateur a choisi | el usuario eligió | 用户选择
    | 用户决定 | 用户确认 | ユーザーは選択 | 사용자가 선택"""
)
#: A way to do the work that waits for an answer.
PROPOSES = _anywhere(
    """i'd | i would | i recommend | i'd recommend | recommendation | i suggest | i'd suggest | i propose
    | my take | my recommendation | my suggestion | my proposal | i plan to | we could | we should
    | ich würde | ich schlage | ich empfehle | mein vorschlag | je proposerais | je propose
    | je recommande | je suggère | yo usaría | propongo | sugiero | recomiendo | eu usaria | sugiro
    | recomendo | proporrei | suggerisco | я бы | предлагаю | рекомендую | 我建议 | 建议采用 | 我推荐
    | 推荐使用 | 推荐采用 | をおすすめします | を推奨します | を提案します | 제안합니다 | 추천합니다
       """
)
#: A question that gives a choice.
OFFERS = _anywhere(
    """or | which | either | option | prefer | oder | welche | welches | ou | lequel | laquelle | o
    | cuál | qual | quale | или | какой | 还是 | 哪个 | 哪种 | それとも | どちら | 아니면 | 어느"""
)
#: An answer that takes one of them.
PICKS = _first(
    """option | a | b | c | d | 1 | 2 | 3 | the first | the second | the latter | the former | first
    | second | both | neither | let's | use | go with | keep | i'd rather | i prefer | prefer | lieber
    | die erste | die zweite | la première | la deuxième | le premier | la primera | la segunda
    | первый | второй | 选 | 第一 | 第二 | 用 | 方案 | 最初の | 첫"""
)
#: An answer that agrees.
YES = _first(
    """yes | yes , | yep | yeah | ok | okay | sure | go ahead | do it | do that | go for it | sounds good
    | agreed | please do | perfect | great | lgtm | ship it | approved | make it so | that works
    | fine | ja | ja , | gerne | mach das | einverstanden | oui | d'accord | vas-y | sí | si | dale
    | vale | de acuerdo | hazlo | sim | pode | faça | va bene | sì | fallo | да | давай | хорошо
    | согласен | 好 | 好的 | 可以 | 是的 | 行 | 同意 | はい | お願いします | それで | 네 | 예 | 좋아
    | 그렇게"""
)
#: An answer that does not.
NO = _first(
    """no | no , | nope | nah | don't | do not | not that | wrong | rather not | i disagree | i'd rather
    | instead | not like | stop | nein | nein , | nicht | lieber | doch nicht | non | pas | plutôt
    | não | нет | не | не надо | 不 | 不要 | 不是 | 不行 | 别 | いいえ | いや | やめ | 違 | 아니
    | 아뇨 | 말고"""
)
#: Something is not as it should be.
STILL = _anywhere(
    """still fails | still failing | still broken | still fail | still don't | still doesn't | still need
    | still needs | still open | not yet | known issue | known limitation | unresolved | blocked on
    | blocked by | is blocked | open question | open issue | doesn't work yet | not implemented
    | left open | flaky | remains open | remains to | remaining issue | needs a decision | needs your
    | waiting for | waiting on | todo | fixme | untested | schlägt noch | noch nicht | noch offen
    | ungelöst | fehlt noch | échoue encore | pas encore | reste à | todavía | aún no | pendiente
    | ainda não | ancora non | ещё не | всё ещё | 仍然 | 尚未 | 未解决 | 还没 | 待解决 | まだ | 未解決
    | 아직 | 미해결"""
)
#: It is, by now.
MENDED = _anywhere(
    """fixed | resolved | now passes | now pass | solved | works now | behoben | corrigé | corregido
    | corrigido | risolto | исправлен | 已修复 | 修复了 | 修正しました | 해결했"""
)
#: What the agent, or the message of a commit, does to the work; not how it looks at it.
MAKES = frozenset(
    _listed(
        """use | using | used | keep | keeping | kept | move | moving | moved | make | making | made | put
        | putting | replace | replacing | replaced | switch | switching | switched | change | changing
        | changed | drop | dropping | dropped | store | storing | stored | return | returning | returned
        | rename | renaming | renamed | reject | treat | treating | treated | skip | skipping | split
        | merge | raise | raising | default | defaulting | pin | pinning | pinned | pass | passing
        | passed | derive | deriving | reuse | reusing | reused | declare | declaring | declared | require
        | requiring | rely | relying | implement | implementing | implemented | write | writing | fold
        | folding | extract | extracting | extracted | model | modelling | modeling | expose | exposed
        | nehme | nehmen | nutze | nutzen | verwende | verwenden | behalte | behalten | speichere | garde
        | gardons | utilise | utilisons | remplace | uso | usamos | mantengo | mantenemos | reemplazo
        | cambio | mantenho | usa | uma | tengo | используем | использую | оставляем | оставляю | храним
        | заменяем"""
    )
)
#: What a list of steps is called.
STEP_TITLES = frozenset(
    _listed(
        """next steps | next step | next up | next | remaining steps | remaining work | remaining tasks
        | remaining | what's next | what's left | what is left | left to do | still to do | still open
        | to do | to-do | to dos | todo | todos | open tasks | open items | outstanding | pending
        | pending tasks | follow-ups | follow-up | followups | action items | plan from here
        | nächste schritte | nächster schritt | als nächstes | noch offen | offene punkte | noch zu tun
        | verbleibend | prochaines étapes | étapes suivantes | prochaine étape | reste à faire | à faire
        | próximos pasos | siguientes pasos | próximo paso | pendientes | pendiente | por hacer
        | queda por hacer | próximos passos | próximas etapas | a fazer | pendências | prossimi passi
        | passi successivi | da fare | следующие шаги | дальнейшие шаги | что дальше | осталось
        | осталось сделать | дальше | 下一步 | 后续步骤 | 接下来 | 待办 | 剩余工作 | 剩余任务 | 下一步计划
        | 后续工作 | 待办事项 | 未完成 | 次のステップ | 次の手順 | 今後の作業 | 残りの作業 | 残タスク
        | 残り | 다음 단계 | 남은 작업 | 할 일"""
    )
)
WHO = tuple(
    f" {one} "
    for one in "i'll we'll i'm we're i've we've i we let's ich wir je nous on yo eu io noi я мы".split()
)
MAKES_WIDE = (
    *(
        "我使用",
        "我们使用",
        "采用",
        "改为",
        "改成",
        "改用",
        "にしました",
        "に変更しました",
        "を使います",
        "を使う",
    ),
    *("사용합니다", "사용했습니다", "유지합니다"),
)
#: A decision that says only how far something is.
STATES = _anywhere(
    "not pushed | not started | not committed | not merged | not verified | not reviewed | not yet "
    "| uncommitted"
)
#: An answer that says what somebody sees, and takes nothing.
SEES = _anywhere(
    "error | errors | empty | broken | 502 | 500 | 404 | fails | failed | not working | doesn't work "
    "| 报错 | 错误"
)
#: What is about to be done.
ANNOUNCES = _first(
    """now | next | let me | let's | i'll | i will | i'm going to | continuing | then i
    | als nächstes | jetzt | nun | ich werde | je vais | maintenant | ensuite je | ahora | voy a
    | a continuación | agora | vou | ora | adesso | сейчас | теперь | далее | 现在 | 接下来 | 我将 | 让我
    | 次に | これから | 이제 | 다음으로"""
)
#: What asks to be told what was done: the answer decides nothing.
RECAPS = _anywhere(
    """where were we | where was i | where did we | what did we | what have we | catch me up | recap
    | remind me | wo waren wir | wo sind wir | où en étions | où on en | dónde estábamos
    | onde estávamos | dove eravamo
    | на чём мы | на чем мы | 做到哪 | 进行到哪 | 上次 | どこまで | 어디까지"""
)
ADVERBS = frozenset("now just simply therefore also always still not am will have".split())
#: Words of orders that say nothing of what they are about.
FRAME = frozenset(
    "always never use using don't must keep make sure please only instead from now forget rule stop avoid "
    "prefer longer actually should again anymore immer nie niemals bitte toujours jamais siempre nunca "
    "sempre".split()
)
