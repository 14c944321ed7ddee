"""The result file that YoCausal's leaderboard takes: its form, and whether its numbers follow from its pairs.

Source: youzhe0305/YoCausal, README and evaluation/evaluate.py at 2cee25b, and evaluation/metrics.py at f219ba6.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from lmms_eval_tasks.api import Built, Checked, GradedItem, Problems, RowForm, SubmissionForm, Table
from lmms_eval_tasks.api.losses import DenoisingResponse, combine_by_timestep
from lmms_eval_tasks.api.release import describe, read_object
from lmms_eval_tasks.api.runs import LogForm
from lmms_eval_tasks.api.submission import Attendance
from lmms_eval_tasks.yocausal.card import CARD, LABELS, SPLIT, compare_losses

OfficialPair = tuple[str, str, object, object]
"""A pair's official dataset, winner, causality label and human label; labels other than True and False are none."""
_COUNTS = ("forward_wins", "backward_wins", "ties", "total")
_HALVES = {
    2: ("num_causal", "num_non_causal", "rsi_dc", "rsi_dnc"),
    3: ("num_human_disc", "num_human_non_disc", "rsi_hd", "rsi_hnd"),
}
"""Place of a label in an `OfficialPair` to the metrics of the pairs where it is True and where it is False."""


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

    def mean(name: str) -> float | None:
        known = [metrics[name] for metrics in per_dataset.values() if metrics[name] is not None]
        return sum(known) / len(known) if known else None

    causal, other = mean("rsi_dc"), mean("rsi_dnc")
    overall = {
        **{name: sum(metrics[name] for metrics in per_dataset.values()) for name in _COUNTS},
        "rsi": mean("rsi") or 0.0,
        "rsi_dc": causal,
        "rsi_dnc": other,
        "cci": _difference(causal, other),
        "rsi_hd": mean("rsi_hd"),
        "rsi_hnd": mean("rsi_hnd"),
    }
    return {"per_dataset_metrics": per_dataset, "overall_metrics": overall}


def _dataset_metrics(pairs: Sequence[OfficialPair]) -> dict[str, Any]:
    """One dataset's metrics; the numbers of a label's pairs are None where no pair has it."""
    winners = [pair[1] for pair in pairs]
    forward, backward = winners.count("forward"), winners.count("backward")
    counts = (forward, backward, len(winners) - forward - backward, len(winners))
    metrics = {**dict(zip(_COUNTS, counts, strict=True)), "rsi": _forward_share(winners)}
    for place, (number, other_number, share, other_share) in _HALVES.items():
        half, other = ([pair[1] for pair in pairs if pair[place] is label] for label in (True, False))
        labelled = any(pair[place] is not None for pair in pairs)
        metrics |= {number: len(half) if labelled else None, other_number: len(other) if labelled else None}
        metrics |= {share: _forward_share(half), other_share: _forward_share(other)}
        if share == "rsi_dc":
            metrics["cci"] = _difference(metrics[share], metrics[other_share])
    return metrics


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


# ---- what a run keeps of each pair ---------------------------------------------------------------------------------

SIDES = ("forward", "backward")


class StepsForm(LogForm):
    forward: list[float]
    backward: list[float]


class TimedForm(LogForm):
    steps: StepsForm | None = None
    timesteps: list[float] = Field(default_factory=list)

    @model_validator(mode="after")
    def _as_many_losses_as_timesteps(self) -> TimedForm:
        steps = self.steps or StepsForm(forward=[], backward=[])
        if not len(steps.forward) == len(steps.backward) == len(self.timesteps):
            raise ValueError("Expected a loss at each timestep")
        return self


