"""The run card that a real run leaves, and the run made again from it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from clip_libraries import write_broken_torchcodec
from host_run import HostRun, SampleWorld, qwen_arguments, run_host
from packaging.version import Version

from lmms_eval_tasks.host.model.identity import weights_identity
from lmms_eval_tasks.host.saving import closing_lines
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.runs.run_card import NOT_KNOWN, Sections, differences
from lmms_eval_tasks.runs.scores import read_scores, scores_of, scores_path, scores_text

pytestmark = pytest.mark.host

TASKS = "causalvqa_debug_paired,mvp_mini_intuitive_physics,cast_bench_open"
SECRET = "never-to-be-written-down"


@pytest.fixture(scope="module")
def floor(sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    return run_host(
        "--model", "random_answer", "--model_args", "seed=3", "--tasks", TASKS, "--limit", "6", "--seed", "1,2,3,4",
        home=sample_world.home, out=tmp_path_factory.mktemp("floor"), ranks=2,
        env={"LMMS_EVAL_TASKS_JUDGE": "none", "OPENAI_API_KEY": SECRET, "LMMS_EVAL_TASKS_NOTE": f"by {SECRET}"},
    )  # fmt: skip


def card_of(run: HostRun) -> Sections:
    assert run.status == 0 and len(list(run.out.rglob("*_run_card.json"))) == 1, run.output
    return read_run(run.out).card


def test_two_ranks_leave_one_card_that_says_what_ran(floor: HostRun, sample_world: SampleWorld) -> None:
    card = card_of(floor)
    assert [section for section in card if section.startswith("task ")] == [
        f"task {task}" for task in ("cast_bench_open", "causalvqa_debug_paired", "mvp_mini_intuitive_physics")
    ]
    for fields in card.values():
        assert SECRET not in str(fields)
    assert card["settings"]["LMMS_EVAL_TASKS_NOTE"] == "by [hidden]"
    opened, pairs, official = (card[section] for section in card if section.startswith("task "))
    assert (opened["prompt"], opened["judge"], opened["extractor"]) == ("cast_bench_open", "none", "a judge")
    assert (pairs["prompt"], pairs["official prompt"], pairs["data"]) == ("mcq_letter", "no", "sample data")
    assert (official["prompt"], official["official prompt"], official["version"]) == ("official", "yes", "2-B")
    assert pairs["data source"] == str(sample_world.folder / "causalvqa" / "CausalVQA")
    (signature,) = {record.fields["prompt"] for record in read_run(floor.out).records["causalvqa_debug_paired"]}
    assert signature == f"mcq_letter:{str(pairs['prompt sha256'])[:8]}"
    assert card["seeds"] == {"random": 1, "numpy": 2, "torch": 3, "fewshot": 4}
    assert (card["run"]["ranks"], card["run"]["limit"], card["model"]["arguments"]) == (2, 6, "seed=3")
    assert set(card[NOT_KNOWN]) <= {"model.checkpoint", "model.precision", "model.parameters"}
    assert set(card["known hazards"].values()) == {"does not apply"}


def test_two_ranks_leave_one_file_of_scores_and_end_with_a_line_a_task(floor: HostRun) -> None:
    """The lines stand below the host's table, once."""
    run = read_run(floor.out)
    written = scores_path(run.path).read_text(encoding="utf-8")
    assert written == scores_text(scores_of(run))
    assert [part.name for part in read_scores(scores_path(run.path)).parts] == list(run.records)
    lines = floor.output.rstrip().splitlines()
    assert lines[-5:] == [*closing_lines(scores_of(run), str(floor.out))]
    assert sum(line.startswith("lmms-eval-tasks report") for line in lines) == 1
    assert all(" groups; SAMPLE DATA, not the benchmark" in line for line in lines[-4:-1])


