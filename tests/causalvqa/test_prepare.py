from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pytest
from raw_releases import QUESTION, WITHHELD, write_metadata, zip_folder
from refusals import refused

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.registry import load_table, read_card
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data.home import benchmark_dir, clip_path, media_path, read_manifest

pytestmark = pytest.mark.usefixtures("home")
refusal = partial(refused, prepare)


@pytest.mark.parametrize("shape", ["folder", "parent", "data", "zip", "bare zip"])
def test_both_splits_from_every_shape_of_the_release(tmp_path: Path, shape: str) -> None:
    other = {**QUESTION, "qid": "q0", "type": "Descriptive", "difficulty": "med"}
    release = write_metadata(tmp_path, "debug", [QUESTION, other])
    write_metadata(tmp_path, "test", [{**WITHHELD, "difficulty": "HARD"}])
    source = {"folder": release, "parent": tmp_path, "data": tmp_path / "data"}.get(shape, tmp_path / "CausalVQA.zip")
    if shape == "data":
        release.rename(source)
    elif shape == "zip":
        zip_folder(release, source)
    elif shape == "bare zip":
        shutil.make_archive(str(source.with_suffix("")), "zip", release)
    prepared = prepare(source)
    debug, test = load_table("causalvqa", "debug"), load_table("causalvqa", "test")
    assert debug.to_list() == [
        {
            "item_id": f"{qid}_{version}",
            "group_id": qid,
            "question": "What happens next?",
            "options": options,
            "answer": answer,
            "clip": "debug/a.mp4",
            "clip_present": True,
            "clip_seconds": 1.0,
            "version": version,
            "type": kind,
            "difficulty": difficulty,
            "scenario": "",
        }
        for qid, kind, difficulty in (("q1", "planning", "easy"), ("q0", "descriptive", "medium"))
        for version, options, answer in (
            (0, ["it falls", "it rolls", "it stops"], "B"),
            (1, ["it halts", "it drops", "it turns"], "C"),
        )
    ]
    assert test["answer"] == [None, None]
    assert test["difficulty"] == ["hard", "hard"]
    assert (prepared["test"].answers_withheld, prepared["debug"].answers_withheld) == (True, False)
    clip = clip_path("causalvqa", "test/a.mp4")
    assert clip.is_symlink() == ("zip" not in shape)
    assert clip.read_bytes() == clip_path("causalvqa", "debug/a.mp4").read_bytes()


@pytest.mark.parametrize("nothing", ["", " ", "nan", "NaN", "none", "None", "null"])
def test_empty_answers_are_withheld_too(tmp_path: Path, nothing: str) -> None:
    write_metadata(tmp_path, "test", [{**QUESTION, "correct1": nothing, "correct2": nothing}])
    assert prepare(tmp_path)["test"].answers_withheld


def test_equal_options_are_a_warning_that_the_manifest_keeps(tmp_path: Path) -> None:
    questions = [{**QUESTION, "qid": f"q{number}", "choices1": "1. a|2. b|3. b"} for number in range(7)]
    write_metadata(tmp_path, "debug", questions)
    warning = (
        "debug/debug_metadata.csv: questions with two equal options: 7 (q0 in choices1, q1 in choices1, "
        "q2 in choices1, q3 in choices1, q4 in choices1, … and 2 more)."
    )
    assert prepare(tmp_path)["debug"].warnings[0] == warning
    assert read_manifest(read_card("causalvqa")).splits["debug"].warnings[0] == warning
    assert load_table("causalvqa", "debug")["options"][0] == ["a", "b", "b"]


def test_every_problem_of_the_metadata_is_reported_at_once(tmp_path: Path) -> None:
    questions = [
        {**QUESTION},
        {**QUESTION, "qid": "q2", "correct1": "9", "correct2": "one"},
        {**QUESTION, "qid": "q3", "type": "magic", "difficulty": "extreme", "question": " "},
        {**QUESTION, "qid": "q1", "choices1": "1. a|1. b", "choices2": "a, b"},
        {**QUESTION, "qid": "", "renamed_video": "../../a.mp4"},
    ]
    write_metadata(tmp_path, "debug", questions)
    write_metadata(tmp_path, "test", [{**WITHHELD, "renamed_video": "/etc/passwd"}])
    types = "anticipation, counterfactual, descriptive, hypothetical, planning"
    assert refusal(tmp_path / "CausalVQA", tmp_path) == (
        "CausalVQA cannot be prepared: 11 problems, nothing was written.\n"
        "  test/test_metadata.csv, row 2 (qid q1): Expected renamed_video to name a clip's file, but got "
        "`/etc/passwd`.\n"
        "  debug/debug_metadata.csv, row 3 (qid q2): Expected correct1 to be one of the options 1-3, but got `9`.\n"
        "  debug/debug_metadata.csv, row 3 (qid q2): Expected correct2 to be one of the options 1-3, but got `one`.\n"
        f"  debug/debug_metadata.csv, row 4 (qid q3): Expected type to be one of {types}, but got `magic`.\n"
        "  debug/debug_metadata.csv, row 4 (qid q3): Expected difficulty to be one of easy, medium, hard, med, but got "
        "`extreme`.\n"
        "  debug/debug_metadata.csv, row 4 (qid q3): Expected a question, but got none.\n"
        "  debug/debug_metadata.csv, row 5 (qid q1): Expected each qid once, but row 2 has it too.\n"
        "  debug/debug_metadata.csv, row 5 (qid q1): Expected each option number once in choices1, but got `1. b`.\n"
        "  debug/debug_metadata.csv, row 5 (qid q1): Expected options as `N. text|N. text` in choices2, but got "
        "`a, b`.\n"
        "  debug/debug_metadata.csv, row 6 (qid missing): Expected a qid, but got none.\n"
        "  debug/debug_metadata.csv, row 6 (qid missing): Expected renamed_video to name a clip's file, but "
        "got `../../a.mp4`."
    )
    assert not benchmark_dir("causalvqa").exists()


