"""Writing the whole sample: built beside its place, then moved there in one step."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import lmms_eval_tasks
from lmms_eval_tasks.sample import yocausal
from lmms_eval_tasks.sample.cast_bench import draw_release, write_release
from lmms_eval_tasks.sample.causalvqa import draw_debug, draw_test, write_archive, write_metadata, write_truth
from lmms_eval_tasks.sample.mvp import FAMILIES, draw_subset, write_snapshot
from lmms_eval_tasks.sample.render import render
from lmms_eval_tasks.sample.scenes import Scene
from lmms_eval_tasks.sample.video import write_clip
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.data.release import SAMPLE_MARK

_README = """# Sample data, not a benchmark

Simulated scenes in the release formats of CausalVQA, MVP, CaST-Bench and YoCausal. They stand in for the real data
where that is not at hand: to try the commands, to test, to see what a score looks like. A score on them says nothing
about a model.

Seed {seed}, lmms-eval-tasks {version}. The same seed and version give the same bytes.

- `causalvqa/CausalVQA/`, and the same as `causalvqa/CausalVQA.zip`
- `mvp/snapshot/` (annotations) and `mvp/videos/`
- `yocausal/`
- `cast_bench/`, with `castbench_hf.jsonl` and `videos/`
- `truth/causalvqa_test.csv`: the answers that the test split withholds; no command reads them
"""


@dataclass(frozen=True)
class Sizes:
    """How much to draw: questions per type (debug) and per type and level (test), pairs per subset of MVP and YoCausal,
    and clips of each of CaST-Bench's five families, one of which has two questions to a clip.

    All four families of intuitive physics occur from four mini pairs on.
    """

    debug_per_type: int = 4
    test_per_stratum: int = 2
    mini_pairs: int = 6
    full_pairs: int = 9
    yocausal_pairs: int = 4
    cast_bench_clips: int = 2


@dataclass(frozen=True)
class SamplePaths:
    """Where a sample's parts lie."""

    root: Path

    @property
    def causalvqa(self) -> Path:
        """CausalVQA as a folder: the `--source` of `prepare causalvqa`."""
        return self.root / "causalvqa" / "CausalVQA"

    @property
    def causalvqa_archive(self) -> Path:
        """CausalVQA as a zip archive, the other `--source`."""
        return self.root / "causalvqa" / "CausalVQA.zip"

    @property
    def mvp_snapshot(self) -> Path:
        """MVP's annotations: the `--source` of `prepare mvp`."""
        return self.root / "mvp" / "snapshot"

    @property
    def mvp_videos(self) -> Path:
        """MVP's clips: the `--videos` of `prepare mvp`."""
        return self.root / "mvp" / "videos"

    @property
    def yocausal(self) -> Path:
        """YoCausal: the `--source` of `prepare yocausal`."""
        return self.root / "yocausal"

    @property
    def cast_bench(self) -> Path:
        """CaST-Bench's questions and clips: the `--source` of `prepare cast_bench`."""
        return self.root / "cast_bench"

    @property
    def causalvqa_truth(self) -> Path:
        """The answers to CausalVQA's test split."""
        return self.root / "truth" / "causalvqa_test.csv"


def build_sample(out: Path, seed: int = 0, progress: Progress | None = None, sizes: Sizes | None = None) -> SamplePaths:
    """Write the sample world to `out`; an older sample there is replaced once the new one is complete.

    The same seed, sizes and versions of the package and the encoder give the same bytes.

    Args:
        out: folder to write.
        seed: chooses the scenes.
        progress: told about clips filmed.
        sizes: how much to draw.

    Raises:
        InputError: `out` holds something that is not a sample, or is not a folder.
    """
    out = out.absolute()
    _refuse_foreign(out)
    fresh, old = out.parent / f".{out.name}.building", out.parent / f".{out.name}.old"
    for folder in (fresh, old):
        shutil.rmtree(folder, ignore_errors=True)
    fresh.mkdir(parents=True)
    _write(SamplePaths(fresh), seed, sizes or Sizes(), progress or no_progress)
    if out.exists():
        out.replace(old)
    fresh.replace(out)
    shutil.rmtree(old, ignore_errors=True)
    return SamplePaths(out)


def _refuse_foreign(out: Path) -> None:
    if not out.exists() or (out.is_dir() and ((out / SAMPLE_MARK).is_file() or not any(out.iterdir()))):
        return
    raise InputError(
        f"Expected {out} to be a new or empty folder or an older sample, but it holds something else, which stays "
        "untouched.\nRemedy: name another folder."
    )


def _write(paths: SamplePaths, seed: int, sizes: Sizes, progress: Progress) -> None:
    debug, test = draw_debug(seed, sizes.debug_per_type), draw_test(seed, sizes.test_per_stratum)
    subsets = [draw_subset(seed, name, sizes.mini_pairs, sizes.full_pairs) for name in FAMILIES]
    release = draw_release(seed, sizes.cast_bench_clips)
    clips: dict[Path, Scene] = {}
    for split in (debug, test):
        write_metadata(split, paths.causalvqa)
        clips |= _placed(split.scenes, paths.causalvqa / split.name / "videos")
    write_truth(test, paths.causalvqa_truth)
    for subset in subsets:
        clips |= _placed(subset.scenes, paths.mvp_videos)
    paths.mvp_snapshot.mkdir(parents=True)
    write_snapshot(subsets, paths.mvp_snapshot)
    write_release(release, paths.cast_bench)
    clips |= _placed(release.scenes, paths.cast_bench / "videos")
    for done, (path, scene) in enumerate(clips.items(), 1):
        film(scene, path)
        progress("filming clips", done, len(clips))
    reversible = [yocausal.draw_subset(seed, name, sizes.yocausal_pairs) for name in yocausal.SUBSETS]
    pairs = [(part, file, made) for part in reversible for file, made in part.films.items()]
    for part in reversible:
        yocausal.write_metadata(part, paths.yocausal)
    for done, (part, file, made) in enumerate(pairs, 1):
        yocausal.film_pair(made, paths.yocausal / "subset" / part.name, file)
        progress("filming clips and their reversals", done, len(pairs))
    mark = json.dumps({"sample": True, "seed": seed, "version": lmms_eval_tasks.__version__}) + "\n"
    for folder in (paths.root, paths.causalvqa, paths.mvp_snapshot, paths.cast_bench, paths.yocausal):
        (folder / SAMPLE_MARK).write_text(mark, encoding="utf-8")
    readme = _README.format(seed=seed, version=lmms_eval_tasks.__version__)
    (paths.root / "README.md").write_text(readme, encoding="utf-8")
    write_archive(paths.causalvqa, paths.causalvqa_archive)


def _placed(scenes: Mapping[str, Scene], folder: Path) -> dict[Path, Scene]:
    return {folder / name: scene for name, scene in scenes.items()}


def film(scene: Scene, path: Path) -> None:
    """Simulate a scene, render it and write the clip."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_clip(path, render(scene, scene.simulate()).frames)
