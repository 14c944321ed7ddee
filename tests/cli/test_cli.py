from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata, util
from pathlib import Path

import pytest
from cast_bench import row
from cast_bench import write_release as write_questions
from raw_releases import QUESTION, mvp_pair, write_metadata, write_snapshot
from releases import write_clip
from typer.testing import CliRunner
from yocausal_world import write_release

import lmms_eval_tasks
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.host.model import identity as environment
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.sample.write_sample import sample_writers

CLIPS = Path(__file__).parents[1] / "utils" / "data" / "clips"


@pytest.fixture(autouse=True)
def wide(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def run(*arguments: str | Path) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a command."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def sample_release(tmp_path: Path) -> Path:
    release = write_metadata(tmp_path, "debug", [QUESTION])
    (release / "SAMPLE.json").write_text('{"sample": true}')
    return release


def test_version_and_path() -> None:
    assert run("--version") == (0, f"lmms-eval-tasks {lmms_eval_tasks.__version__}\n", "")
    assert run("path") == (0, f"{Path(lmms_eval_tasks.__file__).parent}\n", "")


def test_an_error_is_one_message_and_status_one(tmp_path: Path) -> None:
    assert run("prepare", "causalvqa", "--source", tmp_path / "x.zip") == (
        1,
        "",
        f"x.zip cannot be prepared: there is no file or folder {tmp_path / 'x.zip'}.\n",
    )


def test_a_folder_that_cannot_be_written_is_a_message_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "file" / "home"))
    status, _, err = run("prepare", "causalvqa", "--source", sample_release(tmp_path))
    assert status == 1 and err == (
        f"The data home {tmp_path}/file/home cannot be written to: {tmp_path}/file is no folder. Nothing was written.\n"
        "Remedy: set LMMS_EVAL_TASKS_HOME to a folder of your own.\n"
    )


def test_nothing_prepared(tmp_path: Path) -> None:
    status, out, err = run("check", "causalvqa")
    assert (status, out.splitlines()[0]) == (1, f"Data home: {tmp_path / 'home'}")
    assert err == (
        f"\nCausalVQA is not prepared: there is no {tmp_path / 'home'}/causalvqa/manifest.json.\n"
        "Run:  lmms-eval-tasks prepare causalvqa --source CausalVQA.zip\n"
        "To try without the data:  lmms-eval-tasks sample --out sample --prepare\n"
    )


def test_check_of_an_unknown_benchmark() -> None:
    status, _, err = run("check", "x")
    assert (status, err.startswith("Expected a benchmark, one of cast_bench, causalvqa, ")) == (1, True)


def test_prepare_then_check_of_sample_data(tmp_path: Path) -> None:
    status, out, _ = run("prepare", "causalvqa", "--source", sample_release(tmp_path))
    assert status == 0
    assert out.splitlines()[1] == "causalvqa, debug: 2 items in 1 groups, with answers"
    assert "data: SAMPLE DATA, made up: its scores say nothing about a model" in out.splitlines()
    assert out.splitlines()[-1] == f"Prepared in {tmp_path / 'home' / 'causalvqa'}"
    for arguments in (["check"], ["check", "causalvqa", "--decode"]):
        status, out, err = run(*arguments)
        assert (status, err) == (0, "")
        assert "SAMPLE DATA" in out
        assert "lmms-eval " in out
        assert out.splitlines()[-1] == "Nothing here would stop a run."


def test_check_shows_what_to_know_of_a_benchmark() -> None:
    _, out, _ = run("check", "causalvqa", "mvp")
    assert max(len(line) for line in out.splitlines()) <= 100
    lines = [line.rstrip() for line in out.splitlines()]
    start, end = lines.index("CausalVQA"), lines.index("MVP")
    assert [line.split(maxsplit=1) for line in lines[start + 1 : start + 3]] == [
        ["paper", "https://arxiv.org/abs/2506.09943"],
        ["homepage", "https://github.com/facebookresearch/CausalVQA"],
    ]
    assert " ".join(" ".join(lines[start + 3 : end]).split()) == (
        "licence CC BY-NC 4.0, evaluation only; clips under the Ego-Exo4D licence (croissant.json of the release) "
        "main metric pair_accuracy "
        "chance single_accuracy 20.00%, pair_accuracy 4.00% "
        "human single_accuracy 84.78% on test (paper, Tables 6 and 12); each annotator saw one version of a question, "
        "so this is no pair_accuracy, though Table 6 prints it beside the paired scores of models"
    )
    assert "human pair_accuracy 92.90% on full (paper, Table 4); measured" in " ".join(" ".join(lines[end:]).split())


