"""Writing the sample: the same bytes for the same seed, whole or not at all, and in the form of each release."""

from __future__ import annotations

import csv
import json
import zipfile
from collections import Counter
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet
import pytest
import yaml
from expected import Expected
from own_benchmarks import OWN
from releases import contents
from stub_server import PLAYERS, player_of

from lmms_eval_tasks.construct.cli.build import BUILDERS
from lmms_eval_tasks.intphys2.card import CAMERA_OF, DIFFICULTY_OF
from lmms_eval_tasks.intphys2.sample import HELD_OUT_TRUTH, RELEASE
from lmms_eval_tasks.sample.solver import decode
from lmms_eval_tasks.sample.write_sample import all_samples, build_sample, prepare_commands
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.identity import SAMPLE_MARK

SAMPLES = all_samples()
TINY = {
    **{name: dict.fromkeys(sample.sizes, 1) for name, sample in SAMPLES.items()},
    "causalvqa": {"debug_per_type": 1, "test_per_stratum": 0},
}


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_an_interrupted_build_leaves_the_old_sample(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    first = build_sample(tmp_path / "a", 5, lambda *step: steps.append(step), TINY, OWN)
    before = contents(first)
    assert contents(build_sample(tmp_path / "b", 5, sizes=TINY, benchmarks=OWN)) == before
    totals = [total for _, done, total in steps if done == 1]
    assert [(done, total) for _, done, total in steps] == [
        (done, total) for total in totals for done in range(1, total + 1)
    ]
    assert len(totals) >= len(OWN) and all(what.startswith("filming clips") for what, _, _ in steps)

    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_sample(first, 6, stop, TINY, OWN)
    assert contents(first) == before
    other = contents(build_sample(first, 6, sizes=TINY, benchmarks=OWN))
    # Where a file's name has no chance in it, its bytes have.
    common = [name for name in before.keys() & other.keys() if name.endswith("1.mp4")]
    assert common and all(before[name] != other[name] for name in common)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_one_benchmarks_sample_is_written_alone_and_what_cannot_be_written_is_refused(tmp_path: Path) -> None:
    alone = build_sample(tmp_path / "alone", 5, sizes=TINY, benchmarks=["yocausal"])
    assert sorted(path.name for path in alone.iterdir()) == ["README.md", "SAMPLE.json", "yocausal"]
    assert {benchmark for benchmark, *_ in prepare_commands(alone)} == {"yocausal"}
    with pytest.raises(InputError, match=r"^Expected benchmarks that have sample data, any of .* got none_such\.$"):
        build_sample(tmp_path / "alone", benchmarks=["yocausal", "none_such"])
    assert (alone / "yocausal").is_dir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="it holds something else, which stays untouched"):
        build_sample(tmp_path / "mine", 0, sizes=TINY)
    assert sorted(path.name for path in tmp_path.rglob("*") if "alone" not in path.parts) == ["mine", "thesis.txt"]


def test_every_benchmark_has_sample_data_and_is_prepared_from_what_it_writes(tmp_path: Path) -> None:
    assert list(SAMPLES)[: len(OWN)] == OWN
    for name in OWN:
        (tmp_path / name).mkdir()
    commands = prepare_commands(tmp_path)
    assert list(dict.fromkeys(benchmark for benchmark, *_ in commands)) == OWN
    for benchmark, *options in commands:
        assert options[:2] == ["--source", f"{tmp_path / benchmark / SAMPLES[benchmark].release}"]
    assert [command[3:] for command in commands if command[0] == "mvp"] == [
        ["--videos", f"{tmp_path}/mvp/videos", "--split", split] for split in ("mini", "full")
    ]


def read_values(path: Path) -> str:
    """What a file of a release says; of a Parquet file its types and rows, for other versions pack them otherwise."""
    if path.suffix == ".parquet":
        table = pyarrow.parquet.read_table(path)
        return json.dumps([list(map(str, table.schema)), table.to_pylist()])
    return path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("benchmark", OWN)
def test_each_release_of_seed_0_says_the_same(benchmark: str, sample: Path, expected: Expected) -> None:
    lines = []
    for path in sorted((sample / benchmark).rglob("*")):
        if path.is_file() and path.suffix not in (".mp4", ".zip") and path.name != SAMPLE_MARK:
            digest = sha256(read_values(path).encode()).hexdigest()[:16]
            lines.append(f"{digest} {path.relative_to(sample)}")
    expected("\n".join(lines))


@pytest.mark.slow
def test_everything_is_marked_small_and_can_be_decoded_and_whatever_can_be_built_can_be_tried(sample: Path) -> None:
    for folder in (".", *(f"{benchmark}/{SAMPLES[benchmark].release}" for benchmark in OWN)):
        mark = json.loads((sample / folder / "SAMPLE.json").read_text())
        assert mark["sample"] is True and mark["seed"] == 0 and mark["version"]
    readme = (sample / "README.md").read_text()
    assert "not a benchmark" in readme and "Seed 0" in readme
    for benchmark in OWN:
        assert f"- `{benchmark}/`: {SAMPLES[benchmark].contents}\n" in readme
        files = [path for path in (sample / benchmark).rglob("*") if path.is_file()]
        assert 0 < sum(path.stat().st_size for path in files) < 2e6, benchmark
        clips = [path for path in files if path.suffix == ".mp4"]
        for clip in clips[:10]:
            frames = decode(clip)
            assert frames.shape[1:] == (144, 192, 3)
            assert 8 <= len(frames) <= 96 and clip.stat().st_size < 60_000
    builds = {path.parent.parent.name: path.parent for path in sample.glob("*/build/build.yaml")}
    assert set(builds) == set(PLAYERS) == set(BUILDERS.found)
    for name, build in builds.items():
        assert type(player_of(build)) is PLAYERS[name]
        # Without an address, so that a build finds the stand-in where it listens by itself.
        assert "url" not in str(yaml.safe_load((build / "build.yaml").read_text(encoding="utf-8")))


@pytest.mark.slow
def test_releases_hold_what_prepare_does_not_look_at(sample: Path, tmp_path: Path) -> None:
    release = sample / "causalvqa" / "CausalVQA"
    with zipfile.ZipFile(sample / "causalvqa" / "CausalVQA.zip") as archive:
        archive.extractall(tmp_path)
    assert contents(tmp_path / "CausalVQA") == contents(release)
    debug, test = (read_csv(release / name / f"{name}_metadata.csv") for name in ("debug", "test"))
    truth = read_csv(sample / "causalvqa" / "test_truth.csv")
    assert list(truth[0]) == ["qid", "correct1", "correct2"]
    assert [row["qid"] for row in truth] == [row["qid"] for row in test]
    assert {row["difficulty"] for row in debug} == {"easy"}
    assert set(Counter((row["type"], row["difficulty"]) for row in test).values()) == {1}
    for table in (sample / "mvp" / "snapshot").rglob("full-*.parquet"):
        # The clips of a pair do not stand next to each other.
        stems = [name.rpartition("_")[0] for name in pyarrow.parquet.read_table(table)["video_id"].to_pylist()]
        assert all(one != other for one, other in pairwise(stems))
    scenes = sample / "intphys2" / RELEASE
    assert not list((scenes / "HeldOut").glob("*.csv"))
    for path in (*scenes.glob("*/metadata.csv"), sample / "intphys2" / HELD_OUT_TRUTH):
        for row in read_csv(path):
            assert CAMERA_OF[row["game_name"]] == row["Camera"].lower()
            assert DIFFICULTY_OF[row["env"]] == row["Difficulty"].lower()
