"""Make the sample of Worlds that ships with the package: a few scenes, their questions, and small clips.

`python worlds/tools/worlds_sample.py DRAFTS` needs MuJoCo and a renderer, which the sample then does not. It reads
scenes that were drawn before, such as `worlds/lmms_eval_worlds/standard_scenes.jsonl`, takes one of each of some
families, and writes `worlds/lmms_eval_worlds/sample_data`.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import av

from lmms_eval_tasks.api import no_progress
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_worlds.drafts import SceneDraft, known_facts, read_drafts
from lmms_eval_worlds.physics.filming import encode_frames, film
from lmms_eval_worlds.physics.rollout import FPS
from lmms_eval_worlds.questions.question_set import questions_of_set
from lmms_eval_worlds.release import CLIPS, QUESTIONS, SCENES, question_lines
from lmms_eval_worlds.sample import SAMPLE_DATA as DATA

FAMILIES = ("chain", "containment", "two_causes")
QUALITY = 42
"""Of the encoder: the sample is small."""


def choose(drafts: Iterable[SceneDraft], families: Sequence[str]) -> list[SceneDraft]:
    """The first scene of each family that has a twin and something that a clip may break; else the first."""
    chosen: dict[str, SceneDraft] = {}
    for draft in drafts:
        held = chosen.get(draft.scene.family)
        whole = draft.twin is not None and bool(draft.violations)
        if held is None or (whole and not (held.twin and held.violations)):
            chosen[draft.scene.family] = draft
    return [chosen[name] for name in families if name in chosen]


def shrink(source: Path, target: Path) -> None:
    """Code a clip again with fewer bytes: the same frames, times and size."""
    with av.open(str(source)) as read:
        frames = [frame.to_ndarray(format="rgb24") for frame in read.decode(video=0)]
    target.write_bytes(encode_frames(frames, FPS, "", QUALITY))


def main(arguments: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description="Make the sample of Worlds that ships with the package.")
    parser.add_argument("drafts", type=Path, help="file of scenes that were drawn before")
    drafts = choose(read_drafts(parser.parse_args(arguments).drafts), FAMILIES)
    with TemporaryDirectory() as folder:
        work = Path(folder)
        facts = known_facts(drafts, work, no_progress)
        questions = questions_of_set(facts, 0)
        known = {clip.name: clip for draft in drafts for clip in draft.clips}
        names = list(dict.fromkeys(question.clip for question in questions))
        film([known[name] for name in names], work / CLIPS)
        shutil.rmtree(DATA, ignore_errors=True)
        (DATA / CLIPS).mkdir(parents=True)
        for name in names:
            shrink(work / CLIPS / name, DATA / CLIPS / name)
    write_file(DATA / QUESTIONS, question_lines(questions))
    write_file(DATA / SCENES, as_lines(draft.scene.model_dump(mode="json", exclude_defaults=True) for draft in drafts))
    size = sum(path.stat().st_size for path in DATA.rglob("*") if path.is_file())
    sys.stdout.write(f"{DATA}: {len(drafts)} scenes, {len(names)} clips, {len(questions)} questions, {size:,} bytes\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
