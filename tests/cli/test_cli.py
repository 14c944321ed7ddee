"""`prepare`, `check` and `sample`; and what holds of every command: its help, and the formats of what it shows."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from beside_people import EXAMPLE
from cast_bench import row
from cast_bench import write_release as write_questions
from commands import Done, call, printed, refusal
from commands_page import commands_page
from logged_runs import strong, weak, write_run
from prepared_texts import add_mvp_sample
from releases import QUESTION, mvp_pair, write_causalvqa, write_clip, write_snapshot
from typer.testing import CliRunner

import lmms_eval_tasks
from lmms_eval_tasks.cli.app import NAME, app
from lmms_eval_tasks.cli.help import split_examples
from lmms_eval_tasks.host.model import identity as environment
from lmms_eval_tasks.mvp.benchmark import SUBSETS
from lmms_eval_tasks.utils.core.output import Format
from lmms_eval_tasks.utils.data.card import SetKind

CLIPS = Path(__file__).parents[1] / "utils" / "data" / "clips"


@pytest.fixture(autouse=True)
def wide(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def sample_release(folder: Path, *questions: dict[str, Any]) -> Path:
    release = write_causalvqa(folder, "debug", list(questions or [QUESTION]))
    (release / "SAMPLE.json").write_text('{"sample": true}')
    return release


def prepare(release: Path) -> Done:
    return call("prepare", "causalvqa", "--source", release)


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_version_path_and_an_error_as_one_message(expected: Any, tmp_path: Path, monkeypatch: Any) -> None:
    assert call("--version") == (0, f"lmms-eval-tasks {lmms_eval_tasks.__version__}\n", "")
    assert call("path") == (0, f"{Path(lmms_eval_tasks.__file__).parent}\n", "")
    with monkeypatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_PROMT", "official")
        warned = call("path").err.partition(" Known are LMMS_EVAL_TASKS_ANSWERS, ")[0]
        patch.setenv("LMMS_EVAL_TASKS_MISSING", "yes")
        said = [warned, refusal("check").partition("\n")[2]]
    missing = call("check", "causalvqa")
    assert missing.status == 1 and missing.out.startswith(f"Data home: {tmp_path / 'home'}\n")
    said += [prepare(tmp_path / "x.zip").err, missing.err, call("check", "x").err.partition(",")[0] + "\n"]
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "file" / "home"))
    said.append(prepare(sample_release(tmp_path)).err)
    expected("\n".join(said))


def test_prepare_then_check_of_sample_data(tmp_path: Path) -> None:
    lines = printed("prepare", "causalvqa", "--source", sample_release(tmp_path)).splitlines()
    assert lines[1] == "causalvqa, debug: 2 items in 1 groups, with answers"
    assert "data: SAMPLE DATA, made up: its scores say nothing about a model" in lines
    assert lines[-1] == f"Prepared in {tmp_path / 'home' / 'causalvqa'}"
    for arguments in (["check"], ["check", "causalvqa", "--decode"]):
        status, out, err = call(*arguments)
        assert (status, err) == (0, "") and "SAMPLE DATA" in out and "lmms-eval " in out
        assert out.splitlines()[-1] == "Nothing here would stop a run."


def test_check_shows_what_to_know_of_a_benchmark(expected: Any) -> None:
    lines = [line.rstrip() for line in call("check", "causalvqa", "mvp").out.splitlines()]
    assert max(map(len, lines)) <= 100
    expected("\n".join(lines[lines.index("CausalVQA") : lines.index("MVP")]))
    assert "human pair_accuracy 92.90% on full (paper, Table 4); measured" in one_line(" ".join(lines))


def test_prepare_and_check_show_a_warning_once(tmp_path: Path) -> None:
    release = write_causalvqa(tmp_path, "debug", [{**QUESTION, "choices1": "1. a|2. a"}])
    warning = "warning: debug/debug_metadata.csv: questions with two equal options: 1 (q1 in choices1)."
    assert one_line(prepare(release).out).count(warning) == 1
    lines = printed("check").splitlines()
    checked = one_line(" ".join(lines))
    assert (checked.count(warning), checked.count("warning: Expected")) == (1, 0)
    assert checked.endswith("warnings above: the data is not as expected.")
    # It is counted against the card, and stays narrow.
    assert ["groups", "100", "1", "≠"] in [line.split() for line in lines] and max(map(len, lines)) <= 100
    # What is odd about a release and is scored is shown too.
    write_questions(tmp_path, [row({"evidence_end_time": "00:00", "evidence_start_time": "00:01"})])
    printed("prepare", "cast_bench", "--source", tmp_path)
    odd = "warning: Evidence that ends before it starts, whose boxes do not count: 1 (line 1 evidence 1)."
    assert odd in call("check", "cast_bench").out


@pytest.mark.slow
def test_check_finds_clips_and_tables_that_would_stop_a_run(
    expected: Any, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = sample_release(tmp_path, QUESTION, {**QUESTION, "qid": "q2", "renamed_video": "b.mp4"})
    prepare(release)
    said = [call("check")]
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    assert call("check").status == 0
    clip = release / "debug" / "videos" / "a.mp4"
    content = clip.read_bytes()
    start, end = content.index(b"mdat") + 4, content.index(b"moov") - 4
    clip.write_bytes(content[:start] + bytes(end - start) + content[end:])
    assert call("check").status == 0
    said.append(call("check", "--decode"))
    assert ["debug", "2", "1", "1"] in [line.split() for line in said[1].out.splitlines()]
    # Where a clip has been cut since, `check` says so, and a run goes on without it.
    clip.unlink()
    shutil.copy(CLIPS / "cut_short.mp4", clip)
    said += [call("check"), call("check", "--decode")]
    (home / "causalvqa" / "debug.parquet").unlink()
    said.append(call("check"))
    assert {one.status for one in said} == {1}
    expected("\n".join(one.err for one in said))


def test_a_clip_that_lacks_its_end_is_named_by_prepare_and_check(tmp_path: Path) -> None:
    release, said = sample_release(tmp_path), "debug/a.mp4 cannot be decoded to the end."
    clip = release / "debug" / "videos" / "a.mp4"
    shutil.copy(CLIPS / "cut_short.mp4", clip)
    assert said in one_line(prepare(release).out) and said in call("check").err
    shutil.copy(CLIPS / "starts_at_1400_ms.mp4", clip)
    assert prepare(release).status == call("check", "--decode").status == 0


def test_check_finds_packages_and_entry_points_that_are_missing(
    expected: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(sample_release(tmp_path))
    points, version, find = metadata.entry_points, metadata.version, util.find_spec
    absent = ("decord", "tenacity")

    def version_of(name: str) -> str:
        if name in absent:
            raise metadata.PackageNotFoundError(name)
        return version(name)

    with monkeypatch.context() as patch:
        patch.setattr(metadata, "version", version_of)
        patch.setattr(environment, "find_spec", lambda name: None if name in absent else find(name))
        packages = call("check")
    warning = "decord is not installed: adapters of lmms-eval that read clips by it cannot run; our own models read"
    assert f"warning: {warning} by PyAV." in one_line(packages.out)
    models = "lmms_eval.models"
    monkeypatch.setattr(metadata, "entry_points", lambda **of: [] if of.get("group") == models else points(**of))
    entries = call("check")
    assert packages.status == entries.status == 1
    expected(packages.err + entries.err)


def test_prepare_mvp_lists_what_is_missing_per_source(tmp_path: Path) -> None:
    for subset in SUBSETS[1:]:
        for member in (1, 2):
            write_clip(tmp_path / "videos" / "pt" / f"{subset}_x_{member}.mp4")
    snapshot = write_snapshot(tmp_path, "full", {SUBSETS[0]: mvp_pair("s", source="ssv2")})
    words = ("--split", "full", "--source", snapshot, "--videos", tmp_path / "videos")
    out = printed("prepare", "mvp", *words)
    cells = [line.split() for line in out.splitlines()]
    assert ["pt", "7", "1", "0"] in cells and ["ssv2", "1", "1", "0"] in cells
    missing = "2 of 8 clips are missing: full/pt/s_1.mp4, full/pt/s_2.mp4. A run needs LMMS_EVAL_TASKS_MISSING=skip"
    assert f"warning: {missing} until" in one_line(out)


@pytest.mark.slow
def test_help_and_report_import_nothing_heavy(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", weak(), stratum={"type": "physical"})
    code = (
        "import sys; from lmms_eval_tasks.cli.app import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit as end: assert not end.code\n"
        "heavy = 'lmms_eval torch datasets transformers pyarrow av openai httpx networkx scipy.stats'\n"
        "assert not sys.modules.keys() & heavy.split(), sys.modules.keys() & heavy.split()"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(lmms_eval_tasks.__file__).parent.parent)}
    for words in (["--help"], ["report", str(run)]):
        command = [sys.executable, "-c", code, *words]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


SUBSET = "mvp_mini_robot_object_interactions"


def two_runs() -> list[Path]:
    stratum = {"type": "physical"}
    one = write_run(Path("weak_run"), weak(), stratum=stratum)
    return [one, write_run(Path("strong"), strong(), stratum=stratum, kind=SetKind.SAMPLE)]


def blind_runs() -> list[Path]:
    of = {"view": "blind", "kind": SetKind.SAMPLE}
    return [write_run(Path(name), weak(), (f"{SUBSET}_blind",), **of) for name in "ab"]  # type: ignore[arg-type]


def candidates() -> list[str]:
    rows = "1,a.mp4,Which way?,left,motion\n2,b.mp4,Which way?,right,motion\n"
    Path("c.csv").write_text(f"item_id,clip,question,answer,skill\n{rows}", encoding="utf-8")
    np.save("v.npy", np.eye(2))
    Path("ids.txt").write_text("a.mp4\nb.mp4\n", encoding="utf-8")
    return ["c.csv", "--embeddings", "v.npy", "--ids", "ids.txt", "--out", "pairs.csv"]


def prepared() -> list[str]:
    add_mvp_sample(3)
    return ["mvp"]


COMMANDS: dict[str, tuple[Callable[[], list[Any]], str]] = {
    "report": (lambda: ["report", *two_runs()], "NOT THE OFFICIAL RELEASE"),
    "report by": (lambda: ["report", *two_runs(), "--by", "type"], "NOT THE OFFICIAL RELEASE"),
    "compare": (lambda: ["compare", *two_runs()], "the other of sample data"),
    "bias": (lambda: ["bias", *prepared()], "SAMPLE DATA"),
    "humans": (lambda: ["humans", EXAMPLE / "responses.csv", "--items", EXAMPLE / "items.csv"], ""),
    "filter": (lambda: ["filter", "blind", *blind_runs(), "--out", "pairs.jsonl"], "NOT THE WHOLE RELEASE"),
    "mine": (lambda: ["mine", "pairs", *candidates()], ""),
}
"""How a command is called, and what it warns of."""


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_every_format_has_the_same_numbers_their_warnings_and_what_they_stand_on(
    name: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "40")
    words, warned = COMMANDS[name][0](), COMMANDS[name][1]
    written = {form: call(*words, "--format", form.value) for form in Format}
    shown = call(*words)
    assert {done.status for done in (*written.values(), shown)} == {0}, written
    # A program that reads finds nothing else there, and people read the notes beside it.
    assert all(done.err and done.err == written[Format.CSV].err for done in written.values())
    tables = json.loads(written[Format.JSON].out)["tables"]
    assert tables and all(table["signature"] and table["title"] for table in tables)
    cells = [cell for table in tables for row in table["rows"] for cell in row[table["names"] :]]
    numbers = [cell["value"] if isinstance(cell, dict) else cell for cell in cells if not isinstance(cell, str)]
    assert numbers and (name == "mine" or any("low" in str(table["rows"]) for table in tables))
    lines = list(csv.DictReader(io.StringIO(written[Format.CSV].out)))
    found = [float(line["value"]) if line["value"] else None for line in lines if not line["text"]]
    assert found == [None if number is None else pytest.approx(number) for number in numbers]
    latex, markdown = written[Format.LATEX].out, written[Format.MARKDOWN].out
    assert latex.count(r"\toprule") == latex.count(r"\bottomrule") == latex.count(r"\caption{") == len(tables)
    assert name == "mine" or "95\\% intervals" in latex
    if warned:
        assert warned in written[Format.JSON].out and all(warned in line["warnings"] for line in lines)
        assert all(text.count(warned) >= len(tables) for text in (latex, markdown))
    # A pipe gets a row a line, whatever the terminal has.
    rows, start = [line.strip() for line in shown.out.splitlines()], 0
    for table in tables:
        start = rows.index(table["title"], start)
        first = next(number for number in range(start, len(rows)) if "─" in rows[number]) + 1
        assert rows[first:].index("") == len(table["rows"])


COLUMNS = 100
COMMANDS_PAGE = commands_page()


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that can be run, with the words by which it is called; tests/pages/test_docs.py parses examples."""
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))
    if not hasattr(command, "commands"):
        yield path, command


