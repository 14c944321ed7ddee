"""Language models that judge free answers.

Examples:
    A judge replies with one JSON object, whose form is a pydantic model. A reply of another form is unreadable, and the
    judge is asked again; nothing in a reply is converted or guessed. A `Case` is a prompt filled in for one answer.

    >>> import json
    >>> from pydantic import BaseModel, ConfigDict, Field
    >>> from lmms_eval_tasks.api.judge import Case, Judge, Verdict, open_named_judge
    >>> from lmms_eval_tasks.api.prompts import Prompt
    >>> class Agreement(BaseModel):
    ...     model_config = ConfigDict(extra="forbid", frozen=True)
    ...     agreement: float = Field(ge=0.0, le=10.0)
    >>> prompt = Prompt(
    ...     "doors_judge",
    ...     'How well does the given answer agree with the true one? Reply with {{"agreement": 0 to 10}}. {case}',
    ... )
    >>> def case_of(row, response):
    ...     material = {"question": row["question"], "true": row["answer"], "given": response}
    ...     return Case(prompt.render(case=json.dumps(material)), prompt)

    A kind of task that is judged declares it, as in ``TaskKind(…, judge="optional")``. What grades an answer gets the
    judge of the run from the context: None where the user chose none. Asking raises nothing: a verdict has a reply, or
    a reason for having none.

    >>> def agreement_of(row, response, context):
    ...     judge = context.judge(Agreement)
    ...     if judge is None:
    ...         return None, "no judge"
    ...     verdict = judge.judge(case_of(row, response))
    ...     return verdict.reply and verdict.reply.agreement, verdict.reason

    Here a function stands in for the server, and a dictionary for the folder in which accepted replies are kept. The
    second reply is out of range. As ``unreadable=1`` says, one such reply is enough to leave the case unscored.

    >>> from types import SimpleNamespace
    >>> def send(case):
    ...     grade = 90 if "ghost" in case.text else 9
    ...     return SimpleNamespace(text=json.dumps({"agreement": grade}), model="Judge-8B-0925")
    >>> class Kept(dict):
    ...     find, store = dict.get, dict.__setitem__
    >>> opened = open_named_judge(Agreement, "model=Judge-8B,provider=transformers,max_tokens=512,unreadable=1")
    >>> judge = Judge(send, opened.sampling, Agreement, cache=Kept(), limits=opened.limits)
    >>> context = SimpleNamespace(judge=lambda schema: judge)
    >>> row = {"question": "Why does the door open?", "answer": "The wind pushes it."}
    >>> agreement_of(row, "Because of the wind.", context)
    (9.0, None)
    >>> agreement_of(row, "It was a ghost.", context)
    (None, 'unreadable reply: agreement: Input should be less than or equal to 10')

    Several cases are asked at once, and the verdicts come in their order. For the record, each names the model that
    replied and has the prompt's signature.

    >>> verdicts = judge.judge_all([case_of(row, "The wind."), case_of(row, "The wind, I think.")])
    >>> [verdict.reply for verdict in verdicts]
    [Agreement(agreement=9.0), Agreement(agreement=9.0)]
    >>> verdicts[0].model, verdicts[0].prompt
    ('Judge-8B-0925', 'doors_judge:...')

    When a finished run is scored again, the verdicts in its log take the place of the judge.

    >>> logged = verdicts[0].to_json()
    >>> logged["reply"]
    {'agreement': 9.0}
    >>> again = Verdict(Agreement(**logged["reply"]), logged["reason"], logged["model"], logged["prompt"])
    >>> again == verdicts[0]
    True

    A command of a benchmark opens the judge that its option names, as above: settings with commas between them, or a
    model's name alone. Opening sends nothing. A judge that cannot be asked is refused, and all that is wrong is listed.

    >>> opened.sampling.model, opened.sampling.max_tokens
    ('Judge-8B', 512)
    >>> open_named_judge(Agreement, "model=Judge-8B,provider=local,top_p=2,temperatur=0")
    Traceback (most recent call last):
    ...
    lmms_eval_tasks.utils.core.errors.InputError: The judge cannot be asked: 2 problems.
      top_p: Input should be less than or equal to 1, but got '2'.
      temperatur: Extra inputs are not permitted.
    >>> open_named_judge(Agreement, "none", option="--critic")
    Traceback (most recent call last):
    ...
    lmms_eval_tasks.utils.core.errors.InputError: Expected --critic to name a model, but got none.
"""

from __future__ import annotations

from lmms_eval_tasks.utils.judge.client import Judge, Verdict
from lmms_eval_tasks.utils.judge.named import open_named_judge
from lmms_eval_tasks.utils.judge.replies import Case

__all__ = [
    "Case",
    "Judge",
    "Verdict",
    "open_named_judge",
]
