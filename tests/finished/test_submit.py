"""The command `submit`, on runs as hooks and host leave them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hook_runs import FILES, MVP_MINI, Answer, write_hook_run
from loguru import logger
from releases import Question, write_causalvqa
from submission_world import EVERY, HELD_OUT, Line, choose, command, losses, with_log

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.runs.folder import MAKE_AGAIN
from lmms_eval_tasks.utils.scoring.record import NOT_ASKED


def refused(tmp_path: Path, *arguments: str | Path) -> list[str]:
    """The lines of a refusal but for the run's path, after which the file is still what it was."""
    out = tmp_path / "out"
    out.write_text("what was there")
    status, printed, told = command("submit", *arguments, "--out", out)
    assert (status, printed, out.read_text()) == (1, "", "what was there"), told
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []
    first, *rest = told.splitlines()
    return [
        first[first.index("_results.json ") + len("_results.json ") :] if "_results.json " in first else first,
        *rest,
    ]


@pytest.mark.parametrize(("benchmark", "part"), FILES)
def test_a_run_gives_the_file_that_it_wrote_itself(
    benchmark: str, part: str, world_home: Path, run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "deep" / "file"
    status, printed, told = command("submit", benchmark, run, "--out", out, *(["--part", part] if part else []))
    assert (status, told) == (0, ""), told
    assert out.read_bytes() == (run / FILES[benchmark, part]).read_bytes()
    assert "".join(printed.split()).endswith(f"Written:{out}") and "0 without an answer" in printed
    status, checked, told = command("validate", benchmark, out)
    assert (status, told) == (0, ""), told
    assert f"{out}: valid" in checked.replace("\n", "") and "against the prepared split" in checked
    assert [path.name for path in out.parent.iterdir()] == ["file"]


def test_what_is_printed(world_home: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(run, "run")
    assert command("submit", "mvp", "run", "--out", "file", "--part", "temporal_reasoning")[1].splitlines() == [
        "mvp, split mini, temporal_reasoning: 2 of 2 items, 0 without an answer",
        "Written: file",
    ]
    assert command("validate", "mvp", "file")[1].splitlines() == [
        "file: valid",
        "MVP, split mini, subset temporal_reasoning: 2 rows, 0 without an answer",
        "checked: the form, and every id, task and answer against the prepared split mini",
        "note: One subset of 4: the leaderboard takes their files joined.",
    ]
    command("submit", "yocausal", "run", "--out", "file")
    assert command("validate", "yocausal", "file")[1].splitlines() == [
        "file: valid",
        "YoCausal, split test: 8 rows, 0 without an answer",
        "checked: the form, the metrics against the pairs, and the pairs against the prepared split test",
        "note: model_info.parameters is null: fill it in before you send the file.",
    ]


def test_all_reasons_are_told_at_once(world_home: Path, run: Path, tmp_path: Path) -> None:
    def spoil(lines: list[Line]) -> list[Line]:
        first, second, third, *_ = lines
        first["record"]["answered"] = "F"
        second["record"]["item_id"] = "9_1"
        third["record"]["unscored_reason"] = "no clip"
        third["record"]["data_set"] = {"kind": "sample"}
        return [first, second, third]

    assert refused(tmp_path, "causalvqa", with_log(run, tmp_path / "run", "causalvqa_paired", spoil)) == [
        "cannot be submitted to CausalVQA: 5 problems, nothing was written.",
        "  data: Expected the official release, but got sample data. Remedy: --allow-unofficial writes the file "
        "nevertheless; do not send it to a leaderboard.",
        "  items: Expected those of the prepared split test, but got `9_1`. Remedy: Prepare the release that the run "
        "was of.",
        "  items: Expected all to be asked, but for want of clips this was not done for `8_0`. Remedy: "
        "--allow-incomplete writes the file nevertheless.",
        "  items: Expected all 4 of the split, but the run lacks `7_1`, `8_1`. Remedy: --allow-incomplete writes the "
        "file nevertheless.",
        "  answers: Expected options of their items, but got `F` (7_0).",
    ]


def test_a_part_of_the_release_is_no_submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    questions = [Question("1", "planning", "easy", (1, 2))]
    prepare(write_causalvqa(tmp_path / "release", "test", questions, withheld=True))
    run, out = write_hook_run(tmp_path / "run", {"causalvqa_paired": choose("B")}), tmp_path / "file"
    part = "data that is not known to be the official release"
    (tmp_path / "refused").mkdir()
    assert refused(tmp_path / "refused", "causalvqa", run)[1] == (
        f"  data: Expected the official release, but got {part}. Remedy: Prepare the release itself, its archive or "
        "its dataset on the hub, and score the run again (`rescore`), so that both say which set they are of. "
        "--allow-unofficial writes the file nevertheless; do not send it to a leaderboard."
    )
    status, printed, _ = command("submit", "causalvqa", run, "--out", out, "--allow-unofficial")
    assert (status, printed.splitlines()[0]) == (0, f"{part}: do not send it to a leaderboard.")
    status, printed, _ = command("submit", "causalvqa", run, "--out", out, "--allow-sample")
    assert (status, printed.splitlines()[0]) == (0, "warning: --allow-sample is called --allow-unofficial now.")
    status, printed, _ = command("validate", "causalvqa", out)
    told = f"{out}: in the form, but not valid for the leaderboard: it was checked against {part}"
    assert (status, printed.splitlines()[0]) == (0, told)


def test_two_models_with_one_output_path_have_files_of_their_own(world_home: Path, tmp_path: Path) -> None:
    for letter, model in (("B", "one of/mine"), ("C", "other")):
        write_hook_run(tmp_path, {"causalvqa_paired": choose(letter)}, date=f"2026112{letter}", model=model)
    names = {"causalvqa_test.one_of_mine.jsonl": "B", "causalvqa_test.other.jsonl": "C"}
    assert {path.name for path in (tmp_path / "submissions").iterdir()} == set(names)
    for name, letter in names.items():
        rows = (tmp_path / "submissions" / name).read_text("utf-8").splitlines()
        assert {json.loads(row)["model_answer"] for row in rows} == {letter}


def test_runs_of_one_model_with_one_output_path_keep_their_files(world_home: Path, tmp_path: Path) -> None:
    out, logged = tmp_path / "out", []
    handler = logger.add(logged.append, format="{message}")
    try:
        for letter, date in (("B", "20261120"), ("B", "20261121"), ("C", "20261122"), ("D", "20261123")):
            write_hook_run(out, {"causalvqa_paired": choose(letter)}, date=date)
    finally:
        logger.remove(handler)
    names = {"causalvqa_test.jsonl": "D", "causalvqa_test.1.jsonl": "B", "causalvqa_test.2.jsonl": "C"}
    assert {path.name for path in (out / "submissions").iterdir()} == set(names)
    for name, letter in names.items():
        rows = (out / "submissions" / name).read_text("utf-8").splitlines()
        assert {json.loads(row)["model_answer"] for row in rows} == {letter}
    file = out / "submissions" / "causalvqa_test.jsonl"
    assert [str(line).strip() for line in logged if "another run" in line] == [
        f"{file} was another run's; that file is now {file.with_name(f'causalvqa_test.{number}.jsonl')}. Give each run "
        "its own output path."
        for number in (1, 2)
    ]
    (results,) = out.glob("20261121*_results.json")
    assert command("submit", "causalvqa", results, "--out", tmp_path / "again")[0] == 0
    assert (tmp_path / "again").read_bytes() == (out / "submissions" / "causalvqa_test.1.jsonl").read_bytes()


def test_a_log_of_two_runs_is_named(world_home: Path, run: Path, tmp_path: Path) -> None:
    both = with_log(run, tmp_path / "run", "causalvqa_paired", lambda lines: [*lines, *lines])
    assert refused(tmp_path, "causalvqa", both) == [
        "cannot be read: 1 problem.",
        "  20261122_samples_causalvqa_paired.jsonl, items: Expected each once, but got again `7_0`, `7_1`, `8_0`, "
        "`8_1`. Remedy: Two runs that started in the same second wrote this log: run each again.",
    ]


def test_a_limited_run_is_submitted_only_when_told(world_home: Path, tmp_path: Path) -> None:
    out = write_hook_run(tmp_path / "run", {task: EVERY[task] for task in (*MVP_MINI[:2], "cast_bench")}, limit=1)
    assert refused(tmp_path, "mvp", out) == [
        "cannot be submitted to MVP: 3 problems, nothing was written.",
        "  tasks: Expected every task of the split, but the run lacks mvp_mini_intuitive_physics, "
        "mvp_mini_temporal_reasoning. Remedy: --allow-incomplete writes the file nevertheless.",
        "  items: Expected all 8 of the split, but the run lacks `pt_1_2`, `language_table_1_2`, `grasp_1_1`, "
        "`grasp_1_2`, `star_1_1`, … and 1 more. Remedy: --allow-incomplete writes the file nevertheless.",
        "  run: Expected one of all items, but it was started with --limit 1. Remedy: --allow-incomplete writes the "
        "file nevertheless.",
    ]
    for benchmark, expected in (("mvp", 2), ("cast_bench", 1)):
        file = tmp_path / "file"
        status, printed, _ = command("submit", benchmark, out, "--out", file, "--allow-incomplete")
        assert status == 0 and "warning: It is incomplete: a leaderboard should refuse it." in printed
        assert len(file.read_text("utf-8").splitlines()) == expected
        assert command("validate", benchmark, file)[0] == 1
        status, printed, _ = command("validate", benchmark, file, "--allow-incomplete")
        assert status == 0 and "note: Incomplete: " in printed
    predictions = (out / FILES["cast_bench", ""]).read_bytes()
    assert file.read_bytes() == predictions
    command("submit", "cast_bench", out, "--out", file, "--allow-incomplete", "--part", "metrics")
    assert file.read_bytes() == (out / FILES["cast_bench", "metrics"]).read_bytes()
    assert command("validate", "cast_bench", file)[0] == 1
    assert command("validate", "cast_bench", file, "--allow-incomplete")[0] == 0


def test_items_that_were_not_asked_are_submitted_only_when_told(world_home: Path, tmp_path: Path) -> None:
    first = {"causalvqa_paired": "7_0", MVP_MINI[0]: "pt_1_1", "cast_bench": "sav_000001_1", "yocausal": "animal_1"}
    first["intphys2_heldout"] = HELD_OUT[0]

    def skipping(task: str) -> Answer:
        return lambda doc: NOT_ASKED if doc["item_id"] == first.get(task) else EVERY[task](doc)

    out = write_hook_run(tmp_path / "run", {task: skipping(task) for task in EVERY})
    for (benchmark, part), file in FILES.items():
        if part == "temporal_reasoning":
            continue
        chosen = ["--part", part] if part else []
        told = refused(tmp_path, benchmark, out, *chosen)
        item = next(name for task, name in first.items() if task.startswith(benchmark))
        assert told[1:] == [
            f"  items: Expected all to be asked, but for want of clips this was not done for `{item}`. Remedy: "
            "--allow-incomplete writes the file nevertheless."
        ]
        status, printed, _ = command(
            "submit", benchmark, out, "--out", tmp_path / "file", "--allow-incomplete", *chosen
        )
        assert status == 0, printed
        assert (tmp_path / "file").read_bytes() == (out / file).read_bytes(), file
        assert command("validate", benchmark, tmp_path / "file", "--allow-incomplete")[0] == 0


def test_a_limit_beyond_the_items_does_no_harm(world_home: Path, tmp_path: Path) -> None:
    out = write_hook_run(tmp_path / "run", {"causalvqa_paired": choose("C")}, limit=100)
    assert command("submit", "causalvqa", out, "--out", tmp_path / "file")[0] == 0


def test_what_could_not_be_read_is_an_empty_text_and_counted(world_home: Path, tmp_path: Path) -> None:
    said = {**dict.fromkeys(MVP_MINI, choose("A")), "cast_bench": lambda doc: "", "causalvqa_paired": lambda doc: "hm"}
    said[MVP_MINI[1]] = lambda doc: "I cannot see any video."
    out = write_hook_run(tmp_path / "run", said)
    for benchmark, empty, of in (("mvp", 2, 8), ("causalvqa", 4, 4), ("cast_bench", 3, 3)):
        file = tmp_path / benchmark
        status, printed, told = command("submit", benchmark, out, "--out", file)
        assert status == 0 and f"{of} of {of} items, {empty} without an answer" in printed, told
        assert file.read_bytes() == (out / FILES[benchmark, ""]).read_bytes()
        status, printed, _ = command("validate", benchmark, file)
        assert status == 0 and f"{of} rows, {empty} without an answer" in printed
    answers = [json.loads(line)["model_answer"] for line in (tmp_path / "mvp").read_text("utf-8").splitlines()]
    assert answers == ["it falls"] * 2 + [""] * 2 + ["it falls"] * 4


def test_answers_that_no_rule_reads_are_told_of_cast_bench(world_home: Path, tmp_path: Path) -> None:
    said = {"Why does the ball roll?": "no idea", "Why does it stop?": '{"answer_choice": "Z"}'}
    out = write_hook_run(
        tmp_path / "run", {"cast_bench": lambda doc: said.get(doc["question"], '{"answer_choice": "A"}')}
    )
    status, printed, _ = command("submit", "cast_bench", out, "--out", tmp_path / "file")
    assert (
        status == 0
        and "note: Responses without an answer that the official script reads: 1; they count as wrong." in printed
    )
    status, printed, _ = command("validate", "cast_bench", tmp_path / "file")
    assert status == 0 and "note: Answers that name no option of their question: 1; they count as wrong." in printed


def test_of_two_splits_the_withheld_one_is_submitted(world_home: Path, run: Path, tmp_path: Path) -> None:
    both = write_hook_run(tmp_path / "both", {"causalvqa_debug_paired": choose("A"), "causalvqa_paired": choose("B")})
    debug = write_hook_run(tmp_path / "debug", {"causalvqa_debug_paired": choose("A")})
    for out, options, name in (
        (both, [], "test"), (both, ["--split", "debug"], "debug"), (debug, [], "debug"),
    ):  # fmt: skip
        assert command("submit", "causalvqa", out, "--out", tmp_path / "file", *options)[0] == 0
        assert (tmp_path / "file").read_bytes() == (out / "submissions" / f"causalvqa_{name}.jsonl").read_bytes()
        assert f"split {name}: " in command("validate", "causalvqa", tmp_path / "file")[1]
    assert refused(tmp_path, "causalvqa", debug, "--split", "test") == [
        "cannot be submitted to CausalVQA: Expected a task of it, causalvqa_paired, but the run has "
        "causalvqa_debug_paired."
    ]
    assert refused(tmp_path, "causalvqa", debug, "--split", "dev") == [
        "Expected --split to be one of test, debug, but got 'dev'."
    ]
    assert refused(tmp_path, "cast_bench", run, "--part", "boxes") == [
        "Expected --part to be one of predictions, metrics, but got 'boxes'."
    ]


def test_a_file_of_a_split_that_is_not_prepared_is_checked_for_its_form(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    prepare(write_causalvqa(tmp_path / "release", "debug", [Question("1", "planning", "easy", (5, 1))]))
    status, printed, told = command("validate", "causalvqa", run / FILES["causalvqa", ""])
    assert status == 0 and "checked: the form alone: no id is one of the prepared split debug" in printed, told
    (tmp_path / "file").write_text((run / FILES["causalvqa", ""]).read_text("utf-8").replace("7_0", "1_0"))
    status, printed, told = command("validate", "causalvqa", tmp_path / "file")
    assert status == 1 and "Expected items of split debug, but got `7_1` (line 2)" in told


def test_losses_that_are_lacking_or_measured_unlike(world_home: Path, tmp_path: Path) -> None:
    def said(doc: dict[str, Any]) -> str:
        if doc["item_id"] == "animal_1":
            return "It is played forward."
        return losses(doc).replace("0" * 16, "1" * 16) if doc["item_id"] == "human_2" else losses(doc)

    out = write_hook_run(tmp_path / "run", {"yocausal": said})
    told = refused(tmp_path, "yocausal", out)
    assert told[0] == "cannot be submitted to YoCausal: 2 problems, nothing was written."
    assert told[1].startswith(
        "  pairs: Expected losses of every pair, but there are none for `animal_1` (The response is"
    )
    assert told[2] == (
        "  settings: Expected all pairs to be measured alike, but got the settings 0000000000000000, 1111111111111111. "
        "Remedy: Measure all of them again with one of these."
    )
    assert len(refused(tmp_path, "yocausal", out, "--allow-incomplete")) == 2
    alike = write_hook_run(
        tmp_path / "alike", {"yocausal": lambda doc: "?" if doc["item_id"] == "animal_1" else losses(doc)}
    )
    assert command("submit", "yocausal", alike, "--out", tmp_path / "file", "--allow-incomplete")[0] == 0
    assert (tmp_path / "file").read_bytes() == (alike / FILES["yocausal", ""]).read_bytes()
    silent = write_hook_run(tmp_path / "silent", {"yocausal": lambda doc: "?"})
    told = refused(tmp_path, "yocausal", silent, "--allow-incomplete")
    assert told[1] == "  pairs: Expected losses of at least one, but the run has none."


def test_a_log_that_is_not_text_is_named(world_home: Path, run: Path, tmp_path: Path) -> None:
    spoilt = with_log(run, tmp_path / "run", "causalvqa_paired", lambda lines: lines)
    (log,) = spoilt.glob("*_samples_causalvqa_paired.jsonl")
    log.write_bytes(b"\xff" + log.read_bytes())
    told = refused(tmp_path, "causalvqa", spoilt)
    expected = "Expected logged items of one of our tasks, but got bytes that are not UTF-8 (line 1)."
    assert told[1:] == [f"  {log.name}, lines: {expected} Remedy: {MAKE_AGAIN}"]


def test_a_log_of_an_older_version_is_named(world_home: Path, run: Path, tmp_path: Path) -> None:
    def forget(lines: list[Line]) -> list[Line]:
        return [{"record": line["record"]} for line in lines]

    old = with_log(run, tmp_path / "run", "cast_bench", forget)
    assert refused(tmp_path, "cast_bench", old) == [
        "cannot be submitted to CaST-Bench: 1 problem, nothing was written.",
        "  log: Expected prompt and response of every question, but there is none for `sav_000001_1`, `sav_000001_2`, "
        "`sav_000001_3`. Remedy: Run or replay the task again with this version.",
    ]


@pytest.mark.parametrize(
    ("task", "benchmark", "title", "why"),
    [
        ("cast_bench_open", "cast_bench", "CaST-Bench", "its free answers are graded by a judge of your choice"),
        ("yocausal_vlm", "yocausal", "YoCausal", "the leaderboard ranks video diffusion models by their losses"),
    ],
)
def test_tasks_that_no_leaderboard_takes_say_so(
    task: str,
    benchmark: str,
    title: str,
    why: str,
    world_home: Path,
    run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for arguments in ((task, run), ("validate", task, run)):
        status, _, told = command(*(["submit", *arguments, "--out", "x"] if arguments[0] == task else arguments))
        assert status == 1 and told.startswith(f"{task} has no official submission: {why}")
    monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", "none")
    other = write_hook_run(tmp_path / "run", {task: choose("A")})
    told = refused(tmp_path, benchmark, other)
    assert told[0] == f"cannot be submitted to {title}: Expected a task of it, {benchmark}, but the run has {task}."
    assert told[1].startswith(f"{task} has no official submission: {why}")


def test_what_is_not_prepared_is_told(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "empty"))
    assert refused(tmp_path, "mvp", run)[0].startswith("MVP is not prepared: there is no ")
    for (benchmark, _), file in FILES.items():
        status, printed, told = command("validate", benchmark, run / file)
        assert status == 0 and "prepared here" in " ".join(printed.split()), told
    assert refused(tmp_path, "nothing", run)[0].startswith("Expected a benchmark, one of ")
    assert command("validate", "mvp", tmp_path / "none")[2].endswith("Expected a file, but got nothing.\n")
