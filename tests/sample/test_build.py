import ast
import csv
import hashlib
import json
import zipfile
from itertools import pairwise
from pathlib import Path

import datasets
import pytest

from lmms_eval_tasks.sample.build import Sizes, build_sample
from lmms_eval_tasks.sample.causalvqa import TYPES
from lmms_eval_tasks.sample.mvp import FAMILIES
from lmms_eval_tasks.sample.vision import decode
from lmms_eval_tasks.utils.core.problems import InputError

TINY = Sizes(debug_per_type=1, test_per_stratum=0, mini_pairs=1, full_pairs=2, cast_bench_clips=1, yocausal_pairs=1)
SOURCES = {"pt", "ssv2", "language_table", "intphys", "inflevel", "grasp", "clevrer", "star", "vinoground"}


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    told = []
    first = build_sample(tmp_path / "a", 5, lambda *step: told.append(step), TINY)
    second = build_sample(tmp_path / "b", 5, sizes=TINY)
    assert digests(first.root) == digests(second.root)
    filming = [("filming clips", done, 26) for done in range(1, 27)]
    assert told == [*filming, *(("filming clips and their reversals", done, 4) for done in range(1, 5))]
    before = digests(first.root)
    again = build_sample(tmp_path / "a", 5, sizes=TINY)
    assert again == first and digests(again.root) == before
    other = build_sample(tmp_path / "a", 6, sizes=TINY)
    assert digests(other.root).keys() != before.keys() or digests(other.root) != before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_folder_that_is_no_sample_is_left_alone(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError) as caught:
        build_sample(tmp_path, 0, sizes=TINY)
    assert str(caught.value) == (
        f"Expected {tmp_path} to be a new or empty folder or an older sample, but it holds something else, which "
        "stays untouched.\nRemedy: name another folder."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_marks_and_readme(sample):
    for folder in (sample.root, sample.causalvqa, sample.mvp_snapshot, sample.cast_bench):
        mark = json.loads((folder / "SAMPLE.json").read_text())
        assert mark["sample"] is True and mark["seed"] == 20 and mark["version"]
    readme = (sample.root / "README.md").read_text()
    assert "not a benchmark" in readme and "Seed 20" in readme


def test_size(sample):
    assert sum(path.stat().st_size for path in sample.root.rglob("*") if path.is_file()) < 4e6


def test_the_archive_holds_the_folder(sample, tmp_path):
    with zipfile.ZipFile(sample.causalvqa_archive) as archive:
        archive.extractall(tmp_path)
    assert digests(tmp_path / "CausalVQA") == digests(sample.causalvqa)


def test_causalvqa_metadata(sample):
    columns = ["qid", "type", "question", "choices1", "correct1", "choices2", "correct2", "difficulty", "renamed_video"]
    debug = read_csv(sample.causalvqa / "debug" / "debug_metadata.csv")
    test = read_csv(sample.causalvqa / "test" / "test_metadata.csv")
    truth = read_csv(sample.causalvqa_truth)
    assert list(debug[0]) == columns
    assert list(test[0]) == [column for column in columns if not column.startswith("correct")]
    assert list(truth[0]) == ["qid", "correct1", "correct2"]
    assert [row["qid"] for row in truth] == [row["qid"] for row in test]
    assert {row["difficulty"] for row in debug} == {"easy"}
    strata = [(row["type"], row["difficulty"]) for row in test]
    assert all(strata.count((kind, level)) == 2 for kind in TYPES for level in ("easy", "med", "hard"))
    assert len({row["qid"] for row in debug + test}) == len(debug + test) == 40


def test_causalvqa_options(sample):
    debug = read_csv(sample.causalvqa / "debug" / "debug_metadata.csv")
    for row in debug:
        versions = [row["choices1"].split("|"), row["choices2"].split("|")]
        for version, options in enumerate(versions, 1):
            assert [option[:3] for option in options] == [f"{number}. " for number in range(1, 6)]
            assert len({option[3:] for option in options}) == 5
            assert 1 <= int(row[f"correct{version}"]) <= 5
        right = [options[int(row[f"correct{v}"]) - 1] for v, options in enumerate(versions, 1)]
        assert right[0][3:] != right[1][3:]
    for name in ("debug", "test"):
        rows = read_csv(sample.causalvqa / name / f"{name}_metadata.csv")
        videos = {path.name for path in (sample.causalvqa / name / "videos").iterdir()}
        assert videos == {row["renamed_video"] for row in rows}


@pytest.mark.parametrize("subset", FAMILIES)
def test_mvp_snapshot(sample, subset, tmp_path):
    loaded = {
        split: datasets.load_dataset(str(sample.mvp_snapshot), subset, split=split, cache_dir=str(tmp_path)).to_list()
        for split in ("mini", "full")
    }
    assert {row["video_id"] for row in loaded["mini"]} < {row["video_id"] for row in loaded["full"]}
    assert (len(loaded["mini"]), len(loaded["full"])) == (8, 16)
    for rows in loaded.values():
        stems = [row["video_id"].rpartition("_")[0] for row in rows]
        assert all(a != b for a, b in pairwise(stems))
        for stem in set(stems):
            pair = [row for row in rows if row["video_id"].rpartition("_")[0] == stem]
            assert len(pair) == 2
            assert len({(row["question"], row["candidates"], row["source"]) for row in pair}) == 1
            assert {row["answer"] for row in pair} == set(ast.literal_eval(pair[0]["candidates"]))
            assert len({row["video_path"] for row in pair}) == 2
        assert all((sample.mvp_videos / row["video_path"]).is_file() for row in rows)
        assert all(row["video_path"].startswith(row["source"] + "/") for row in rows)


def test_every_source_occurs_in_mini(sample):
    table = [
        row
        for subset in FAMILIES
        for row in datasets.Dataset.from_parquet(
            str(sample.mvp_snapshot / subset / "mini-00000-of-00001.parquet"), keep_in_memory=True
        )
    ]
    assert {row["source"] for row in table} == SOURCES


def test_every_clip_decodes(sample):
    clips = sorted(sample.root.rglob("*.mp4"))
    assert len(clips) == 40 + 64 + 10 + 2 * 16
    for clip in clips:
        frames, fps = decode(clip)
        assert frames.shape[1:] == (144, 192, 3) and fps == 12
        assert 8 <= len(frames) <= 96
        assert clip.stat().st_size < 60_000


@pytest.mark.slow
def test_an_interrupted_build_leaves_the_old_sample(tmp_path):
    paths = build_sample(tmp_path / "world", 5, sizes=TINY)
    before = digests(paths.root)

    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_sample(paths.root, 6, stop, TINY)
    assert digests(paths.root) == before
    build_sample(paths.root, 5, sizes=TINY)
    assert digests(paths.root) == before
    assert [path.name for path in tmp_path.iterdir()] == ["world"]
