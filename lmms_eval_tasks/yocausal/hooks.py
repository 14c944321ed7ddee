"""What lmms-eval calls for the YoCausal tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from loguru import logger

from lmms_eval_tasks.host.hosting import asked_prompt, session, submissions_dir
from lmms_eval_tasks.host.hosting import process_docs as open_table
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.wording import summarize_names
from lmms_eval_tasks.utils.data.home import load_table, media_path
from lmms_eval_tasks.utils.denoising.response import DenoisingResponse, read_denoising
from lmms_eval_tasks.utils.scoring.choice import NO_CLIP, render_question, score_choice
from lmms_eval_tasks.utils.scoring.groups import rate
from lmms_eval_tasks.utils.scoring.records import NOT_ASKED, Outcome, Record
from lmms_eval_tasks.yocausal import scores
from lmms_eval_tasks.yocausal.card import FORWARD, REVERSED, SUBSETS, UNKNOWN
from lmms_eval_tasks.yocausal.rsi import Winner, compare_losses
from lmms_eval_tasks.yocausal.scores import human_item, item_of
from lmms_eval_tasks.yocausal.submission import as_text, build_result, mixed_versions, submission_item
from lmms_eval_tasks.yocausal.table import SPLIT

if TYPE_CHECKING:
    import datasets

NO_LOSSES = (
    "The response is no denoising losses: run this task with --model video_diffusion; for a model that answers in "
    "words, the task is yocausal_vlm."
)
NAMED = 5


def doc_to_visual(doc: Mapping[str, Any]) -> list[str]:
    """Paths of the clip and of its reversal."""
    return [str(media_path("yocausal", doc, column)) for column in ("clip", "clip_backward")]


def doc_to_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The forward clip's caption; empty where it has none."""
    return (doc["caption"] or "") if doc["asked"] else NO_CLIP


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The direction that should have the lower loss."""
    return "forward"


def process_results(doc: Mapping[str, Any], results: list[Any]) -> dict[str, Any]:
    """Judge the first response and hand it to every score that the pair counts in."""
    response = results[0] if results else ""
    answer = read_denoising(response)
    asked = doc["asked"] and response != NOT_ASKED
    record = judge_pair(doc, answer, asked)
    item = item_of(record)
    items: dict[str, Any] = {"record": record.to_json()}
    items |= dict.fromkeys(PAIR_METRICS, item)
    if doc["subset"] in SUBSETS:
        items[f"rsi_{doc['subset']}"] = item
    if doc["motion_symmetric"]:
        items["rsi_motion_symmetric"] = item
    items["unparsed_rate"] = 100.0 * (record.outcome is Outcome.UNPARSED) if asked else None
    if answer is not None and answer.loss is not None and record.answered is not None:
        items["submission_rows"] = submission_item(answer)
    return {**items, "sample_data": 100.0} if doc["sample"] else items


PAIR_METRICS = (
    "rsi",
    "rsi_causal",
    "rsi_non_causal",
    "cci",
    "cci_normalised",
    "rsi_discriminable",
    "rsi_non_discriminable",
    "tie_rate",
    "non_finite_rate",
    "unscored_rate",
)


def judge_pair(doc: Mapping[str, Any], answer: DenoisingResponse | None, asked: bool) -> Record:
    """The record of one pair; without losses it is unparsed or unscored, and its fields say why."""
    winner, reason, outcome = None, "", Outcome.UNSCORED
    if not asked:
        reason = "no clip"
    elif answer is None:
        reason, outcome = NO_LOSSES, Outcome.UNPARSED
    elif answer.item_id != doc["item_id"]:
        reason = f"The response is about {answer.item_id}, not about this pair."
    elif answer.loss is None:
        reason = answer.error.message if answer.error else "The answer holds no losses."
    else:
        winner = compare_losses(answer.loss.forward, answer.loss.backward).value
        outcome = Outcome.CORRECT if winner == "forward" else Outcome.WRONG
    labels = {name: doc[name] for name in ("vlm_causality", "human_discriminable")}
    return Record(
        item_id=doc["item_id"],
        group_id=doc["group_id"],
        stratum=_stratum(doc),
        expected="forward",
        answered=winner,
        outcome=outcome,
        fields={
            **labels,
            "motion_symmetric": doc["motion_symmetric"],
            "loss": None if answer is None or answer.loss is None else answer.loss.model_dump(mode="json"),
            "model": None if answer is None else answer.settings.get("model"),
            "settings_digest": None if answer is None else answer.settings_digest,
            **({"reason": reason} if reason else {}),
        },
    )


def _stratum(doc: Mapping[str, Any]) -> dict[str, str]:
    def said(label: bool | None, yes: str, no: str) -> str:
        return "unlabelled" if label is None else yes if label else no

    return {
        "subset": doc["subset"],
        "category": doc["category"],
        "causality": said(doc["vlm_causality"], "causal", "not causal"),
        "people": said(doc["human_discriminable"], "can tell", "cannot tell"),
        "motion": "symmetric" if doc["motion_symmetric"] else "other",
    }


def unscored_rate(items: Sequence[Mapping[str, Any]]) -> float | None:
    """Percent of pairs without losses; names them, and why, in a warning."""
    lost: dict[str, list[str]] = {}
    for item in items:
        if item["winner"] is None:
            lost.setdefault(item["reason"], []).append(item["item_id"])
    if lost:
        number = sum(map(len, lost.values()))
        lines = [f"yocausal: {number} of {len(items)} pairs have no losses and leave every score:"]
        for reason, names in sorted(lost.items(), key=lambda entry: (-len(entry[1]), entry[0]))[:NAMED]:
            lines.append(f"  {summarize_names(names, NAMED)}: {reason}")
        if len(lost) > NAMED:
            lines.append(f"  … and {len(lost) - NAMED} more reasons; the sample log has them all")
        logger.warning("\n".join(lines))
    return rate([100.0 * (item["winner"] is None) for item in items])


def non_finite_rate(items: Sequence[Mapping[str, Any]]) -> float | None:
    """`scores.non_finite_rate`; names the pairs in a warning."""
    broken = [item["item_id"] for item in items if item["winner"] == Winner.NON_FINITE.value]
    if broken:
        logger.warning(
            f"yocausal: {len(broken)} of {len(items)} pairs have a loss that is NaN or infinite, which is no win and "
            f"stays in the denominator: {summarize_names(broken, NAMED)}. If it is most of them, try dtype=float32."
        )
    return scores.non_finite_rate(items)


def submission_rows(items: Sequence[Mapping[str, Any]], args: Any) -> int | None:
    """Write the result file; how many pairs it holds, None without an output path."""
    folder = submissions_dir(args)
    if mixed := mixed_versions(items):
        logger.warning(
            f"yocausal: pairs were measured with several versions ({mixed}), and their losses may differ slightly. To "
            "measure all with those of today, give --model_args an empty folder as cache."
        )
    if folder is None or not items:
        return None
    path = folder / "yocausal_results.json"
    rows = [dict(row) for row in load_table("yocausal", SPLIT, require_clips=False)]
    write_file(path, as_text(build_result(items, rows)))
    note = "" if len(items) == len(rows) else "; the pairs that are not in it are in none of its scores"
    if len({item["digest"] for item in items}) > 1:
        note += "; its pairs were measured with several settings, and a leaderboard should refuse it"
    logger.info(f"{path} holds {len(items)} of {len(rows)} pairs{note}")
    return len(items)


def both_directions(dataset: datasets.Dataset) -> datasets.Dataset:
    """`process_docs` of `yocausal_vlm`: each pair's clip and its reversal as two items, one after the other.

    Raises:
        SystemExit: as `hosting.process_docs`.
    """
    table = open_table(dataset)
    doubled = table.select([row for row in range(len(table)) for _ in range(2)])
    sides = (("fwd", FORWARD), ("bwd", REVERSED)) * len(table)
    clips = [row[column] for row in table for column in ("clip", "clip_backward")]
    columns = {
        "item_id": [f"{name}_{side}" for name, (side, _) in zip(doubled["item_id"], sides, strict=True)],
        "answer": [answer for _, answer in sides],
        "clip": clips,
    }
    doubled = doubled.remove_columns(["clip_backward", *columns])
    for name, column in columns.items():
        doubled = doubled.add_column(name, column)
    return doubled


def vlm_visual(doc: Mapping[str, Any]) -> list[str]:
    """Path of the one clip that is shown."""
    return [str(media_path("yocausal", doc))]


def vlm_text(doc: Mapping[str, Any], lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt: question and lettered options."""
    return render_question(asked_prompt("yocausal", lmms_eval_specific_kwargs), doc)


