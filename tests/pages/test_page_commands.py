"""Pages whose commands run on made runs: curation, runs, sharing and statistics; and what else these pages say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from beside_people import EXAMPLE, FIRST, SECOND, write_example_run
from commands import refusal
from docs import ROOT, blocks, commands_of, run_all
from exported_runs import exported_run
from host_run import run_host
from logged_runs import TASK, strong, weak, write_run
from sample_runs import at, prepared_sample
from task_states import task_state
from yocausal_world import read_metadata, write_release

import lmms_eval_tasks
from lmms_eval_tasks.export.every_eval_ever import SCHEMA, Evaluator, Relationship, export_run
from lmms_eval_tasks.export.hub import RESULTS, SECTION, export_hub
from lmms_eval_tasks.host.card_facts import gather
from lmms_eval_tasks.host.model.identity import ModelFacts
from lmms_eval_tasks.host.tasks.running import Evaluation, FinishedRun
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.hazards import KNOWN_HAZARDS, RunFacts
from lmms_eval_tasks.runs.run_card import HAZARDS, NOT_KNOWN
from lmms_eval_tasks.runs.run_card import TASK as TASK_SECTION
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.data.home import table_path
from lmms_eval_tasks.utils.people.agreement import (
    find_consistency,
    run_with_people,
    share_items,
    share_options,
    two_people,
)
from lmms_eval_tasks.utils.people.responses import read_human_responses, read_items
from lmms_eval_tasks.utils.scoring.bootstrap import macro_interval
from lmms_eval_tasks.utils.scoring.compare import effect_above_chance
from lmms_eval_tasks.yocausal import prepare as released
from lmms_eval_tasks.yocausal.card import SUBSETS

CURATION, RUNS, SHARING, STATISTICS = (
    ROOT / "docs" / f"{name}.md" for name in ("curation", "runs", "sharing", "statistics")
)
STUDY = "yocausal"
"""Named in the commands on a study of pairs of clips, which have other responses and a prepared benchmark."""
pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def in_a_line(page: Path) -> str:
    return " ".join(page.read_text(encoding="utf-8").split())


def examples(page: Path, form: str) -> list[str]:
    return re.findall(rf"```{form}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_the_commands_on_curation_run() -> None:
    subset = "mvp_mini_temporal_reasoning"
    Path("candidates.csv").write_text("item_id,clip,question,answer\n1,a,Where?,left\n2,b,Where?,right\n")
    Path("clips.txt").write_text("a\nb\n")
    np.save("clips.npy", np.eye(2))
    for model, right in (("qwen", weak()), ("llava", strong())):
        for seed in (1, 2):
            view = f"single_frame_random{seed}"
            write_run(Path("out", f"{model}-{seed}", model), right, (f"{subset}_{view}",), view=view, frame=seed)
        write_run(Path("out", f"{model}-blind", model), right, (f"{subset}_blind",), view="blind")
    # A prepared split has to be prepared, a run made, and a vision model downloaded: those are run in other tests.
    commands = [
        words
        for words in commands_of(CURATION)
        if words[1] in ("mine", "filter") and ":" not in words[3] and "embed" not in words
    ]
    assert len(commands) == 3
    run_all(commands)
    assert all(Path(name).read_text() for name in ("pairs.jsonl", "frames.jsonl", "blind.jsonl"))


def test_the_commands_on_runs_are_taken() -> None:
    for name in ("first", "second"):
        write_run(Path("out", name), weak(), card={"run": {"limit": "none"}})
    commands = commands_of(RUNS)
    named = "report report report report tasks --power-analysis --model rescore submit rescore rescore rescore"
    assert " ".join(words[1] for words in commands) == named
    run_all(commands[:4])


def test_every_field_of_a_card_is_on_the_page_on_runs_and_no_other() -> None:
    model = SimpleNamespace(engine=SimpleNamespace(facts={"steps": 10}))
    run = FinishedRun(Evaluation(clips_needed=False), ModelFacts(model))
    configs = {}
    for task in ("cast_bench", "cast_bench_open"):  # which have all fields that a task can have
        task_state(task, run.evaluation)
        configs[task] = {"lmms_eval_specific_kwargs": {"prompt": "any"}}
    fields: defaultdict[str, set[str]] = defaultdict(set)
    for section, values in gather({"configs": configs}, run).items():
        fields["task NAME" if section.startswith(TASK_SECTION) else section] |= set(values)
    fields[HAZARDS] = {"NAME"}
    fields["hazard NAME"] = set(KNOWN_HAZARDS["decord_other_frames"].found(RunFacts()))
    # Only where a file beside the weights says so.
    fields["model"] |= {"trained on"}
    assert {name for name in fields["settings"] if name.startswith("LMMS_EVAL_TASKS_")}
    fields["settings"] = {re.sub("(?<=^LMMS_EVAL_TASKS_).*", "…", name) for name in fields["settings"]}
    page: defaultdict[str, set[str]] = defaultdict(set)
    section = ""
    for first, names in re.findall(r"^\| (.*?) ?\| (.*?) \| .* \|$", RUNS.read_text(encoding="utf-8"), re.MULTILINE):
        section = first.strip("` ") or section
        page[section] |= set(re.findall("`([^`]+)`", names))
    assert NOT_KNOWN in page
    fields.pop(NOT_KNOWN, None)
    assert {section: page[section] for section in fields} == fields


def read_schema() -> dict[str, Any]:
    """The schema of Every Eval Ever, of its own wheel: its package needs a newer Python and another huggingface_hub."""
    kept = Path(tempfile.gettempdir(), "lmms-eval-tasks-tests")
    path = kept / "every_eval_ever-0.3.0-py3-none-any.whl"
    if not path.is_file():
        fetch = "-m pip download --quiet --disable-pip-version-check --no-deps --python-version 3.12 --retries 1"
        of = ["--only-binary=:all:", "--timeout", "20", "every-eval-ever==0.3.0", "--dest", str(kept)]
        fetched = subprocess.run([sys.executable, *fetch.split(), *of], capture_output=True, text=True)
        if fetched.returncode or not path.is_file():
            pytest.skip(f"needs the wheel of every-eval-ever 0.3.0, which pip cannot get here: {fetched.stderr[-300:]}")
    with zipfile.ZipFile(path) as wheel:
        return dict(json.loads(wheel.read("every_eval_ever/schemas/eval.schema.json")))


@pytest.mark.slow
def test_the_commands_on_sharing_run_and_their_files_are_valid() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    exported_run(Path("out", "qwen"))
    commands = [words for block in blocks(SHARING)[:-1] for words in block.commands()]
    assert [words[1:3] for words in commands] == [["export", "hub"], ["export", "every-eval-ever"]]
    run_all(commands)
    assert [path.name for path in Path("qwen-repository", ".eval_results").iterdir()] == ["mvp.yaml"]
    assert Path("qwen-repository", "model_card_section.md").is_file()
    (path,) = Path("eee").glob("data/mvp/Qwen/Qwen2.5-VL-7B-Instruct/*.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["model_info"]["additional_details"]["model_availability"] == "open_weights"
    schema = jsonschema.Draft7Validator(read_schema())
    assert schema.schema["version"] == SCHEMA
    others = (exported_run(Path("own"), data=DataSet(kind=SetKind.OWN, items=120)), exported_run(Path("other"), TASK))
    for run in others:
        files, _ = export_run(run, "Qwen/some", Evaluator("Lab", Relationship.OTHER))
        schema.validate(json.loads(*files.values()))
    schema.validate(record)
    record["model_info"]["additional_details"]["frames"] = 16
    assert not schema.is_valid(record)


def test_examples_and_the_refusal_on_sharing_are_what_is_written_and_said(tmp_path: Path) -> None:
    files, _ = export_hub([exported_run(tmp_path / "qwen")])
    for path, form in ((Path(RESULTS, "mvp.yaml"), "yaml"), (Path(SECTION), "markdown")):
        written = files[path].replace(f"lmms-eval-tasks {lmms_eval_tasks.__version__}", "lmms-eval-tasks 0.1.0")
        assert examples(SHARING, form) == [written]
    exported_run(Path("out", "sampled"), data=DataSet(kind=SetKind.SAMPLE), model={"name": "m"})
    given = ["out/sampled", "--out", "made"]
    for words in (["hub", *given], ["every-eval-ever", *given, "--evaluator", "Lab", "--relation", "other"]):
        assert examples(SHARING, "text") == [refusal("export", *words)]
    assert not Path("made").exists()


@pytest.mark.host
def test_the_hosts_logger_gets_the_scores_and_no_item(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = prepared_sample(tmp_path_factory)
    exported, (program, *arguments) = blocks(SHARING)[-1].commands()
    place = arguments.index("--output_path")
    del arguments[place : place + 2]
    assert (exported, program) == (["export", "WANDB_MODE=offline"], "lmms-eval") and "--wandb_args" in arguments
    folders = {"WANDB_DIR": str(tmp_path), "WANDB_DATA_DIR": str(tmp_path / "artifacts")}
    run = run_host(*arguments, home=home, out=tmp_path / "out", env={"WANDB_MODE": "offline", **folders})
    assert run.status == 0 and "Logging to Weights and Biases failed" not in run.output, run.output
    (logged,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    assert b"causalvqa_debug_paired/pair_accuracy" in logged.read_bytes()
    (table,) = tmp_path.glob("wandb/offline-run-*/files/media/table/evaluation/eval_results_*.table.json")
    rows = {row[4]: row[5] for row in json.loads(table.read_text(encoding="utf-8"))["data"]}
    assert rows["pair_accuracy"] == str(run.results()["results"][TASK]["pair_accuracy,none"])
    asked = pyarrow.parquet.read_table(home / "causalvqa" / "debug.parquet").to_pylist()
    texts = {text for row in asked for text in (row["question"], row["item_id"], row["clip"], *row["options"])}
    # A short option, or an id of a few digits, is part of other words.
    texts = {text for text in texts if len(text) > 8}
    sent = [path.read_bytes() for name in ("wandb", "artifacts") for path in Path(name).rglob("*") if path.is_file()]
    everything = b"\n".join([*sent, json.dumps(run.results()).encode()])
    assert len(texts) > 10 and not [text for text in texts if text.encode() in everything]


def test_scores_go_to_tensorboard() -> None:
    pytest.importorskip("tensorboard", reason="needs tensorboard, which the extra `dev` installs")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for step, right in ((100, weak(12)), (200, strong(12))):
        write_run(Path("out") / f"ckpt-{step}", right, stratum={"type": "descriptive", "difficulty": "easy"})
    (code,) = examples(SHARING, "python")
    exec(compile(code, str(SHARING), "exec"), {})
    events = EventAccumulator("tensorboard").Reload()
    assert [(one.step, round(one.value)) for one in events.Scalars(f"{TASK}/pair_accuracy")] == [(100, 33), (200, 75)]


def is_of_study(words: list[str]) -> bool:
    return any(STUDY in word for word in words)


@pytest.mark.slow
def test_the_commands_on_statistics_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    for name, right in (("first", weak()), ("second", strong()), ("third", strong())):
        write_run(Path("out") / name, right, question="Which?", keys="AB")
    for name, answers in (("qwen", FIRST), ("llava", SECOND)):
        write_example_run(Path("out") / name, answers)
    shutil.copy(EXAMPLE / "responses.csv", "people.csv")
    shutil.copy(EXAMPLE / "items.csv", "items.csv")
    commands = [words for words in commands_of(STATISTICS) if words[0] != "lmms-eval" and not is_of_study(words)]
    assert len(commands) == 8
    with at(prepared_sample(tmp_path_factory)):
        run_all(commands)
    columns = Path("questions.csv").read_text(encoding="utf-8").partition("\n")[0]
    assert columns.endswith(f'disputed,"run 1, {TASK}","run 2, {TASK}"')


@pytest.mark.slow
def test_the_commands_on_a_study_of_pairs_run(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release in place of the one on the hub is the sample's, of which people can tell the first pair alone."""
    release = write_release(tmp_path / "release", pairs=1)
    monkeypatch.setattr(released, "download_dataset", lambda *_: (release, None))
    pairs = [f"{subset}_{entry['id']}" for subset in SUBSETS for entry in read_metadata(release, subset)]
    responses = [f"{item},forward_first,a{n},{'first' if n else 'second'}" for n, item in enumerate(pairs)]
    Path("people.csv").write_text("\n".join(["item,version,annotator,choice", *responses]) + "\n", encoding="utf-8")
    commands = [words for words in commands_of(STATISTICS) if is_of_study(words)]
    assert len(commands) == 2
    run_all([["lmms-eval-tasks", "prepare", STUDY], *commands])
    rows = pyarrow.parquet.read_table(table_path(STUDY, "test")).to_pylist()
    assert {row["item_id"] for row in rows if row["human_discriminable"]} == {pairs[0]}


