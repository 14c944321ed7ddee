r"""Finished runs, and the forms of their logged lines.

Examples:
    lmms-eval leaves a results file and a sample log of each task. These are of a run in which one item of a pair was
    answered right:

    >>> import json
    >>> from pathlib import Path
    >>> from lmms_eval_tasks.api import Metric, Record, Row, TaskKind
    >>> from lmms_eval_tasks.api.prompts import TaskSettings, prompt_reader
    >>> from lmms_eval_tasks.api.release import as_lines, write_file
    >>> from lmms_eval_tasks.api.runs import (
    ...     ChoiceLine, LogForm, PredictionLines, QuestionText, RestoredContext, Run, log_line, read_run,
    ... )
    >>> task = "causalvqa_debug_paired"
    >>> records = [
    ...     Record.graded(f"7_{index}", "7", {"type": "planning"}, "A", answered, asked=True, fields=fields)
    ...     for index, (answered, fields) in enumerate(
    ...         (("A", {"official_correct": True}), (None, {"official_correct": False}))
    ...     )
    ... ]
    >>> responses = ["(A)", "I cannot tell."]
    >>> results = {
    ...     "configs": {task: {}}, "group_subtasks": {}, "versions": {task: "1-A"},
    ...     "config": {"model": "replay", "model_args": "pretrained=org/small", "limit": 2},
    ... }
    >>> folder = Path("run")
    >>> write_file(folder / "20260102_results.json", json.dumps(results))
    >>> lines = [{"record": r.to_json(), "filtered_resps": [said]} for r, said in zip(records, responses)]
    >>> write_file(folder / f"20260102_samples_{task}.jsonl", as_lines(lines))

    A run is read with all of its checks, by the folder of its ``--output_path``. A subcommand of a benchmark makes of
    the records what it prints:

    >>> def count_right(run: Run, task: str) -> str:
    ...     right = sum(record.correct is True for record in run.records[task])
    ...     return f"{run.name}, {task}: {right} of {len(run.records[task])} right"
    >>> run = read_run(folder)
    >>> count_right(run, task)
    'replay small, causalvqa_debug_paired: 1 of 2 right'

    It also says why its scores are not to stand beside published ones, and has the logged lines:

    >>> run.limited, run.apart([task])
    ('--limit 2', 'data that is not known to be the official release, --limit 2')
    >>> run.items_of(task)[1].where, run.items_of(task)[1].responses
    ('20260102_samples_causalvqa_debug_paired.jsonl, line 2', ['I cannot tell.'])

    Scores need more of a record than every line has. Of a multiple-choice task that an official script reads too,
    `ChoiceLine` asks whether that one takes the answer for right. A task with fields of its own has a form of its own,
    which names at least the fields that its scores and reports use:

    >>> class CountFields(LogForm):
    ...     counted: int | None
    ...     prompt: str
    >>> CountLine = log_line(CountFields, stratum=["type"])
    >>> record = records[0].with_fields(counted=4, prompt="mcq_letter:0c2bf7b8")
    >>> line = CountLine.model_validate({"record": record.to_json(), "anything else": 1})
    >>> line.record.fields.counted, line.record.stratum
    (4, StratumForm(type='planning'))

    The task's kind names its form. A run that was logged before the field was there, or by something else, is refused
    in words where it is read:

    >>> def keep_prompt(context: RestoredContext, rows: list[Row], lines: list[dict]) -> None:
    ...     asked, _, _ = lines[0]["record"]["fields"]["prompt"].partition(":")
    ...     context.settings = prompt_reader()({**context.kwargs, "prompt": asked}, {})
    >>> metric = Metric("counted_right", "counted right", lambda record: 100.0 * bool(record.correct))
    >>> kinds = {
    ...     "choice": TaskKind(metrics=(metric,), log_form=ChoiceLine),
    ...     "count": TaskKind(metrics=(metric,), log_form=CountLine, restore=keep_prompt),
    ... }
    >>> write_file(folder / f"20260102_samples_{task}.jsonl", as_lines([{"record": records[0].with_fields(
    ...     official_correct="yes").to_json()}]))
    >>> read_run(folder)
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: run/20260102_results.json cannot be read: 1 problem.
      20260102_samples_causalvqa_debug_paired.jsonl, record.fields.official_correct: Expected true, false or null, but
      got `yes` (line 1). Remedy: The same command with the same output path writes it again, from the answers ...

    `lmms-eval-tasks rescore` grades a run's answers anew. Before it does, ``restore`` puts into the task's context what
    the run knew and today's configuration may not, here with which prompt was asked. It is called with that context,
    the rows and the logged lines:

    >>> class Context:
    ...     kwargs, settings, verdicts = {"prompt": "mcq_options"}, TaskSettings(), None
    >>> context = Context()
    >>> kinds["count"].restore(context, [{"question": "How often?"}], [{"record": record.to_json()}])
    >>> context.settings.prompt.prompt_id
    'mcq_letter'

    Official prediction files often hold a prompt and no id. A benchmark says what their prompts ask, and then the model
    ``replay`` joins their lines with items by that:

    >>> def read(line):
    ...     prompt, answer = line.get("prompt"), line.get("predict")
    ...     if not (isinstance(prompt, str) and isinstance(answer, str)):
    ...         return None
    ...     question, *options = prompt.splitlines()
    ...     return QuestionText.of(question, [option[2:] for option in options]), answer
    >>> predictions = PredictionLines(read=read, fields="predict and a prompt", options="lines A: …")
    >>> asked, answer = predictions.read({"prompt": "Who  falls? \nA: The dog.\nB:  The cat.\nC:", "predict": "B"})
    >>> asked == QuestionText.of("Who falls?", ["The dog.", "The cat."]), answer
    (True, 'B')
"""

from __future__ import annotations

from lmms_eval_tasks.runs.folder import Run, read_run
from lmms_eval_tasks.utils.benchmark.benchmark import RestoredContext
from lmms_eval_tasks.utils.scoring.record import ChoiceLine, LogForm, PredictionLines, QuestionText, log_line

__all__ = [
    "ChoiceLine",
    "LogForm",
    "PredictionLines",
    "QuestionText",
    "RestoredContext",
    "Run",
    "log_line",
    "read_run",
]
