r"""Prompts beyond the usual ones: official texts, and settings of one's own.

Examples:
    A prompt is a text with fields in braces. Each record has its signature, so that it is known what was asked:

    >>> from lmms_eval_tasks.api.prompts import OfficialPrompt, Prompt, TaskSettings, prompt_reader, read_closing
    >>> prompt = Prompt("count", "How often does it happen?\n{question}\n" + Prompt.literal('Reply as {"count": 3}.'))
    >>> sorted(prompt.fields), prompt.signature
    (['question'], 'count:1e58c3c6')
    >>> print(prompt.render(question="Does the dog {jump}?"))
    How often does it happen?
    Does the dog {jump}?
    Reply as {"count": 3}.

    A task of which only the prompt can be chosen reads it from its ``lmms_eval_specific_kwargs``, and the environment
    wins. `prompt_reader` makes the function for `TaskKind.read_settings`; here it is called as a run calls it:

    >>> read_settings = prompt_reader(default="mcq_letter")
    >>> read_settings({}, {}).prompt.prompt_id
    'mcq_letter'
    >>> read_settings({}, {"LMMS_EVAL_TASKS_PROMPT": "mcq_options"})
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: Expected a prompt with question and options, one of ..., mcq_letter, ..., but got
    'mcq_options', which has options. A run of several tasks can only have a LMMS_EVAL_TASKS_PROMPT that suits all of
    them.

    A benchmark that lets more be chosen adds to the settings, and says on the run's card what was:

    >>> from collections.abc import Mapping
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class CountSettings(TaskSettings):
    ...     most: int = 10
    ...     def facts(self) -> Mapping[str, object]:
    ...         return {"most": self.most}
    >>> def read_count_settings(kwargs: Mapping[str, object], environment: Mapping[str, str]) -> CountSettings:
    ...     return CountSettings(read_settings(kwargs, environment).prompt, int(kwargs.get("most", 10)))
    >>> settings = read_count_settings({"prompt": "mcq_letter", "most": 4}, {})
    >>> settings.facts(), settings.signature == settings.prompt.signature
    ({'most': 4}, True)

    An official prompt whose licence lets nobody pass it on is imported from the user's checkout of its repository. Its
    SHA-256 is in the benchmark's card. What the file holds is read, never executed, here the closing of a template:

    >>> import os
    >>> from pathlib import Path
    >>> from lmms_eval_tasks.api.release import write_file
    >>> checkout = Path("CausalVQA")
    >>> template = "include: other\nlmms_eval_specific_kwargs:\n  default:\n    post_prompt: 'Only {the} letter.'\n"
    >>> write_file(checkout / "tasks" / "template", template)
    >>> write_file(checkout / "tasks" / "other", "doc_to_text: !function utils.ask\n")
    >>> read_closing(checkout / "tasks" / "template")
    'Only {the} letter.'
    >>> official = OfficialPrompt(
    ...     benchmark="causalvqa",
    ...     part="post_prompt",
    ...     file="tasks/template",
    ...     read=read_closing,
    ...     template=lambda closing: "{question}\n{options}\n" + Prompt.literal(closing),
    ...     replaces="mcq_letter",
    ... )

    `lmms-eval-tasks prompts import` takes it into the data home. A text that is not the official one is refused, or
    has a name of its own:

    >>> os.environ["LMMS_EVAL_TASKS_HOME"] = "home"
    >>> official.import_from(checkout)
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: CausalVQA's official prompt cannot be imported: 1 problem, nothing was written.
      CausalVQA/tasks/template: Expected the official post_prompt with SHA-256 aea89436..., but got c794b33b....
      Remedy: check out the release that the card is about, or keep this text as causalvqa-other-c794b33b by
      --accept-other.
    >>> official.import_from(checkout, accept_other=True).prompt_id
    'causalvqa-other-c794b33b'

    A run finds it by that name, where what reads its tasks' settings is given where to look:

    >>> chosen = {"LMMS_EVAL_TASKS_PROMPT": "causalvqa-other-c794b33b"}
    >>> found = prompt_reader(find=official.find)({}, chosen).prompt
    >>> print(found.render(question="Who falls?", options="(A) The dog."))
    Who falls?
    (A) The dog.
    Only {the} letter.
    >>> official.find("official")
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: Expected a prompt id, one of ..., but got 'official'. CausalVQA's official prompt is
    not on this machine. Run `lmms-eval-tasks prompts import causalvqa --from CHECKOUT` with a checkout of
    https://github.com/facebookresearch/CausalVQA, or run without it.
    >>> del os.environ["LMMS_EVAL_TASKS_HOME"]
"""

from __future__ import annotations

from lmms_eval_tasks.prompting import OfficialPrompt, prompt_reader
from lmms_eval_tasks.utils.answers.question import TaskSettings
from lmms_eval_tasks.utils.benchmark.tasks import read_closing
from lmms_eval_tasks.utils.core.prompt import Prompt

__all__ = [
    "OfficialPrompt",
    "Prompt",
    "TaskSettings",
    "prompt_reader",
    "read_closing",
]
