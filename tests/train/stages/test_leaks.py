"""Clips that a model is tested on, found among those that it is trained on."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmms_eval_tasks.train.stages.new_stage import TestedClip, compare_clips, namesakes
from lmms_eval_tasks.utils.core.errors import InputError


def test_names_are_compared_with_the_folders_that_a_test_has() -> None:
    for own, name, same in (
        ("set/clips/one.mp4", "one.mp4", True),
        ("set/clips/One.webm", "one.mp4", True),
        ("set/ssv2/1.mp4", "ssv2/1.mp4", True),
        ("set/clevrer/1.mp4", "ssv2/1.mp4", False),
        ("set/one_1.mp4", "one.mp4", False),
        ("1.mp4", "ssv2/1.mp4", False),
    ):
        tested = TestedClip("a test", name, None)
        assert namesakes([Path(own)], [tested]) == ([(Path(own), tested)] if same else []), own


def test_an_id_is_enough(tmp_path: Path) -> None:
    own = {tmp_path / "sav_1.mp4": ["Why?"]}
    other = TestedClip("a test", "sav_1.mp4", None, ["What?"])
    assert compare_clips(own, [other]).same_names == {"a test": ["sav_1.mp4"]}
    with pytest.raises(InputError, match=r"sav_1\.mp4 is sav_1\.mp4 of a test, by the id of its collection"):
        compare_clips(own, [TestedClip("a test", "sav_1.mp4", None, ["What?"], is_id=True)])


def test_the_same_question_is_found_through_its_spacing(tmp_path: Path) -> None:
    own = {tmp_path / "one.mp4": ["Why  does it fall?"]}
    with pytest.raises(InputError, match=r"1 of 1 are clips of a test: one\.mp4 is one\.webm of a test, with the same"):
        compare_clips(own, [TestedClip("a test", "one.webm", None, ["why does it fall?"])])


def test_questions_without_words_are_no_sign_and_a_clip_counts_in_every_test_that_has_it(tmp_path: Path) -> None:
    comparison = compare_clips({tmp_path / "one.mp4": [""]}, [TestedClip("a test", "one.mp4", None, [""])])
    assert comparison.same_names == {"a test": ["one.mp4"]} and comparison.missing == {"a test": 1}
    path = tmp_path / "tested.mp4"
    path.write_bytes(b"clip")
    tested = [TestedClip(source, "tested.mp4", path) for source in ("one, split mini", "one, split full")]
    assert compare_clips({}, tested).compared == {"one, split full": 1, "one, split mini": 1}
