"""The sample in CaST-Bench's release format: one file of questions, clips beside it."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.scenes.chains import CHAINS, ChainQuestion, EvidenceSpan, clock
from lmms_eval_tasks.sample.scenes.options import other_objects
from lmms_eval_tasks.sample.world.physics import FPS
from lmms_eval_tasks.sample.world.render import boxes, render
from lmms_eval_tasks.sample.world.scene import DrawnScene
from lmms_eval_tasks.sample.world.video import film_scenes
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.work import Progress

FILE, VIDEOS, BUILD = "castbench_hf.jsonl", "videos", "build"
_CONFIG = f"""\
clips: ../{VIDEOS}
tracks: tracks
frames: 4
# Whoever listens at $LLM_JUDGE_URL, or at http://localhost:8000/v1, plays all roles.
roles:
  default: {{model: stub, provider: local}}
"""
PLACE = "Simulated table"
MOST_CLIPS = 4
"""Two families ask why something starts to move, and there are twelve colours of balls and blocks."""
FEWEST_OPTIONS, MOST_OPTIONS = 4, 6


def draw_release(seed: int, per_family: int) -> tuple[list[dict[str, Any]], dict[str, DrawnScene]]:
    """Draw `per_family` clips of each family of scenes, each with its questions; no two ask the same."""
    if per_family > MOST_CLIPS:
        raise ValueError(f"Expected at most {MOST_CLIPS} clips of a family but got {per_family}.")
    asked: list[tuple[str, ChainQuestion]] = []
    scenes: dict[str, DrawnScene] = {}
    for family, draw in enumerate(CHAINS):
        for number in range(per_family):
            rng = random.Random(f"{seed}/cast_bench/{family}/{number}")
            chain = draw(rng)
            while {one.question for one in chain.questions} & {other.question for _, other in asked}:
                chain = draw(rng)
            video = f"sav_{len(scenes):06d}.mp4"
            scenes[video] = chain.scene
            asked += [(video, one) for one in chain.questions]
    rng = random.Random(f"{seed}/cast_bench")
    rng.shuffle(asked)
    counts = [FEWEST_OPTIONS + number % (MOST_OPTIONS - FEWEST_OPTIONS + 1) for number in range(len(asked))]
    places = _places(rng, counts)
    seen = {video: boxes(render(scene)[1], len(scene.skins)) for video, scene in scenes.items()}
    rows = []
    for (video, one), count, place in zip(asked, counts, places, strict=True):
        options = _options(rng, one, scenes[video], count, place)
        rows.append(
            {
                "video": video,
                "question": one.question,
                "question_type": one.kind,
                "scene_category": PLACE,
                "options": dict(zip(ascii_uppercase, options, strict=False)),
                "answer": ascii_uppercase[place],
                "evidence": json.dumps([_evidence(scenes[video], span, seen[video]) for span in one.evidence]),
            }
        )
    return rows, scenes


def write(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    """Write the questions and their clips."""
    rows, scenes = draw_release(seed, sizes["clips_per_family"])
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / FILE).write_text(text, encoding="utf-8")
    write_build(folder / BUILD, rows, scenes)
    film_scenes({folder / VIDEOS / name: scene for name, scene in scenes.items()}, progress)


def tracks_of(scene: DrawnScene) -> dict[str, dict[str, Any]]:
    """Instance to its name and its box in each second, as text and pixels."""
    frames, labels = render(scene)
    seen = boxes(labels, len(scene.skins))
    seconds = range((len(frames) - 1) // FPS + 1)
    return {
        instance_id(number): {
            "name": scene.called(body.name),
            "boxes": {str(second): seen[second * FPS, number].astype(int).tolist() for second in seconds},
        }
        for number, body in enumerate(scene.world.bodies)
    }


def instance_id(number: int) -> str:
    """The name that SA-V would give to the object of a place."""
    return f"simulated_instance_{number:03d}"


def write_build(folder: Path, rows: Sequence[Mapping[str, Any]], scenes: Mapping[str, DrawnScene]) -> None:
    """Write tracks, a configuration, and the truth by which a stand-in for models can answer."""
    (folder / "tracks").mkdir(parents=True)
    names: dict[str, dict[str, str]] = {}
    questions: dict[str, list[Mapping[str, Any]]] = {}
    for video, scene in scenes.items():
        stem = Path(video).stem
        tracks = tracks_of(scene)
        names[stem] = {key: track["name"] for key, track in tracks.items()}
        questions[stem] = [row for row in rows if row["video"] == video]
        instances = {"instances": [{"id": key, **track} for key, track in tracks.items()]}
        (folder / "tracks" / f"{stem}.json").write_text(json.dumps(instances) + "\n", encoding="utf-8")
    (folder / "build.yaml").write_text(_CONFIG, encoding="utf-8")
    truth = {"benchmark": "cast_bench", "names": names, "rows": questions}
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")


WRITER = SampleWriter(
    contents=f"`{FILE}`, `{VIDEOS}/`, and `{BUILD}/`, from which a set can be built",
    # One of the five families has two questions to a clip.
    sizes={"clips_per_family": 2},
    write=write,
)


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


def _options(rng: random.Random, asked: ChainQuestion, scene: DrawnScene, count: int, place: int) -> list[str]:
    """Options that name objects: those of the scene that the question does not name, then absent ones."""
    names = list(other_objects(rng, scene, (*asked.named, asked.answer), count)[: count - 1])
    rng.shuffle(names)
    names.insert(place, asked.answer)
    return [asked.wording.format(name) for name in names]


def _evidence(scene: DrawnScene, span: EvidenceSpan, seen: NDArray[np.float64]) -> dict[str, Any]:
    number = [body.name for body in scene.world.bodies].index(span.name)
    seconds = range(span.start, span.end + 1)
    return {
        "evidence_start_time": clock(span.start),
        "evidence_end_time": clock(span.end),
        "evidence_instance_id": scene.called(span.name).replace(" ", "_"),
        "evidence_rationale": span.rationale,
        "SAV_instance_id": instance_id(number),
        "bboxes_in_range": {str(second): str(seen[FPS * second, number].astype(int).tolist()) for second in seconds},
    }
