"""Preparing: which set it is, what may take its place, and measures that are kept over an interruption."""

from __future__ import annotations

import logging
import os
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow
import pytest
from expected import Expected
from refusals import refusal
from releases import QUESTION, Row, write_causalvqa
from submission_world import taken_for_released

from lmms_eval_tasks.causalvqa.benchmark import CARD, prepare
from lmms_eval_tasks.registry import building, find_benchmark, read_card, registry
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data import identity
from lmms_eval_tasks.utils.data import prepare as module
from lmms_eval_tasks.utils.data.card import DataSet, SetKind, SplitFacts
from lmms_eval_tasks.utils.data.home import benchmark_dir, read_manifest
from lmms_eval_tasks.utils.data.identity import BUILT_MARK, SAMPLE_MARK, Origin, find_marks, mark_as_built
from lmms_eval_tasks.utils.data.manifest import SplitManifest
from lmms_eval_tasks.utils.data.prepare import Preparation, measure_clips
from lmms_eval_tasks.utils.data.release import ZippedClip

OTHER = {**QUESTION, "qid": "q9"}
pytestmark = pytest.mark.usefixtures("home")


def release(folder: Path, *questions: Row, split: str = "debug", sample: bool = False) -> Path:
    source = write_causalvqa(folder, split, list(questions))
    if sample:
        (source / SAMPLE_MARK).write_text("{}")
    return source


def facts() -> SplitManifest:
    return read_manifest(read_card("causalvqa")).splits["debug"]


def held() -> tuple[int, SetKind]:
    return facts().rows, facts().data_set.kind


def test_another_set_is_refused_with_the_reason_and_taken_where_that_is_allowed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, expected: Expected
) -> None:
    prepare(Preparation(), release(tmp_path / "one", QUESTION))
    others = [release(tmp_path / "two", OTHER), release(tmp_path / "three", {**QUESTION, "question": "What else?"})]
    expected("\n".join(refusal(prepare, Preparation(), one) for one in others))
    assert facts().source.endswith("one/CausalVQA")
    with caplog.at_level(logging.WARNING):
        prepare(Preparation(replace=True), others[0])
    assert facts().source.endswith("two/CausalVQA")
    assert "replaces data that is not known to be the official release from" in caplog.text
    assert "holds another set" in refusal(prepare, Preparation(), others[1])
    with pytest.raises(InputError, match="which sample data never replaces"):
        prepare(Preparation(replace=True), release(tmp_path / "sample", QUESTION, sample=True))


def test_the_same_set_and_more_of_it_replace_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = release(tmp_path, QUESTION)
    clip = source / "debug" / "videos" / "a.mp4"
    clip.write_bytes(b"no video")
    assert prepare(Preparation(), source)["debug"].missing
    clip.unlink()
    assert prepare(Preparation(), source)["debug"].missing
    release(tmp_path, QUESTION)
    assert not prepare(Preparation(), source)["debug"].missing
    prepare(Preparation(), release(tmp_path / "more", QUESTION, OTHER))
    prepare(Preparation(), release(tmp_path / "test", {**QUESTION, "correct1": "", "correct2": ""}, split="test"))
    assert set(read_manifest(read_card("causalvqa")).splits) == {"debug", "test"} and held()[0] == 4
    assert caplog.text == ""


def test_real_data_replaces_a_sample_and_says_so_and_any_set_a_damaged_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare(Preparation(), release(tmp_path / "sample", QUESTION, sample=True))
    prepare(Preparation(), release(tmp_path / "another sample", OTHER, sample=True))
    assert held() == (2, SetKind.SAMPLE) and caplog.text == ""
    with caplog.at_level(logging.WARNING):
        prepare(Preparation(), release(tmp_path / "real", QUESTION))
    assert held() == (2, SetKind.UNKNOWN) and "replaces the sample data" in caplog.text
    (benchmark_dir("causalvqa") / "debug.parquet").write_bytes(b"PAR1")
    prepare(Preparation(), release(tmp_path / "two", OTHER))
    assert facts().source.endswith("two/CausalVQA")