def test_missing_column(tmp_path: Path) -> None:
    row = {name: value for name, value in QUESTION.items() if name not in ("choices2", "correct2")}
    write_metadata(tmp_path, "debug", [row])
    assert refusal(tmp_path, tmp_path) == (
        f"{tmp_path.name} cannot be prepared: 2 problems, nothing was written.\n"
        "  debug/debug_metadata.csv: Expected a column choices2, but the columns are qid, type, question, choices1, "
        "correct1, difficulty, renamed_video.\n"
        "  debug/debug_metadata.csv: Expected both columns correct1 and correct2 or neither, but got one of them."
    )


def test_answers_withheld_for_some_rows_only(tmp_path: Path) -> None:
    write_metadata(tmp_path, "debug", [QUESTION, {**QUESTION, "qid": "q2", "correct1": "", "correct2": ""}])
    assert refusal(tmp_path, tmp_path) == (
        f"{tmp_path.name} cannot be prepared: 1 problem, nothing was written.\n"
        "  debug/debug_metadata.csv: Expected answers to all questions or to none, but row 2 has one and row 3 lacks "
        "one. Remedy: use the file as it was released."
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "Expected a column qid, but the columns are missing."),
        (b"\xff\xfe\x00", "Expected a CSV file in UTF-8, but byte 0 is not."),
        (b'qid,"type\n', "Expected a CSV file, but line 1 is not CSV (unexpected end of data)."),
        (",".join(QUESTION).encode(), "Expected rows below the header, but got none."),
        (f"{','.join(QUESTION)}\nq1,planning\n".encode(), "Expected 9 cells, but got 2."),
    ],
)
def test_metadata_that_is_no_table(tmp_path: Path, content: bytes, problem: str) -> None:
    release = write_metadata(tmp_path, "debug", [QUESTION])
    (release / "debug" / "debug_metadata.csv").write_bytes(content)
    assert problem in refusal(tmp_path, tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    assert refusal(tmp_path / "CausalVQA.zip", tmp_path) == (
        "CausalVQA.zip cannot be prepared: there is no file or folder ~/CausalVQA.zip."
    )


@pytest.mark.parametrize("zipped", [False, True])
def test_clips_that_are_absent_or_corrupt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zipped: bool) -> None:
    names = ("a.mp4", "absent.mp4", "corrupt.mp4", "empty.mp4")
    questions = [{**QUESTION, "qid": name, "renamed_video": name} for name in names]
    source = write_metadata(tmp_path, "debug", questions)
    (source / "debug" / "videos" / "corrupt.mp4").write_bytes(b"\0" * 5000)
    (source / "debug" / "videos" / "empty.mp4").write_bytes(b"")
    prepared = prepare(zip_folder(source, tmp_path / "CausalVQA.zip") if zipped else source)
    assert [(entry.clip, entry.reason) for entry in prepared["debug"].missing] == [
        ("debug/absent.mp4", "absent"),
        ("debug/corrupt.mp4", "unreadable"),
        ("debug/empty.mp4", "unreadable"),
    ]
    with pytest.raises(InputError) as caught:
        load_table("causalvqa", "debug")
    assert str(caught.value) == (
        "CausalVQA, split debug: 3 of 4 clips are missing (debug 3).\n"
        "  debug/absent.mp4, debug/corrupt.mp4, debug/empty.mp4\n"
        "Either get the clips and run:  lmms-eval-tasks prepare causalvqa --source CausalVQA.zip\n"
        "or score without them, every score then saying how many items were asked:  "
        "LMMS_EVAL_TASKS_MISSING=skip lmms-eval …"
    )
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    table = load_table("causalvqa", "debug")
    assert table["item_id"] == [f"{name}_{version}" for name in names for version in (0, 1)]
    assert table["clip_present"] == [True, True, *[False] * 6]
    assert all(media_path("causalvqa", row).stat().st_size > 0 for row in table)


@pytest.mark.parametrize("zipped", [False, True])
def test_clips_without_their_metadata_are_not_passed_over(zipped: bool, tmp_path: Path) -> None:
    release = write_metadata(tmp_path, "debug", [QUESTION])
    write_metadata(tmp_path, "test", [WITHHELD])
    (release / "debug" / "debug_metadata.csv").unlink()
    source = tmp_path / "CausalVQA.zip" if zipped else release
    if zipped:
        zip_folder(release, source)
    with pytest.raises(InputError) as error:
        prepare(source)
    assert str(error.value) == (
        f"{source.name} cannot be prepared: 1 problem, nothing was written.\n"
        "  debug/debug_metadata.csv: Expected it beside the clips in debug/videos, but there is none. Remedy: Unpack "
        "the release again, or move debug away to prepare the other split alone."
    )
    assert not benchmark_dir("causalvqa").exists()
    shutil.rmtree(release / "debug")
    assert set(prepare(release)) == {"test"}