class PairLosses(TimedForm):
    item_id: str
    forward: float
    backward: float
    steps: StepsForm
    timesteps: list[float]
    settings: dict[str, Any]
    digest: str
    versions: dict[str, str]

    @classmethod
    def of(cls, answer: DenoisingResponse) -> PairLosses:
        """What the file needs of an answer that has losses."""
        assert answer.loss is not None
        kept = answer.model_dump(include={"item_id", "timesteps", "settings", "versions"})
        steps = StepsForm(**losses_by_timestep(answer))
        return cls(**kept, **answer.loss.model_dump(), steps=steps, digest=answer.settings_digest)


def losses_by_timestep(answer: DenoisingResponse) -> dict[str, list[float]]:
    """The loss of each direction, ``forward`` and ``backward``, at each of the answer's timesteps, if it has any."""
    if answer.losses is None:
        return {side: [] for side in SIDES}
    counted = [window.latents for window in answer.windows]
    rule = str(answer.settings.get("combine", "latents"))
    return {side: combine_by_timestep(getattr(answer.losses, side), counted, rule) for side in SIDES}


Items = Sequence[Mapping[str, Any]]
"""`PairLosses` as JSON values, as a run keeps them."""


def read_versions(items: Items) -> dict[str, list[str]]:
    """Every version of each package with which pairs were measured, sorted."""
    names = dict.fromkeys(name for item in items for name in item["versions"])
    return {name: sorted({item["versions"].get(name, "unknown") for item in items}) for name in names}


def mixed_versions(items: Items) -> str:
    """Describe the packages that had several versions, as after an upgrade during a run; empty if none had."""
    named = read_versions(items).items()
    return "; ".join(f"{name} {', '.join(versions)}" for name, versions in named if len(versions) > 1)


# ---- the file ------------------------------------------------------------------------------------------------------

NO_PARAMETERS = "model_info.parameters is null: fill it in before you send the file."
Number = Annotated[float | None, Field(allow_inf_nan=False)]
"""A loss, a fraction or a count; null where there is none, or it is not finite."""


def _finite(value: float) -> Number:
    return value if math.isfinite(value) else None


class OpenRow(RowForm):
    model_config = ConfigDict(extra="allow")


class LossesEntry(OpenRow):
    total_accumulated_loss: Number
    step_losses: dict[str, Number]


class ComparisonEntry(OpenRow):
    loss_diff: Number
    winner: Literal["forward", "backward", "tie"]

    @classmethod
    def of(cls, forward: LossesEntry, backward: LossesEntry) -> ComparisonEntry:
        """What follows from the losses; where one was not finite it is a tie."""
        one, other = forward.total_accumulated_loss, backward.total_accumulated_loss
        if one is None or other is None:
            return cls(loss_diff=None, winner="tie")
        return cls.model_validate({"loss_diff": _finite(other - one), "winner": compare_losses(one, other).value})


class PairEntry(OpenRow):
    """A pair in the file; its fields are those of the official writer, in its order."""

    id: int | str
    dataset_source: str | None = None
    prompt: Any = None
    video_path_forward: Any = None
    video_path_backward: Any = None
    original_resolution: Any = None
    vlm_causality: bool | None = None
    human_discriminable: bool | None = None
    forward_metrics: LossesEntry
    backward_metrics: LossesEntry
    comparison: ComparisonEntry
    dataset: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any], item: Mapping[str, Any]) -> PairEntry:
        """The pair of a prepared row with its losses."""
        released = json.loads(row["released"])
        losses = []
        for side in SIDES:
            steps = zip(item["timesteps"], item["steps"][side], strict=True)
            by_step = {f"{step:g}": _finite(loss) for step, loss in steps}
            losses.append(LossesEntry(total_accumulated_loss=_finite(item[side]), step_losses=by_step))
        return cls(
            prompt=row["caption"] or "",
            original_resolution=released.pop("resolution"),
            **released,
            **{name: row[name] for name in ("dataset_source", *LABELS)},
            forward_metrics=losses[0],
            backward_metrics=losses[1],
            comparison=ComparisonEntry.of(*losses),
            dataset=official_dataset(row["dataset_source"] or row["subset"]),
        )

    @property
    def compared(self) -> ComparisonEntry:
        """What follows from the losses that are written."""
        return ComparisonEntry.of(self.forward_metrics, self.backward_metrics)

    @property
    def official_dataset(self) -> str:
        """The dataset under which the official code counts the pair."""
        return self.dataset if self.dataset is not None else official_dataset(self.dataset_source or "")

    @property
    def name(self) -> str:
        return f"{describe(self.id)} of {describe(self.official_dataset)}"


