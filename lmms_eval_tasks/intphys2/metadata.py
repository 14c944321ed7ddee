"""Reading the metadata of a split of IntPhys 2 into items.

Source: which scenes are easy and which have a moving camera is in facebookresearch/IntPhys2@faf78cd,
ComputeScoreIntPhys2.ipynb.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from lmms_eval_tasks.api import Problems, Row
from lmms_eval_tasks.api.answers import IMPOSSIBLE, POSSIBLE
from lmms_eval_tasks.api.release import CsvTable, is_safe, quote
from lmms_eval_tasks.intphys2.card import CAMERAS, CONDITIONS, DIFFICULTIES, KINDS

QUESTION = "Is what this video shows physically possible?"
OPTIONS = ("Yes", "No")
UNKNOWN = "unknown"
"""Stands for a part of the benchmark that the release does not tell."""

NAMES = ("name", "filename", "file_name")
"""Columns that may hold the clip's name; the releases differ."""
NEEDED = ("SceneIndex", "type", "condition")
TOLD = ("env", "game_name", "Camera", "Difficulty")
"""Columns without which a clip counts in fewer breakdowns."""
CODINGS = {"debug": {1: "once", 3: "three times"}, "main": {1: "once"}}
"""How often a split may hold each clip of a scene."""

_LEVELS = {
    "easy": ("BasicLevel_0",),
    "medium": ("SaltFlats_0", "DesertMap_0", "RaceTrack_0", "TropicalIsland_0"),
    "hard": ("PLVDaylight_0", "Egypt_0", "RuralAustralia03_0", "ParkingGarage_0", "None"),
}
_GAMES = {
    "fixed": (
        "FixedMarryPoppins",
        "FixedJumpSolidity",
        "RotatingCup",
        "HotAirBallon",
        "SphereFallingDown",
        "SolidityFallingFlat",
    ),
    "moving": (
        "SphereFallingDownSoldity",
        "BoxSoldity",
        "Scaffoling",
        "CameraSolidity",
        "JumpSolidity",
        "Box",
        "MovingAroundOccluder",
        "JailStone",
        "PrisonCell",
        "Restaurant",
    ),
}
DIFFICULTY_OF = {env: level for level, envs in _LEVELS.items() for env in envs}
CAMERA_OF = {game: camera for camera, games in _GAMES.items() for game in games}
_CONDITION = re.compile(r"(permanence|immutability|continuity|solidity)(?:_\w+)?")


def read_items(split: str, file: str, content: bytes, problems: Problems) -> list[Row]:
    """The items of a split with metadata: the clips of a scene next to each other, coding by coding."""
    scenes: dict[str, dict[str, list[Row]]] = {}
    places: dict[str, int] = {}
    for number, cells in _read_rows(file, content, problems):
        item = _read_row(split, cells, f"{file}, row {number}", problems)
        first = places.setdefault(item["item_id"], number)
        if first != number and item["item_id"]:
            problems.add(
                f"{file}, row {number}", f"Expected each clip once, but row {first} has {item['item_id']} too."
            )
        for column in ("camera", "difficulty"):
            if item[column] == UNKNOWN:
                problems.warn(f"{file}: clips whose {column} is not told", item["item_id"])
        scenes.setdefault(item["group_id"], {}).setdefault(cells["type"], []).append(item)
    items: list[Row] = []
    for scene, kinds in scenes.items():
        counts = {kind: len(kinds.get(kind, ())) for kind in KINDS}
        if len(set(counts.values())) > 1 or counts[KINDS[0]] not in CODINGS[split]:
            found = ", ".join(f"{kind} {count}" for kind, count in counts.items())
            often = " or ".join(CODINGS[split].values())
            problems.add(f"{file}, {scene}", f"Expected each of its four clips {often}, but got {found}.")
            continue
        for coding in range(counts[KINDS[0]]):
            items += [{**kinds[kind][coding], "coding": str(coding + 1)} for kind in KINDS]
    return items


def heldout_items(names: list[str]) -> list[Row]:
    """The items of the split that has clips alone; the key and the scene are withheld."""
    return [
        {**_item("heldout", name, name), "answer": None, "pair": UNKNOWN, "coding": "1"}
        | dict.fromkeys(("condition", "variant", "camera", "difficulty"), UNKNOWN)
        for name in names
    ]


def _item(split: str, name: str, group: str) -> Row:
    return {
        "item_id": name,
        "group_id": group,
        "question": QUESTION,
        "options": list(OPTIONS),
        "clip": f"{split}/{name}.mp4",
    }


def _read_rows(file: str, content: bytes, problems: Problems) -> list[tuple[int, dict[str, str]]]:
    """The rows with their numbers, the clip's name in the column ``name`` whatever the release calls it."""
    try:
        table = CsvTable(content)
        lines = [cells for _, cells in table if cells]
    except ValueError as error:
        problems.add(file, str(error))
        return []
    columns = table.columns
    named = [name for name in NAMES if name in columns]
    missing = [name for name in NEEDED if name not in columns]
    if not named:
        missing.append(f"one of {', '.join(NAMES)}")
    if missing:
        what = f"Expected the columns {', '.join(missing)} as well, but the columns are {table.named or 'missing'}."
        problems.add(file, what)
    if table.repeated:
        problems.add(file, f"Expected each column once, but got {table.repeated} again.")
    if not lines:
        problems.add(file, "Expected clips below the header, but got none.")
    for name in TOLD:
        if name not in columns:
            problems.warn(f"{file}: columns that are not there", name)
    whole = not missing and not table.repeated
    rows = []
    for number, cells in enumerate(lines, 2):
        if len(cells) != len(columns):
            problems.add(f"{file}, row {number}", f"Expected {len(columns)} cells, but got {len(cells)}.")
        elif whole:
            row = {name: cell.strip() for name, cell in zip(columns, cells, strict=True)}
            rows.append((number, {**row, "name": row[named[0]]}))
    return rows


def _read_row(split: str, cells: dict[str, str], where: str, problems: Problems) -> Row:
    path = PurePosixPath(cells["name"])
    name = path.name.removesuffix(".mp4")
    if not is_safe(cells["name"]) or not name:
        problems.add(where, f"Expected the name of a clip, but got {quote(cells['name'])}.")
    scene, kind = cells["SceneIndex"].removesuffix(".0"), cells["type"]
    if not scene:
        problems.add(where, "Expected a SceneIndex, but got none.")
    if kind not in KINDS:
        problems.add(where, f"Expected type to be one of {', '.join(KINDS)}, but got {quote(kind)}.")
    condition = _CONDITION.fullmatch(cells["condition"].lower())
    if condition is None:
        known = ", ".join(CONDITIONS)
        problems.add(where, f"Expected condition to be one of {known}, but got {quote(cells['condition'])}.")
    return {
        **_item(split, name, f"scene_{scene}"),
        "answer": IMPOSSIBLE if "Impossible" in kind else POSSIBLE,
        "pair": kind[:1],
        "condition": condition[1] if condition else UNKNOWN,
        "variant": cells["condition"].lower(),
        "camera": _told(CAMERA_OF, cells.get("game_name"), cells.get("Camera"), CAMERAS),
        "difficulty": _told(DIFFICULTY_OF, cells.get("env"), cells.get("Difficulty"), DIFFICULTIES),
    }


def _told(known: dict[str, str], place: str | None, column: str | None, values: tuple[str, ...]) -> str:
    """A part as the official notebook tells it by the place; for another place as its own column has it."""
    if place in known:
        return known[place]
    return column.lower() if column and column.lower() in values else UNKNOWN
