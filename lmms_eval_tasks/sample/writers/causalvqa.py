"""The sample in CausalVQA's release format: one CSV per split, clips beside it, the test truth kept apart."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from lmms_eval_tasks.sample.drawn_clips import FPS, DrawnScene, write_clips
from lmms_eval_tasks.sample.scripts import LEVELS, TABLE_QUESTIONS, draw
from lmms_eval_tasks.sample.words import draw_options, reworded
from lmms_eval_tasks.sample.writers import ROLES, write_csv
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import read_numbered_options
from lmms_eval_tasks.utils.core.work import Progress

RELEASE, ARCHIVE, TRUTH, BUILD = "CausalVQA", "CausalVQA.zip", "test_truth.csv", "build"
COLUMNS = (
    "qid", "type", "question", "choices1", "correct1", "choices2", "correct2", "difficulty", "renamed_video",
)  # fmt: skip
WITHHELD = ("correct1", "correct2")
OPTIONS = 5
_CONFIG = f"""\
annotations: annotations.csv
clips: ../{RELEASE}/debug/videos
difficulty: easy
frames: 3
{ROLES}"""


def draw_split(
    seed: int, name: str, levels: Sequence[str], per_stratum: int
) -> tuple[list[dict[str, str]], dict[str, DrawnScene]]:
    """Draw `per_stratum` questions for each type and level."""
    rng = random.Random(f"{seed}/causalvqa/{name}")
    drawn = [
        (kind, level, draw(f"{kind} {level}", f"{seed}/{name}/{number}")[0])
        for kind in TABLE_QUESTIONS
        for level in levels
        for number in range(per_stratum)
    ]
    rng.shuffle(drawn)
    # The right option is at each place as often as at the others.
    places = [rng.sample([number % OPTIONS for number in range(len(drawn))], len(drawn)) for _ in WITHHELD]
    rows, scenes = [], {}
    for number, (kind, level, scene) in enumerate(drawn):
        video, (asked,) = f"{name}_{number:04d}.mp4", scene.questions
        scenes[video], present = scene, [body.name for body in scene.bodies]
        row = {"qid": str(number + (1001 if name == "test" else 1)), "type": kind, "question": asked.text}
        for version in range(2):
            place = places[version][number]
            options = draw_options(rng, present, asked.text, asked.answer, OPTIONS, place)
            worded = [reworded(option) if version else option for option in options]
            row[f"choices{version + 1}"] = "|".join(f"{at}. {text}" for at, text in enumerate(worded, 1))
            row[f"correct{version + 1}"] = str(place + 1)
        rows.append({**row, "difficulty": level, "renamed_video": video})
    return rows, scenes


def write(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    release, clips = folder / RELEASE, dict[Path, DrawnScene]()
    # The debug split has easy questions only, as in the release.
    for name, levels, size in (("debug", LEVELS[:1], "debug_per_type"), ("test", LEVELS, "test_per_stratum")):
        rows, scenes = draw_split(seed, name, levels, sizes[size])
        withheld = WITHHELD if name == "test" else ()
        write_csv(release / name / f"{name}_metadata.csv", [one for one in COLUMNS if one not in withheld], rows)
        clips |= {release / name / "videos" / video: scene for video, scene in scenes.items()}
        if withheld:
            write_csv(folder / TRUTH, ["qid", *withheld], rows)
        else:
            _write_build(folder / BUILD, rows, scenes)
    write_clips(clips, progress)
    with ZipFile(folder / ARCHIVE, "w") as archive:
        for file in sorted(path for path in release.rglob("*") if path.is_file()):
            info = ZipInfo(f"{release.name}/{file.relative_to(release).as_posix()}")
            info.external_attr = 0o644 << 16
            archive.writestr(info, file.read_bytes())


def _write_build(folder: Path, rows: Sequence[Mapping[str, str]], scenes: Mapping[str, DrawnScene]) -> None:
    """Write questions as an annotator in a hurry puts them, with a word that hints at something."""
    annotations = []
    for row in {row["question"]: row for row in reversed(rows)}.values():
        question, clip = row["question"], row["renamed_video"]
        answer = read_numbered_options(row["choices1"])[row["correct1"]]
        annotations.append(
            {
                "clip": clip,
                "start": 0,
                "end": scenes[clip].frames / FPS,
                "type": row["type"],
                "question": f"so obviously {question[0].lower()}{question[1:-1]}",
                "answer": f"its {answer.lower()}",
            }
        )
    write_csv(folder / "annotations.csv", list(annotations[0]), annotations)
    write_file(folder / "build.yaml", _CONFIG)


WRITER = SampleWriter(
    contents=f"`{RELEASE}/`, the same as `{ARCHIVE}`, `{TRUTH}`, the withheld answers, which no command reads, and "
    f"`{BUILD}/`, from which a set can be built",
    sizes={"debug_per_type": 4, "test_per_stratum": 2},
    write=write,
    prepare=(("--source", f"{{folder}}/{RELEASE}"),),
    release=RELEASE,
)
