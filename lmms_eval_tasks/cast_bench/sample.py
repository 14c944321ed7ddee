"""Sample data in the form of the release: one file of questions, clips beside it, and tracks to build from."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.api import Progress, SampleWriter
from lmms_eval_tasks.api.release import as_lines, clock, write_file
from lmms_eval_tasks.sample.drawn_clips import FPS, DrawnQuestion, DrawnScene, Span, write_clips
from lmms_eval_tasks.sample.files import BUILD, BUILT_FROM, ROLES, Rows, Scenes, write_json
from lmms_eval_tasks.sample.scripts import CHAINS, draw, draw_options

_FILE = "castbench_hf.jsonl"
_BUILD = f"""\
clips: ../videos
tracks: tracks
frames: 4
questions: 2
{ROLES}"""
_INSTANCE = "drawn_instance_{:03d}"


def draw_questions(seed: int, per_kind: int) -> tuple[Rows, Scenes]:
    """Draw `per_kind` clips of each kind of scene, each with its questions; no two ask the same."""
    asked, scenes, used = list[tuple[str, DrawnQuestion]](), Scenes(), set[str]()
    for kind in CHAINS:
        for number in range(per_kind):
            tries = (draw(kind, f"{seed}/{number}/{again}")[0] for again in range(1000))
            scene = next(one for one in tries if used.isdisjoint(asked.text for asked in one.questions))
            video = f"sav_{len(scenes):06d}.mp4"
            scenes[video] = scene
            asked += [(video, one) for one in scene.questions]
            used |= {one.text for one in scene.questions}
    rng = random.Random(f"{seed}/cast_bench")
    rng.shuffle(asked)
    # Of questions with so many options, the right one is at each place as often as at the others.
    places, rows = [rng.sample(range(count), count) for count in (4, 5, 6)], []
    for number, (video, one) in enumerate(asked):
        order = places[number % 3]
        place = order[number // 3 % len(order)]
        options = draw_options(rng, scenes[video], one, len(order), place)
        rows.append(
            {
                "video": video,
                "question": one.text,
                "question_type": one.kind,
                "scene_category": "Drawn table",
                "options": {letter: f"{text}." for letter, text in zip(ascii_uppercase, options, strict=False)},
                "answer": ascii_uppercase[place],
                "evidence": json.dumps([_evidence(scenes[video], span) for span in one.evidence]),
            }
        )
    return rows, scenes


def _evidence(scene: DrawnScene, span: Span) -> dict[str, Any]:
    body, seconds = scene.bodies[span.body], range(span.start, span.end + 1)
    return {
        "evidence_start_time": clock(span.start),
        "evidence_end_time": clock(span.end),
        "evidence_instance_id": body.name.replace(" ", "_"),
        "evidence_rationale": span.rationale,
        "SAV_instance_id": _INSTANCE.format(span.body),
        "bboxes_in_range": {str(second): str(list(scene.box(body, FPS * second))) for second in seconds},
    }


def write_release(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    rows, scenes = draw_questions(seed, sizes["clips_per_family"])
    write_file(folder / _FILE, as_lines(rows))
    write_file(folder / BUILD / "build.yaml", _BUILD)
    for video, scene in scenes.items():
        seconds = range(math.ceil(scene.seconds))
        instances = [
            {
                "id": _INSTANCE.format(number),
                "name": body.name,
                "boxes": {str(second): scene.box(body, second * FPS) for second in seconds},
            }
            for number, body in enumerate(scene.bodies)
        ]
        write_json(folder / BUILD / "tracks" / f"{Path(video).stem}.json", {"instances": instances})
    write_clips({folder / "videos" / name: scene for name, scene in scenes.items()}, progress)


SAMPLE = SampleWriter(
    contents=f"`{_FILE}`, `videos/`, and {BUILT_FROM}",
    # One of the three kinds of scenes has two questions to a clip.
    sizes={"clips_per_family": 3},
    write=write_release,
)
