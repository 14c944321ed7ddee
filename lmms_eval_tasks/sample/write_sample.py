"""Writing the whole sample: built beside its place, then moved there in one step."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import lmms_eval_tasks
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import remove, swap, write_file
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.identity import SAMPLE_MARK

_README = """# Sample data, not a benchmark

Drawn scenes in the release formats of the benchmarks below. They stand in for the real data where that is not at
hand: to try the commands, to test, to see what a score looks like. A score on them says nothing about a model.

Seed {seed}, lmms-eval-tasks {version}. The same seed and version give the same bytes.

{contents}
"""


def all_samples() -> dict[str, SampleWriter]:
    """Benchmark to how its sample data is made, ours first, in alphabetical order."""
    return {name: benchmark.sample for name, benchmark in registry().benchmarks.items() if benchmark.sample}


def prepare_commands(sample: Path) -> list[list[str]]:
    """Arguments of `lmms-eval-tasks prepare` that prepare a written sample, a list for each time it has to run."""
    return [
        [benchmark, *(option.replace("{folder}", str(sample / benchmark)) for option in options)]
        for benchmark, writer in all_samples().items()
        if (sample / benchmark).is_dir()
        for options in writer.prepare
    ]


def build_sample(
    out: Path,
    seed: int = 0,
    progress: Progress = no_progress,
    sizes: Mapping[str, Mapping[str, int]] | None = None,
    benchmarks: Sequence[str] = (),
) -> Path:
    """Write the sample to `out`, of the benchmarks' own sizes but for those given by benchmark; an older sample is
    replaced once the new one is complete."""
    known = all_samples()
    if unknown := [name for name in benchmarks if name not in known]:
        raise InputError(
            f"Expected benchmarks that have sample data, any of {', '.join(known)}, but got {', '.join(unknown)}."
        )
    out = out.absolute()
    if out.exists() and not (out.is_dir() and ((out / SAMPLE_MARK).is_file() or not any(out.iterdir()))):
        raise InputError(
            f"Expected {out} to be a new or empty folder or an older sample, but it holds something else, which stays "
            "untouched.\nRemedy: name another folder."
        )
    fresh = out.parent / f".{out.name}.building"
    remove(fresh)
    mark = json.dumps({"sample": True, "seed": seed, "version": lmms_eval_tasks.__version__}) + "\n"
    write_file(fresh / SAMPLE_MARK, mark)
    contents = []
    for benchmark, writer in known.items():
        if benchmarks and benchmark not in benchmarks:
            continue
        folder = fresh / benchmark
        write_file(folder / writer.release / SAMPLE_MARK, mark)
        writer.write(folder, seed, {**writer.sizes, **(sizes or {}).get(benchmark, {})}, progress)
        contents.append(f"- `{benchmark}/`: {writer.contents}")
    readme = _README.format(seed=seed, version=lmms_eval_tasks.__version__, contents="\n".join(contents))
    write_file(fresh / "README.md", readme)
    swap(fresh, out)
    return out
