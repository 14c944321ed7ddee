"""Ways to write the same thing, brought to the one that the rules read."""

from __future__ import annotations

import re

from lmms_eval_tasks.utils.answers.contractions import spell_out

_CLOCK = r"\d{1,2}:\d{2}(?::\d{2})?(?:\.\d{1,3})?|\d{1,4}(?:\.\d{1,3})?\s?(?:s|sec|secs|seconds)\b"
_TIMES = re.compile(
    rf"[\[(]\s?(?:{_CLOCK})\s?(?:(?:-|–|—|to)\s?(?:{_CLOCK})\s?)?[\])]:?"
    rf"|(?:\b(?:at|around|from|by|until)\s(?:about\s)?)?(?<![\w:])(?:{_CLOCK})(?:\s?(?:-|–|—|to)\s?(?:{_CLOCK}))?"
)
"""When something is seen says nothing of why, and a number may be a label."""
_THAT_IS = re.compile(r"\bi\.\s?e\.,?", re.IGNORECASE)
_ARROW_LINE = re.compile(r"\n\s{0,8}(?:→|↓|⇓|⬇|⬇️|\|)\s{0,8}\n")
_REWORDED: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"'s\b"), ""),
    (re.compile(r"[-–=]\s?[/x]\s?[-–=]?\s?→|↛|⇏"), " does not lead to "),
    (re.compile(r"<\s?→|↔|⇔|⟷|<=>"), " → and "),
    (re.compile(r"\s(?:>{1,3}|⟶|⟹|➜|➔|➝|⇨|↦)\s"), " → "),
    (re.compile(r"\s?(?:←|⟵|⇐|<-{1,2})\s?"), " because "),
    (re.compile(r"^\W{0,3}(?:effect|result|consequence|outcome)\s?\d{0,2}\s?:"), "→"),
    (re.compile(r"^\W{0,3}(?:cause|trigger)\s?\d{0,2}\s?:"), ""),
    (
        re.compile(
            r"\b(?:because of|due to|thanks to|owing to|as a (?:result|consequence) of) (?:this|that|which|it)(?=,)"
        ),
        "therefore",
    ),
    (
        re.compile(
            r"^(?:yes|no)?\W{0,3}the (?:\w{3,8} )?reason (?:why |that |for |behind )?(.{3,150}?)"
            r" (?:is|was) (?:that|because) "
        ),
        r"\1 because ",
    ),
    (
        # What is asked is not stated.
        re.compile(
            r"\b(?:asks?|asking|asked|think about|determine|consider|considering|figure out|find out|decide|wonder"
            r"|check|see|evaluate|assess|examine|clarify|know|question is|task is)\b[^.,;:]{0,30}? (?:whether|if)\b"
            r"[^.;:]{0,300}?(?=, (?:and|but|so|since|because|as|given)\b|[.;:]|$)"
        ),
        " ",
    ),
    (
        # "All that matters for B is A."
        re.compile(
            r"\b(?:all|what|the (?:only|one) thing)(?: that)? (?:really |actually )?"
            r"(?:(?:matters|counts) for|(?:is )?(?:needed|required|necessary) (?:for|to)|it takes to) (.{3,100}?)"
            r" (?:is|was)(?: that)? "
        ),
        r"\1 because ",
    ),
    (
        re.compile(
            r"\b(?:do|does|did|would|could|can) not (?:play|have|make|take|bear) (?:any|a|much) "
            r"(?=(?:\w{3,12} )?(?:role|part|effect|influence|impact|bearing|connection|link|relation|relevance"
            r"|difference|hand|say)\b)"
        ),
        "has no ",
    ),
    (re.compile(r"\b(is|was|are|were) not (why|how|the reason)\b"), r"not \1 \2"),
    (re.compile(r"\bcan not (see|find|observe|spot|detect)\b"), r"do not \1"),
    (re.compile(r"\b(?:is|are|was|were) (?:absent|missing) from\b"), "does not happen in"),
    (re.compile(r"\bleaves? ([^,.;:]{3,80}?) (?:unchanged|unaffected|untouched)\b"), r"does not affect \1"),
    (re.compile(r"\bas soon as\b"), "once"),
    (re.compile(r"\b(?:unaffected|uninfluenced|unchanged) by\b"), "not affected by"),
    (re.compile(r"\b(not )?attribute ([^,.;:]{3,80}?) to (?=the\b|an?\b|his\b|her\b|\w+ing\b)"), r"\2 \1because of "),
    (re.compile(r"\bwhether ([^,.;:]{3,80}?) or (?:do|does|did|is|was|has|had) not\b"), r"whether or not \1"),
    (
        # "What shatters the glass is the note."
        re.compile(
            r"^what (?!(?:caus|ma[dk]e|le[ad]|trigger|allow|enabl|let|forc|happen|follow|matter|remain|br[io]|prompt))"
            r"(\w{2,20}(?:s|ed) [^,.;:]{3,80}?) (?:is|was) "
        ),
        r"\1 because ",
    ),
    (
        re.compile(
            r"\bthere is an? (?:\w{3,12} ){0,2}(?:link|path|chain|connection|line) from ([^,.;:]{3,80}?) to (?=\w)"
        ),
        r"\1 leads to ",
    ),
    (re.compile(r"\bwith no\b(?! doubt)"), "without"),
    (re.compile(r"\b(?:zero|little to no|absolutely no|virtually no|practically no)(?= [a-z])"), "no"),
    (re.compile(r"\b(needs?|requires?) ([^,.;:]{3,80}?) in order to\b"), r"\1 \2 to"),
    (re.compile(r"^(?:yes|no)?\W{0,3}no ([^,;:.→]{3,80}), (?:then )?(?:no|nothing) "), r"without \1, no "),
    (re.compile(r"(?<=[a-z]) [(\[]\d{1,2}[)\]]"), ""),
    (re.compile(r"\bwhether ([^,.;:]{3,80}?) or not\b"), r"whether or not \1"),
    (re.compile(r" (?:whatsoever|at all|of any kind|in any way|in the slightest|in the least)\b"), ""),
    (
        re.compile(
            r"\b(?:(?:all|just|exactly) the same|in any (?:case|event)|in either case|either way|just as well"
            r"|no matter what(?=\s?[,.;]|$)|one way or (?:the other|another))\b(?! (?:as|way|action|thing))"
        ),
        "anyway",
    ),
)


def reword_lines(text: str) -> str:
    """A text without times of a clip, such as "[00:03 - 00:05]", and with no arrow in a line of its own."""
    return _ARROW_LINE.sub(" → ", _TIMES.sub(" ", _THAT_IS.sub(" that is, ", text)))


def reword(sentence: str) -> str:
    """A sentence in lower case with contractions spelled out, and in the words that the rules know."""
    sentence = spell_out(sentence)
    for pattern, replacement in _REWORDED:
        sentence = pattern.sub(replacement, sentence)
    return sentence
