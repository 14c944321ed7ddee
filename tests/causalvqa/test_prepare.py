"""CausalVQA's release: its shapes, its odd cells, and what is said of files that cannot be used."""

from __future__ import annotations

import shutil
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from expected import Expected
from hypothesis import given
from hypothesis import strategies as st
from raw_releases import QUESTION, WITHHELD, write_metadata, zip_folder
from releases import write_clip

from lmms_eval_tasks.causalvqa.benchmark import prepare, read_items
from lmms_eval_tasks.causalvqa.hooks import strata
from lmms_eval_tasks.registry import load_table, read_card
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.fields import read_numbered_options
from lmms_eval_tasks.utils.data.card import SetKind
from lmms_eval_tasks.utils.data.home import benchmark_dir, clip_path, read_manifest

pytestmark = pytest.mark.usefixtures("home")


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


def test_what_is_odd_is_a_warning_that_the_manifest_keeps(tmp_path: Path) -> None:
    questions = [{**QUESTION, "qid": f"q{number}", "choices1": "1. a|2. b|3. b"} for number in range(7)]
    release = write_metadata(tmp_path, "debug", questions)
    (release / "SAMPLE.json").write_text('{"sample": true}')
    sample = prepare(zip_folder(release, tmp_path / "CausalVQA.zip"))["debug"]
    (release / "SAMPLE.json").unlink()
    real = prepare(zip_folder(release, tmp_path / "CausalVQA.zip"))["debug"]
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


def items_of(**changes: str) -> list[Mapping[str, str]]:
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


@given(options=st.dictionaries(st.integers(0).map(str), TEXTS, min_size=2, max_size=26), gap=st.sampled_from(["", " "]))
def test_choices_are_read_back(options: dict[str, str], gap: str) -> None:
    joined = "|".join(f"{gap}{number}{gap}.{gap}{text}{gap}" for number, text in options.items())
    assert list(read_numbered_options(joined).items()) == list(options.items())


def test_a_number_of_options_may_have_any_number_of_digits() -> None:
    long = "9" * 5000
    assert read_numbered_options(f"007. a|{long}. b|0. c") == {"7": "a", long: "b", "0": "c"}


@given(text=st.text())
def test_any_other_choices_are_a_sentence(text: str) -> None:
    try:
        options = read_numbered_options(text)
    except ValueError as error:
        assert str(error).startswith("Expected ")
    else:
        assert len(options) >= 2 and all(options.values())


