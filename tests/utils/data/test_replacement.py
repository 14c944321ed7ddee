"""What may take the place of a prepared set."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from raw_releases import QUESTION, write_metadata
from submission_world import taken_for_released

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.registry import read_card
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.card import SetKind
from lmms_eval_tasks.utils.data.home import benchmark_dir, read_manifest
from lmms_eval_tasks.utils.data.identity import SAMPLE_MARK, mark_as_built
from lmms_eval_tasks.utils.data.prepare import preparing

Question = dict[str, object]
OTHER: Question = {**QUESTION, "qid": "q9"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data home of the test's own."""
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def release(folder: Path, *questions: Question, split: str = "debug", sample: bool = False) -> Path:
    source = write_metadata(folder, split, list(questions))
    if sample:
        (source / SAMPLE_MARK).write_text("{}")
    return source


def held() -> tuple[int, SetKind]:
    facts = read_manifest(read_card("causalvqa")).splits["debug"]
    return facts.rows, facts.data_set.kind


@pytest.mark.parametrize("other", [OTHER, {**QUESTION, "question": "What else?"}])
def test_another_set_is_refused_with_the_reason(tmp_path: Path, other: Question) -> None:
    prepare(release(tmp_path / "one", QUESTION))
    with pytest.raises(InputError) as refused:
        prepare(release(tmp_path / "two", other))
    told = str(refused.value)
    assert f"{benchmark_dir('causalvqa')} holds another set, data that is not known to be the official release" in told
    assert "2 of its 2 items are not in the new set as they are" in told
    assert "LMMS_EVAL_TASKS_HOME" in told and "--replace" in told
    assert read_manifest(read_card("causalvqa")).splits["debug"].source.endswith("one/CausalVQA")


def test_another_set_is_taken_where_that_is_allowed_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    prepare(release(tmp_path / "one", QUESTION))
    with caplog.at_level(logging.WARNING), preparing(replace=True):
        prepare(release(tmp_path / "two", OTHER))
    assert read_manifest(read_card("causalvqa")).splits["debug"].source.endswith("two/CausalVQA")
    assert "replaces data that is not known to be the official release from" in caplog.text
    with pytest.raises(InputError):
        prepare(release(tmp_path / "three", QUESTION))


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


def test_real_data_replaces_a_sample_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    prepare(release(tmp_path / "sample", QUESTION, sample=True))
    prepare(release(tmp_path / "another sample", OTHER, sample=True))
    assert held() == (2, SetKind.SAMPLE) and caplog.text == ""
    with caplog.at_level(logging.WARNING):
        prepare(release(tmp_path / "real", QUESTION))
    assert held() == (2, SetKind.UNKNOWN) and "replaces the sample data" in caplog.text


def test_a_sample_never_replaces_real_data(tmp_path: Path) -> None:
    prepare(release(tmp_path / "real", QUESTION))
    with pytest.raises(InputError, match="which sample data never replaces"), preparing(replace=True):
        prepare(release(tmp_path / "sample", QUESTION, sample=True))


def test_what_is_not_official_does_not_take_the_place_of_what_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lmms_eval_tasks.causalvqa.benchmark import CARD
    from lmms_eval_tasks.utils.data.card import SplitFacts

    monkeypatch.setitem(CARD.splits, "debug", SplitFacts(items=2, groups=1))  # type: ignore[arg-type]
    source = release(tmp_path, QUESTION)
    with taken_for_released():
        prepare(source)
    assert held() == (2, SetKind.OFFICIAL)
    mark_as_built(source)
    with pytest.raises(InputError, match="this one is a set of one's own, 2 items; the new set has its items"):
        prepare(source)


def test_a_damaged_table_is_mended_by_any_set(tmp_path: Path) -> None:
    prepare(release(tmp_path / "one", QUESTION))
    (benchmark_dir("causalvqa") / "debug.parquet").write_bytes(b"PAR1")
    prepare(release(tmp_path / "two", OTHER))
    assert read_manifest(read_card("causalvqa")).splits["debug"].source.endswith("two/CausalVQA")
