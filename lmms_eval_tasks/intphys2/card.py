"""The facts of IntPhys 2 by paper and release, and the form of its metadata as items.

Source: which scenes are easy and which have a moving camera is in facebookresearch/IntPhys2@faf78cd,
ComputeScoreIntPhys2.ipynb.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, AliasChoices, Field

from lmms_eval_tasks.api import Card, Human, Metric, Problems, Record, Row, SplitFacts
from lmms_eval_tasks.api.answers import IMPOSSIBLE, POSSIBLE
from lmms_eval_tasks.api.forms import Cell, ClipName, OneOf, ReleaseRow, Text, mismatch, read_csv_form

CONDITIONS = ("permanence", "immutability", "continuity", "solidity")
CAMERAS = ("fixed", "moving")
DIFFICULTIES = ("easy", "medium", "hard")
KINDS = ("1_Possible", "1_Impossible", "2_Possible", "2_Impossible")
"""The four clips of a scene: two matched pairs."""
FOLDERS = {"debug": "Debug", "main": "Main", "heldout": "HeldOut"}
"""Split to its folder in the release, which is also its name in the leaderboard's file."""

CARD = Card(
    name="intphys2",
    title="IntPhys 2",
    paper="https://arxiv.org/abs/2506.09849",
    licence="CC BY-NC 4.0, evaluation only",
    homepage="https://github.com/facebookresearch/IntPhys2",
    main_metric="single_accuracy",
    splits={
        "debug": SplitFacts(items=60, groups=5, clips=60),
        "main": SplitFacts(items=1012, groups=253, clips=1012),
        # Which of them make its 86 scenes is not known: each clip is a group of its own.
        "heldout": SplitFacts(items=344, groups=344, clips=344, answers_withheld=True),
    },
    strata_columns=("condition", "camera", "difficulty"),
    chance={
        "single_accuracy": 50.0,
        "single_accuracy_official": 50.0,
        "pair_accuracy": 25.0,
        "scene_accuracy": 6.25,
        "plausibility_preference": 50.0,
    },
    human=(
        Human(
            metric="single_accuracy",
            split="heldout",
            percent=92.44,
            source="the leaderboard, as a third party's page lists it",
            caveat="second-hand; it does not say how people were asked",
        ),
    ),
    hub_id="facebook/IntPhys2",
    prepare_command="lmms-eval-tasks prepare intphys2 --source IntPhys2.zip",
    leaderboards={"physical-reasoning": {"heldout": "intphys2"}},
)


def by_parts(metric: Metric) -> list[Metric]:
    """The same score of each condition, camera and difficulty."""
    parts = zip(CARD.strata_columns, (CONDITIONS, CAMERAS, DIFFICULTIES), strict=True)
    return [one for column, values in parts for one in metric.by(column, values)]


def says(answer: str, record: Record) -> float | None:
    """100 where this is the answer; None where none was read."""
    return None if record.answered is None else 100.0 * (record.answered == answer)


UNKNOWN = "unknown"
"""Part of the benchmark where the release does not name one."""
CODINGS = {"debug": {1: "once", 3: "three times"}, "main": {1: "once"}}
"""How often a split may hold each clip of a scene."""
_LEVELS = {
    "easy": ("BasicLevel_0",),
    "medium": ("SaltFlats_0", "DesertMap_0", "RaceTrack_0", "TropicalIsland_0"),
    "hard": ("PLVDaylight_0", "Egypt_0", "RuralAustralia03_0", "ParkingGarage_0", "None"),
}
_GAMES = {
    "fixed": (
        "FixedMarryPoppins", "FixedJumpSolidity", "RotatingCup", "HotAirBallon", "SphereFallingDown",
        "SolidityFallingFlat",
    ),
    "moving": (
        "SphereFallingDownSoldity", "BoxSoldity", "Scaffoling", "CameraSolidity", "JumpSolidity", "Box",
        "MovingAroundOccluder", "JailStone", "PrisonCell", "Restaurant",
    ),
}  # fmt: skip
DIFFICULTY_OF = {env: level for level, envs in _LEVELS.items() for env in envs}
CAMERA_OF = {game: camera for camera, games in _GAMES.items() for game in games}


