from __future__ import annotations

import csv
import zipfile
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path

import pytest
from releases import write_clip

from lmms_eval_tasks.intphys2 import benchmark as module
from lmms_eval_tasks.intphys2.benchmark import METADATA, prepare
from lmms_eval_tasks.intphys2.card import CARD, KINDS, read_items
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.data.home import clip_path, read_manifest

pytestmark = pytest.mark.usefixtures("home")

Rows = list[dict[str, str]]


def named(*parts: object) -> str:
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


def refusal(source: Path) -> str:
    with pytest.raises(InputError) as caught:
        prepare(str(source))
    return str(caught.value).replace(str(source), "~")


def test_a_release_with_three_splits(tmp_path: Path) -> None:
    mixed = scene(7)
    write_split(tmp_path, "Main", [mixed[3], *scene(2, env="None"), *mixed[:3]])
    write_split(tmp_path, "Debug", [row for coding in (1, 2, 3) for row in scene(1, coding)])
    held = sorted(named("held", number) for number in range(3))
    for name in held:
        write_clip(tmp_path / "HeldOut" / f"{name}.mp4", frames=2)
    manifests = prepare(str(tmp_path))
    assert {split: (one.rows, one.clips, one.answers_withheld) for split, one in manifests.items()} == {
        "debug": (12, 12, False),
        "main": (8, 8, False),
        "heldout": (3, 3, True),
    }
    main = load_table("intphys2", "main")
    assert main[0] == {
        "item_id": named(7, "1_Possible", 1),
        "group_id": "scene_7",
        "question": "Is what this video shows physically possible?",
        "options": ["Yes", "No"],
        "answer": "A",
        "clip": f"main/{named(7, '1_Possible', 1)}.mp4",
        "clip_present": True,
        "clip_seconds": 0.25,
        "pair": "1",
        "coding": "1",
        "condition": "immutability",
        "variant": "immutability_texture",
        "camera": "moving",
        "difficulty": "medium",
        # Frames 20 grey levels apart, eight a second.
        "motion": 160.0,
    }
    assert load_table("intphys2", "heldout")["motion"] == [None] * 3
    assert main["group_id"][:] == ["scene_7"] * 4 + ["scene_2"] * 4
    assert main["answer"][:] == list("ABAB") * 2 and main["pair"][:] == list("1122") * 2
    assert main["difficulty"][4:] == ["hard"] * 4
    debug = load_table("intphys2", "debug")
    assert debug["coding"][:] == [coding for coding in "123" for _ in KINDS]
    assert set(debug["group_id"]) == {"scene_1"}
    heldout = load_table("intphys2", "heldout")
    assert heldout["item_id"][:] == heldout["group_id"][:] == held
    assert set(heldout["answer"]) == {None} and set(heldout["condition"]) == {"unknown"}
    assert clip_path("intphys2", heldout[0]["clip"]).readlink() == tmp_path / "HeldOut" / f"{held[0]}.mp4"


@pytest.mark.parametrize("column", ["name", "filename", "file_name"])
@pytest.mark.parametrize(("before", "after"), [("", ""), ("", ".mp4"), ("Videos/", ".mp4")])
def test_each_way_of_naming_a_clip(column: str, before: str, after: str, tmp_path: Path) -> None:
    rows = [{**row, column: f"{before}{row['filename']}{after}"} for row in scene(1)]
    if column != "filename":
        rows = [{name: value for name, value in row.items() if name != "filename"} for row in rows]
    prepare(str(write_split(tmp_path, "Main", rows, clips=before)))
    table = load_table("intphys2", "main")
    assert table["item_id"][:] == [row["filename"] for row in scene(1)]


def test_an_archive_gives_what_its_folder_gives(tmp_path: Path) -> None:
    root = write_split(tmp_path / "IntPhys2", "Main", scene(1))
    write_clip(root / "HeldOut" / f"{named('held')}.mp4", frames=2)
    archive = tmp_path / "IntPhys2.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(root.rglob("*.*")):
            file.write(path, path.relative_to(tmp_path).as_posix())
    unpacked = prepare(str(tmp_path))
    tables = [load_table("intphys2", split)[:] for split in ("main", "heldout")]
    packed = prepare(str(archive))
    assert [load_table("intphys2", split)[:] for split in ("main", "heldout")] == tables
    assert {one: manifest.table_sha256 for one, manifest in packed.items()} == {
        one: manifest.table_sha256 for one, manifest in unpacked.items()
    }


def test_held_out_clips_alone(tmp_path: Path) -> None:
    write_clip(tmp_path / "HeldOut" / f"{named('held')}.mp4", frames=2)
    assert list(prepare(str(tmp_path))) == ["heldout"]


