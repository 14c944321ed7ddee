"""What holds of every benchmark's `prepare`, on its sample, which is written in the form of its release."""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
import typer
from by_day import first_by_day
from docs import ROOT
from expected import Expected
from own_benchmarks import OWN
from refusals import refusal
from releases import contents
from sample_runs import at, prepared_sample

from lmms_eval_tasks import registry as registry_module
from lmms_eval_tasks.cli.prepare import prepare_command
from lmms_eval_tasks.registry import build_registry, load_table, read_card, registry
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark
from lmms_eval_tasks.utils.benchmark.tasks import read_tasks
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.home import benchmark_dir, media_path, read_manifest
from lmms_eval_tasks.utils.data.identity import SAMPLE_MARK

pytestmark = pytest.mark.slow
PLUGIN = ROOT / "examples" / "pendulum_plugin"
ON_HUB = [name for name, benchmark in registry().benchmarks.items() if benchmark.card.hub_id]
SEVERAL = [name for name, benchmark in registry().benchmarks.items() if len(benchmark.card.splits) > 1]
"""Benchmarks whose release has several splits."""


@dataclass(frozen=True)
class Release:
    """A benchmark's release: a folder with its sample, one without the sample's mark, and a home where the release is
    prepared, which no test may change."""

    benchmark: Benchmark
    sample: Path
    folder: Path
    home: Path

    @property
    def name(self) -> str:
        return self.benchmark.name

    def copy(self, folder: Path) -> Path:
        """A copy of the release that a test may spoil."""
        return shutil.copytree(self.folder, folder / self.name)

    def options(self, folder: Path | None = None) -> list[list[str]]:
        """The options of its commands, for the release or for another folder of its form."""
        sample = self.benchmark.sample
        assert sample
        return [[one.replace("{folder}", str(folder or self.folder)) for one in options] for options in sample.prepare]

    def call(self, options: list[str]) -> None:
        app = typer.Typer(add_completion=False)
        app.command()(prepare_command(self.benchmark))
        app(options, standalone_mode=False)

    def prepare(self, folder: Path | None = None, *further: str, commands: slice = slice(None)) -> None:
        """Run its commands, or some of them."""
        for options in self.options(folder)[commands]:
            self.call([*options, *further])

    def refusal(self, folder: Path) -> str:
        return refusal(self.prepare, folder)


def with_plugin() -> Benchmark:
    """The example of a benchmark of one's own; known to the registry from now on."""
    sys.path.insert(0, str(PLUGIN))
    try:
        benchmark: Benchmark = import_module("pendulums.benchmark").BENCHMARK
    finally:
        sys.path.remove(str(PLUGIN))
    return benchmark


@pytest.fixture(scope="module", params=[*OWN, "pendulums"])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    root, name = tmp_path_factory.mktemp(request.param), request.param
    with pytest.MonkeyPatch.context() as patch:
        if name != "pendulums":
            benchmark, sample = registry().benchmarks[name], prepared_sample(tmp_path_factory).parent / "sample" / name
        else:
            benchmark, sample = with_plugin(), root / "sample"
            known = build_registry([*registry().benchmarks.values(), benchmark], [])
            patch.setattr(registry_module, "registry", lambda: known)
            sample.mkdir()
            (sample / SAMPLE_MARK).write_text("{}")
            assert benchmark.sample is not None
            benchmark.sample.write(sample, 0, {"trios": 2}, no_progress)
        ignored = shutil.ignore_patterns(SAMPLE_MARK, "build", "*.zip", "*truth*")
        shutil.copytree(sample, root / "release", ignore=ignored)
        found = Release(benchmark, sample, root / "release", root / "home")
        with at(found.home):
            found.prepare()
        yield found


@pytest.fixture
def prepared(release: Release, home: Path) -> Path:
    """The test's own data home, in which the release is prepared."""
    return shutil.copytree(release.home, home, symlinks=True, copy_function=os.link)


def test_the_same_release_gives_the_same_bytes(release: Release, home: Path) -> None:
    release.prepare()
    assert contents(home) == contents(release.home)
    assert sorted(path.name for path in home.iterdir()) == [f".{release.name}.lock", release.name]


@pytest.mark.parametrize("release", first_by_day(OWN), indirect=True)
def test_a_build_killed_between_its_renames_is_undone(release: Release, prepared: Path) -> None:
    benchmark_dir(release.name).rename(prepared / f".{release.name}.old")
    release.prepare()
    assert contents(prepared) == contents(release.home)


