"""How a run of CaST-Bench asks and scores; and the official prompt, from a checkout of the official repository.

Source: mf-zhang/CaST-Bench-Evaluation@a216491, inference/prompt.md, a template for `str.format`.
"""

from __future__ import annotations

import re
from string import Formatter

from lmms_eval_tasks.api.evidence import evidence_settings_reader
from lmms_eval_tasks.api.prompts import OfficialPrompt, Prompt
from lmms_eval_tasks.cast_bench.card import CARD

PROMPT = "cast_bench_evidence"
"""Id of our own prompt."""

# What stands before an option on its line.
_LABEL = re.compile(r"\n(\(?[A-Z]\)?[:.)]?[ \t]*)?\Z")


def normal_form(template: str) -> str:
    """A template whose fields are the question and the options, one field each whatever they are called."""
    pieces = list(Formatter().parse(template.strip() + "\n"))
    named = [(number, name) for number, (_, name, _, _) in enumerate(pieces) if name is not None]
    asked = [number for number, name in named if "question" in name.lower()]
    listed = [number for number, name in named if "question" not in name.lower()]
    if len(asked) != 1 or not listed or listed != list(range(listed[0], listed[-1] + 1)):
        raise ValueError(f"its fields are {', '.join(name for _, name in named) or 'none'}")
    parts = []
    for number, (text, name, _, _) in enumerate(pieces):
        if number not in listed:
            parts.append(Prompt.literal(text) + ("{question}" if name is not None else ""))
            continue
        label = _LABEL.search(text)
        if label is None or (number > listed[0] and label.start() > 0):
            raise ValueError(f"its field {name} is not on a line of its own behind the options before it")
        if number == listed[0]:
            parts.append(Prompt.literal(text[: label.start()]) + "\n{options}")
    return "".join(parts).strip()


OFFICIAL_PROMPT = OfficialPrompt(
    benchmark="cast_bench",
    part="template",
    file="inference/prompt.md",
    template=normal_form,
    replaces=PROMPT,
)

find_prompt = OFFICIAL_PROMPT.find
read_settings = evidence_settings_reader(CARD.title, PROMPT, find_prompt)
