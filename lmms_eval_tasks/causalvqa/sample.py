"""Sample data in the form of the release: clips and a CSV file a split, and the truth of the test split apart."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

from lmms_eval_tasks.api import Progress, SampleWriter
from lmms_eval_tasks.api.release import write_file
from lmms_eval_tasks.sample.drawn_clips import DrawnScene, write_clips
from lmms_eval_tasks.sample.files import BUILD, BUILT_FROM, ROLES, Rows, Scenes, write_csv
from lmms_eval_tasks.sample.scripts import LEVELS, TABLE_QUESTIONS, draw, draw_options, reworded

RELEASE, TEST_TRUTH = "CausalVQA", "test_truth.csv"
_COLUMNS = (
    "qid", "type", "question", "choices1", "correct1", "choices2", "correct2", "difficulty", "renamed_video",
)  # fmt: skip
_WITHHELD = ("correct1", "correct2")
_BUILD = f"""\
annotations: annotations.csv
clips: ../{RELEASE}/debug/videos
difficulty: easy
frames: 3
{ROLES}"""


def draw_split(seed: int, name: str, levels: Sequence[str], per_stratum: int) -> tuple[Rows, Scenes]:
    """Draw `per_stratum` questions of a split for each type and level."""
    rng, count = random.Random(f"{seed}/causalvqa/{name}"), 5
    drawn = [
        (kind, level, draw(f"{kind} {level}", f"{seed}/{name}/{number}")[0])
        for kind in TABLE_QUESTIONS
        for level in levels
        for number in range(per_stratum)
    ]
    rng.shuffle(drawn)
    # The right option is at each place as often as at the others.
    places = [rng.sample([number % count for number in range(len(drawn))], len(drawn)) for _ in _WITHHELD]
    rows, scenes = [], Scenes()
    for number, (kind, level, scene) in enumerate(drawn):
        video, asked = f"{name}_{number:04d}.mp4", scene.questions[-1]
        scenes[video] = scene
        row = {"qid": str(number + (1001 if name == "test" else 1)), "type": kind, "question": asked.text}
        for version, in_order in enumerate(places, 1):
            options = draw_options(rng, scene, asked, count, in_order[number])
            worded = options if version == 1 else map(reworded, options)
            row[f"choices{version}"] = "|".join(f"{place}. {text}" for place, text in enumerate(worded, 1))
            row[f"correct{version}"] = str(in_order[number] + 1)
        rows.append({**row, "difficulty": level, "renamed_video": video})
    return rows, scenes


def _right_option(row: Mapping[str, Any]) -> str:
    option: str = row["choices1"].split("|")[int(row["correct1"]) - 1]
    return option.partition(". ")[2]


def write_release(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    release, clips = folder / RELEASE, dict[Path, DrawnScene]()
    # The debug split has easy questions only, as in the release.
    for name, levels, size in (("debug", LEVELS[:1], "debug_per_type"), ("test", LEVELS, "test_per_stratum")):
        rows, scenes = draw_split(seed, name, levels, sizes[size])
        clips |= {release / name / "videos" / video: scene for video, scene in scenes.items()}
        withheld = _WITHHELD if name == "test" else ()
        columns = [column for column in _COLUMNS if column not in withheld]
        write_csv(release / name / f"{name}_metadata.csv", columns, rows)
        if withheld:
            write_csv(folder / TEST_TRUTH, ["qid", *withheld], rows)
            continue
        # Questions as an annotator in a hurry puts them, with a word that hints at something.
        annotations = [
            {
                "clip": row["renamed_video"],
                "start": 0,
                "end": scenes[row["renamed_video"]].seconds,
                "type": row["type"],
                "question": f"so obviously {row['question'][0].lower()}{row['question'][1:-1]}",
                "answer": f"its {_right_option(row).lower()}",
            }
            for row in {row["question"]: row for row in reversed(rows)}.values()
        ]
        write_csv(folder / BUILD / "annotations.csv", list(annotations[0]), annotations)
        write_file(folder / BUILD / "build.yaml", _BUILD)
    write_clips(clips, progress)
    with ZipFile(folder / f"{RELEASE}.zip", "w") as archive:
        for file in sorted(path for path in release.rglob("*") if path.is_file()):
            info = ZipInfo(f"{RELEASE}/{file.relative_to(release).as_posix()}")
            info.external_attr = 0o644 << 16
            archive.writestr(info, file.read_bytes())


SAMPLE = SampleWriter(
    contents=f"`{RELEASE}/`, the same as `{RELEASE}.zip`, `{TEST_TRUTH}`, the withheld answers, which no "
    f"command reads, and {BUILT_FROM}",
    sizes={"debug_per_type": 4, "test_per_stratum": 2},
    write=write_release,
    prepare=(("--source", f"{{folder}}/{RELEASE}"),),
    release=RELEASE,
)
