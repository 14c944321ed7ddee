"""Preparing: what may take the place of a prepared set, and measures that are kept over an interruption."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from raw_releases import QUESTION, write_metadata
from submission_world import taken_for_released

from lmms_eval_tasks.causalvqa.benchmark import CARD, prepare
from lmms_eval_tasks.registry import read_card
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.card import SetKind, SplitFacts
from lmms_eval_tasks.utils.data.home import benchmark_dir, read_manifest
from lmms_eval_tasks.utils.data.identity import SAMPLE_MARK, mark_as_built
from lmms_eval_tasks.utils.data.manifest import SplitManifest
from lmms_eval_tasks.utils.data.prepare import measure_clips, preparing

Question = dict[str, object]
OTHER: Question = {**QUESTION, "qid": "q9"}
pytestmark = pytest.mark.usefixtures("home")


def release(folder: Path, *questions: Question, split: str = "debug", sample: bool = False) -> Path:
    source = write_metadata(folder, split, list(questions))
    if sample:
        (source / SAMPLE_MARK).write_text("{}")
    return source


def facts() -> SplitManifest:
    return read_manifest(read_card("causalvqa")).splits["debug"]


def held() -> tuple[int, SetKind]:
    return facts().rows, facts().data_set.kind


def refusal(source: Path) -> str:
    with pytest.raises(InputError) as refused:
        prepare(source)
    return str(refused.value)


def test_another_set_is_refused_with_the_reason_and_taken_where_that_is_allowed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, expected: Expected
) -> None:
    prepare(release(tmp_path / "one", QUESTION))
    others = [release(tmp_path / "two", OTHER), release(tmp_path / "three", {**QUESTION, "question": "What else?"})]
    expected("\n".join(map(refusal, others)))
    assert facts().source.endswith("one/CausalVQA")
    with caplog.at_level(logging.WARNING), preparing(replace=True):
        prepare(others[0])
    assert facts().source.endswith("two/CausalVQA")
    assert "replaces data that is not known to be the official release from" in caplog.text
    assert "holds another set" in refusal(others[1])
    with pytest.raises(InputError, match="which sample data never replaces"), preparing(replace=True):
        prepare(release(tmp_path / "sample", QUESTION, sample=True))


def test_the_same_set_and_more_of_it_replace_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = release(tmp_path, QUESTION)
    for clip in (source / "debug" / "videos").iterdir():
        clip.unlink()
    assert prepare(source)["debug"].missing
    release(tmp_path, QUESTION)
    assert not prepare(source)["debug"].missing
    prepare(release(tmp_path / "more", QUESTION, OTHER))
    prepare(release(tmp_path / "test", {**QUESTION, "correct1": "", "correct2": ""}, split="test"))
    assert set(read_manifest(read_card("causalvqa")).splits) == {"debug", "test"} and held()[0] == 4
    assert caplog.text == ""


def test_real_data_replaces_a_sample_and_says_so_and_any_set_a_damaged_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    prepare(release(tmp_path / "sample", QUESTION, sample=True))
    prepare(release(tmp_path / "another sample", OTHER, sample=True))
    assert held() == (2, SetKind.SAMPLE) and caplog.text == ""
    with caplog.at_level(logging.WARNING):
        prepare(release(tmp_path / "real", QUESTION))
    assert held() == (2, SetKind.UNKNOWN) and "replaces the sample data" in caplog.text
    (benchmark_dir("causalvqa") / "debug.parquet").write_bytes(b"PAR1")
    prepare(release(tmp_path / "two", OTHER))
    assert facts().source.endswith("two/CausalVQA")


def test_what_is_not_official_does_not_take_the_place_of_what_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CARD.splits, "debug", SplitFacts(items=2, groups=1))  # type: ignore[arg-type]
    source = release(tmp_path / "one", QUESTION)
    with taken_for_released():
        prepare(source)
    assert held() == (2, SetKind.OFFICIAL)
    mark_as_built(source)
    assert "this one is a set of one's own, 2 items; the new set has its items" in refusal(source)


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
    assert done_before >= 1
    asked.clear()
    found = measure_clips(tmp_path, names, measure, kept, no_progress, "measuring")
    assert found == {name: {"size": 5} for name in names} and len(asked) == 3 - done_before

    (tmp_path / "b.mp4").write_bytes(b"another")
    os.utime(tmp_path / "b.mp4", ns=(1, 1))
    asked.clear()
    assert measure_clips(tmp_path, names, measure, kept, no_progress, "measuring")["b.mp4"] == {"size": 7}
    assert asked == ["b.mp4"]
