"""A run's result in the shape that the official leaderboard takes.

Source: youzhe0305/YoCausal, README and evaluation/evaluate.py at 2cee25b: the keys of the file, of its metrics
(fractions) and of each pair. A loss that is not finite is null here, where the official file has no valid JSON. Further
keys of ours say what the official ones leave open: `combine`, `target`, `prompt`, `seed`, `settings_digests`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_eval_tasks.api import Built, GradedItem, Problems, SubmissionForm, Table
from lmms_eval_tasks.api.losses import DenoisingResponse, combine_by_timestep
from lmms_eval_tasks.api.release import describe
from lmms_eval_tasks.yocausal.result_file import NO_PARAMETERS, check
from lmms_eval_tasks.yocausal.rsi import compare_losses, official_dataset, official_metrics

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