@pytest.mark.parametrize("prepared", [False, True])
def test_check_refuses_an_unknown_way_with_missing_clips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prepared: bool
) -> None:
    if prepared:
        run("prepare", "causalvqa", "--source", sample_release(tmp_path))
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "yes")
    assert run("check") == (1, "", "Expected LMMS_EVAL_TASKS_MISSING to be unset or skip, but got 'yes'.\n")


def test_prepare_and_check_show_a_warning_once(tmp_path: Path) -> None:
    release = write_metadata(tmp_path, "debug", [{**QUESTION, "choices1": "1. a|2. a"}])
    status, out, _ = run("prepare", "causalvqa", "--source", release)
    warning = "warning: debug/debug_metadata.csv: questions with two equal options: 1 (q1 in choices1)."
    assert (status, " ".join(out.split()).count(warning)) == (0, 1)
    checked = " ".join(run("check", "causalvqa")[1].split())
    assert (checked.count(warning), checked.count("warning: Expected")) == (1, 0)
    assert checked.rstrip().endswith("warnings above: the data is not as expected.")


def test_check_shows_what_is_odd_about_a_release_and_is_scored(tmp_path: Path) -> None:
    write_questions(tmp_path, [row({"evidence_end_time": "00:00", "evidence_start_time": "00:01"})])
    assert run("prepare", "cast_bench", "--source", tmp_path)[0] == 0
    warning = "warning: Evidence that ends before it starts, of which no box counts: 1 (line 1 evidence 1)."
    assert warning in run("check", "cast_bench")[1]


def test_check_counts_against_the_card_and_stays_narrow(tmp_path: Path) -> None:
    run("prepare", "causalvqa", "--source", write_metadata(tmp_path, "debug", [QUESTION]))
    status, out, _ = run("check")
    assert status == 0
    assert ["groups", "100", "1", "≠"] in [line.split() for line in out.splitlines()]
    assert max(len(line) for line in out.splitlines()) <= 100


