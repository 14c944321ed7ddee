"""Writing the whole sample: built beside its place, then moved there in one step."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import lmms_eval_tasks
from lmms_eval_tasks.sample import writers
from lmms_eval_tasks.sample.declared import declared
from lmms_eval_tasks.sample.writer import SampleWriter
from lmms_eval_tasks.utils.problems import InputError
from lmms_eval_tasks.utils.progress import Progress, silent
from lmms_eval_tasks.utils.release import SAMPLE_MARK

_README = """# Sample data, not a benchmark

Simulated scenes in the release formats of the benchmarks below. They stand in for the real data where that is not at
hand: to try the commands, to test, to see what a score looks like. A score on them says nothing about a model.

Seed {seed}, lmms-eval-tasks {version}. The same seed and version give the same bytes.

{contents}
"""


def sample_writers() -> list[SampleWriter]:
    """The writers of this package's benchmarks, in alphabetical order."""
    return declared(writers, "WRITER", SampleWriter)


def prepare_commands(sample: Path) -> list[list[str]]:
    """Arguments of `lmms-eval-tasks prepare` that prepare a sample, a list for each time it has to run."""
    return [
        [writer.benchmark, *(option.replace("{folder}", str(sample / writer.benchmark)) for option in options)]
        for writer in sample_writers()
        for options in writer.prepare
    ]


def build_sample(
    out: Path,
    seed: int = 0,
    progress: Progress = silent,
    sizes: Mapping[str, Mapping[str, int]] | None = None,
) -> Path:
    """Write the sample to `out`; an older sample there is replaced once the new one is complete.

    The same seed, sizes and versions of the package and the encoder give the same bytes.

    Args:
        out: folder to write.
        seed: chooses the scenes.
        progress: called for every clip filmed.
        sizes: benchmark to the sizes that differ from its writer's.

    Returns:
        `out` as an absolute path; each benchmark's data lies below it in the folder of the benchmark's name.

    Raises:
        InputError: `out` holds something that is not a sample, or is not a folder.
        ValueError: no writer has such a size.
    """
    chosen = _choose_sizes(sizes or {})
    out = out.absolute()
    _refuse_foreign(out)
    fresh, old = out.parent / f".{out.name}.building", out.parent / f".{out.name}.old"
    for folder in (fresh, old):
        shutil.rmtree(folder, ignore_errors=True)
    fresh.mkdir(parents=True)
    mark = json.dumps({"sample": True, "seed": seed, "version": lmms_eval_tasks.__version__}) + "\n"
    (fresh / SAMPLE_MARK).write_text(mark, encoding="utf-8")
    contents = []
    for writer in sample_writers():
        folder = fresh / writer.benchmark
        (folder / writer.release).mkdir(parents=True)
        (folder / writer.release / SAMPLE_MARK).write_text(mark, encoding="utf-8")
        writer.write(folder, seed, chosen[writer.benchmark], progress)
        contents.append(f"- `{writer.benchmark}/`: {writer.contents}")
    readme = _README.format(seed=seed, version=lmms_eval_tasks.__version__, contents="\n".join(contents))
    (fresh / "README.md").write_text(readme, encoding="utf-8")
    if out.exists():
        out.replace(old)
    fresh.replace(out)
    shutil.rmtree(old, ignore_errors=True)
    return out


def _choose_sizes(changed: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """Benchmark to its writer's sizes, with the changed ones in place of the writer's own."""
    chosen = {writer.benchmark: {**writer.sizes, **changed.get(writer.benchmark, {})} for writer in sample_writers()}
    known = {f"{writer.benchmark}.{size}" for writer in sample_writers() for size in writer.sizes}
    unknown = {f"{benchmark}.{size}" for benchmark, sizes in changed.items() for size in sizes} - known
    if unknown:
        raise ValueError(f"Expected sizes of the writers, {', '.join(sorted(known))}, but got {sorted(unknown)}.")
    return chosen


def _refuse_foreign(out: Path) -> None:
    if not out.exists() or (out.is_dir() and ((out / SAMPLE_MARK).is_file() or not any(out.iterdir()))):
        return
    raise InputError(
        f"Expected {out} to be a new or empty folder or an older sample, but it holds something else, which stays "
        "untouched.\nRemedy: name another folder."
    )
