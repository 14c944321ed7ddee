"""YoCausal's official labelling prompt, from a checkout of the official repository.

Source: youzhe0305/YoCausal@f219ba6, VLM_labeling/prompt.txt. What it says of the clip's caption or frames is not known,
so all of it is taken as it stands.
"""

from __future__ import annotations

from lmms_eval_tasks.api.prompts import OfficialPrompt, Prompt

PROMPT_ID = "yocausal_causality"
"""Id of our own prompt."""


def _template(text: str) -> str:
    return Prompt.literal(text.strip())


OFFICIAL_PROMPT = OfficialPrompt(
    benchmark="yocausal",
    part="labelling prompt",
    file="VLM_labeling/prompt.txt",
    template=_template,
    replaces=PROMPT_ID,
    for_items=False,
)

find_prompt = OFFICIAL_PROMPT.find
