"""IntPhys 2's release: three splits, the ways in which its tables name clips and places, and what is refused."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from expected import Expected
from refusals import refusal
from releases import write_clip
from sample_runs import at

from lmms_eval_tasks.intphys2.benchmark import METADATA, prepare
from lmms_eval_tasks.intphys2.card import KINDS, read_items
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.data.home import benchmark_dir, clip_path
from lmms_eval_tasks.utils.data.prepare import Preparation

pytestmark = pytest.mark.usefixtures("home")

Rows = list[dict[str, str]]


def named(*parts: object) -> str:
    """A name of as many digits as the release's have."""
    return sha256("/".join(map(str, parts)).encode()).hexdigest()


def scene(number: int, coding: int = 1, **changes: str) -> Rows:
    """The rows of a scene, their clips' names in the column filename."""
    return [
        {
            "SceneIndex": str(number),
            "filename": named(number, kind, coding),
            "type": kind,
            "condition": "immutability_texture",
            "env": "SaltFlats_0",
            "game_name": "Box",
            "Camera": "Moving",
            "Difficulty": "Medium",
            **changes,
        }
        for kind in KINDS
    ]


def write_split(root: Path, folder: str, rows: Iterable[Mapping[str, str]], clips: str = "") -> Path:
    rows = list(rows)
    name = next(name for name in ("filename", "name", "file_name") if name in rows[0])
    for row in rows:
        write_clip(root / folder / clips / f"{Path(row[name]).name.removesuffix('.mp4')}.mp4", frames=2)
    with (root / folder / "metadata.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return root


def test_a_release_with_three_splits(tmp_path: Path, expected: Expected) -> None:
    mixed = scene(7)
    write_split(tmp_path, "Main", [mixed[3], *scene(2, env="None"), *mixed[:3]])
    write_split(tmp_path, "Debug", [row for coding in (1, 2, 3) for row in scene(1, coding)])
    held = sorted(named("held", number) for number in range(3))
    for name in held:
        write_clip(tmp_path / "HeldOut" / f"{name}.mp4", frames=2)
    manifests = prepare(Preparation(), str(tmp_path))
    assert {split: (one.rows, one.clips, one.answers_withheld) for split, one in manifests.items()} == {
        "debug": (12, 12, False),
        "main": (8, 8, False),
        "heldout": (3, 3, True),
    }
    tables = {split: load_table("intphys2", split).to_list() for split in manifests}
    # Frames 20 grey levels apart, eight a second; of held-out clips nothing is measured.
    assert [{row["motion"] for row in table} for table in tables.values()] == [{160.0}, {160.0}, {None}]
    expected("\n".join(json.dumps(row) for table in tables.values() for row in table))
    heldout = tables["heldout"][0]
    assert clip_path("intphys2", heldout["clip"]).readlink() == tmp_path / "HeldOut" / f"{heldout['item_id']}.mp4"


@pytest.mark.slow
def test_each_way_of_naming_a_clip_and_an_archive_give_the_same(tmp_path: Path) -> None:
    digests = set()
    for column, before, after in (("filename", "", ""), ("name", "", ".mp4"), ("file_name", "Videos/", ".mp4")):
        rows = [{column: f"{before}{row.pop('filename')}{after}", **row} for row in scene(1)]
        root = write_split(tmp_path / column / "IntPhys2", "Main", rows, clips=before)
        write_clip(root / "HeldOut" / f"{named('held')}.mp4", frames=2)
        for source in (str(root.parent), shutil.make_archive(str(root.parent), "zip", root.parent, "IntPhys2")):
            with at(root / "home"):
                digests.add(tuple((split, one.table_sha256) for split, one in prepare(Preparation(), source).items()))
                assert load_table("intphys2", "main")["item_id"][:] == [row["filename"] for row in scene(1)]
    assert [split for split, _ in digests.pop()] == ["main", "heldout"] and not digests
    shutil.rmtree(root / "Main")
    assert list(prepare(Preparation(), str(root))) == ["heldout"], "held-out clips alone"


def test_refusals(tmp_path: Path, expected: Expected) -> None:
    release, messages = tmp_path / "IntPhys2", []

    def refuse(what: str, source: Path = release) -> None:
        messages.append(f"{what}: {refusal(prepare, Preparation(), str(source))}")

    release.mkdir()
    refuse("no release")
    (tmp_path / "x.zip").write_bytes(b"PK")
    refuse("no archive", tmp_path / "x.zip")
    refuse("no file", tmp_path / "none")
    rows = scene(1) + scene(2)[:3] + scene(3)
    rows[1]["type"] = "1_impossible"
    rows[2]["condition"] = "gravity"
    rows[3]["SceneIndex"] = ""
    rows[8]["filename"] = rows[7]["filename"]
    rows[9]["filename"] = "../up"
    write_split(release, "Main", rows)
    write_clip(release / "Debug" / "a.mp4", frames=2)
    refuse("rows")
    shutil.rmtree(release / "Debug")
    metadata = write_split(release, "Main", scene(1)) / METADATA["main"]
    text = metadata.read_text(encoding="utf-8")
    for column in ("SceneIndex", "type", "condition", "filename"):
        metadata.write_text(text.replace(column, "other", 1), encoding="utf-8")
        refuse(f"without {column}")
    # The main split has each clip once, the debug split once or three times.
    twice = [row for coding in (1, 2) for row in scene(1, coding)]
    write_split(release, "Main", twice)
    write_split(release, "Debug", twice)
    refuse("twice")
    expected("\n".join(messages))
    assert not benchmark_dir("intphys2").exists()


def test_parts_that_are_not_named_are_unknown_and_other_places_have_their_own(tmp_path: Path) -> None:
    parts = ("env", "game_name", "Camera", "Difficulty")
    rows = [{name: cell for name, cell in row.items() if name not in parts} for row in scene(1)]
    manifest = prepare(Preparation(), str(write_split(tmp_path, "Main", rows)))["main"]
    table = load_table("intphys2", "main")
    assert set(table["camera"]) == set(table["difficulty"]) == {"unknown"}
    warnings = " ".join(manifest.warnings)
    assert "columns that are not there: 4 (env, game_name, Camera, Difficulty)" in warnings
    assert "clips without camera: 4" in warnings and "clips without difficulty: 4" in warnings
    elsewhere = scene(1, env="Moon_0", game_name="Well", Camera="Fixed", Difficulty="Easy")
    lines = [",".join(cells) for cells in (elsewhere[0], *(row.values() for row in elsewhere))]
    problems = Problems()
    items = read_items("main", "m", "\n".join(lines).encode(), problems)
    assert not problems and {(item["camera"], item["difficulty"]) for item in items} == {("fixed", "easy")}


def test_held_out_clips_have_names_of_their_own_and_there_are_some(tmp_path: Path) -> None:
    folder = tmp_path / "HeldOut"
    folder.mkdir()
    (folder / "note.txt").write_text("none yet")
    none = refusal(prepare, Preparation(), str(tmp_path))
    assert none.splitlines()[1:] == ["  HeldOut: Expected clips NAME.mp4, but there is none."]
    for place in ("", "Videos"):
        write_clip(folder / place / f"{named('held')}.mp4", frames=2)
    twice = refusal(prepare, Preparation(), str(tmp_path))
    assert twice.splitlines()[1:] == ["  HeldOut: Expected each clip once, but two have the same name."]
