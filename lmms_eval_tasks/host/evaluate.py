"""Where lmms-eval's model and tasks meet: a run's last checks, the stages through which it asks, and what it found."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lmms_eval_tasks.host import checks
from lmms_eval_tasks.host.asking.costs import Costs
from lmms_eval_tasks.host.asking.dealing import ClipDealer
from lmms_eval_tasks.host.asking.drawing import draw_samples, items_drawn
from lmms_eval_tasks.host.asking.equal_requests import EqualRequests
from lmms_eval_tasks.host.asking.kept_answers import KeptAnswers
from lmms_eval_tasks.host.asking.parts import evaluate_nothing, find_part, is_share, without_tasks
from lmms_eval_tasks.host.asking.rank_agreement import stop_unless_ranks_agree
from lmms_eval_tasks.host.asking.samples import Samples, take_all_samples
from lmms_eval_tasks.host.asking.servers import ServerReplies
from lmms_eval_tasks.host.asking.stages import AskedModel, AskingStage
from lmms_eval_tasks.host.asking.unanswered import FailedRequests, NotedReplies, UnreadableClips, describe_silence
from lmms_eval_tasks.host.asking.views_ahead import ViewsAhead
from lmms_eval_tasks.host.model.identity import ModelFacts, find_arguments, read_weights
from lmms_eval_tasks.host.model.readers import ready_reader
from lmms_eval_tasks.host.ranks import RunStopped, ended_by_hand, stop_if_any
from lmms_eval_tasks.host.tasks.running import (
    FinishedRun,
    Results,
    TaskRequests,
    TaskState,
    count_tasks,
    find_tasks,
    shows_videos,
)
from lmms_eval_tasks.runs.run_files import BYPASS, DATA_SET
from lmms_eval_tasks.utils.answers.reply import SILENCES
from lmms_eval_tasks.utils.benchmark.tasks import RECORD
from lmms_eval_tasks.utils.benchmark.views import CLIP
from lmms_eval_tasks.utils.scoring.record import FRAME, HOW_ASKED, Outcome, Record, UnscoredReason


def wrap_evaluate(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """Return lmms-eval's `evaluate`, where its model and tasks meet, so that the tasks' states know the model."""
    signature = inspect.signature(evaluate)

    @functools.wraps(evaluate)
    def evaluate_with_state(*arguments: Any, **named: Any) -> Any:
        given = signature.bind(*arguments, **named).arguments
        tasks, model = dict(find_tasks(given["task_dict"])), given["lm"]
        states = list(tasks)
        stop_unless_ranks_agree(states)
        if not states:
            return evaluate(*arguments, **named)
        forms = {state.name: frozenset({state.kind.answer_form}) for state in states}
        stop_if_any(checks.describe_misfit(type(model).__name__, forms, model))
        evaluation, limit, offset = states[0].evaluation, given.get("limit"), given.get("offset") or 0
        stop_if_any(checks.describe_shared_limit(limit, count_tasks(given["task_dict"]) - len(tasks)))
        for state, task in tasks.items():
            grade = state.process_results
            # lmms-eval has taken the hook away that graded answers which are only kept.
            if grade is not None and [entry.get("metric") for entry in task.config.metric_list or ()] == [BYPASS]:
                task.config.process_results = functools.partial(keep_prediction, state, grade)
        stop_if_any(checks.describe_limited_sample(limit, offset, evaluation.splits))
        samples, refused = draw_samples(evaluation.sample, given["task_dict"], tasks)
        stop_if_any(refused)
        if part := find_part(evaluation.shard, samples, tasks, limit, offset):
            given["task_dict"] = without_tasks(given["task_dict"], part.empty)
            if is_share(limit):
                given["limit"] = max(one["effective"] for one in part.whole.values())
            arguments, named = (), given
        take_all_samples(model, tasks)
        reader = ready_reader(type(model), find_arguments(model) or {}) if shows_videos(evaluation) else None
        facts = ModelFacts(model, read_weights(model), reader)
        drawn = items_drawn(samples)
        replies = {state.name: TaskRequests(task, model) for state, task in tasks.items()}
        ahead, server = ViewsAhead(model, evaluation), ServerReplies(model)
        for state in states:
            state.begin(facts, replies[state.name], ahead, drawn.get(state.name))
        equal = EqualRequests(model, evaluation)
        kept = KeptAnswers(facts, evaluation, given, server, ahead.expect)
        asked = AskedModel(
            model,
            part or AskingStage(),
            Samples(),
            NotedReplies(replies),
            equal,
            ClipDealer(model, evaluation, {state.name: task for state, task in tasks.items()}),
            Costs(model, evaluation.tasks, kept),
            kept,
            ahead,
            UnreadableClips(model, evaluation),
            FailedRequests(model),
            server,
        )
        try:
            with ended_by_hand(kept.describe), asked.lasting(given.get("response_cache")):
                is_empty = part and not any(part.documents.values())
                results = evaluate_nothing() if is_empty else evaluate(*arguments, **named)
                stop_if_any(describe_silence(states))
        except RunStopped as stop:
            raise stop.for_program() from None
        if not isinstance(results, dict):
            return results
        if part:
            part.label(results)
        return Results(results, FinishedRun(evaluation, facts, **asked.facts()))

    return evaluate_with_state


def keep_prediction(
    state: TaskState, grade: Callable[..., Mapping[str, Any]], doc: Mapping[str, Any], results: Sequence[Any]
) -> dict[str, Any]:
    """Return the log entry of an answer that is not graded: an unscored record that says how its item was asked."""
    graded = grade(doc, [""] * len(results))[RECORD]
    first, *others = (
        replace(
            record,
            answered=None,
            outcome=Outcome.UNSCORED,
            unscored_reason=UnscoredReason.ONLY_PREDICTED if record.heard else record.unscored_reason,
            unparsed_reason=None,
            detail="" if record.heard and not record.ran_out and record.detail not in SILENCES else record.detail,
            fields={name: record.fields[name] for name in (*HOW_ASKED, FRAME, CLIP) if name in record.fields},
        )
        for record in Record.from_json(graded).each
    )
    unscored = replace(first, samples=tuple(others))
    return {BYPASS: None, RECORD: {**unscored.to_json(), DATA_SET: graded[DATA_SET]}}
