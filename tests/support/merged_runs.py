"""Parts of a run through the real command, merged by ours, beside the whole run."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from host_run import HostRun, own_command, run_host

from lmms_eval_tasks.utils.core.text import SHARD

OF_ITS_TIME = {"config", "date", "start_time", "end_time", "total_evaluation_time_seconds", "throughput"}
"""Fields of a results file that two runs of the same do not share: where its files lie, when it ran, and how fast."""
OF_ITS_CARD = {"date", "command", "wall time in s", "seconds"}


def run_parts(
    *arguments: str, home: Path, out: Path, of: int = 3, ranks: Mapping[int, int] | None = None, **options: Any
) -> list[HostRun]:
    """The runs of all parts; `ranks` says on how many ranks a part runs where that is not one."""
    env = options.pop("env", {})
    return [
        run_host(
            *arguments, home=home, out=out / str(part), ranks=(ranks or {}).get(part, 1),
            env={**env, SHARD: f"{part}/{of}"}, **options,
        )
        for part in range(1, of + 1)
    ]  # fmt: skip


def merge_parts(parts: list[HostRun], home: Path, out: Path) -> HostRun:
    """The whole run of some parts, by our command."""
    assert [part.status for part in parts] == [0] * len(parts), [part.output for part in parts]
    assert not any((part.out / "submissions").exists() for part in parts)
    done = own_command(home, "merge", *(part.out for part in parts), "--out", out)
    assert done.returncode == 0, done.stdout + done.stderr
    return HostRun(0, done.stdout, out)


def difference(whole: HostRun, merged: HostRun, same_model: bool = True) -> list[str]:
    """The names of what is not the same in two runs: fields of results, cards and scores, and files by their bytes.

    Args:
        whole: A whole run.
        merged: A run of the same that was merged.
        same_model: Whether the model is the same, so that cards and names of files are to be, too.
    """
    found = []
    results = [json.loads(re.sub(r" at 0x[0-9a-f]+", "", json.dumps(run.results()))) for run in (whole, merged)]
    told = OF_ITS_TIME if same_model else {*OF_ITS_TIME, "model_source", "model_name", "model_name_sanitized"}
    names = results[0].keys() | results[1].keys()
    found += [name for name in sorted(names - told) if results[0].get(name) != results[1].get(name)]
    found += _different_files(_read(whole, same_model), _read(merged, same_model))
    one, other = (_load(run, "_scores.json") for run in (whole, merged))
    found += [name for name in one if name not in ("results", "model") and one[name] != other[name]]
    if same_model:
        found += _different_fields(_load(whole, "_run_card.json"), _load(merged, "_run_card.json"))
    return found


def _different_files(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> list[str]:
    return [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]


def _different_fields(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    assert other.pop("merged")["parts"] > 1
    places = {(section, name) for card in (one, other) for section, fields in card.items() for name in fields}
    return [
        f"{section}.{name}"
        for section, name in sorted(places)
        if name not in OF_ITS_CARD
        and section != "throughput"
        and one.get(section, {}).get(name) != other.get(section, {}).get(name)
    ]


def _load(run: HostRun, ending: str) -> dict[str, Any]:
    (path,) = run.out.glob(f"**/*{ending}")
    loaded: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def _read(run: HostRun, same_model: bool) -> dict[str, bytes]:
    """Sample logs by their tasks, and files for leaderboards, without the model in their names where it is another."""
    logs = {path.name.partition("_samples_")[2]: path.read_bytes() for path in run.out.glob("**/*_samples_*.jsonl")}
    files = {*run.out.glob("**/submissions/*"), *run.out.glob("**/*_submission.*")}
    return logs | {path.name if same_model else path.name.partition(".")[0]: path.read_bytes() for path in files}