def test_what_is_not_official_does_not_take_the_place_of_what_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CARD.splits, "debug", SplitFacts(items=2, groups=1))
    source = release(tmp_path / "one", QUESTION)
    with taken_for_released():
        prepare(Preparation(), source)
    assert held() == (2, SetKind.OFFICIAL)
    mark_as_built(source)
    assert "this one is a set of one's own, 2 items; the new set has its items" in refusal(
        prepare, Preparation(), source
    )


def test_files_that_nobody_asks_for_go_with_folders_that_are_empty_then(tmp_path: Path) -> None:
    for name in ("kept.mp4", "gone.mp4", "a/b/gone.mp4", "c/kept.mp4", "c/d/gone.mp4"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "c")
    module._drop_others(tmp_path, {tmp_path / "kept.mp4", tmp_path / "c" / "kept.mp4"})
    left = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*"))
    assert left == ["c", "c/kept.mp4", "kept.mp4"]


def test_what_an_interrupted_build_has_left_and_nobody_asks_for_any_more_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*given: Any) -> None:
        place(*given)
        raise KeyboardInterrupt

    place = module.place_clip
    with monkeypatch.context() as patched:
        patched.setattr(module, "place_clip", stop)
        with pytest.raises(KeyboardInterrupt):
            prepare(Preparation(), release(tmp_path / "one", {**QUESTION, "renamed_video": "old.mp4"}))
    left = [path.name for path in benchmark_dir("causalvqa").parent.rglob("*.mp4")]
    assert "old.mp4" in left
    prepare(Preparation(), release(tmp_path / "two", QUESTION))
    videos = benchmark_dir("causalvqa") / "videos" / "debug"
    assert sorted(path.name for path in videos.iterdir()) == ["a.mp4"]


