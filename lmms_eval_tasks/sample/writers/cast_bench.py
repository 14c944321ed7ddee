"""The sample in CaST-Bench's release format: one file of questions, clips beside it."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.sample.drawn_clips import FPS
from lmms_eval_tasks.sample.scripts import CHAINS, DrawnQuestion, DrawnScene, Span, draw
from lmms_eval_tasks.sample.words import draw_options
from lmms_eval_tasks.sample.writing import ROLES, write_build, write_clips, write_json
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.text import clock
from lmms_eval_tasks.utils.core.work import Progress

FILE, VIDEOS, BUILD = "castbench_hf.jsonl", "videos", "build"
_CONFIG = f"""\
clips: ../{VIDEOS}
tracks: tracks
frames: 4
{ROLES}"""
MOST_CLIPS = 4
"""Two kinds of scenes ask what sets something in motion, and there are twelve colours of balls and blocks."""
OPTIONS = (4, 5, 6)


def draw_release(seed: int, per_kind: int) -> tuple[list[dict[str, Any]], dict[str, DrawnScene]]:
    """Draw `per_kind` clips of each kind of scene, each with its questions; no two ask the same."""
    if per_kind > MOST_CLIPS:
        raise ValueError(f"Expected at most {MOST_CLIPS} clips of a kind but got {per_kind}.")
    asked, scenes, used = list[tuple[str, DrawnQuestion]](), dict[str, DrawnScene](), set[str]()
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
    places, rows = {count: rng.sample(range(count), count) for count in OPTIONS}, []
    for number, (video, one) in enumerate(asked):
        count = OPTIONS[number % len(OPTIONS)]
        place = places[count][number // len(OPTIONS) % count]
        options = draw_options(rng, [body.name for body in scenes[video].bodies], one.text, one.answer, count, place)
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
        "SAV_instance_id": _instance_id(span.body),
        "bboxes_in_range": {str(second): str(list(scene.box(body, FPS * second))) for second in seconds},
    }


def _instance_id(number: int) -> str:
    return f"drawn_instance_{number:03d}"


def _track(scene: DrawnScene, number: int) -> dict[str, Any]:
    """Id, name and box in each second, as text and pixels, of a body."""
    body = scene.bodies[number]
    boxes = {str(second): scene.box(body, second * FPS) for second in range(math.ceil(scene.seconds))}
    return {"id": _instance_id(number), "name": body.name, "boxes": boxes}


def write(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    """Write the questions and their clips, and what a set can be built from."""
    rows, scenes = draw_release(seed, sizes["clips_per_family"])
    (folder / FILE).write_text(as_lines(rows), encoding="utf-8")
    tracks = {
        Path(video).stem: [_track(scene, number) for number in range(len(scene.bodies))]
        for video, scene in scenes.items()
    }
    for stem, instances in tracks.items():
        write_json(folder / BUILD / "tracks" / f"{stem}.json", {"instances": instances})
    truth = {
        "names": {stem: {one["id"]: one["name"] for one in instances} for stem, instances in tracks.items()},
        "rows": {stem: [row for row in rows if Path(row["video"]).stem == stem] for stem in tracks},
    }
    write_build(folder / BUILD, "cast_bench", _CONFIG, truth)
    write_clips({folder / VIDEOS / name: scene for name, scene in scenes.items()}, progress)


WRITER = SampleWriter(
    contents=f"`{FILE}`, `{VIDEOS}/`, and `{BUILD}/`, from which a set can be built",
    # One of the five kinds of scenes has two questions to a clip.
    sizes={"clips_per_family": 2},
    write=write,
)
