import ast
import csv
import hashlib
import json
import re
import zipfile
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import datasets
import pytest

import lmms_eval_tasks
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.sample import write_sample, writers
from lmms_eval_tasks.sample.scripts import TABLE_QUESTIONS
from lmms_eval_tasks.sample.solver import decode
from lmms_eval_tasks.sample.write_sample import build_sample, prepare_commands, sample_writers
from lmms_eval_tasks.sample.writers.mvp import FAMILIES
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.errors import InputError

PACKAGE = Path(lmms_eval_tasks.__file__).parent
OWN = [name for name, benchmark in registry().benchmarks.items() if PACKAGE in benchmark.folder.parents]
WRITERS = sample_writers()
TINY = {
    **{name: dict.fromkeys(writer.sizes, 1) for name, writer in WRITERS.items()},
    "causalvqa": {"debug_per_type": 1, "test_per_stratum": 0},
}
SOURCES = {"pt", "ssv2", "language_table", "intphys", "inflevel", "grasp", "clevrer", "star", "vinoground"}


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path):
    steps = []
    first = build_sample(tmp_path / "a", 5, lambda *step: steps.append(step), TINY)
    second = build_sample(tmp_path / "b", 5, sizes=TINY)
    assert digests(first) == digests(second)
    totals = [total for _, done, total in steps if done == 1]
    assert [(done, total) for _, done, total in steps] == [
        (done, total) for total in totals for done in range(1, total + 1)
    ]
    assert len(totals) >= len(WRITERS) and sum(totals) <= len(list(first.rglob("*.mp4")))
    assert all(what.startswith("filming clips") for what, _, _ in steps)
    before = digests(first)
    again = build_sample(tmp_path / "a", 5, sizes=TINY)
    assert again == first == tmp_path / "a" and digests(again) == before
    other = build_sample(tmp_path / "a", 6, sizes=TINY)
    assert digests(other).keys() != before.keys() or digests(other) != before
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
    for folder in (".", *(f"{benchmark}/{writer.release}" for benchmark, writer in sample_writers().items())):
        mark = json.loads((sample / folder / "SAMPLE.json").read_text())
        assert mark["sample"] is True and mark["seed"] == 20 and mark["version"]
    readme = (sample / "README.md").read_text()
    assert "not a benchmark" in readme and "Seed 20" in readme
    for benchmark, writer in sample_writers().items():
        assert f"- `{benchmark}/`: {writer.contents}\n" in readme


@pytest.mark.slow
def test_one_benchmarks_sample_is_written_alone(tmp_path):
    name = OWN[-1]
    alone = build_sample(tmp_path / "alone", 5, sizes=TINY, benchmarks=[name])
    assert sorted(path.name for path in alone.iterdir()) == sorted([name, "README.md", "SAMPLE.json"])
    assert {benchmark for benchmark, *_ in prepare_commands(alone)} == {name}
    with pytest.raises(InputError, match=r"^Expected benchmarks that have sample data, any of .* got none_such\.$"):
        build_sample(tmp_path / "alone", benchmarks=[name, "none_such"])
    assert (alone / name).is_dir()


def test_every_benchmark_has_a_writer_whose_release_can_be_prepared(tmp_path):
    assert list(WRITERS) == OWN
    for name in OWN:
        (tmp_path / name).mkdir()
    commands = prepare_commands(tmp_path)
    assert list(dict.fromkeys(benchmark for benchmark, *_ in commands)) == OWN
    for benchmark, *options in commands:
        source = Path(options[options.index("--source") + 1])
        assert source == tmp_path / benchmark / WRITERS[benchmark].release
        assert not any("{folder}" in option for option in options)
    assert [command for command in commands if command[0] == "mvp"] == [
        ["mvp", "--source", f"{tmp_path}/mvp/snapshot", "--videos", f"{tmp_path}/mvp/videos", "--split", split]
        for split in ("mini", "full")
    ]


def test_a_new_module_is_all_that_a_new_writer_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(writers, "__path__", [*writers.__path__, str(tmp_path)])
    (tmp_path / "own_benchmark.py").write_text(
        "from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter\n"
        "WRITER = SampleWriter('nothing', {}, print, prepare=(('--videos', '{folder}/v'),))\n"
    )
    assert list(sample_writers()) == sorted([*OWN, "own_benchmark"])
    (tmp_path / "own_benchmark").mkdir()
    assert ["own_benchmark", "--videos", f"{tmp_path}/own_benchmark/v"] in prepare_commands(tmp_path)
    (tmp_path / "wrong.py").write_text("WRITER = 'me'\n")
    with pytest.raises(TypeError, match=r"Expected .*\.writers\.wrong\.WRITER to be a SampleWriter but got str\."):
        sample_writers()


def test_another_packages_benchmark_brings_its_writer(tmp_path, monkeypatch):
    def write(folder, seed, sizes, progress):
        (folder / "release" / "numbers.txt").write_text(f"{seed} {dict(sizes)}")

    prepare = (("--source", "{folder}/release"),)
    sample = SampleWriter("numbers", {"clips": 3}, write, prepare, "release")
    benchmarks = {"own": registry().benchmarks[OWN[0]], "numbers": SimpleNamespace(sample=sample)}
    monkeypatch.setattr(write_sample, "registry", lambda: SimpleNamespace(benchmarks=benchmarks))
    monkeypatch.setattr(writers, "__path__", [])
    world = build_sample(tmp_path / "world", 3, sizes={"numbers": {"clips": 5}})
    assert (world / "numbers" / "release" / "numbers.txt").read_text() == "3 {'clips': 5}"
    assert json.loads((world / "numbers" / "release" / "SAMPLE.json").read_text())["seed"] == 3
    assert prepare_commands(world) == [["numbers", "--source", f"{world}/numbers/release"]]


