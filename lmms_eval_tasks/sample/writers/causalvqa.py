"""The sample in CausalVQA's release format: one CSV per split, clips beside it, the test truth kept apart."""

import csv
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

from lmms_eval_tasks.sample.scenes.options import OPTIONS, draw_options, reworded
from lmms_eval_tasks.sample.scenes.table_questions import LEVELS, TABLE_QUESTIONS
from lmms_eval_tasks.sample.world.physics import FPS
from lmms_eval_tasks.sample.world.scene import DrawnScene
from lmms_eval_tasks.sample.world.video import film_scenes
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.work import Progress

RELEASE, ARCHIVE, TRUTH, BUILD = "CausalVQA", "CausalVQA.zip", "test_truth.csv", "build"
COLUMNS = (
    "qid", "type", "question", "choices1", "correct1", "choices2", "correct2", "difficulty", "renamed_video",
)  # fmt: skip
WITHHELD = ("correct1", "correct2")
_FIRST_QID = {"debug": 1, "test": 1001}
_CONFIG = f"""\
annotations: annotations.csv
clips: ../{RELEASE}/debug/videos
difficulty: easy
frames: 3
# Whoever listens at $LLM_JUDGE_URL, or at http://localhost:8000/v1, plays all roles.
roles:
  default: {{model: stub, provider: local}}
"""


def draw_split(
    seed: int, name: str, levels: Sequence[str], per_stratum: int
) -> tuple[list[dict[str, str]], dict[str, DrawnScene]]:
    """Draw `per_stratum` questions for each type and level."""
    drafts = [
        (kind, level, draw(random.Random(f"{seed}/causalvqa/{name}/{kind}/{level}/{number}"), level))
        for kind, draw in TABLE_QUESTIONS.items()
        for level in levels
        for number in range(per_stratum)
    ]
    rng = random.Random(f"{seed}/causalvqa/{name}")
    rng.shuffle(drafts)
    # The right option is at each place as often as at the others.
    positions = [[number % OPTIONS for number in range(len(drafts))] for _ in range(2)]
    for places in positions:
        rng.shuffle(places)
    rows, scenes = [], {}
    for number, (kind, level, draft) in enumerate(drafts):
        video = f"{name}_{number:04d}.mp4"
        scenes[video] = draft.scene
        row = {"qid": str(_FIRST_QID[name] + number), "type": kind, "question": draft.question}
        for version in range(2):
            position = positions[version][number]
            options = draw_options(rng, draft, version, position)
            row[f"choices{version + 1}"] = "|".join(f"{place}. {text}" for place, text in enumerate(options, 1))
            row[f"correct{version + 1}"] = str(position + 1)
        rows.append({**row, "difficulty": level, "renamed_video": video})
    return rows, scenes


def write(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    """Write the release as a folder and as an archive, and the test split's answers."""
    release = folder / RELEASE
    clips: dict[Path, DrawnScene] = {}
    # The debug split has easy questions only, as in the release.
    for name, levels, size, withheld in (
        ("debug", LEVELS[:1], sizes["debug_per_type"], ()),
        ("test", LEVELS, sizes["test_per_stratum"], WITHHELD),
    ):
        rows, scenes = draw_split(seed, name, levels, size)
        columns = [column for column in COLUMNS if column not in withheld]
        _write_csv(release / name / f"{name}_metadata.csv", columns, rows)
        if withheld:
            _write_csv(folder / TRUTH, ["qid", *withheld], rows)
        clips |= {release / name / "videos" / video: scene for video, scene in scenes.items()}
        if not withheld:
            write_build(folder / BUILD, rows, scenes)
    film_scenes(clips, progress)
    _write_archive(release, folder / ARCHIVE)


def write_build(folder: Path, rows: Sequence[Mapping[str, str]], scenes: Mapping[str, DrawnScene]) -> None:
    """Write annotations, a configuration, and the truth by which a stand-in for models can answer."""
    annotations: list[dict[str, Any]] = []
    questions: list[dict[str, Any]] = []
    first: dict[str, Mapping[str, str]] = {}
    for row in rows:
        first.setdefault(row["question"], row)
    for row in first.values():
        options = [option.partition(". ")[2] for option in row["choices1"].split("|")]
        answer = options.pop(int(row["correct1"]) - 1)
        annotated = {
            "clip": row["renamed_video"],
            "start": 0,
            "end": round(scenes[row["renamed_video"]].duration * FPS) / FPS,
            "type": row["type"],
            **careless(row["question"], answer),
        }
        annotations.append(annotated)
        questions.append(
            {
                "annotated": annotated["question"],
                "question": row["question"],
                "answer": answer,
                "distractors": options,
                # Common sense is enough for one of them.
                "guessed": not questions,
            }
        )
    _write_csv(folder / "annotations.csv", ("clip", "start", "end", "type", "question", "answer"), annotations)
    (folder / "build.yaml").write_text(_CONFIG, encoding="utf-8")
    truth = {"benchmark": "causalvqa", "questions": questions, "wordings": wordings_of(questions)}
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")


def careless(question: str, answer: str) -> dict[str, str]:
    """A question and its answer as an annotator in a hurry puts them, with a word that hints at something."""
    return {
        "question": f"so obviously {question[0].lower()}{question[1:-1]}",
        "answer": f"its {answer.lower()}",
    }


def wordings_of(questions: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Each option of questions to its other wording, both ways."""
    texts = {text for one in questions for text in (one["answer"], *one["distractors"])}
    return {text: reworded(text) for text in sorted(texts | set(map(reworded, texts)))}


WRITER = SampleWriter(
    contents=f"`{RELEASE}/`, the same as `{ARCHIVE}`, `{TRUTH}`, the withheld answers, which no command reads, and "
    f"`{BUILD}/`, from which a set can be built",
    sizes={"debug_per_type": 4, "test_per_stratum": 2},
    write=write,
    prepare=(("--source", f"{{folder}}/{RELEASE}"),),
    release=RELEASE,
)


def _write_archive(folder: Path, path: Path) -> None:
    """Pack a folder, under its own name, into a zip whose bytes depend on nothing but the files."""
    with ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                info = ZipInfo(f"{folder.name}/{file.relative_to(folder).as_posix()}")
                info.external_attr = 0o644 << 16
                archive.writestr(info, file.read_bytes())


def _write_csv(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
