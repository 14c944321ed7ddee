"""The page on sharing: its commands run, and its statements about loggers hold."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet
import pytest
from docs import ROOT, blocks, run_all
from eee_schema import read_schema
from exported_runs import write_exported_run
from host_run import run_host
from logged_runs import TASK, strong, weak, write_run
from sample_runs import prepared_sample
from typer.testing import CliRunner

import lmms_eval_tasks
from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.export.hub import RESULTS, SECTION, export_hub
from lmms_eval_tasks.utils.data.card import DataSet, SetKind

PAGE = ROOT / "docs" / "sharing.md"
EXPORTS, LOGGED = blocks(PAGE)[:-1], blocks(PAGE)[-1]


def test_the_export_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    monkeypatch.chdir(tmp_path)
    write_exported_run(Path("out", "qwen"))
    commands = [words for block in EXPORTS for words in block.commands()]
    assert [words[1:3] for words in commands] == [["export", "hub"], ["export", "every-eval-ever"]]
    run_all(commands)
    assert [path.name for path in Path("qwen-repository", ".eval_results").iterdir()] == ["mvp.yaml"]
    assert Path("qwen-repository", "model_card_section.md").is_file()
    (path,) = Path("eee").glob("data/mvp/Qwen/Qwen2.5-VL-7B-Instruct/*.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["model_info"]["additional_details"]["model_availability"] == "open_weights"
    jsonschema.Draft7Validator(read_schema()).validate(record)


def test_its_examples_are_what_is_written(tmp_path: Path) -> None:
    files, _ = export_hub([write_exported_run(tmp_path / "qwen")])
    for path, form in ((Path(RESULTS, "mvp.yaml"), "yaml"), (Path(SECTION), "markdown")):
        (shown,) = re.findall(rf"```{form}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
        assert shown == files[path].replace(f"lmms-eval-tasks {lmms_eval_tasks.__version__}", "lmms-eval-tasks 0.1.0")


def test_sample_data_is_refused_as_it_says_and_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_exported_run(Path("out", "sampled"), data=DataSet(kind=SetKind.SAMPLE), model={"name": "m"})
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    given = ["out/sampled", "--out", "made"]
    for words in (["hub", *given], ["every-eval-ever", *given, "--evaluator", "Lab", "--relation", "other"]):
        refused = CliRunner().invoke(app, ["export", *words])
        assert (refused.exit_code, refused.output) == (1, shown)
    assert not Path("made").exists()


@pytest.mark.host
def test_the_hosts_logger_gets_the_scores_and_no_item(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    home = prepared_sample(tmp_path_factory)
    exported, (program, *arguments) = LOGGED.commands()
    place = arguments.index("--output_path")
    del arguments[place : place + 2]
    assert (exported, program) == (["export", "WANDB_MODE=offline"], "lmms-eval") and "--wandb_args" in arguments
    folders = {"WANDB_DIR": str(tmp_path), "WANDB_DATA_DIR": str(tmp_path / "artifacts")}
    run = run_host(*arguments, home=home, out=tmp_path / "out", env={"WANDB_MODE": "offline", **folders})
    assert run.status == 0 and "Logging to Weights and Biases failed" not in run.output, run.output
    (logged,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    assert b"causalvqa_debug_paired/pair_accuracy" in logged.read_bytes()
    (table,) = tmp_path.glob("wandb/offline-run-*/files/media/table/evaluation/eval_results_*.table.json")
    scores = run.results()["results"][TASK]
    rows = {row[4]: row[5] for row in json.loads(table.read_text(encoding="utf-8"))["data"]}
    assert rows["pair_accuracy"] == str(scores["pair_accuracy,none"])
    rows_asked = pyarrow.parquet.read_table(home / "causalvqa" / "debug.parquet").to_pylist()
    texts = {text for row in rows_asked for text in (row["question"], row["item_id"], row["clip"], *row["options"])}
    sent = read_all(tmp_path / "wandb") + read_all(tmp_path / "artifacts") + json.dumps(run.results()).encode()
    # A short option, or an id of a few digits, is part of other words.
    assert not [text for text in texts if len(text) > 8 and text.encode() in sent]
    assert sum(len(text) > 8 for text in texts) > 10


def read_all(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.slow
def test_samples_of_the_hosts_logger_have_questions_and_keys() -> None:
    """Why they are refused: this is what becomes the table of a task whose items enter every score."""
    from lmms_eval.loggers import WandbLogger

    sample = {
        "doc_id": 0, "target": "B", "arguments": [["Which falls?"]], "resps": [["B."]], "filtered_resps": ["B."],
        "score": {"value": 100.0},
    }  # fmt: skip
    config = {"output_type": "generate_until", "metric_list": [{"metric": "score"}]}
    logger = object.__new__(WandbLogger)
    (row,) = logger._generate_dataset([sample], config).to_dict("records")
    assert (row["data"], row["labels"], row["raw_predictions"]) == ("Which falls?", "B", "B.")
    with pytest.raises(KeyError):
        logger._generate_dataset([sample], config | {"metric_list": [{"metric": "another_score"}]})


def test_scores_go_to_tensorboard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard", reason="needs tensorboard, which the extra `dev` installs")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.chdir(tmp_path)
    for step, right in ((100, weak(12)), (200, strong(12))):
        write_run(Path("out") / f"ckpt-{step}", right, stratum={"type": "descriptive", "difficulty": "easy"})
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(code, str(PAGE), "exec"), {})
    events = EventAccumulator("tensorboard").Reload()
    assert [(one.step, round(one.value)) for one in events.Scalars(f"{TASK}/pair_accuracy")] == [(100, 33), (200, 75)]
