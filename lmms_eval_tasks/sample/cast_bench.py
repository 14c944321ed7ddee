"""The sample in CaST-Bench's release format: one file of questions, clips beside it."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.chains import CHAINS, Case, Shown
from lmms_eval_tasks.sample.physics import FPS
from lmms_eval_tasks.sample.render import boxes, render
from lmms_eval_tasks.sample.scenes import COLOURS, Scene

FILE = "castbench_hf.jsonl"
PLACE = "Simulated table"
MOST_CLIPS = 4
"""Two families ask why something starts to move, and there are twelve colours of balls and blocks."""
FEWEST_OPTIONS, MOST_OPTIONS = 4, 6


@dataclass(frozen=True)
class Release:
    """Released rows, and the scene of each clip by the clip's name."""

    rows: Sequence[Mapping[str, Any]]
    scenes: Mapping[str, Scene]


@dataclass(frozen=True)
class _Asked:
    video: str
    kind: str
    case: Case
    scene: Scene


def draw_release(seed: int, per_family: int) -> Release:
    """Draw `per_family` clips of each family of scenes, each with its questions; no two ask the same.

    Raises:
        ValueError: for more clips than there are things to ask for.
    """
    if per_family > MOST_CLIPS:
        raise ValueError(f"Expected at most {MOST_CLIPS} clips of a family but got {per_family}.")
    asked: list[_Asked] = []
    scenes: dict[str, Scene] = {}
    for family, draw in enumerate(CHAINS):
        for number in range(per_family):
            rng = random.Random(f"{seed}/cast_bench/{family}/{number}")
            chain = draw(rng)
            while any(case.question == other.case.question for _, case in chain.cases for other in asked):
                chain = draw(rng)
            video = f"sav_{len(scenes):06d}.mp4"
            scenes[video] = chain.scene
            asked += [_Asked(video, kind, case, chain.scene) for kind, case in chain.cases]
    rng = random.Random(f"{seed}/cast_bench")
    rng.shuffle(asked)
    counts = [FEWEST_OPTIONS + number % (MOST_OPTIONS - FEWEST_OPTIONS + 1) for number in range(len(asked))]
    places = _places(rng, counts)
    seen = {video: boxes(render(scene, scene.simulate()).labels, len(scene.skins)) for video, scene in scenes.items()}
    rows = []
    for one, count, place in zip(asked, counts, places, strict=True):
        options = _options(rng, one, count, place)
        rows.append(
            {
                "video": one.video,
                "question": one.case.question,
                "question_type": one.kind,
                "scene_category": PLACE,
                "options": dict(zip(ascii_uppercase, options, strict=False)),
                "answer": ascii_uppercase[place],
                "evidence": json.dumps([_evidence(one.scene, shown, seen[one.video]) for shown in one.case.evidence]),
            }
        )
    return Release(rows, scenes)


def write_release(release: Release, folder: Path) -> None:
    """Write the questions to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in release.rows)
    (folder / FILE).write_text(text, encoding="utf-8")


def _places(rng: random.Random, counts: Sequence[int]) -> list[int]:
    """Place of each question's right option: every letter as often as the others, as far as it is offered."""
    used = [0] * MOST_OPTIONS
    places = [0] * len(counts)
    for number in sorted(range(len(counts)), key=lambda number: (-counts[number], number)):
        fewest = min(used[: counts[number]])
        place = rng.choice([place for place in range(counts[number]) if used[place] == fewest])
        # The last letters are only offered by the questions that come first here.
        late = [place for place in range(FEWEST_OPTIONS, counts[number]) if used[place] < len(counts) // MOST_OPTIONS]
        places[number] = late[-1] if late else place
        used[places[number]] += 1
    return places


def _options(rng: random.Random, asked: _Asked, count: int, place: int) -> list[str]:
    """Options that name objects: those of the scene that the question does not name, then absent ones."""
    case, scene = asked.case, asked.scene
    present = [scene.called(name) for name in scene.skins]
    wrong = [name for name in present if name not in (*case.named, case.answer)]
    absent = [f"{colour} {shape}" for colour in COLOURS for shape in ("ball", "block")]
    absent = [name for name in absent if name not in present]
    rng.shuffle(wrong)
    rng.shuffle(absent)
    chosen = [*wrong, *absent][: count - 1]
    rng.shuffle(chosen)
    chosen.insert(place, case.answer)
    return [case.say(name) for name in chosen]


def _evidence(scene: Scene, shown: Shown, seen: NDArray[np.float64]) -> dict[str, Any]:
    names = [body.name for body in scene.world.bodies]
    number = names.index(shown.body)
    seconds = range(shown.start, shown.end + 1)
    return {
        "evidence_start_time": _clock(shown.start),
        "evidence_end_time": _clock(shown.end),
        "evidence_instance_id": scene.called(shown.body).replace(" ", "_"),
        "evidence_rationale": shown.why,
        "SAV_instance_id": f"simulated_instance_{number:03d}",
        "bboxes_in_range": {str(second): str(seen[FPS * second, number].astype(int).tolist()) for second in seconds},
    }


def _clock(second: int) -> str:
    return f"{second // 60:02d}:{second % 60:02d}"