def shown_help(*words: str) -> str:
    result = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": str(COLUMNS), "TERMINAL_WIDTH": ""})
    assert result.exit_code == 0, result.output
    assert max(map(len, result.output.splitlines())) <= COLUMNS
    return result.output


HEADING = re.compile(r"#+ `(.+)`")
OPTION = re.compile(r"\| `(.+?)` \|.*?((?: \[[^\[\]]*\])*) \|")


def test_what_options_are_where_they_are_not_given(expected: Any) -> None:
    """As the reference has them of our own commands: defaults, bounds, and which have to be given."""
    lines, command = [], ""
    for line in COMMANDS_PAGE.splitlines():
        if heading := HEADING.fullmatch(line):
            command = heading[1]
        elif (option := OPTION.fullmatch(line)) and "worlds" not in command.split():
            lines.append(f"{command} {option[1]}{option[2]}")
    expected("\n".join(lines))


def groups(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, below in getattr(command, "commands", {}).items():
        if hasattr(below, "commands"):
            yield (*path, name), below
            yield from groups(below, (*path, name))


def test_a_group_without_a_command_shows_its_help(expected: Any) -> None:
    lines = []
    for path, group in sorted(groups(typer.main.get_command(app))):
        if "worlds" not in path:
            shown = CliRunner().invoke(app, [*path])
            assert "─ Commands ─" in shown.output, path
            lines.append(f"{' '.join(path)} ({group.rich_help_panel}): {' '.join(group.help.split())}")
    expected("\n".join(lines))


def test_commands_are_in_groups_and_a_shell_completes_them() -> None:
    assert re.findall(r"^╭─ ([\w ]+?) ─+╮$", shown_help(), re.MULTILINE) == [
        "Options", "Data", "Run", "Look at results", "Compare and submit", "People", "Build a set", "Train",
        "One benchmark alone",
    ]  # fmt: skip
    environment = {"_LMMS_EVAL_TASKS_COMPLETE": "complete_bash", "COMP_WORDS": f"{NAME} re", "COMP_CWORD": "1"}
    result = CliRunner().invoke(app, [], prog_name=NAME, env=environment)
    assert result.output.split() == ["report", "rescore"] and "--install-completion" in shown_help()


def test_every_group_command_and_option_says_what_it_is() -> None:
    left: list[tuple[str, Any]] = [(NAME, typer.main.get_command(app))]
    silent, seen = [], 0
    while left:
        name, command = left.pop()
        seen += 1
        options = [one for one in command.params if one.name != "help"]
        silent += [f"{name} {one.name}" for one in options if not getattr(one, "help", "")]
        silent += [] if command.help or command.short_help else [name]
        left += [(f"{name} {word}", one) for word, one in getattr(command, "commands", {}).items()]
    assert silent == [] and seen > 40


@pytest.mark.slow
def test_a_command_has_two_examples_on_a_narrow_terminal_and_in_the_reference() -> None:
    for path, command in commands(typer.main.get_command(app)):
        _, examples = split_examples(command.epilog or "")
        words, printed = " ".join(path), shown_help(*path)
        assert len(set(examples)) >= 2 and all(f"{NAME} {words}" in line for line in examples), words
        assert f"# `{words}`\n" in COMMANDS_PAGE and all(f"\n{line}\n" in COMMANDS_PAGE for line in examples), words
        assert all(f" {line} " in printed for line in examples), printed
        assert "<bool>" not in printed, "a flag takes no value"
    assert "<bool>" not in shown_help()
