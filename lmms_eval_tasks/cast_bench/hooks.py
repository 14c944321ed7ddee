"""What lmms-eval calls for the task `cast_bench`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from string import ascii_uppercase
from typing import Any

from loguru import logger

from lmms_eval_tasks.cast_bench.box_conventions import ASSUMED_FRAME, Case, ConventionDiagnosis, diagnose_convention
from lmms_eval_tasks.cast_bench.card import CARD, CATEGORIES
from lmms_eval_tasks.cast_bench.configuration import BOXES, Configuration, default_configuration, read_configuration
from lmms_eval_tasks.cast_bench.metrics import (
    BROKEN_DOWN,
    Question,
    question_scores,
    score_question,
    score_questions,
)
from lmms_eval_tasks.cast_bench.submission import METRICS_FILE, PREDICTIONS, make_item, make_rows, metrics_text
from lmms_eval_tasks.host.hosting import session, submissions_dir, tell_submission
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.data.home import load_table, media_path
from lmms_eval_tasks.utils.evidence.reader import read_official, read_truth
from lmms_eval_tasks.utils.evidence.shown_frames import qwen_limits
from lmms_eval_tasks.utils.scoring.choice import NO_CLIP
from lmms_eval_tasks.utils.scoring.records import NOT_ASKED, Outcome, Record
from lmms_eval_tasks.utils.submission.files import write_rows


def doc_to_visual(doc: Mapping[str, Any]) -> list[str]:
    """Path of the question's clip."""
    return [str(media_path(CARD.name, doc))]


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt: question, options, and the form of the answer."""
    text = _ask(doc, _configure(lmms_eval_specific_kwargs))
    return text if doc["asked"] else f"{NO_CLIP}\n{text}"


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """Letter of the key; empty where the release withholds it."""
    return doc["answer"] or ""


def process_results(doc: Mapping[str, Any], results: list[Any]) -> dict[str, Any]:
    """Grade the first response and hand it to every score that the question counts in."""
    response = results[0] if results else ""
    configuration = _configuration()
    asked = doc["asked"] and response != NOT_ASKED
    question = replace(read_question(doc, configuration), asked=asked)
    record = score_question(question, response, configuration.settings, configuration.convention)
    record = replace(record, fields={**record.fields, "prompt": configuration.prompt.signature})
    items = metric_items(record, doc["option_kinds"])
    predict = response if isinstance(response, str) else ""
    items["submission_rows"] = make_item(
        doc["split"], record, _ask(doc, configuration), predict, configuration.settings
    )
    return {**items, "sample_data": 100.0} if doc["sample"] else items


def read_question(doc: Mapping[str, Any], configuration: Configuration) -> Question:
    """A row of the prepared table as scoring needs it."""
    frame = (doc["width"], doc["height"]) if doc["width"] and doc["height"] else None
    return Question(
        item_id=doc["item_id"],
        clip=PurePosixPath(doc["clip"]).stem,
        category=doc["category"],
        answer=doc["answer"],
        truth=read_truth(doc["evidence"]),
        letters=ascii_uppercase[: len(doc["options"])],
        frame=frame,
        seen=configuration.seen(frame, lambda: qwen_limits(session.model)),
        asked=doc.get("asked", True),
    )


def metric_items(record: Record, option_kinds: Sequence[str | None] | None) -> dict[str, Any]:
    """What a graded question brings to each score: percent or a count, None where it has none.

    Args:
        record: The graded question.
        option_kinds: Kind of each wrong option where the release names them.

    Returns:
        Metric name to value, and the whole record under ``"record"``, which is only written to the sample log.
        ``accuracy`` also carries ``score`` and ``group_id``, from which lmms-eval prints errors clustered by clip.
    """
    scores = question_scores(record)
    category, size = record.stratum["category"], record.stratum["size"]
    asked = record.fields["answer_reason"] != "no clip"
    items: dict[str, Any] = {
        "record": record.to_json(),
        **scores,
        "unparsed_rate": 100.0 * (record.answered is None) if asked else None,
        "unscored_rate": 100.0 * (record.correct is None),
        "grounding_unscored_rate": 100.0 * (record.fields["grounding"] is None),
    }
    for name in BROKEN_DOWN:
        items[f"{name}_{size}"] = scores[name]
        if category in CATEGORIES:
            items[f"{name}_{category}"] = scores[name]
    if record.outcome is Outcome.WRONG and option_kinds and record.answered:
        chosen = ascii_uppercase.index(record.answered)
        kind = option_kinds[chosen] if chosen < len(option_kinds) else None
        for name in ("text-based", "video-based", "near-miss"):
            items[f"errors_{name.replace('-', '_')}"] = 100.0 * (kind == name)
    value = scores["accuracy"]
    credit: dict[str, Any] = {"group_id": record.group_id, "value": value}
    items["accuracy"] = credit if value is None else {**credit, "score": value}
    return items


def accuracy(items: Iterable[Mapping[str, float | None]]) -> float | None:
    """Percent of scored questions that are right, 0-100; None where none is scored."""
    values = [item["value"] for item in items]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def submission_rows(items: Sequence[Mapping[str, Any]], args: Any) -> int | None:
    """Write the predictions and the metrics in the official forms, and warn where boxes look misread.

    Both files are in the table's order. A question that could not be asked is in neither.

    Returns:
        How many predictions were written; None without an output path.
    """
    configuration = _configuration()
    said = {item["item_id"]: item["predict"] for item in items if item["asked"]}
    table = load_table(CARD.name, items[0]["split"], require_clips=False).to_list()
    docs = [doc for doc in table if doc["item_id"] in said]
    cases = [(read_question(doc, configuration), said[doc["item_id"]]) for doc in docs]
    _warn_of_boxes(cases, configuration)
    folder = submissions_dir(args)
    if folder is None:
        return None
    path = folder / PREDICTIONS
    rows = make_rows(items, table)
    written = write_rows(path, rows)
    records = list(score_questions(cases, configuration.settings, configuration.convention))
    text = metrics_text(records, configuration.settings, len(table) - written)
    write_file(folder / METRICS_FILE, text)
    tell_submission(path, written, len(table), 0)
    scored = json.loads(text)["overall_per_qa"]["n_qas"]
    if scored < written:
        logger.warning(f"{folder / METRICS_FILE} is about the {scored} of {written} questions that could be scored.")
    return written


def _configure(kwargs: Mapping[str, Any] | None) -> Configuration:
    """Read a task's configuration and keep it for scoring, which the host does not hand it to.

    Ends the run where it cannot be used, or where two tasks of the run differ in it.
    """
    try:
        chosen = read_configuration(kwargs, os.environ)
    except InputError as error:
        raise SystemExit(f"\n{error}") from None
    if session.configurations.setdefault(CARD.name, chosen) != chosen:
        raise SystemExit("\nTasks of this run ask CaST-Bench in different configurations: run them one at a time.")
    session.asked[CARD.name] = chosen.prompt
    return chosen


def _configuration() -> Configuration:
    chosen: Configuration = session.configurations.get(CARD.name) or default_configuration()
    return chosen


def _ask(doc: Mapping[str, Any], configuration: Configuration) -> str:
    """The prompt as it was sent; options as ``A: text``, which the official script's own prompts have."""
    options = "\n".join(f"{letter}: {text}" for letter, text in zip(ascii_uppercase, doc["options"], strict=False))
    return configuration.prompt.render(question=doc["question"], options=options)