def test_a_run_that_logs_no_items_has_the_same_file_of_scores(sample_world: SampleWorld, tmp_path: Path) -> None:
    run = run_host(
        "--model", "random_answer", "--tasks", "mvp_mini", "--limit", "4",
        home=sample_world.home, out=tmp_path, log_samples=False,
    )  # fmt: skip
    (path,) = tmp_path.rglob("*_scores.json")
    scores = read_scores(path)
    assert {part.apart for part in scores.parts} == {"SAMPLE DATA, not the benchmark, --limit 4"}
    for part in scores.parts:
        leading = part.score(part.leading)
        assert leading.value == run.score(part.name, part.leading) is not None
        assert leading.low is not None and {"pairs_scored", "pair_accuracy_official"} <= {s.metric for s in part.scores}
    assert run.output.rstrip().splitlines()[-1].startswith("With --log_samples")


def test_a_run_made_from_a_card_scores_the_same(floor: HostRun, sample_world: SampleWorld, tmp_path: Path) -> None:
    card = card_of(floor)
    words = shlex.split(str(card["run"]["command"]))
    arguments = words[1 : words.index("--output_path")]
    settings = {name: str(value) for name, value in card["settings"].items() if value != "not set"}
    again = run_host(*arguments, home=sample_world.home, out=tmp_path, env=settings)
    for task in TASKS.split(","):
        assert again.scores(task) == floor.scores(task)
    differ = {(one.section, one.field) for one in differences([card, card_of(again)])}
    assert differ == {("run", "ranks"), ("hardware", "device")}


def run_qwen(weights: Path, world: SampleWorld, out: Path, **settings: Any) -> HostRun:
    asked = ("--tasks", "causalvqa_debug_paired", "--limit", "2")
    return run_host(*qwen_arguments(weights), *asked, home=world.home, out=out, **settings)


@pytest.fixture(scope="module")
def qwen(tiny_qwen: Path, sample_world: SampleWorld, tmp_path_factory: pytest.TempPathFactory) -> HostRun:
    return run_qwen(tiny_qwen, sample_world, tmp_path_factory.mktemp("qwen"))


def test_the_card_of_a_model_with_frames_and_weights(qwen: HostRun, tiny_qwen: Path) -> None:
    card = card_of(qwen)
    frames = card["frames"]
    assert (frames["frames"], frames["fps"]) == (4, "not set")
    assert (frames["least pixels"], frames["most pixels"]) == (3136, 25088)
    assert frames["reader"] == "qwen-vl-utils: decord"
    assert card["model"]["checkpoint"] == str(tiny_qwen)
    assert card["model"]["revision"] == f"a folder whose files are {weights_identity(str(tiny_qwen))}"
    assert '"max_new_tokens": 4' in str(card["task causalvqa_debug_paired"]["generation"])
    assert str(card["model"]["precision"]) == "bfloat16"
    applies = Version(str(card["software"]["transformers"])) >= Version("5.3.0")
    assert card["known hazards"]["qwen_text_inside_video"] == ("applies" if applies else "does not apply")
    assert card["known hazards"]["first_clip_frames"] == "does not apply"
    assert card["hardware"]["device"] == "cpu"


def test_a_run_whose_reader_cannot_be_used_is_read_by_ours(
    qwen: HostRun, tiny_qwen: Path, sample_world: SampleWorld, tmp_path: Path
) -> None:
    broken = write_broken_torchcodec(tmp_path / "packages")
    run = run_qwen(tiny_qwen, sample_world, tmp_path / "out", warm=False, env={"PYTHONPATH": str(broken)})
    card = card_of(run)
    assert card["frames"]["reader"] == "qwen-vl-utils: pyav in place of torchcodec"
    assert card["known hazards"]["clip_reader_replaced"] == "applies"
    assert "which cannot be used here (RuntimeError: Could not load libtorchcodec). They are read by PyAV" in run.output
    task = "causalvqa_debug_paired"
    ours, theirs = ([sample["filtered_resps"] for sample in one.samples(task)] for one in (run, qwen))
    assert ours == theirs and len(ours) == 2
