"""The result file that YoCausal's leaderboard takes: its form, and whether its numbers follow from its pairs.

Source: youzhe0305/YoCausal, README and evaluation/evaluate.py at 2cee25b, and evaluation/metrics.py at f219ba6.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.api import Built, Checked, GradedItem, Problems, RowForm, SubmissionForm, Table
from lmms_eval_tasks.api.losses import DenoisingResponse, combine_by_timestep
from lmms_eval_tasks.api.release import describe, read_object
from lmms_eval_tasks.api.submission import Attendance
from lmms_eval_tasks.yocausal.card import CARD, Winner, compare_losses
from lmms_eval_tasks.yocausal.pair_table import SPLIT

OfficialPair = tuple[str, str, object, object]
"""A pair's official dataset, winner, causality label and human label; labels other than True and False are none."""


def official_metrics(pairs: Iterable[OfficialPair]) -> dict[str, dict[str, Any]]:
    """The result file's ``per_dataset_metrics`` and ``overall_metrics``, as the official functions compute them.

    RSI is the share of pairs with a forward win, overall the unweighted mean over datasets (0.0 without pairs).
    CCI = RSI(Dc) - RSI(Dnc), each a mean over the datasets that have such pairs. Scores are fractions.

    Args:
        pairs: The scored pairs.
    """
    by_dataset: dict[str, list[OfficialPair]] = {}
    for pair in pairs:
        by_dataset.setdefault(pair[0], []).append(pair)
    per_dataset = {dataset: _dataset_metrics(members) for dataset, members in by_dataset.items()}
    counts = {name: sum(metrics[name] for metrics in per_dataset.values()) for name in _COUNTS}
    means = {name: _mean_share(metrics[name] for metrics in per_dataset.values()) for name in _SHARES}
    overall = {
        **counts,
        "rsi": means["rsi"] or 0.0,
        "rsi_dc": means["rsi_dc"],
        "rsi_dnc": means["rsi_dnc"],
        "cci": _difference(means["rsi_dc"], means["rsi_dnc"]),
        "rsi_hd": means["rsi_hd"],
        "rsi_hnd": means["rsi_hnd"],
    }
    return {"per_dataset_metrics": per_dataset, "overall_metrics": overall}