def test_the_numbers_on_statistics(tmp_path: Path) -> None:
    """The worked example by hand, with 12 items, in units of a thirty-sixth: people are right on 25 of 36."""
    page = in_a_line(STATISTICS)
    low, high = macro_interval([[(100.0, 1.0)] * 20])
    assert f"20 of 20 right is [{low:.1f}, {high:.0f}]" in page
    single, pair = (100 * effect_above_chance(793, chance) for chance in (0.2, 0.04))
    assert f"exceed 20 by {single:.1f} points" in page and f"4 by {pair:.1f} points" in page
    asked = read_items(EXAMPLE / "items.csv")
    run = read_run(write_example_run(tmp_path / "first"))
    shared = share_items(read_human_responses(EXAMPLE / "responses.csv", asked), asked, [run.records])
    found = find_consistency(shared.items, lambda item: run_with_people(item, 0))
    people = find_consistency(shared.items, two_people)
    options = share_options(shared.items, 0)
    assert found is not None and found.bounds is not None and people is not None and options is not None
    expected = 7 / 12 * 25 / 36 + 5 / 12 * 11 / 36
    assert (*found.right, found.agreement) == pytest.approx((7 / 12, 25 / 36, 8 / 12))
    assert (found.expected, found.kappa) == pytest.approx((expected, (8 / 12 - expected) / (1 - expected)))
    assert found.bounds == pytest.approx(((10 / 36 - expected) / (1 - expected), (32 / 36 - expected) / (1 - expected)))
    by_chance = (25 / 36) ** 2 + (11 / 36) ** 2
    assert people.kappa == pytest.approx((22 / 36 - by_chance) / (1 - by_chance))
    assert (options.errors, options.alone, options.same, options.expected) == pytest.approx((2, 1, 75, 25))
    assert f"People are right in {100 * found.right[1]:.1f}%, so c = {100 * found.expected:.1f}%" in page
    assert f"alike on {100 * found.agreement:.1f}%: κ = {found.kappa:.2f}, at most {found.bounds[1]:.2f}" in page
    assert f"among each other have {people.kappa:.2f}" in page
    assert f"{options.same:.1f}% of these errors are the same option, where {options.expected:.1f}% are" in page
