"""CausalVQA's release, with its shapes and odd cells; its mean over strata by hand, and the official reader."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from expected import Expected
from hypothesis import given
from hypothesis import strategies as st
from oracles import read_oracle
from refusals import refusal
from releases import QUESTION, WITHHELD, write_causalvqa, zip_folder
from sample_runs import at

from lmms_eval_tasks.causalvqa.benchmark import (
    FORM,
    PAIR_ACCURACY_STRATA_MEAN,
    SubmittedLetter,
    official_choice,
    prepare,
    read_items,
    strata,
)
from lmms_eval_tasks.registry import load_table, read_card
from lmms_eval_tasks.utils.core.forms import read_numbered_options
from lmms_eval_tasks.utils.data.card import SetKind
from lmms_eval_tasks.utils.data.home import benchmark_dir, clip_path, read_manifest
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.scoring.metrics import PAIR_ACCURACY
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

pytestmark = pytest.mark.usefixtures("home")


@pytest.mark.slow
def test_both_splits_from_every_shape_of_the_release(tmp_path: Path, expected: Expected) -> None:
    other = {**QUESTION, "qid": "q0", "type": "Descriptive", "difficulty": "med"}
    release = write_causalvqa(tmp_path, "debug", [QUESTION, other])
    write_causalvqa(tmp_path, "test", [{**WITHHELD, "difficulty": "HARD"}])
    packed = zip_folder(release, tmp_path / "packed" / "CausalVQA.zip")
    bare = Path(shutil.make_archive(str(tmp_path / "bare" / "CausalVQA"), "zip", release))
    copied = shutil.copytree(release, tmp_path / "data")
    tables: list[Any] = []
    for source in (release, tmp_path, copied, packed, bare):
        with at(tmp_path / "homes" / str(len(tables))):
            prepared = prepare(Preparation(), source)
            tables.append(load_table("causalvqa", "debug").to_list())
            test = load_table("causalvqa", "test")
            assert (test["answer"], test["difficulty"]) == ([None, None], ["hard", "hard"])
            assert (prepared["test"].answers_withheld, prepared["debug"].answers_withheld) == (True, False)
            clip = clip_path("causalvqa", "test/a.mp4")
            assert clip.is_symlink() == source.is_dir()
            assert clip.read_bytes() == clip_path("causalvqa", "debug/a.mp4").read_bytes()
    expected("\n".join(map(json.dumps, tables[0])))
    assert tables == [tables[0]] * 5


def test_what_is_odd_is_a_warning_that_the_manifest_keeps(tmp_path: Path) -> None:
    questions = [{**QUESTION, "qid": f"q{number}", "choices1": "1. a|2. b|3. b"} for number in range(7)]
    release = write_causalvqa(tmp_path, "debug", questions)
    (release / "SAMPLE.json").write_text('{"sample": true}')
    sample = prepare(Preparation(), zip_folder(release, tmp_path / "CausalVQA.zip"))["debug"]
    (release / "SAMPLE.json").unlink()
    real = prepare(Preparation(), zip_folder(release, tmp_path / "CausalVQA.zip"))["debug"]
    equal = (
        "debug/debug_metadata.csv: questions with two equal options: 7 (q0 in choices1, q1 in choices1, "
        "q2 in choices1, q3 in choices1, q4 in choices1, … and 2 more)."
    )
    assert (real.data_set.kind, sample.data_set.kind, sample.warnings) == (SetKind.OWN, SetKind.SAMPLE, (equal,))
    assert read_manifest(read_card("causalvqa")).splits["debug"].warnings == real.warnings
    assert real.warnings[:4] == (
        "CausalVQA.zip is not the published archive: Expected SHA-256 "
        f"a48684b9ef0b9b824b21225ceac23e92a43ec64cfebead20bf15978a399880c5, but got "
        f"{real.source_sha256['CausalVQA.zip']}.",
        equal,
        "Expected 200 items, but got 14.",
        "Expected 100 groups, but got 7.",
    )
    assert load_table("causalvqa", "debug")["options"][0] == ["a", "b", "b"]
    (release / "debug" / "videos" / "a.mp4").write_bytes(b"no video")
    assert prepare(Preparation(), release)["debug"].missing, "a clip that cannot be opened counts as missing"


def items_of(**changes: str) -> list[dict[str, Any]]:
    """The two items of a question with other cells, or with a further one."""
    row = {**QUESTION, **changes}
    items, problems = read_items("debug", f"{','.join(row)}\n{','.join(row.values())}\n".encode("utf-8-sig"))
    assert not problems and not problems.warnings()
    return items


def test_cells_that_release_writers_put() -> None:
    for correct in ("10", "10.0", " 10 ", "10.", "0010"):
        items = items_of(choices1="7. a|10. b|2. c", correct1=correct)
        assert [item["answer"] for item in items] == ["B", "C"], "an answer is a letter by the option's place"
    for nothing in ("", " ", "nan", "NaN", "none", "None", "null"):
        assert [item["answer"] for item in items_of(correct1=nothing, correct2=nothing)] == [None, None]
    for name in ("./a.mp4", "a//b.mp4"):
        assert items_of(renamed_video=name)[0]["clip"] == f"debug/{Path(name)}"
    for scenario in ("", "sports"):
        item = items_of(scenario=scenario)[0]
        known = {"type": "planning", "difficulty": "easy"}
        assert strata(item) == ({**known, "scenario": scenario} if scenario else known)


TEXTS = st.text(st.characters(blacklist_characters="|", blacklist_categories=("Cs", "Cc")), min_size=1).filter(
    lambda text: text == text.strip() != ""
)


@pytest.mark.slow
@given(st.dictionaries(st.integers(0).map(str), TEXTS, min_size=2, max_size=26), st.sampled_from(["", " "]), st.text())
def test_choices_are_read_back_and_any_others_are_a_sentence(options: dict[str, str], gap: str, text: str) -> None:
    joined = "|".join(f"{gap}{number}{gap}.{gap}{text}{gap}" for number, text in options.items())
    assert list(read_numbered_options(joined).items()) == list(options.items())
    long = "9" * 5000
    assert read_numbered_options(f"007. a|{long}. b|0. c") == {"7": "a", long: "b", "0": "c"}
    try:
        found = read_numbered_options(text)
    except ValueError as error:
        assert str(error).startswith("Expected ")
    else:
        assert len(found) >= 2 and all(found.values())


def test_refusals(tmp_path: Path, expected: Expected, monkeypatch: pytest.MonkeyPatch) -> None:
    release, archive, messages = tmp_path / "CausalVQA", tmp_path / "CausalVQA.zip", []

    def refuse(what: str, *rows: Mapping[str, str], source: Path = release) -> None:
        if rows:
            write_causalvqa(tmp_path, "debug", rows)
        messages.append(re.sub(r"[\d.]+ kB", "N kB", f"{what}: {refusal(prepare, Preparation(), source)}"))

    write_causalvqa(tmp_path, "test", [WITHHELD, {**WITHHELD, "qid": "q2", "renamed_video": "/etc/passwd"}])
    refuse(
        "rows",
        QUESTION,
        {**QUESTION, "qid": "q2", "correct1": "9", "correct2": "one"},
        {**QUESTION, "qid": "q3", "type": "magic", "difficulty": "extreme", "question": " "},
        {**QUESTION, "qid": "q1", "choices1": "1. a|01. b", "choices2": "a, b"},
        {**QUESTION, "qid": "", "renamed_video": "../../a.mp4", "choices1": "1. a", "choices2": "1. a|2."},
    )
    (release / "debug" / "debug_metadata.csv").unlink()
    write_causalvqa(tmp_path, "test", [WITHHELD])
    refuse("clips without metadata")
    refuse("the same in an archive", source=zip_folder(release, archive))
    refuse("no file", source=tmp_path / "none.zip")
    with zipfile.ZipFile(archive, "w") as file:
        for name in ("b.txt", "a/x.csv", "a/y.csv"):
            file.writestr(name, "x")
    refuse("another archive", source=archive)
    assert not benchmark_dir("causalvqa").exists()
    write_causalvqa(tmp_path, "debug", [QUESTION])
    shutil.rmtree(release / "test")
    usage = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr("lmms_eval_tasks.utils.data.prepare.shutil.disk_usage", lambda path: usage)
    refuse("a full disk", source=zip_folder(release, archive))
    expected("\n".join(messages))


def pairs(kind: str, difficulty: str, right: int, of: int) -> list[Record]:
    """Pairs of one stratum, the first of which are right in both versions, the others in one."""
    return [
        Record(
            f"{kind}{difficulty}{number}_{version}",
            f"{kind}{difficulty}{number}",
            {"type": kind, "difficulty": difficulty},
            "A",
            "A",
            Outcome.CORRECT if number < right or version else Outcome.WRONG,
        )
        for number in range(of)
        for version in (0, 1)
    ]


def test_strata_of_type_and_difficulty_count_alike_however_many_pairs_they_have() -> None:
    records = [
        *pairs("planning", "easy", 8, 8),
        *pairs("planning", "hard", 0, 1),
        *pairs("descriptive", "easy", 1, 2),
    ]
    # 100, 0 and 50; of types alone it would be (8 / 9 + 1 / 2) / 2, of difficulties alone (9 / 10 + 0) / 2.
    assert PAIR_ACCURACY_STRATA_MEAN.score_records(records) == pytest.approx(50.0)
    assert PAIR_ACCURACY.score_records(records) == pytest.approx(900 / 11)
    assert PAIR_ACCURACY_STRATA_MEAN.score_records([]) is None


# Behaviour of the official function, read from facebookresearch/CausalVQA@3f65605 tasks/utils.py.
QUIRKS = [json.loads(line) for line in Path(__file__).with_name("quirks.jsonl").read_text("utf-8").splitlines()]


def test_the_official_reader_has_the_official_quirks() -> None:
    assert [[text, official_choice(text)] for text, _ in QUIRKS] == QUIRKS


def test_the_official_reader_equals_the_official_outputs() -> None:
    for item in read_oracle("answer_extraction.json")["items"]:
        choice = official_choice(item["text"])
        assert choice == item["causalvqa_official_extract"], item["id"]
        scored = [letter for letter in "ABCDE" if official_choice(letter) == choice]
        assert scored == item["causalvqa_official_scores_correct_for"], item["id"]


def test_a_line_of_a_split_that_is_not_prepared_names_a_question_and_a_stratum() -> None:
    def faults(row_id: str, task: str, item: Any = None) -> list[str]:
        row = SubmittedLetter(data_name="causalvqa", task=task, row_id=row_id, model_answer="A")
        return [field for field, _, _ in FORM.compare(row, item, "test")]

    assert faults("1001_0", "Planning_med") == faults("x", "y", {"item_id": "x"}) == []
    assert faults("1001", "Planning_med") == faults("1001_2", "Planning_med") == ["row_id"]
    assert faults("1001_1", "Cooking") == ["task"] and faults("1001", "Cooking") == ["row_id", "task"]


def test_a_file_is_of_the_only_split_or_of_the_prepared_one_that_has_most_of_its_ids() -> None:
    lines = [("line 1", "a", None), ("line 2", "b", None)]
    prepared: dict[str, Any] = {"test": {"a": {}}, "debug": {"a": {}, "b": {}}}
    assert FORM._find_split(lines, prepared) == "debug" and FORM._find_split(lines, {"test": {"a": {}}}) == "test"
    assert FORM._find_split(lines, {"test": {"c": {}}}) is FORM._find_split(lines, {}) is None
    only = replace(FORM, card=replace(FORM.card, splits={"only": FORM.card.splits["test"]}))
    assert only._find_split(lines, {}) == "only"