@pytest.mark.parametrize("release", first_by_day(OWN), indirect=True)
def test_two_at_once_give_a_whole_home(release: Release, home: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        for finished in [threads.submit(release.prepare) for _ in range(2)]:
            finished.result()
    assert contents(home) == contents(release.home)


TABLES = (".parquet", ".csv", ".json", ".jsonl")


def spoil(file: Path) -> None:
    """Empty all cells of a table's first and last row."""

    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for place in (0, -1):
            rows[place] = dict.fromkeys(rows[place], "")
        return rows

    text = "" if file.suffix == ".parquet" else file.read_text("utf-8", errors="replace")
    if file.suffix == ".parquet":
        rows = change(pyarrow.parquet.read_table(file).to_pylist())
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    elif file.suffix == ".csv":
        rows = change(list(csv.DictReader(text.splitlines())))
        with file.open("w", encoding="utf-8", newline="") as opened:
            table = csv.DictWriter(opened, list(rows[0]))
            table.writeheader()
            table.writerows(rows)
    elif file.suffix == ".json":
        file.write_text(json.dumps(change(json.loads(text))), encoding="utf-8")
    else:
        lines = [json.dumps(row) + "\n" for row in change([json.loads(line) for line in text.splitlines()])]
        file.write_text("".join(lines), encoding="utf-8")


def test_faults_are_named_together_and_nothing_is_written(
    release: Release, home: Path, tmp_path: Path, expected: Expected
) -> None:
    folder = release.copy(tmp_path)
    for file in (path for path in folder.rglob("*.*") if path.suffix in TABLES):
        spoil(file)
    message = release.refusal(folder)
    assert "nothing was written" in message and not benchmark_dir(release.name).exists()
    expected(message)
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(release.home, home, symlinks=True)
    assert release.refusal(folder) == message
    assert contents(home) == contents(release.home)


def test_clips_that_are_absent_or_corrupt_are_listed_and_skipped_on_request(
    release: Release, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    folder, card = release.copy(tmp_path), read_card(release.name)
    (split, facts), *_ = read_manifest_of(release.home, release.name)
    videos = release.home / release.name / "videos"
    clips = sorted(str(path.relative_to(videos)) for path in (videos / split).rglob("*.*"))[:3]
    for clip, content in zip(clips, (None, bytes(5_000), b""), strict=False):
        file = folder / (videos / clip).resolve().relative_to(release.folder)
        file.unlink() if content is None else file.write_bytes(content)
    release.prepare(folder)
    missing = read_manifest(card).splits[split].missing
    reasons = dict(zip(clips, ("absent", "unreadable", "unreadable"), strict=False))
    assert {entry.clip: entry.reason for entry in missing} == reasons
    with pytest.raises(InputError) as caught:
        load_table(release.name, split)
    expected(str(caught.value))
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    table = load_table(release.name, split)
    assert len(table) == facts.rows and not all(table["clip_present"])
    for row in table:
        assert row["clip_present"] == all(row[column] not in reasons for column in card.clip_columns)
        assert all(media_path(release.name, row, column).stat().st_size > 0 for column in card.clip_columns)


def read_manifest_of(home: Path, name: str) -> list[tuple[str, Any]]:
    with at(home):
        return list(read_manifest(read_card(name)).splits.items())


def test_sample_data_never_replaces_real_data(release: Release, prepared: Path) -> None:
    assert "which sample data never replaces" in release.refusal(release.sample)
    assert contents(prepared) == contents(release.home)


def test_groups_that_a_filter_removed_are_left_out(release: Release, home: Path, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = []
    kept, sizes = dict[str, list[Any]](), dict[str, int]()
    for split, _ in read_manifest_of(release.home, release.name):
        with at(release.home):
            *rows, last = load_table(release.name, split).to_list()
        pointers = {name: task.pointer for name, task in read_tasks(release.benchmark)[0].items()}
        subsets = {
            name: pointer.get("subset")
            for name, pointer in pointers.items()
            if pointer["split"] == split and pointer.get("subset") in (None, last.get("subset"))
        }
        lines += [{"task": name, "group_id": last["group_id"], "removed": True} for name in subsets]
        # Another task keeps its group of that id, as the other kind of pendulums does.
        kept[split] = [
            row
            for row in rows
            if row["group_id"] != last["group_id"] or {None, row.get("subset")}.isdisjoint(subsets.values())
        ]
        sizes[split] = 1 + len(rows) - len(kept[split])
    (tmp_path / "removed.jsonl").write_text(as_lines(lines))
    release.prepare(None, "--without", str(tmp_path / "removed.jsonl"))
    for split, facts in read_manifest(read_card(release.name)).splits.items():
        assert load_table(release.name, split).to_list() == kept[split]
        assert f"{sizes[split]} items are left out, whose groups removed.jsonl removes." in facts.warnings
    (tmp_path / "others.jsonl").write_text(as_lines([{**line, "task": "any"} for line in lines]))
    assert "others.jsonl cannot be used" in refusal(release.prepare, None, "--without", str(tmp_path / "others.jsonl"))


@pytest.mark.parametrize("release", SEVERAL, indirect=True)
def test_a_split_that_is_not_in_the_source_survives(release: Release, prepared: Path, tmp_path: Path) -> None:
    splits = dict(read_manifest_of(prepared, release.name))
    *_, last = splits
    folder = release.copy(tmp_path)
    for path in [path for path in folder.rglob("*") if path.is_dir() and path.name.lower() == last]:
        shutil.rmtree(path)
    # A benchmark has one command for all splits, or one for each, the last split's first.
    release.prepare(folder, commands=slice(-1, None))
    again = read_manifest(read_card(release.name)).splits
    assert [split for split in splits if again[split] == splits[split]] == [last]
    for split in splits:
        assert len(load_table(release.name, split)) == splits[split].rows


@pytest.mark.parametrize("release", ON_HUB, indirect=True)
def test_the_hub_is_asked_for_the_files_and_its_revision_is_kept(
    release: Release, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    options, hub_id = release.options()[-1], release.benchmark.card.hub_id
    (tmp_path / "0123abc").symlink_to(options[1])
    said = []

    def download(repo_id: str, repo_type: str, allow_patterns: list[str]) -> str:
        said.append(f"{repo_type} {repo_id}: {', '.join(allow_patterns)}")
        if len(said) > 1:
            raise OSError("no connection\nand more")
        return str(tmp_path / "0123abc")

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert options[0] == "--source"
    release.call([*options[2:]])
    splits = read_manifest(read_card(release.name)).splits.values()
    assert {(split.source, split.revision, split.missing) for split in splits} == {(hub_id, "0123abc", ())}
    said.append(refusal(release.call, ["--source", "own/dataset", *options[2:]]))
    expected("\n".join(said))