def _mean_share(shares: Iterable[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else None


_COUNTS = ("forward_wins", "backward_wins", "ties", "total")
_SHARES = ("rsi", "rsi_dc", "rsi_dnc", "rsi_hd", "rsi_hnd")


def _dataset_metrics(pairs: Sequence[OfficialPair]) -> dict[str, Any]:
    """One dataset's metrics; the numbers of a split's pairs are None where no pair has its label."""
    winners = [winner for _, winner, _, _ in pairs]
    forward, backward = winners.count("forward"), winners.count("backward")
    dc, dnc = ([winner for _, winner, causal, _ in pairs if causal is wanted] for wanted in (True, False))
    hd, hnd = ([winner for _, winner, _, human in pairs if human is wanted] for wanted in (True, False))
    labelled = any(causal is not None for _, _, causal, _ in pairs)
    judged = any(human is not None for _, _, _, human in pairs)
    return {
        "forward_wins": forward,
        "backward_wins": backward,
        "ties": len(winners) - forward - backward,
        "total": len(winners),
        "rsi": _forward_share(winners),
        "num_causal": len(dc) if labelled else None,
        "num_non_causal": len(dnc) if labelled else None,
        "rsi_dc": _forward_share(dc),
        "rsi_dnc": _forward_share(dnc),
        "cci": _difference(_forward_share(dc), _forward_share(dnc)),
        "num_human_disc": len(hd) if judged else None,
        "num_human_non_disc": len(hnd) if judged else None,
        "rsi_hd": _forward_share(hd),
        "rsi_hnd": _forward_share(hnd),
    }


def _forward_share(winners: Sequence[str]) -> float | None:
    return winners.count("forward") / len(winners) if winners else None


def _difference(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


def official_dataset(source: str) -> str:
    """The name under which the official code files a pair's ``dataset_source``; unknown sources keep theirs.

    It looks for parts of words, so that *limits* is Moments in Time.
    """
    lowered = source.lower()
    parts = {"animal": "animal", "kinetic": "kinetics", "mit": "mit", "moments": "mit", "physic": "physics"}
    return next((dataset for part, dataset in parts.items() if part in lowered), source)


TOLERANCE = 1e-6
"""Largest difference of a fraction or a loss from the recomputed one: it allows for rounding in print."""
NO_PARAMETERS = "model_info.parameters is null: fill it in before you send the file."
Number = Annotated[float | None, Field(allow_inf_nan=False)]
"""A loss, a fraction or a count; null where there is none."""


class OpenRow(RowForm):
    model_config = ConfigDict(extra="allow")


class LossesEntry(OpenRow):
    total_accumulated_loss: Number
    step_losses: dict[str, Number]


class ComparisonEntry(OpenRow):
    loss_diff: Number
    winner: Literal["forward", "backward", "tie"]


def _read_id(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise PydanticCustomError("id_type", "a whole number or a text")
    return value


class PairEntry(OpenRow):
    id: Annotated[Any, BeforeValidator(_read_id)]
    dataset_source: str | None = None
    dataset: str | None = None
    vlm_causality: bool | None = None
    human_discriminable: bool | None = None
    forward_metrics: LossesEntry
    backward_metrics: LossesEntry
    comparison: ComparisonEntry

    @property
    def winner(self) -> Winner:
        """The winner by the losses; a loss that is null is one that was not finite."""
        forward, backward = self.forward_metrics.total_accumulated_loss, self.backward_metrics.total_accumulated_loss
        return Winner.TIE if forward is None or backward is None else compare_losses(forward, backward)

    @property
    def official_dataset(self) -> str:
        """The dataset under which the official code counts the pair."""
        return self.dataset if self.dataset is not None else official_dataset(self.dataset_source or "")

    @property
    def name(self) -> str:
        return f"{describe(self.id)} of {describe(self.official_dataset)}"


class ResultFile(OpenRow):
    model_info: dict[str, Any]
    eval_settings: dict[str, Any]
    per_dataset_metrics: dict[str, dict[str, Number]]
    overall_metrics: dict[str, Number]
    per_video_results: list[PairEntry]


def check(path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: Problems) -> Checked:
    """Check a file's form, its numbers against its pairs, and its pairs against the prepared table where there is
    one."""
    table = prepared.get(SPLIT)
    result = read_object(path, ResultFile, issues)
    notes: list[str] = []
    if result is not None:
        if not result.per_video_results:
            issues.add("per_video_results", "Expected at least one pair, but", "there is none")
        attendance = Attendance({}, "per_video_results.id", "each pair of a dataset", issues)
        for number, pair in enumerate(result.per_video_results, 1):
            attendance.add((pair.official_dataset, pair.id), pair.name, f"entry {number}")
            _check_pair(pair, f"{pair.name}, entry {number}", issues)
        _check_metrics(result, issues)
        if result.model_info.get("parameters") is None:
            notes.append(NO_PARAMETERS)
        if table:
            notes += _compare_with_table(result.per_video_results, table, allow_incomplete, issues)
    ids = f"the pairs against {table}" if table else "no ids: the data is not prepared here"
    checked = f"the form, the metrics against the pairs, and {ids}"
    rows = len(result.per_video_results) if result else 0
    return Checked(f"{CARD.title}, split {SPLIT}", rows, 0, checked, tuple(notes), table)


def _check_pair(pair: PairEntry, where: str, issues: Problems) -> None:
    """Note totals, a winner and a difference that do not follow from the losses."""
    field = "per_video_results"
    directions = {"forward": pair.forward_metrics, "backward": pair.backward_metrics}
    for name, losses in directions.items():
        total, mean = losses.total_accumulated_loss, _mean(list(losses.step_losses.values()))
        if losses.step_losses and not _same(total, mean):
            case = f"{_number(total)} ({where}, mean {_number(mean)})"
            clause = "Expected the mean of step_losses, but got"
            issues.add(f"{field}.{name}_metrics.total_accumulated_loss", clause, case)
    winner = pair.winner.value
    if pair.comparison.winner != winner:
        case = f"{describe(pair.comparison.winner)} ({where})"
        issues.add(f"{field}.comparison.winner", f"Expected {winner} by the losses, but got", case)
    forward, backward = (losses.total_accumulated_loss for losses in directions.values())
    difference = backward - forward if forward is not None and backward is not None else None
    if not _same(pair.comparison.loss_diff, difference):
        expected = "null" if difference is None else "the backward loss less the forward one"
        case = f"{_number(pair.comparison.loss_diff)} ({where})"
        issues.add(f"{field}.comparison.loss_diff", f"Expected {expected}, but got", case)


def _check_metrics(result: ResultFile, issues: Problems) -> None:
    """Note metrics that are not what the official functions give for the losses of the file's own pairs."""
    metrics = official_metrics(
        (pair.official_dataset, pair.winner.value, pair.vlm_causality, pair.human_discriminable)
        for pair in result.per_video_results
    )
    _compare("overall_metrics", result.overall_metrics, metrics["overall_metrics"], issues)
    field, expected, written = "per_dataset_metrics", metrics["per_dataset_metrics"], result.per_dataset_metrics
    for dataset in dict.fromkeys([*expected, *written]):
        if dataset not in expected:
            issues.add(field, "Expected the datasets of the pairs, but got", describe(dataset))
        elif dataset not in written:
            issues.add(field, "Expected every dataset of the pairs, but there is none for", describe(dataset))
        else:
            _compare(field, written[dataset], expected[dataset], issues, f" of {dataset[:60]}")


def _compare(
    field: str, written: Mapping[str, float | None], expected: Mapping[str, Any], issues: Problems, of: str = ""
) -> None:
    for name, value in expected.items():
        if name not in written:
            issues.add(field, "Expected all official metrics, but there is no", f"{name}{of}")
        elif not _same(written[name], value) and not (name.startswith("num_") and not written[name] and not value):
            case = f"{_number(written[name])} for {name}{of} (they give {_number(value)})"
            issues.add(field, "Expected what the pairs give, but got", case)


def _compare_with_table(
    pairs: Sequence[PairEntry], table: Table, allow_incomplete: bool, issues: Problems
) -> list[str]:
    """Note pairs that the release does not have and those that are missing; return what else differs from it."""
    released = {
        (official_dataset(row["dataset_source"] or row["subset"]), json.loads(row["released"])["id"]): row
        for row in table.rows
    }
    missing = dict(released)
    relabelled = 0
    for number, pair in enumerate(pairs, 1):
        key = (pair.official_dataset, pair.id)
        row = released.get(key)
        if row is None:
            case = f"{pair.name} (entry {number})"
            issues.add("per_video_results.id", f"Expected pairs of split {SPLIT}, but got", case)
            continue
        missing.pop(key, None)
        relabelled += any(getattr(pair, name) != row[name] for name in ("vlm_causality", "human_discriminable"))
    if not allow_incomplete:
        for row in missing.values():
            expected = f"Expected every pair of split {SPLIT}, but there is none for"
            issues.add("per_video_results", expected, describe(row["item_id"]))
    notes = [f"Incomplete: {len(missing):,} of {len(released):,} pairs have no entry."] if missing else []
    if relabelled:
        notes.append(f"Pairs with other labels than the prepared table: {relabelled:,}.")
    return notes


def _number(value: float | None) -> str:
    return "null" if value is None else f"{value:.10g}"


def _mean(losses: Sequence[Number]) -> Number:
    known = [loss for loss in losses if loss is not None]
    mean = sum(known) / len(known) if known and len(known) == len(losses) else math.inf
    return mean if math.isfinite(mean) else None


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


OFFICIAL_WINNERS = ("forward", "backward")


def submission_item(answer: DenoisingResponse) -> dict[str, Any]:
    """Return the fields of one answer with losses that the file needs, as JSON values."""
    assert answer.loss is not None
    return {
        "item_id": answer.item_id,
        "forward": answer.loss.forward,
        "backward": answer.loss.backward,
        "steps": losses_by_timestep(answer),
        "timesteps": list(answer.timesteps),
        "settings": dict(answer.settings),
        "digest": answer.settings_digest,
        "versions": dict(answer.versions),
    }


def losses_by_timestep(answer: DenoisingResponse) -> dict[str, list[float]]:
    """The loss of each direction, ``forward`` and ``backward``, at each of the answer's timesteps."""
    assert answer.losses is not None
    counted = [window.latents for window in answer.windows]
    rule = str(answer.settings.get("combine", "latents"))
    return {side: combine_by_timestep(getattr(answer.losses, side), counted, rule) for side in OFFICIAL_WINNERS}


def build_result(items: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The whole file from the pairs that have losses; pairs without are in no denominator, as in the official run.

    Args:
        items: From `submission_item`, at least one.
        rows: Rows of the prepared table; the order of the file's pairs.
    """
    by_id = {item["item_id"]: item for item in items}
    pairs = [_pair(row, by_id[row["item_id"]]) for row in rows if row["item_id"] in by_id]
    metrics = official_metrics(
        (pair["dataset"], pair["comparison"]["winner"], pair["vlm_causality"], pair["human_discriminable"])
        for pair in pairs
    )
    settings = items[0]["settings"]
    return {
        "model_info": {
            "model_name": settings.get("model"),
            "parameters": settings.get("parameters"),
            "checkpoint": settings.get("pretrained"),
            "revision": settings.get("revision"),
            "weights": settings.get("weights"),
        },
        "eval_settings": {
            "fps": settings.get("fps"),
            "resolution": [settings.get("height"), settings.get("width")],
            "window_size": settings.get("frames"),
            "timesteps_sampled": items[0]["timesteps"],
            **{
                name: settings.get(name)
                for name in ("protocol", "draws", "combine", "target", "prompt", "dtype", "seed")
            },
            "settings_digests": sorted({item["digest"] for item in items}),
            "versions": {name: ", ".join(versions) for name, versions in read_versions(items).items()},
        },
        "dataset_paths": sorted({f"subset/{row['subset']}/dataset_metadata.json" for row in rows}),
        **metrics,
        "per_video_results": pairs,
    }


def read_versions(items: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Every version of each package with which pairs were measured, sorted; from `submission_item`."""
    names = dict.fromkeys(name for item in items for name in item["versions"])
    return {name: sorted({item["versions"].get(name, "unknown") for item in items}) for name in names}


def mixed_versions(items: Sequence[Mapping[str, Any]]) -> str:
    """Describe the packages that had several versions, as after an upgrade during a run; empty if none had."""
    named = read_versions(items).items()
    return "; ".join(f"{name} {', '.join(versions)}" for name, versions in named if len(versions) > 1)


def build(entries: Sequence[GradedItem], table: Table, part: str) -> Built | None:
    """The file of a run; pairs without losses are not in it."""
    items = [entry.submission for entry in entries if entry.submission]
    if not items:
        return None
    infinite = sum(None in (_finite(item["forward"]), _finite(item["backward"])) for item in items)
    notes = [f"Pairs with a loss that is not finite: {infinite:,}; they are ties in the file."] if infinite else []
    if mixed := mixed_versions(items):
        notes.append(f"Pairs were measured with several versions: {mixed}; their losses may differ slightly.")
    result = build_result(items, table.rows)
    if result["model_info"]["parameters"] is None:
        notes.append(NO_PARAMETERS)
    text = json.dumps(result, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    return Built(text, len(items), 0, tuple(notes))


def examine(
    entries: Sequence[GradedItem], rows: Mapping[str, Mapping[str, Any]], allow_incomplete: bool, issues: Problems
) -> None:
    """Note pairs without losses, and losses measured with several settings."""
    for entry in entries:
        if not entry.submission and not entry.record.unanswered and not allow_incomplete:
            clause = "Expected losses of every pair, but there are none for"
            case = f"{describe(entry.record.item_id)} ({entry.record.detail or entry.record.why})"
            issues.add("pairs", clause, case, "--allow-incomplete writes the file nevertheless.")
    digests = sorted({entry.submission["digest"] for entry in entries if entry.submission})
    if len(digests) > 1:
        clause = "Expected all pairs to be measured alike, but got the settings"
        issues.add("settings", clause, ", ".join(digests), "Measure all of them again with one of these.")
    if not any(entry.submission for entry in entries):
        issues.add("pairs", "Expected losses of at least one, but", "the run has none")


def _pair(row: Mapping[str, Any], item: Mapping[str, Any]) -> dict[str, Any]:
    released = json.loads(row["released"])
    winner = compare_losses(item["forward"], item["backward"]).value
    return {
        "id": released["id"],
        "dataset_source": row["dataset_source"],
        "prompt": row["caption"] or "",
        "video_path_forward": released["video_path_forward"],
        "video_path_backward": released["video_path_backward"],
        "original_resolution": released["resolution"],
        "vlm_causality": row["vlm_causality"],
        "human_discriminable": row["human_discriminable"],
        **{
            f"{side}_metrics": {
                "total_accumulated_loss": _finite(item[side]),
                "step_losses": {
                    f"{step:g}": _finite(loss)
                    for step, loss in zip(item["timesteps"], item["steps"][side], strict=True)
                },
            }
            for side in ("forward", "backward")
        },
        "comparison": {
            "loss_diff": _finite(item["backward"] - item["forward"]),
            "winner": winner if winner in OFFICIAL_WINNERS else "tie",
        },
        "dataset": official_dataset(row["dataset_source"] or row["subset"]),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


FORM = SubmissionForm(
    parts=("results",),
    path=lambda split, part: "submissions/yocausal_results.json",
    examine=examine,
    build=build,
    check=check,
)