def test_refusals(tmp_path: Path, expected: Expected, monkeypatch: pytest.MonkeyPatch) -> None:
    release, archive = tmp_path / "CausalVQA", tmp_path / "CausalVQA.zip"
    metadata, messages = release / "debug" / "debug_metadata.csv", []

    def refuse(what: str, source: Path = release) -> None:
        with pytest.raises(InputError) as caught:
            prepare(source)
        messages.append(f"{what}: {caught.value}")

    write_metadata(
        tmp_path,
        "debug",
        [
            QUESTION,
            {**QUESTION, "qid": "q2", "correct1": "9", "correct2": "one"},
            {**QUESTION, "qid": "q3", "type": "magic", "difficulty": "extreme", "question": " "},
            {**QUESTION, "qid": "q1", "choices1": "1. a|01. b", "choices2": "a, b"},
            {**QUESTION, "qid": "", "renamed_video": "../../a.mp4", "choices1": "1. a", "choices2": "1. a|2."},
        ],
    )
    write_metadata(tmp_path, "test", [{**WITHHELD, "renamed_video": "/etc/passwd"}])
    refuse("rows")
    shutil.rmtree(release / "test")
    write_metadata(tmp_path, "debug", [{**QUESTION, "renamed_video": name} for name in ("", ".", "a.mp4\\..")])
    refuse("no names of clips")
    write_metadata(
        tmp_path, "debug", [{name: cell for name, cell in QUESTION.items() if name not in ("choices2", "correct2")}]
    )
    refuse("columns")
    write_metadata(tmp_path, "debug", [QUESTION, {**QUESTION, "qid": "q2", "correct1": "", "correct2": ""}])
    refuse("answers of some")
    header = ",".join(QUESTION)
    for what, content in {
        "nothing": b"", "bytes": b"\xff\xfe\x00", "half a header": b'qid,"type\n', "a header": header.encode(),
        "short rows": f"{header}\nq1,planning\n".encode(),
    }.items():  # fmt: skip
        metadata.write_bytes(content)
        refuse(what)
    metadata.unlink()
    write_metadata(tmp_path, "test", [WITHHELD])
    refuse("clips without metadata")
    refuse("the same in an archive", zip_folder(release, archive))
    refuse("no file", tmp_path / "none.zip")
    archive.write_bytes(b"<html>access denied</html>")
    refuse("no archive", archive)
    with zipfile.ZipFile(archive, "w") as file:
        for name in ("b.txt", "a/x.csv", "a/y.csv"):
            file.writestr(name, "x")
    refuse("another archive", archive)
    write_metadata(tmp_path, "debug", [QUESTION])
    with zipfile.ZipFile(zip_folder(release, archive), "a") as file:
        for name in ("../evil.mp4", "/etc/evil", "C:/evil", "CausalVQA/../../evil"):
            file.writestr(name, "x")
        link = zipfile.ZipInfo("CausalVQA/debug/videos/link.mp4")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.writestr(link, "/etc/passwd")
    refuse("members that would escape", archive)
    expected("\n".join(messages))
    assert not benchmark_dir("causalvqa").exists()

    shutil.rmtree(release / "test")
    usage = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr("lmms_eval_tasks.utils.data.prepare.shutil.disk_usage", lambda path: usage)
    size = sum(path.stat().st_size for path in (release / "debug" / "videos").iterdir())
    message = rf"split debug, .* clips need {size / 1000:.1f} kB, but .*/home has 10 bytes free\. What was prepared"
    with pytest.raises(InputError, match=message):
        prepare(zip_folder(release, archive))


def test_an_interrupted_build_goes_on(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = write_metadata(
        tmp_path, "debug", [{**QUESTION, "qid": name, "renamed_video": f"{name}.mp4"} for name in "abc"]
    )
    for name in "bc":
        write_clip(release / "debug" / "videos" / f"{name}.mp4")
    source = zip_folder(release, tmp_path / "CausalVQA.zip")

    def stop(what: str, done: int, total: int) -> None:
        if "placing" in what and done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(source, stop)
    building = home / ".causalvqa.building" / "videos" / "debug"
    # Several clips are placed at a time, so the third may have been as well.
    placed = sorted(path.name for path in building.iterdir() if not path.name.startswith("."))
    assert placed[:2] == ["a.mp4", "b.mp4"] and not benchmark_dir("causalvqa").exists()
    (building / "b.mp4").write_bytes(b"x" * (building / "b.mp4").stat().st_size)
    (building / "left_over.mp4").write_bytes(b"x")
    extracted, extract = [], zipfile.ZipFile.open

    def watched(self: zipfile.ZipFile, name: zipfile.ZipInfo, *rest: object) -> object:
        extracted.append(getattr(name, "filename", name))
        return extract(self, name, *rest)

    monkeypatch.setattr(zipfile.ZipFile, "open", watched)
    assert prepare(source)["debug"].missing == ()
    missing = ["b.mp4"] if "c.mp4" in placed else ["b.mp4", "c.mp4"]
    assert sorted(name.rpartition("/")[2] for name in extracted if name.endswith(".mp4")) == missing
    finished = benchmark_dir("causalvqa") / "videos" / "debug"
    assert sorted(path.name for path in finished.iterdir()) == ["a.mp4", "b.mp4", "c.mp4"]
    assert not (home / ".causalvqa.building").exists()
