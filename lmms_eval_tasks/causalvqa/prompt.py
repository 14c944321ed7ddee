"""CausalVQA's official prompt, from a checkout of the official repository.

Source: facebookresearch/CausalVQA@3f65605, tasks/_default_template_yaml and tasks/utils.py. The official code
loads the template's opening but never uses it, so only the closing is read.
"""

from __future__ import annotations

from lmms_eval_tasks.api.prompts import OfficialPrompt, Prompt, read_closing

LAYOUT = "Question:{question}\nOption:\n{options}\n"

OFFICIAL_PROMPT = OfficialPrompt(
    benchmark="causalvqa",
    part="post_prompt",
    file="tasks/_default_template_yaml",
    read=read_closing,
    template=lambda closing: LAYOUT + Prompt.literal(closing),
    replaces="mcq_letter",
)