def test_a_size_that_no_writer_has_is_refused(tmp_path):
    known = ", ".join(sorted(f"{name}.{size}" for name, writer in WRITERS.items() for size in writer.sizes))
    for sizes in ({OWN[0]: {"none such": 1}}, {"own": {"pairs": 1}}):
        with pytest.raises(ValueError, match=re.escape(f"Expected sizes of the writers, {known}, but got ")):
            build_sample(tmp_path / "world", sizes=sizes)
    assert not list(tmp_path.iterdir())


def test_size(sample):
    for benchmark in OWN:
        files = [path for path in (sample / benchmark).rglob("*") if path.is_file()]
        assert 0 < sum(path.stat().st_size for path in files) < 2e6, benchmark


def test_the_archive_holds_the_folder(sample, tmp_path):
    with zipfile.ZipFile(sample / "causalvqa" / "CausalVQA.zip") as archive:
        archive.extractall(tmp_path)
    assert digests(tmp_path / "CausalVQA") == digests(sample / "causalvqa" / "CausalVQA")


def test_causalvqa_metadata(sample):
    columns = ["qid", "type", "question", "choices1", "correct1", "choices2", "correct2", "difficulty", "renamed_video"]
    debug = read_csv(sample / "causalvqa" / "CausalVQA" / "debug" / "debug_metadata.csv")
    test = read_csv(sample / "causalvqa" / "CausalVQA" / "test" / "test_metadata.csv")
    truth = read_csv(sample / "causalvqa" / "test_truth.csv")
    assert list(debug[0]) == columns
    assert list(test[0]) == [column for column in columns if not column.startswith("correct")]
    assert list(truth[0]) == ["qid", "correct1", "correct2"]
    assert [row["qid"] for row in truth] == [row["qid"] for row in test]
    assert {row["difficulty"] for row in debug} == {"easy"}
    strata = [(row["type"], row["difficulty"]) for row in test]
    assert all(strata.count((kind, level)) == 2 for kind in TABLE_QUESTIONS for level in ("easy", "med", "hard"))
    assert len({row["qid"] for row in debug + test}) == len(debug + test) == 40


def test_causalvqa_options(sample):
    debug = read_csv(sample / "causalvqa" / "CausalVQA" / "debug" / "debug_metadata.csv")
    for row in debug:
        versions = [row["choices1"].split("|"), row["choices2"].split("|")]
        for version, options in enumerate(versions, 1):
            assert [option[:3] for option in options] == [f"{number}. " for number in range(1, 6)]
            assert len({option[3:] for option in options}) == 5
            assert 1 <= int(row[f"correct{version}"]) <= 5
        right = [options[int(row[f"correct{v}"]) - 1] for v, options in enumerate(versions, 1)]
        assert right[0][3:] != right[1][3:]
    for name in ("debug", "test"):
        rows = read_csv(sample / "causalvqa" / "CausalVQA" / name / f"{name}_metadata.csv")
        videos = {path.name for path in (sample / "causalvqa" / "CausalVQA" / name / "videos").iterdir()}
        assert videos == {row["renamed_video"] for row in rows}


@pytest.mark.parametrize("subset", FAMILIES)
def test_mvp_snapshot(sample, subset, tmp_path):
    loaded = {
        split: datasets.load_dataset(
            str(sample / "mvp" / "snapshot"), subset, split=split, cache_dir=str(tmp_path)
        ).to_list()
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
        assert all((sample / "mvp" / "videos" / row["video_path"]).is_file() for row in rows)
        assert all(row["video_path"].startswith(row["source"] + "/") for row in rows)


def test_every_source_occurs_in_mini(sample):
    table = [
        row
        for subset in FAMILIES
        for row in datasets.Dataset.from_parquet(
            str(sample / "mvp" / "snapshot" / subset / "mini-00000-of-00001.parquet"), keep_in_memory=True
        )
    ]
    assert {row["source"] for row in table} == SOURCES


@pytest.mark.slow
def test_every_clip_decodes(sample):
    clips = sorted(sample.rglob("*.mp4"))
    counts = Counter(clip.relative_to(sample).parts[0] for clip in clips)
    assert set(counts) == set(OWN) and (counts["causalvqa"], counts["mvp"]) == (40, 64)
    for clip in clips:
        frames, rendered = decode(clip), clip.is_relative_to(sample / "worlds")
        assert frames.shape[1:] == ((288, 384, 3) if rendered else (144, 192, 3))
        assert 8 <= len(frames) <= 96
        assert clip.stat().st_size < 60_000


@pytest.mark.slow
def test_an_interrupted_build_leaves_the_old_sample(tmp_path):
    world = build_sample(tmp_path / "world", 5, sizes=TINY)
    before = digests(world)

    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_sample(world, 6, stop, TINY)
    assert digests(world) == before
    build_sample(world, 5, sizes=TINY)
    assert digests(world) == before
    assert [path.name for path in tmp_path.iterdir()] == ["world"]