def test_check_finds_what_would_stop_a_run(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = sample_release(tmp_path)
    write_metadata(tmp_path, "debug", [QUESTION, {**QUESTION, "qid": "q2", "renamed_video": "b.mp4"}])
    run("prepare", "causalvqa", "--source", release)
    missing = (
        "\ncausalvqa, debug: 1 of 2 clips are missing: debug/b.mp4. Get them and prepare again, or run with "
        "LMMS_EVAL_TASKS_MISSING=skip.\n"
    )
    assert run("check")[::2] == (1, missing)
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    assert run("check")[0] == 0
    clip = release / "debug" / "videos" / "a.mp4"
    content = clip.read_bytes()
    start, end = content.index(b"mdat") + 4, content.index(b"moov") - 4
    clip.write_bytes(content[:start] + bytes(end - start) + content[end:])
    assert run("check")[0] == 0
    status, out, err = run("check", "--decode")
    assert status == 1
    assert "\ncausalvqa, debug: 1 of 2 clips cannot be decoded to their end: debug/a.mp4. Get them anew and " in err
    assert ["debug", "2", "1", "1"] in [line.split() for line in out.splitlines()]
    (home / "causalvqa" / "debug.parquet").unlink()
    assert run("check")[2].startswith("\nCausalVQA, split debug, cannot be used: ")


def test_a_clip_that_lacks_its_end_is_named_by_prepare_and_check(tmp_path: Path, home: Path) -> None:
    release, said = sample_release(tmp_path), "What is there of debug/a.mp4 cannot be decoded to its end."
    shutil.copy(CLIPS / "cut_short.mp4", release / "debug" / "videos" / "a.mp4")
    assert said in " ".join(run("prepare", "causalvqa", "--source", release)[1].split())
    status, _, err = run("check")
    assert status == 1 and said in err
    shutil.copy(CLIPS / "starts_at_1400_ms.mp4", release / "debug" / "videos" / "a.mp4")
    assert run("prepare", "causalvqa", "--source", release)[0] == run("check", "--decode")[0] == 0
    # Where it has been cut since, `check` says so, and a run goes on without it.
    prepared = home / "causalvqa" / "videos" / "debug" / "a.mp4"
    prepared.unlink()
    shutil.copy(CLIPS / "cut_short.mp4", prepared)
    expected = "1 of 1 clips cannot be opened or decoded to their end: debug/a.mp4."
    assert expected in run("check")[2] and expected.replace("opened or ", "") in run("check", "--decode")[2]


def test_check_finds_a_missing_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("prepare", "causalvqa", "--source", sample_release(tmp_path))
    installed = metadata.entry_points
    monkeypatch.setattr(
        metadata,
        "entry_points",
        lambda **wanted: [] if wanted.get("group") == "lmms_eval.models" else installed(**wanted),
    )
    assert run("check")[::2] == (
        1,
        "\nlmms-eval does not see our entry point, because lmms-eval-tasks is not installed here: install it.\n",
    )


def test_check_says_which_packages_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    installed, real = metadata.version, util.find_spec

    def version(name: str) -> str:
        if name in ("decord", "tenacity"):
            raise metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(environment, "find_spec", lambda name: None if name in ("decord", "tenacity") else real(name))
    status, out, err = run("check")
    assert status == 1 and err.endswith(
        "\ntenacity is not installed, which lmms-eval-tasks needs.\nRun:  pip install tenacity\n"
    )
    assert "decord" not in err
    assert (
        "warning: decord is not installed: adapters of lmms-eval that read clips by it cannot run; our own models read "
        "by PyAV." in " ".join(out.split())
    )


def test_a_misspelt_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_PROMT", "official")
    status, _, err = run("path")
    assert status == 0
    assert err.startswith(
        "warning: LMMS_EVAL_TASKS_PROMT is set, but no such variable is read; the nearest is "
        "LMMS_EVAL_TASKS_PROMPT. Known are LMMS_EVAL_TASKS_ANSWERS, "
    )


def test_prepare_mvp_lists_what_is_missing_per_source(tmp_path: Path) -> None:
    for subset in SUBSETS[1:]:
        for member in (1, 2):
            write_clip(tmp_path / "videos" / "pt" / f"{subset}_x_{member}.mp4")
    snapshot = write_snapshot(tmp_path, "full", {SUBSETS[0]: mvp_pair("s", source="ssv2")})
    status, out, _ = run(
        "prepare", "mvp", "--split", "full", "--source", snapshot, "--videos", tmp_path / "videos"
    )  # fmt: skip
    assert status == 0
    cells = [line.split() for line in out.splitlines()]
    assert ["pt", "7", "1", "0"] in cells
    assert ["ssv2", "1", "1", "0"] in cells
    assert (
        "warning: 2 of 8 clips are missing: full/pt/s_1.mp4, full/pt/s_2.mp4. A run needs "
        "LMMS_EVAL_TASKS_MISSING=skip until"
    ) in " ".join(out.split())


@pytest.mark.slow
def test_sample_is_written_and_prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def build(out: Path, seed: int, progress: object, benchmarks: Sequence[str]) -> Path:
        asked.append((out, seed))
        sample_release(out / "causalvqa")
        write_clip(out / "mvp" / "videos" / "pt" / f"{SUBSETS[0]}_x_1.mp4")
        for split in ("mini", "full"):
            write_snapshot(out / "mvp", split, {})
        (out / "mvp" / "snapshot" / "SAMPLE.json").write_text("{}")
        write_release(out / "yocausal", pairs=1)
        write_questions(out / "cast_bench", [row()])
        return out

    stood_in_for = {name: sample_writers()[name] for name in ("cast_bench", "causalvqa", "mvp", "yocausal")}
    monkeypatch.setattr("lmms_eval_tasks.sample.write_sample.sample_writers", lambda: stood_in_for)
    monkeypatch.setattr("lmms_eval_tasks.sample.write_sample.build_sample", build)
    status, out, err = run("sample", "--out", tmp_path / "sample", "--seed", "7")
    assert (status, out, err) == (0, f"Sample data, seed 7: {tmp_path / 'sample'}\n", "")
    assert not (tmp_path / "home").exists()
    status, out, _ = run("sample", "--out", tmp_path / "sample", "--prepare")
    assert (status, asked) == (0, [(tmp_path / "sample", 7), (tmp_path / "sample", 0)])
    rows = [line.split() for line in out.splitlines()]
    for shown in (
        ["cast_bench", "test", "1", "1", "1", "known"],
        ["causalvqa", "debug", "2", "1", "1", "known"],
        ["mvp", "mini", "8", "4", "8", "known"],
        ["yocausal", "test", "4", "4", "8", "known"],
    ):
        assert shown in rows
    assert out.count("Prepared in") == 1 and len(rows) < 20


@pytest.mark.slow
def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from lmms_eval_tasks.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'lmms_eval', 'torch', 'datasets', 'transformers', 'pyarrow', 'av', 'openai', 'httpx'}\n"
        "heavy = (heavy | {'mujoco', 'networkx'}) & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(lmms_eval_tasks.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