KEPT_SETTINGS = ("protocol", "draws", "combine", "target", "prompt", "dtype", "seed")


def _metrics_of(pairs: Sequence[PairEntry]) -> dict[str, dict[str, Any]]:
    return official_metrics(
        (pair.official_dataset, pair.compared.winner, pair.vlm_causality, pair.human_discriminable) for pair in pairs
    )


class ResultFile(OpenRow):
    model_info: dict[str, Any]
    eval_settings: dict[str, Any]
    per_dataset_metrics: dict[str, dict[str, Number]]
    overall_metrics: dict[str, Number]
    per_video_results: list[PairEntry]


def build_result(items: Items, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The whole file from the pairs that have losses; pairs without are in no denominator, as in the official run.

    Args:
        items: The losses, of at least one pair.
        rows: Rows of the prepared table; the order of the file's pairs.
    """
    by_id = {item["item_id"]: item for item in items}
    pairs = [PairEntry.of(row, by_id[row["item_id"]]) for row in rows if row["item_id"] in by_id]
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
            **{name: settings.get(name) for name in KEPT_SETTINGS},
            "settings_digests": sorted({item["digest"] for item in items}),
            "versions": {name: ", ".join(versions) for name, versions in read_versions(items).items()},
        },
        "dataset_paths": sorted({f"subset/{row['subset']}/dataset_metadata.json" for row in rows}),
        **_metrics_of(pairs),
        "per_video_results": [pair.model_dump() for pair in pairs],
    }


def build(entries: Sequence[GradedItem], table: Table, part: str) -> Built | None:
    """The file of a run; pairs without losses are not in it."""
    items = [entry.submission for entry in entries if entry.submission]
    if not items:
        return None
    infinite = sum(not all(math.isfinite(item[side]) for side in SIDES) for item in items)
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
        if not entry.submission and entry.record.heard and not allow_incomplete:
            clause = "Expected losses of every pair, but there are none for"
            case = f"{describe(entry.record.item_id)} ({entry.record.detail or entry.record.why})"
            issues.add("pairs", clause, case, "--allow-incomplete writes the file nevertheless.")
    digests = sorted({entry.submission["digest"] for entry in entries if entry.submission})
    if len(digests) > 1:
        clause = "Expected all pairs to be measured alike, but got the settings"
        issues.add("settings", clause, ", ".join(digests), "Measure all of them again with one of these.")
    if not digests:
        issues.add("pairs", "Expected losses of at least one, but", "the run has none")


# ---- a file that was sent in ---------------------------------------------------------------------------------------

TOLERANCE = 1e-6
"""Largest difference of a fraction or a loss from the recomputed one: it allows for rounding in print."""


def check(path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: Problems) -> Checked:
    """Check a file's form, its numbers against its pairs, and its pairs against a prepared table."""
    title, table = f"{CARD.title}, split {SPLIT}", prepared.get(SPLIT)
    result = read_object(path, ResultFile, issues)
    if result is None:
        return Checked(title, 0, 0, "")
    pairs = result.per_video_results
    if not pairs:
        issues.add("per_video_results", "Expected at least one pair, but", "there is none")
    released = {
        (official_dataset(row["dataset_source"] or row["subset"]), json.loads(row["released"])["id"]): row
        for row in (table.rows if table else ())
    }
    expected = {key: [row["item_id"]] for key, row in released.items()}
    attendance = Attendance(expected, "per_video_results.id", "each pair of a dataset", issues)
    relabelled = 0
    for number, pair in enumerate(pairs, 1):
        key, place = (pair.official_dataset, pair.id), f"entry {number}"
        attendance.add(key, pair.name, place)
        _check_pair(pair, f"{pair.name}, {place}", issues)
        if row := released.get(key):
            relabelled += any(getattr(pair, name) != row[name] for name in LABELS)
        elif table:
            clause = f"Expected pairs of split {SPLIT}, but got"
            issues.add("per_video_results.id", clause, f"{pair.name} ({place})")
    _check_metrics(result, issues)
    notes = [NO_PARAMETERS] if result.model_info.get("parameters") is None else []
    notes += attendance.finish(f"split {SPLIT}", allow_incomplete)
    if relabelled:
        notes.append(f"Pairs with other labels than the prepared table: {relabelled:,}.")
    ids = f"the pairs against {table}" if table else "no ids: the data is not prepared here"
    return Checked(title, len(pairs), 0, f"the form, the metrics against the pairs, and {ids}", tuple(notes), table)


def _check_pair(pair: PairEntry, where: str, issues: Problems) -> None:
    """Note totals, a winner and a difference that do not follow from the losses."""
    written, expected = pair.comparison, pair.compared
    wanted = "null" if expected.loss_diff is None else "the backward loss less the forward one"
    numbers = [("comparison.loss_diff", wanted, written.loss_diff, expected.loss_diff)]
    for side, losses in zip(SIDES, (pair.forward_metrics, pair.backward_metrics), strict=True):
        steps = list(losses.step_losses.values())
        known = [loss for loss in steps if loss is not None]
        mean = _finite(sum(known) / len(known)) if len(known) == len(steps) > 0 else None
        if steps:
            field = f"{side}_metrics.total_accumulated_loss"
            numbers.append((field, "the mean of step_losses", losses.total_accumulated_loss, mean))
    if written.winner != expected.winner:
        clause = f"Expected {expected.winner} by the losses, but got"
        issues.add("per_video_results.comparison.winner", clause, f"{describe(written.winner)} ({where})")
    for field, wanted, number, right in numbers:
        if not _same(number, right):
            case = f"{_number(number)} ({where}, not {_number(right)})"
            issues.add(f"per_video_results.{field}", f"Expected {wanted}, but got", case)


def _check_metrics(result: ResultFile, issues: Problems) -> None:
    """Note metrics that are not what the official functions give for the losses of the file's own pairs."""
    field, metrics = "per_dataset_metrics", _metrics_of(result.per_video_results)
    expected, written = metrics[field], result.per_dataset_metrics
    compared = [("overall_metrics", "", result.overall_metrics, metrics["overall_metrics"])]
    compared += [
        (field, f" of {name[:60]}", written[name], metrics) for name, metrics in expected.items() if name in written
    ]
    for place, of, found, wanted in compared:
        for name, value in wanted.items():
            if name not in found:
                issues.add(place, "Expected all official metrics, but there is no", f"{name}{of}")
            elif not _same(found[name], value) and not (name.startswith("num_") and not found[name] and not value):
                case = f"{_number(found[name])} for {name}{of} (they give {_number(value)})"
                issues.add(place, "Expected what the pairs give, but got", case)
    for dataset in dict.fromkeys([*expected, *written]):
        if dataset not in expected:
            issues.add(field, "Expected the datasets of the pairs, but got", describe(dataset))
        elif dataset not in written:
            issues.add(field, "Expected every dataset of the pairs, but there is none for", describe(dataset))


def _number(value: float | None) -> str:
    return "null" if value is None else f"{value:.10g}"


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


FORM = SubmissionForm(
    parts=("results",),
    path=lambda split, part: "submissions/yocausal_results.json",
    examine=examine,
    build=build,
    check=check,
)