def vlm_target(doc: Mapping[str, Any]) -> str:
    """Letter of the clip's direction."""
    return str(doc["answer"])


def vlm_results(doc: Mapping[str, Any], results: list[Any]) -> dict[str, Any]:
    """Grade the first response and hand it to every score that the clip counts in."""
    graded = score_choice(doc, results[0] if results else "", stratum=_stratum(doc), official=None)
    credit = None if graded.correct is None else 100.0 if graded.correct else 50.0 * (graded.answered == UNKNOWN)
    kept = {name: value for name, value in graded.fields.items() if not name.startswith("official_")}
    record = Record.from_json(
        {**graded.to_json(), "fields": {**kept, "human_credit": credit, "prompt": session.prompts.get("yocausal")}}
    )
    share = {"group_id": record.group_id, "correct": record.correct}
    items: dict[str, Any] = {
        "record": record.to_json(),
        "pairs_scored": share,
        "pair_accuracy": share,
        "pair_accuracy_strata_mean": {**share, "stratum": doc["subset"]},
        "single_accuracy": share if credit is None else {**share, "score": 100.0 * bool(record.correct)},
        "rsi_human_protocol": human_item(record),
        "unparsed_rate": 100.0 * (record.answered is None) if record.fields.get("reason") != "no clip" else None,
        "unscored_rate": 100.0 * (record.correct is None),
    }
    if doc["subset"] in SUBSETS:
        items[f"pair_accuracy_{doc['subset']}"] = share
    return {**items, "sample_data": 100.0} if doc["sample"] else items