def _stem(name: str) -> str:
    stem = PurePosixPath(name).name.removesuffix(".mp4")
    if not stem:
        raise mismatch("{field} to name a clip's file", name)
    return stem


def _variant(condition: str) -> str:
    variant = condition.lower()
    if not re.fullmatch(rf"(?:{'|'.join(CONDITIONS)})(?:_\w+)?", variant):
        raise mismatch(f"one of {', '.join(CONDITIONS)}", condition)
    return variant


class ReleasedClip(ReleaseRow):
    """A row of a split's metadata; the releases call the clip's name differently."""

    name: Annotated[
        ClipName, AfterValidator(_stem), Field(validation_alias=AliasChoices("name", "filename", "file_name"))
    ]
    scene: Annotated[Text, Field(validation_alias="SceneIndex")]
    type: Annotated[str, OneOf(KINDS)]
    variant: Annotated[Text, AfterValidator(_variant), Field(validation_alias="condition")]
    env: Cell = ""
    game_name: Cell = ""
    Camera: Cell = ""
    Difficulty: Cell = ""


def read_items(split: str, file: str, content: bytes, problems: Problems) -> list[Row]:
    """The items of a split with metadata: the clips of a scene next to each other, coding by coding."""
    rows = read_csv_form(ReleasedClip, content, file, problems)
    for name in ("env", "game_name", "Camera", "Difficulty") if rows else ():
        if name not in rows.columns:
            problems.warn(f"{file}: columns that are not there", name)
    scenes: dict[str, dict[str, list[Row]]] = {}
    places: dict[str, str] = {}
    for row in rows:
        if places.setdefault(row.name, row.place) != row.place:
            problems.add(row.where, f"Expected each clip once, but {places[row.name]} has {row.name} too.")
        item = {
            **_item(split, row.name, _scene(row.scene)),
            "answer": IMPOSSIBLE if "Impossible" in row.type else POSSIBLE,
            "pair": row.type[:1],
            "condition": row.variant.partition("_")[0],
            "variant": row.variant,
            "camera": _part(CAMERA_OF, row.game_name, row.Camera, CAMERAS),
            "difficulty": _part(DIFFICULTY_OF, row.env, row.Difficulty, DIFFICULTIES),
        }
        for column in ("camera", "difficulty"):
            if item[column] == UNKNOWN:
                problems.warn(f"{file}: clips without {column}", row.name)
        scenes.setdefault(item["group_id"], {}).setdefault(row.type, []).append(item)
    broken = {_scene(str(cells.get("SceneIndex") or "").strip()) for cells in rows.refused}
    items: list[Row] = []
    for scene, kinds in scenes.items():
        counts = {kind: len(kinds.get(kind, ())) for kind in KINDS}
        if len(set(counts.values())) == 1 and counts[KINDS[0]] in CODINGS[split]:
            items += [
                {**kinds[kind][coding], "coding": str(coding + 1)}
                for coding in range(counts[KINDS[0]])
                for kind in KINDS
            ]
        elif scene not in broken:
            found = ", ".join(f"{kind} {count}" for kind, count in counts.items())
            often = " or ".join(CODINGS[split].values())
            problems.add(f"{file}, {scene}", f"Expected each of its four clips {often}, but got {found}.")
    return items


def heldout_items(names: list[str]) -> list[Row]:
    """The items of the split that has clips alone; the key and the scene are withheld."""
    return [
        {**_item("heldout", name, name), "answer": None, "pair": UNKNOWN, "coding": "1"}
        | dict.fromkeys(("condition", "variant", "camera", "difficulty"), UNKNOWN)
        for name in names
    ]


def _scene(index: str) -> str:
    return f"scene_{index.removesuffix('.0')}"


def _item(split: str, name: str, group: str) -> Row:
    return {
        "item_id": name,
        "group_id": group,
        "question": "Is what this video shows physically possible?",
        "options": ["Yes", "No"],
        "clip": f"{split}/{name}.mp4",
    }


def _part(known: dict[str, str], place: str, column: str, values: tuple[str, ...]) -> str:
    """A part as the official notebook has it by the place; for another place as its own column has it."""
    return known.get(place) or (column.lower() if column.lower() in values else UNKNOWN)
