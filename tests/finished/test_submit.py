"""The command `submit`, on runs as hooks and host leave them."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from commands import call, printed
from expected import Expected
from hook_runs import FILES, MVP_MINI, Answer, write_hook_run
from releases import question_row, write_causalvqa
from submission_world import EVERY, HELD_OUT, Line, choose, losses, with_log
from task_states import docs_of, end_task, task_state

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.host.tasks import running
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.scoring.record import UnscoredReason

FIRST = {
    "causalvqa_paired": "7_0",
    MVP_MINI[0]: "pt_1_1",
    "cast_bench": "sav_000001_1",
    "yocausal": "animal_1",
    "intphys2_heldout": HELD_OUT[0],
}
"""An item of each benchmark."""


@pytest.fixture
def here(world: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with a whole run in `run`, so that messages hold no other folders."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run, "run")


def of_part(part: str) -> list[str]:
    return ["--part", part] if part else []


def refused(*words: str) -> str:
    """A command, and its refusal, after which the file is still what it was."""
    out = Path("out")
    out.write_text("what was there")
    done = call("submit", *words, "--out", out)
    assert (done.status, done.out, out.read_text()) == (1, "", "what was there"), done
    assert not list(Path().glob("*.part"))
    return f"$ submit {' '.join(words)}\n{done.err}"


def submit(benchmark: str, run: str, part: str = "", *options: str) -> str:
    """What `submit` and `validate` print, where the file is the one that the run wrote itself."""
    out = Path("deep", "file")
    shown = printed("submit", benchmark, run, "--out", out, *of_part(part), *options)
    assert out.read_bytes() == Path(run, FILES[benchmark, part]).read_bytes()
    assert list(out.parent.iterdir()) == [out]
    return shown + printed("validate", benchmark, out, *options)


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_a_run_gives_the_files_that_it_wrote_itself(expected: Expected) -> None:
    expected("\n".join(submit(benchmark, "run", part) for benchmark, part in FILES))
    # A limit beyond the items does no harm.
    write_hook_run(Path("limited"), {"causalvqa_paired": choose("C")}, limit=100)
    assert "4 of 4 items" in submit("causalvqa", "limited")


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_what_cannot_be_submitted(monkeypatch: pytest.MonkeyPatch, expected: Expected) -> None:
    def spoil(lines: list[Line]) -> list[Line]:
        first, second, third, *_ = lines
        first["record"]["answered"] = "F"
        second["record"]["item_id"] = "9_1"
        third["record"] |= {"unscored_reason": "no clip", "data_set": {"kind": "sample"}}
        return [first, second, third]

    def unlike(doc: Mapping[str, Any]) -> str:
        if doc["item_id"] == "animal_1":
            return "It is played forward."
        return losses(doc).replace("0" * 16, "1" * 16) if doc["item_id"] == "human_2" else losses(doc)

    run = Path("run")
    with_log(run, Path("spoilt"), "causalvqa_paired", spoil)
    with_log(run, Path("doubled"), "causalvqa_paired", lambda lines: [*lines, *lines])
    with_log(run, Path("old"), "cast_bench", lambda lines: [{"record": line["record"]} for line in lines])
    (log,) = shutil.copytree(run, Path("bytes")).glob("*_samples_causalvqa_paired.jsonl")
    log.write_bytes(b"\xff" + log.read_bytes())
    monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", "none")
    runs: dict[str, dict[str, Answer]] = {
        "debug": {"causalvqa_debug_paired": choose("A")},
        "silent": {"yocausal": lambda doc: "?"},
        "unlike": {"yocausal": unlike},
        "open": {"cast_bench_open": choose("A")},
        "vlm": {"yocausal_vlm": choose("A")},
    }
    for folder, said in runs.items():
        write_hook_run(Path(folder), said)
    asked = (
        "causalvqa spoilt", "causalvqa doubled", "causalvqa bytes", "cast_bench old", "causalvqa debug --split test",
        "causalvqa debug --split dev", "cast_bench run --part boxes", "yocausal unlike",
        "yocausal unlike --allow-incomplete", "yocausal silent --allow-incomplete", "cast_bench open", "yocausal vlm",
        "cast_bench_open run", "yocausal_vlm run", "nothing run",
    )  # fmt: skip
    expected("\n".join(refused(*words.split()) for words in asked))


def test_a_part_of_the_release_is_no_submission(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(
        Preparation(),
        write_causalvqa(tmp_path / "release", "test", [question_row("1", "planning", "easy", (1, 2))], withheld=True),
    )
    write_hook_run(Path("run"), {"causalvqa_paired": choose("B")})
    shown = [refused("causalvqa", "run")]
    shown.append(printed("submit", "causalvqa", "run", "--out", "file", "--allow-unofficial"))
    expected("\n".join([*shown, printed("validate", "causalvqa", "file")]))


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_a_run_without_all_items_is_submitted_only_when_told(expected: Expected) -> None:
    def skipping(task: str) -> Answer:
        missing = Reply(missing=UnscoredReason.NO_CLIP)
        return lambda doc: missing if doc["item_id"] == FIRST.get(task) else EVERY[task](doc)

    write_hook_run(Path("limited"), {task: EVERY[task] for task in (*MVP_MINI[:2], "cast_bench")}, limit=1)
    write_hook_run(Path("skipping"), {task: skipping(task) for task in EVERY})
    write_hook_run(
        Path("silent"), {"yocausal": lambda doc: "?" if doc["item_id"] == FIRST["yocausal"] else losses(doc)}
    )
    shown = [refused("mvp", "limited")]
    skipped = [(benchmark, part) for benchmark, part in FILES if part != "temporal_reasoning"]
    for benchmark, part in skipped:
        shown.append(refused(benchmark, "skipping", *of_part(part)))
        shown.append(submit(benchmark, "skipping", part, "--allow-incomplete"))
    for benchmark, part in (("mvp", ""), ("cast_bench", ""), ("cast_bench", "metrics")):
        out = Path("file")
        shown.append(printed("submit", benchmark, "limited", "--out", out, *of_part(part), "--allow-incomplete"))
        assert call("validate", benchmark, out).status == 1
        shown.append(printed("validate", benchmark, out, "--allow-incomplete"))
    submit("yocausal", "silent", "", "--allow-incomplete")
    expected("\n".join(shown))


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_what_could_not_be_read_is_an_empty_text_and_counted(expected: Expected) -> None:
    odd = {"Why does the ball roll?": "no idea", "Why does it stop?": '{"answer_choice": "Z"}'}
    said: dict[str, Answer] = {**dict.fromkeys(MVP_MINI, choose("A")), "causalvqa_paired": lambda doc: "hm"}
    said[MVP_MINI[1]] = lambda doc: "I cannot see any video."
    said["cast_bench"] = lambda doc: odd.get(doc["question"], '{"answer_choice": "A"}')
    write_hook_run(Path("mute"), said)
    expected("\n".join(submit(benchmark, "mute") for benchmark in ("causalvqa", "cast_bench", "mvp")))
    answers = [json.loads(line)["model_answer"] for line in Path("deep", "file").read_text("utf-8").splitlines()]
    assert answers == ["it falls"] * 2 + [""] * 2 + ["it falls"] * 4


@pytest.mark.usefixtures("world")
def test_runs_with_one_output_path_keep_their_files(tmp_path: Path, log: list[str], expected: Expected) -> None:
    def answers(folder: Path) -> dict[str, set[str]]:
        return {
            file.name: {json.loads(row)["model_answer"] for row in file.read_text("utf-8").splitlines()}
            for file in (folder / "submissions").iterdir()
        }

    for letter, date in (("B", "20261120"), ("B", "20261121"), ("C", "20261122"), ("D", "20261123")):
        write_hook_run(tmp_path / "one", {"causalvqa_paired": choose(letter)}, date=date)
    for letter, model in (("B", "one of/mine"), ("C", "other")):
        write_hook_run(tmp_path / "two", {"causalvqa_paired": choose(letter)}, date=f"2026112{letter}", model=model)
    kept = {"causalvqa_test.jsonl": {"D"}, "causalvqa_test.1.jsonl": {"B"}, "causalvqa_test.2.jsonl": {"C"}}
    assert answers(tmp_path / "one") == kept
    by_model = {"causalvqa_test.one_of_mine.jsonl": {"B"}, "causalvqa_test.other.jsonl": {"C"}}
    assert answers(tmp_path / "two") == by_model
    expected("\n".join(line for line in log if "another run" in line))
    (results,) = (tmp_path / "one").glob("20261121*_results.json")
    printed("submit", "causalvqa", results, "--out", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "one/submissions/causalvqa_test.1.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_of_two_splits_the_withheld_one_is_submitted() -> None:
    write_hook_run(Path("both"), {"causalvqa_debug_paired": choose("A"), "causalvqa_paired": choose("B")})
    write_hook_run(Path("debug"), {"causalvqa_debug_paired": choose("A")})
    for run, options, name in (("both", [], "test"), ("both", ["--split", "debug"], "debug"), ("debug", [], "debug")):
        printed("submit", "causalvqa", run, "--out", "file", *options)
        assert Path("file").read_bytes() == Path(run, "submissions", f"causalvqa_{name}.jsonl").read_bytes()
        assert f"split {name}: " in printed("validate", "causalvqa", "file")


@pytest.mark.slow
def test_a_file_is_checked_against_what_is_prepared(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", "empty")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run, "run")
    shown = [refused("mvp", "run")]
    shown += [printed("validate", benchmark, Path("run", file)) for (benchmark, _), file in FILES.items()]
    shown.append(call("validate", "mvp", "none").err)
    prepare(
        Preparation(), write_causalvqa(tmp_path / "release", "debug", [question_row("1", "planning", "easy", (5, 1))])
    )
    of_test = Path("run", FILES["causalvqa", ""])
    shown.append(printed("validate", "causalvqa", of_test))
    Path("file").write_text(of_test.read_text("utf-8").replace("7_0", "1_0"))
    shown.append(call("validate", "causalvqa", "file").err)
    expected("\n".join(shown))


def test_what_cannot_be_written_ends_no_run(
    world: Path, tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    def end(task: str, out: Path, evaluation: Evaluation, gone: bool = False) -> int | None:
        """End a task; the rows that it reports."""
        state = task_state(task, evaluation)
        graded = [state.process_results(doc, ["(A)"]) for doc in docs_of(state)]
        if gone:
            monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "empty"))
        return end_task(state, graded, SimpleNamespace(output_path=str(out)))

    def end_all(out: Path) -> list[int | None]:
        evaluation = Evaluation(clips_needed=False)
        return [end(task, out, evaluation) for task in MVP_MINI]

    def write(path: Path, content: str) -> None:
        if path.name == "mvp_mini_submission.jsonl":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write_file(path, content)

    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "submissions").write_text("a file")
    assert end_all(blocked) == [None] * 4
    assert (blocked / "mvp_mini_submission.jsonl").read_text("utf-8").count("\n") == 8
    monkeypatch.setattr(running, "write_file", write)
    assert end_all(tmp_path / "full") == [2, 2, 2, 2]
    # The prepared table has gone meanwhile.
    assert end(MVP_MINI[0], tmp_path, Evaluation(clips_needed=False), gone=True) is None
    expected("\n".join(warnings))