def test_the_hub_is_asked_for_what_is_not_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def download(*arguments: object) -> tuple[Path, str]:
        asked.append(arguments)
        return write_split(tmp_path, "Main", scene(1)), "a077a2f9"

    monkeypatch.setattr(module, "download_dataset", download)
    prepare()
    assert [arguments[0] for arguments in asked] == ["facebook/IntPhys2"]
    manifest = read_manifest(CARD).splits["main"]
    assert (manifest.source, manifest.revision) == ("facebook/IntPhys2", "a077a2f9")


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    rows = scene(1) + scene(2)[:3] + scene(3)
    rows[1]["type"] = "1_impossible"
    rows[2]["condition"] = "gravity"
    rows[3]["SceneIndex"] = ""
    rows[8]["filename"] = rows[7]["filename"]
    rows[9]["filename"] = "../up"
    write_split(tmp_path, "Main", rows)
    write_clip(tmp_path / "Debug" / "a.mp4", frames=2)
    told = refusal(tmp_path)
    for line in (
        "Main/metadata.csv, row 3: Expected type to be one of 1_Possible, 1_Impossible, 2_Possible, 2_Impossible, but "
        "got `1_impossible`.",
        "Main/metadata.csv, row 4: Expected condition to be one of permanence, immutability, continuity, solidity, but "
        "got `gravity`.",
        "Main/metadata.csv, row 5: Expected a SceneIndex, but got none.",
        f"Main/metadata.csv, row 10: Expected each clip once, but row 9 has {rows[7]['filename']} too.",
        "Main/metadata.csv, row 11: Expected filename to name a clip's file, but got `../up`.",
        "Main/metadata.csv, scene_2: Expected each of its four clips once, but got 1_Possible 1, 1_Impossible 1, "
        "2_Possible 1, 2_Impossible 0.",
        "Debug/metadata.csv: Expected it beside the clips, but there is none.",
    ):
        assert line in told
    with pytest.raises(InputError):
        load_table("intphys2", "main")


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("SceneIndex", "Expected a column SceneIndex, but"),
        ("type", "Expected a column type, but"),
        ("condition", "Expected a column condition, but"),
        ("filename", "Expected a column name or filename or file_name, but"),
    ],
)
def test_a_column_that_is_needed(column: str, told: str, tmp_path: Path) -> None:
    content = write_split(tmp_path, "Main", scene(1)) / METADATA["main"]
    content.write_text(content.read_text(encoding="utf-8").replace(column, "other", 1), encoding="utf-8")
    assert told in refusal(tmp_path)


def test_parts_that_are_not_told_are_unknown(tmp_path: Path) -> None:
    told = ("env", "game_name", "Camera", "Difficulty")
    rows = [{name: cell for name, cell in row.items() if name not in told} for row in scene(1)]
    manifest = prepare(str(write_split(tmp_path, "Main", rows)))["main"]
    table = load_table("intphys2", "main")
    assert set(table["camera"]) == set(table["difficulty"]) == {"unknown"}
    warnings = " ".join(manifest.warnings)
    assert "columns that are not there: 4 (env, game_name, Camera, Difficulty)" in warnings
    assert "clips whose camera is not told: 4" in warnings and "clips whose difficulty is not told: 4" in warnings


def test_another_place_is_told_by_its_own_columns() -> None:
    rows = [
        [*scene(1, env="Moon_0", game_name="Well", Camera="Fixed", Difficulty="Easy")[at].values()] for at in range(4)
    ]
    text = "\n".join(",".join(cells) for cells in [list(scene(1)[0]), *rows])
    problems = Problems()
    items = read_items("main", "m", text.encode(), problems)
    assert not problems and {(item["camera"], item["difficulty"]) for item in items} == {("fixed", "easy")}


@pytest.mark.parametrize("split", ["debug", "main"])
def test_how_often_a_clip_may_be_there(split: str) -> None:
    rows = [row for coding in (1, 2) for row in scene(1, coding)]
    text = "\n".join(",".join(cells) for cells in [list(rows[0]), *(list(row.values()) for row in rows)])
    problems = Problems()
    assert read_items(split, "m", text.encode(), problems) == []
    assert bool(problems)


def test_what_is_no_release_is_refused(tmp_path: Path) -> None:
    assert "is not the IntPhys 2 release" in refusal(tmp_path)
    (tmp_path / "x.zip").write_bytes(b"PK")
    assert "not a whole zip archive" in refusal(tmp_path / "x.zip")
    assert "there is no file or folder" in refusal(tmp_path / "none")
