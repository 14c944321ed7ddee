"""The words around an option letter that say what the letter is doing there, in the languages models answer in.

All words are stored folded (`text.fold`) and case-folded, as the reader meets them.
"""

from __future__ import annotations

from lmms_eval_tasks.utils.answers.text import fold


def _words(text: str) -> frozenset[str]:
    return frozenset(fold(text).casefold().split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(sorted(_words(text), key=len, reverse=True))


# "the answer is B": nouns that make what follows the answer.
LABEL = _words("""
    assistant answer ans antwort answers reply response prediction verdict selection conclusion result pick
    guess decision vote solution réponse reponse choix respuesta elección solución resposta escolha risposta
    scelta lösung auswahl wahl antwoord keuze svar svaret vastaus ответ выбор відповідь odpowiedź odpověď cevap
    yanıt jawaban pilihanku الاجابة الإجابة الجواب إجابة جواب उत्तर जवाब پاسخ
""")
# "option B": nouns that make what follows a letter, chosen or not.
OPTION = _words("""
    option choice letter alternative candidate statement options choices opción opcion opção opzione lettre
    lettera letra buchstabe alternativa auswahlmöglichkeit optie alternativ вариант вариантом варианта буква
    варіант opcja možnost seçenek şık opsi pilihan huruf الخيار خيار الحرف विकल्प गزینه گزینه
""")
OPTIONS = _words("options choices candidates alternatives")
# "As for option A, …".
TOPIC = _words("for in regarding concerning under about with")
# "I choose B": verbs whose object is the answer.
CHOOSE = _words("""
    choose chose choosing chosen pick picked picking select selected selecting opt opting go going went vote
    voting settle settling answered answering lean leaning submit stick sticking prefer choisis choisirais
    sélectionne elijo elegiría escojo selecciono escolho seleciono scelgo seleziono wähle nehme kies выбираю
    выберу обираю wybieram seçiyorum memilih pilih väljer اختار أختار चुनता चुनती choisi sélectionné retenu scelto
    selezionato elegido escogido seleccionado escolhi escolhido selecionei
""")
# "I think B": verbs that make a letter on its own the answer, but may as well start a sentence about it.
BELIEVE = _words("""
    say think believe guess suspect conclude deduce infer leaves leaving leave bet assume creo pienso diría digo
    crois pense dirais denke glaube meine tippe acho penso credo direi думаю считаю
""")
CONCLUDE = _words("""
    so therefore thus hence consequently accordingly finally overall ultimately conclusion summary donc ainsi
    daher deshalb also folglich somit entonces luego tanto portanto logo quindi dunque dus поэтому значит итак
    dlatego لذلك إذن इसलिए → i.e. i.e namely balance
""")
# "the evidence points to B": what says that something speaks for the answer.
FAVOUR = _words("""
    supports support supporting favors favor favours favour favoring favouring indicates indicate indicating
    suggests suggest suggesting matches match matching fits fit fitting describes describe describing reflects
    depicts confirms confirm confirming shows show showing demonstrates demonstrate illustrates illustrate
""")
# The same with a preposition behind.
FAVOUR_LINKED = _words("""
    points point pointing pointed corresponds correspond corresponding aligns align aligning consistent confident
    certain sure narrows leans inclined described represented captured explained supported
""")
FAVOUR_LINK = _words("to with in of about for towards toward on down it by")
# "making B the correct answer": the noun phrase behind the letter is what is said about it.
PHRASE = _words("match fit description explanation one outcome event scenario representation interpretation winner")
# "the option that best fits is B", "the description most consistent with the clip is B".
NAMED = _words("one description outcome event scenario explanation")
RELATIVE = _words("that which whose who best most better with supported describing matching closest")
# "option A, which has him stop, is wrong": a clause between commas, behind which the sentence about A goes on.
ASIDE = _words("which who whose whom where when")
# "Wait, actually it's C": what a correction starts with.
CORRECT = _words("""
    wait actually correction sorry no rather scratch mistake oops hmm hm instead meant mean reconsider
    reconsidering revise revising change changing correcting nope но nein non pardon perdón désolé corrijo 不对
    不對 等等 更正
""")
CONTRAST = _words("but sondern sino mais mas ma yet however а بل")
PRONOUN_IS = _words("it's that's its thats c'est es")
PRONOUN = _words("it that this which one ce cela eso esto isso questo es das dies это وهو वह")
COPULA = _words("""
    is are was were be been being would must should will seems appears equals remains est sera serait es sería seria
    sia sea seja soit ist wäre lautet = : ~ является это هي هو है adalah ialah là jest je är er to
""")
FILLER = _words("""
    the a an my your our his final correct right best better most likely probably definitely clearly certainly
    surely simply just only again still now indeed obviously here option's following chosen selected given with
    for as on that i'd i'll i would le la les l' el lo los las o os il der die das den dem du un une una ein
    eine het de bonne bon correcte correcta correcto correta correto corretta corretto richtige richtig rechte
    juste mejor melhor правильный правильная верный الصحيحة الصحيح सही benar tepat doğru prawidłowa juist juiste
    rätt rätta answer's highly very also quite really must therefore thus then toward towards maybe perhaps
    что possibly us me closest without any doubt vielleicht quizás quizá talvez forse , | /
""")
# "the answer to the question is B": what may stand between the label and its verb.
BRIDGE = _words("to of in question this video clip problem task above below provided asked among these those all")
# "A states that …": what an option says, not whether it holds.
TALK = _words("says states shows suggests")
# "So A and", "so A would": at the end of a text the sentence about the letter is cut off.
UNFINISHED = _words("and or but which who whose where when that")
# Words that may follow a letter but not the article "A", so that "A" before them is a letter.
FUNCTION = _words("""
    because since as based due when where which who whose this that these those there then and or but not
    than instead over the it its he she they we you in on at from for with without by if is was are were be has have
    had does do did cannot can't could would will won't may might must should isn't wasn't doesn't don't didn't
    porque ya pues parce puisque weil da denn perché poiché pois потому так как omdat want eftersom ponieważ bo
    çünkü karena vì und oder et ou y u e o ma sed и или ist est es é wäre sind sont seems appears looks sounds
    describes says states shows suggests matches fits makes wins follows represents corresponds end
""")
# The same for words that are nouns or adverbs unless one of these follows: "A rather than B", "A car c'est".
FUNCTION_BEFORE = {
    "rather": _words("than"),
    "to": _words("me"),
    "while": _words("a b c d e f option the"),
    "car": _words("c'est il elle on le la les un une ce cela dans"),
}
NEGATION = _words("""
    nothing
    not isn't wasn't aren't can't cannot couldn't won't wouldn't shouldn't doesn't don't didn't neither nor
    never none exclude excluding excluded eliminate eliminating eliminated reject rejecting rejected discard
    rule ruling ruled out unlike except dismiss pas non n'est n' ni no nicht weder noch kein keine nem niet ne
    não nao né нет не ни لا ليس ليست नहीं bukan tidak değil nie inte
""")
COMPARED = _words("""
    over than instead against versus vs unlike unlikely que als чем compared considered consider considering
""")
TENTATIVE = _words("""
    might could may maybe perhaps possibly possible whether either initially thought seemed suppose supposing
    although though tempting unless first consider considering considered considers imagine assume assuming
    looks unclear unsure uncertain plausible peut-être quizás quizá talvez forse vielleicht может возможно 可能
    也许
""")
CONDITION = _words("if unless si wenn falls se если")
# "If I had to guess, B" is an answer.
FORCED = _words("guess choose pick answer forced pressed pushed decide select")
POSITIVE = _words("""
    correct right best better true accurate valid answer it likely likeliest choice option winner yes correcte
    bonne juste vraie correcta correcto verdadera correta correto certa certo corretta corretto giusta giusto
    richtig korrekt wahr richtige verdadeiro правильный правильно верный верно صحيح صحيحة الصحيح सही doğru benar
    prawidłowa juist wählen nehmen gewählt ausgewählt réponse respuesta resposta risposta antwort ответ ✓ ✔ ✅ ☑
""")
SUPPORT = _words("""
    matches fits consistent supported describes aligns corresponds plausible reasonable makes happens observed
    shown reflects explains captures depicts corresponds represents summarizes summarises agrees
    passt entspricht beschreibt zutrifft corresponde coincide encaja décrit corrisponde
    describe reflect explain capture depict represent match fit align
""")
# "a plausible option", "more suitable": what speaks for an option without choosing it.
GOOD = _words("""
    good great strong perfect close closer closest plausible reasonable sensible logical likely suitable fitting
    appropriate compelling convincing solid accurate consistent valid acceptable natural probable
    adecuada adecuado plausible apropiada lógica probable vraisemblable appropriée logique provável adequada
    plausível probabile adatta plausibile appropriata wahrscheinlichste passendste plausibelste
""")
MOST = _words("more most más plus mais più")
# "correctly describes" is a verdict, "clearly describes" is not.
RIGHTLY = _words("correctly accurately perfectly exactly precisely properly faithfully best rightly")
WRONGLY = _words("""
    incorrectly inaccurately wrongly falsely poorly hardly barely scarcely unlikely rarely mistakenly partially
    partly least less
""")
# "the opposite option", "the least likely option": which one it is says that it is not chosen.
OTHER = _words("""
    opposite other alternative second initial previous first remaining tempting least less original next third
    worst worse weaker weakest poorer poor bad weak
""")
LEFT_OVER = _words("remains remain stands wins")
# "only B is left".
# "The second choice is A": what is chosen only after something else.
LATER = _words("second second-best third fourth fifth next backup fallback")
# "A does not fit, B does."
CLAUSE_START = _words("but and while whereas , ;")
WHEREAS = _words("while whereas")
ONLY_LEFT = _words("left remaining possible standing viable")
NEGATIVE = _words("""
    contradictory mismatch
    incorrect wrong false untrue inaccurate invalid impossible unlikely implausible inconsistent out eliminated
    excluded rejected contradicted contradicts ruled no distractor unsupported misleading irrelevant fails
    incorrecte fausse faux incorrecta incorrecto falsa falso incorreta errada errado sbagliata sbagliato falsch
    неправильный неверный неверно خاطئة خطأ गलत yanlış salah błędna fout ✗ ✘ ❌ x
""")
CONNECTIVE = _words("because since as and or")
AUXILIARY = _words("can could may might have has had will does do did looks")
# "So A and B are wrong", "so B, and A is wrong": verbs of one subject and of several.
SINGULAR = _words("is isn't was wasn't does doesn't has seems appears looks says states shows suggests est ist es è é")
PLURAL = _words("are aren't were weren't do don't have")
# Behind a letter these negate what follows ("B, not A"), other negations the letter itself ("B can't be").
NOT = _words("not nor neither unlike no non pas nicht")
SEEN = _words("seen visible consistent happening")
NO = _words("no nope nein non")
# "I doubt that B is right", "whether B is best".
DOUBT = _words("doubt doubtful whether unless hard difficult ob si")
# "Is B the best option?"
ASKING = _words("is was are could would should does did can might may")
# "Sure: B", "Question 3: B" announce an answer, "Grade: B" something else.
ANSWERING = _words(
    "sure ok okay yes no certainly question q video clip q1 q2 q3 done here option correct final best likely probable"
    " clear clearly obviously evidently clair clairement klar claro chiaro"
)
# "No, I cannot tell", "yes, let me look": what makes of a leading yes or no something else than the answer.
NO_VERDICT = _words("""
    i i'm i'd i'll i've we let you sure clear certain tell know determine say judge enough insufficient information
    none neither idea problem option options
""")
# What makes a verb or colon without a noun announce the answer: "final: B".
DECISIVE = _words("closest final correct best better right")
DECISIVE_VERB = _words("final")
# "unlike option B.", "does not match B.": a letter behind these ends a sentence, it labels nothing.
TAKES_LETTER = OPTION | NEGATION | COMPARED | FAVOUR | NEGATIVE | SUPPORT | COPULA | _words("to with of do")
JOINERS = _words("""
    , / | & + or and und oder et ou y u o e ni und/oder and/or vs versus ~ - – — to through или и либо و أو او
    या और 、 ・ 或 和 与 或者 还是 및 와 과 또는 または か と
""")
PERHAPS = _words("maybe perhaps possibly even either both")
MEANWHILE = _words("and , und et y e и 和")

# Scripts that are written without spaces: looked for at the end of what stands before the letter, or the start after.
BEFORE_NEGATION = _phrases("不是 不选 不選 并非 並非 排除 而非 不为 아닌 而不是")
BEFORE_LABEL = _phrases("""
    倾向于 傾向於
    答案是 答案为 答案為 答案应为 答案应该是 答案就是 答案 答 答えは 答え 正解は 正解 回答は 回答 回答是 解答
    选择 選択 選擇 选 選 选项是 应选 故选 我选 我选择 我认为是 结论是 정답은 정답 답은 답 답변은 답변 คำตอบคือ
    คำตอบ ตอบ đáp
""")
BEFORE_IS = _phrases("是 为 為 应该是 應該是 而是 ではなく ではなくて 아니라 就是 因此 所以 故 则")
# They end as if they said "is", but say "because", "but", "as".
BEFORE_CLAUSE = _phrases("因为 因為 但是 可是 只是 作为 作為 以为 以為")
BEFORE_OPTION = _phrases("选项 選項 選択肢 选择肢 보기 선택지 ตัวเลือก 选项是")
AFTER_NEGATIVE = _phrases("""
    不正确 不正確 不对 不對 错误 錯誤 错 是错 是錯 不是 不符 不成立 排除 否定 ではない ではなく ではありません は間違
    は誤 じゃない 不合 选项错 选项不 是不 는아니 가아니 은아니 이아니 는틀 가틀 은틀 이틀
""")
AFTER_POSITIVE = _phrases("""
    正确 正確 是正确 是正確 是对的 对。 最符合 是答案 项正确 选项正确 選項正確 が正解 が正し が最も 选项是正确
    가맞 이맞 가정답 이정답 가가장 ถูก 를선택하겠 를선택합 를선택했 를고르겠 를고릅 를골랐
    更符合 最合适 最合理 更合理 符合视频 符合題意 符合题意
""")
AFTER_ENDING = _phrases("对 です だ を選 を选 を选択 であ でした 是最 입니다 이다 이에요 예요 번 를 을")
# Mean a letter is being talked about: "A选项说…".
AFTER_TALK = _phrases("选项 选項 選項 项 说 は は、 는 은 의 の")

# A line that says nothing but its answer consists of these.
LINE_START = FILLER | LABEL | OPTION | COPULA | CONCLUDE | CORRECT