def test_what_was_measured_is_kept(tmp_path: Path) -> None:
    names, kept, asked = ["a.mp4", "b.mp4", "c.mp4"], tmp_path / "test.measured", []
    for name in names:
        (tmp_path / name).write_bytes(name.encode())

    def measure(path: Path) -> dict[str, Any]:
        asked.append(path.name)
        return {"size": path.stat().st_size}

    def stop(what: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_clips(tmp_path, names, measure, kept, stop, "measuring")
    (first,) = kept.iterdir()
    done_before = len(first.read_text(encoding="utf-8").splitlines())
    with first.open("a", encoding="utf-8") as file:
        file.write('{"cut off')
    asked.clear()
    found = measure_clips(tmp_path, names, measure, kept, no_progress, "measuring")
    assert found == {name: {"size": 5} for name in names} and len(asked) == 3 - done_before < 3
    (tmp_path / "b.mp4").write_bytes(b"another")
    os.utime(tmp_path / "b.mp4", ns=(1, 1))
    asked.clear()
    assert measure_clips(tmp_path, names, measure, kept, no_progress, "measuring")["b.mp4"] == {"size": 7}
    assert asked == ["b.mp4"]


WHOLE = SplitFacts(items=4, groups=2, strata={("planning", "easy"): 1, ("planning", "hard"): 1})
"""What the card is to say of the whole split."""
LEVELS = ("easy", "easy", "hard", "hard")
RELEASED = {"release.csv": b"release"}
KNOWN = replace(WHOLE, sha256=frozenset({sha256(b"release").hexdigest()}))


@contextmanager
def card_of(facts: SplitFacts | None) -> Iterator[None]:
    """A benchmark whose card says this of its only split; nothing where it is None."""
    splits = {} if facts is None else {"test": facts}
    with patch.dict(find_benchmark("causalvqa").card.splits, splits, clear=True):
        yield


def found_to_be(source: Path | str, levels: tuple[str, ...] = LEVELS, **origin: Any) -> DataSet:
    """What a split of as many items as levels is found to be."""
    item = {"question": "Why?", "options": ["a"], "answer": "A", "clip": "test/a.mp4", "type": "planning"}
    rows = [
        {**item, "item_id": f"{at // 2}_{at % 2}", "group_id": str(at // 2), "version": at % 2, "difficulty": level}
        for at, level in enumerate(levels)
    ]
    schema = find_benchmark("causalvqa").schema()
    with building("causalvqa", Preparation(replace=True)) as build:
        build.add_split("test", rows, schema, {"test/a.mp4": None}, Origin(str(source), **origin))
    return read_manifest(read_card("causalvqa")).splits["test"].data_set


def test_rows_that_cannot_be_asked_graded_or_written_are_refused_all_at_once(expected: Expected) -> None:
    row: dict[str, Any] = {
        "item_id": "right",
        "group_id": "0",
        "question": "Why?",
        "options": ["a", "b"],
        "answer": "B",
        "clip": "test/a.mp4",
    }
    rows = [
        row, {**row, "item_id": "text", "answer": "b"}, {**row, "item_id": "third", "answer": "C"},
        {**row, "item_id": "unknown", "answer": None}, {**row, "item_id": "unasked", "question": None},
        {**row, "item_id": "open", "options": [], "answer": "since it rained"}, {**row, "group_id": 0},
    ]  # fmt: skip

    def add() -> None:
        with building("causalvqa", Preparation()) as build:
            build.add_split("test", rows, {"type": "string"}, {}, Origin("release"))

    expected(refusal(add))
    assert not benchmark_dir("causalvqa").exists()


@pytest.mark.parametrize("name", registry().benchmarks)
def test_counts_alone_make_nothing_official(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    card = read_card(name)
    monkeypatch.setattr(identity, "counts", lambda *args: [])
    for split, facts in card.splits.items():
        count, groups = facts.items or 1, facts.groups or 1
        columns = {column: [""] * count for column in (*card.strata_columns, *card.clip_columns)}
        for key in (None, "A"):
            table = pyarrow.table({
                **columns, "group_id": [str(n % groups) for n in range(count)], "answer": [key] * count,
            })  # fmt: skip

            def found(source: str, revision: str | None = None, split: str = split, table: Any = table) -> SetKind:
                origin = Origin(source, revision=revision)
                return identity.identify(card, split, table, origin, {"a.csv": "5f" * 32}, set()).kind

            own = not card.is_released or (facts.answers_withheld and key is not None)
            # Neither a folder of that name nor another dataset is the release.
            kinds = {found("somewhere"), found(card.hub_id), found("others/data", "5f")}
            assert kinds == {SetKind.OWN if own else SetKind.UNKNOWN}, (split, key)
            assert not card.hub_id or found(card.hub_id, "5f") is SetKind.OFFICIAL


@pytest.mark.slow
def test_a_known_digest_and_the_counts_of_the_card_make_the_official_release(tmp_path: Path) -> None:
    with card_of(KNOWN):
        assert found_to_be(tmp_path, files=RELEASED) == DataSet(kind=SetKind.OFFICIAL, items=4, of=4)
        assert found_to_be(tmp_path, files={"release.csv": b"another"}).kind is SetKind.UNKNOWN
        # Other counts make a part, or a set of one's own.
        for levels, kind in (
            (("easy", "easy"), SetKind.PART), (("easy", "easy", "odd", "odd"), SetKind.OWN),
            (("odd", "odd"), SetKind.OWN), ((*LEVELS, "hard", "hard"), SetKind.OWN), (("easy",) * 4, SetKind.OWN),
            (("easy",) * 3, SetKind.OWN),
        ):  # fmt: skip
            assert found_to_be(tmp_path, levels, files=RELEASED) == DataSet(kind=kind, items=len(levels), of=4)
            unknown = SetKind.UNKNOWN if kind is SetKind.PART else kind
            assert found_to_be(tmp_path, levels).kind is unknown, "part of what, nobody knows"
    for open_facts in (None, SplitFacts()):
        with card_of(open_facts):
            assert found_to_be(tmp_path).kind is SetKind.UNKNOWN
    with card_of(replace(WHOLE, part_sha256=frozenset({sha256(b"part").hexdigest()}))):
        found = found_to_be(tmp_path, ("easy", "easy"), files={"part.jsonl": b"part"})
    assert found == DataSet(kind=SetKind.OFFICIAL, items=2, of=4)
    assert found.text == "the official release, 2 of 4 items"


def test_an_archive_is_official_by_its_digest_alone(tmp_path: Path) -> None:
    source = tmp_path / "any.zip"
    source.write_bytes(b"an archive")
    published = find_benchmark("causalvqa").card.archive_sha256
    digest = sha256(b"an archive").hexdigest()
    with card_of(WHOLE):
        assert found_to_be(source, files={"any.zip": source}).kind is SetKind.OWN
        (warning,) = read_manifest(read_card("causalvqa")).splits["test"].warnings
        assert warning == (
            f"any.zip is not the published archive: Expected SHA-256 {published['CausalVQA.zip']}, but got {digest}."
        )
        with patch.dict(published, {"CausalVQA.zip": digest}):
            assert found_to_be(source, files={"any.zip": source}).kind is SetKind.OFFICIAL
            assert read_manifest(read_card("causalvqa")).splits["test"].warnings == ()


def test_what_is_known_to_be_no_release_is_ones_own(tmp_path: Path) -> None:
    with card_of(replace(WHOLE, answers_withheld=True)):
        assert found_to_be(tmp_path).kind is SetKind.OWN and found_to_be(tmp_path, ("easy", "easy")).kind is SetKind.OWN
    with card_of(WHOLE):
        assert found_to_be(tmp_path, own=True).kind is SetKind.OWN
        mark_as_built(tmp_path)
        assert found_to_be(tmp_path).kind is SetKind.OWN


def test_the_mark_of_sample_data_is_found(tmp_path: Path) -> None:
    marked = tmp_path / "marked"
    (marked / "videos").mkdir(parents=True)
    (marked / SAMPLE_MARK).write_text("{}")
    (marked / "videos" / "a.mp4").write_bytes(b"clip")
    with card_of(WHOLE):
        assert {found_to_be(source).kind for source in (marked, marked / "videos")} == {SetKind.SAMPLE}
    linked, archive = tmp_path / "elsewhere.mp4", tmp_path / "a.zip"
    linked.symlink_to(marked / "videos" / "a.mp4")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(f"deep/{SAMPLE_MARK}", "{}")
    assert find_marks(archive) == find_marks(tmp_path, [linked]) == {SAMPLE_MARK}
    assert find_marks("somebody/their-dataset") == set() == find_marks(tmp_path)
    mark_as_built(marked)
    assert find_marks(marked) == {SAMPLE_MARK, BUILT_MARK}


def test_the_cards_of_pairs_agree_with_themselves_and_causalvqas_with_the_paper() -> None:
    for name in ("causalvqa", "mvp"):
        for split, facts in read_card(name).splits.items():
            assert facts.groups is not None and facts.items == 2 * facts.groups
            assert sum(facts.strata.values()) == facts.groups or (name, split) == ("mvp", "full")
    totals: Counter[str] = Counter()
    for columns, pairs in read_card("causalvqa").splits["test"].strata.items():
        for value in columns:
            totals[value] += pairs
    assert totals == {
        "easy": 454, "medium": 215, "hard": 124,
        "anticipation": 208, "counterfactual": 89, "descriptive": 288, "hypothetical": 67, "planning": 141,
    }  # fmt: skip


def test_a_member_of_an_archive_is_made_where_a_file_has_its_bytes(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "release.zip", "w") as archive:
        archive.writestr("clip.mp4", b"0123")
        clip, made = ZippedClip(archive, archive.getinfo("clip.mp4")), tmp_path / "clip.mp4"
        assert not clip.is_made(made)
        for content in (b"0124", b"01234", b"012"):
            made.write_bytes(content)
            assert not clip.is_made(made)
        made.write_bytes(b"0123")
        (tmp_path / "link.mp4").symlink_to(made)
        assert clip.is_made(made) and not clip.is_made(tmp_path / "link.mp4")
