"""The run card that a real run leaves, and the run made again from it."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
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
    assert (official["prompt"], official["official prompt"], official["version"]) == ("official", "yes", "4-A")
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


def test_the_card_of_a_model_with_frames_and_weights(
    tiny_qwen: Path, sample_world: SampleWorld, tmp_path: Path
) -> None:
    asked = ("--tasks", "causalvqa_debug_paired", "--limit", "2")
    card = card_of(run_host(*qwen_arguments(tiny_qwen), *asked, home=sample_world.home, out=tmp_path))
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