def _warn_of_boxes(cases: Sequence[tuple[Question, str]], configuration: Configuration) -> None:
    diagnosis = diagnose_convention(
        (
            Case(read_official(response).instances, question.truth, question.frame, question.seen)
            for question, response in cases
        ),
        configuration.convention,
    )
    if diagnosis.suspicious:
        logger.warning(convention_warning(diagnosis))


def convention_warning(diagnosis: ConventionDiagnosis) -> str:
    """What to tell where boxes look as if they were written in another convention."""
    declared = diagnosis.declared.value
    said = [f"CaST-Bench's boxes were read as {declared}, and do not look it:"]
    if diagnosis.mostly_outside and diagnosis.outside_share is not None:
        said.append(f"{100 * diagnosis.outside_share:.0f}% of them leave the frame.")
    if diagnosis.suspected is not None:
        ours, theirs = diagnosis.mean_iou[diagnosis.declared], diagnosis.mean_iou[diagnosis.suspected]
        name = diagnosis.suspected.value
        assumed, first = "", ""
        if diagnosis.frames_assumed and (diagnosis.suspected.normalised or diagnosis.declared.normalised):
            assumed = " and clips of unknown size taken for {:.0f}×{:.0f}".format(*ASSUMED_FRAME)
        if diagnosis.frames_assumed and diagnosis.suspected.normalised:
            first = "prepare the benchmark with its clips, which tell their sizes, and "
        said.append(
            f"Read as {name}{assumed}, their mean IoU with true boxes of the same second is {theirs or 0:.2f}, not "
            f"{ours or 0:.2f}. If the model writes boxes so, {first}score its responses again with {BOXES}={name}."
        )
    return " ".join(said)
