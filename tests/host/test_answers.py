"""Answers that are kept as they come: what is asked again, what is not, and what tells two answers apart."""

from __future__ import annotations

import copy
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tqdm as bars
from judge_server import JudgeServer, Say
from kept_answers import kept_answers, kept_files, kept_lines
from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts
from lmms_eval.api.model import lmms
from lmms_eval.models.chat.async_openai import AsyncOpenAIChat
from loguru import logger

from lmms_eval_tasks.host.asking import kept_answers as answers
from lmms_eval_tasks.host.asking.kept_answers import KeptAnswers, answers_folder
from lmms_eval_tasks.host.asking.stages import AskedModel
from lmms_eval_tasks.host.model import identity
from lmms_eval_tasks.host.model.identity import Weights, find_arguments
from lmms_eval_tasks.host.replacements import CREATE, replace
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import ItemKey
from lmms_eval_tasks.utils.answers.opening import NO_CONTENT

GREEDY: dict[str, Any] = {"max_new_tokens": 16, "temperature": 0}
SAMPLED: dict[str, Any] = {"temperature": 0.7, "do_sample": True}
tqdm = bars.tqdm
"""As an adapter has it in its module."""


class Killed(BaseException):
    """Ends a run from within."""


class Model(lmms):  # type: ignore[misc]
    """Answers with the prompt, the clip's text, and the number of the request; notes what it was asked in each call."""

    def __init__(self, stop_at: int | None = None, batch_size: int = 1, say: str | None = None, **more: Any) -> None:
        super().__init__()
        self.calls: list[list[str]] = []
        self.silent: list[bool] = []
        self.stop_at, self.batch_size, self.say = stop_at, batch_size, say
        vars(self).update(more)

    @property
    def asked(self) -> list[str]:
        return [item for call in self.calls for item in call]

    def generate_until(self, requests: list[Instance]) -> list[Any]:
        self.calls.append([])
        self.silent.append(bool(tqdm(disable=False).disable))
        responses = []
        for request in requests:
            row = self.task_dict[request.args[-2]]["test"][request.args[-3]]
            if self.stop_at is not None and len(self.asked) == self.stop_at:
                raise Killed
            self.calls[-1].append(row["item_id"])
            clip = Path(row["clip"]).read_text(encoding="utf-8")
            said = f"{request.args[0]} {clip} {len(self.asked)}" if self.say is None else self.say
            responses.append(GenerationResult(said, TokenCounts(output_tokens=len(said))))
        return responses

    def loglikelihood(self, requests: Any) -> Any:
        raise NotImplementedError

    def generate_until_multi_round(self, requests: Any) -> Any:
        raise NotImplementedError


class World:
    """A task with items on disk, and runs over them."""

    def __init__(self, folder: Path, items: int = 5) -> None:
        self.folder, self.out = folder, folder / "out"
        self.rows = []
        for number in range(items):
            clip = folder / f"{number}.mp4"
            clip.write_text(f"clip {number}", encoding="utf-8")
            self.rows.append({"item_id": f"item-{number}", "clip": str(clip), "question": "What?"})

    def requests(self, generation: dict[str, Any] = GREEDY, repeats: int = 1, task: str = "ours") -> list[Instance]:
        metadata = {"task": task, "repeats": repeats}
        made = [
            Instance(
                "generate_until",
                (row["question"], dict(generation), None, number, task, "test"),
                0,
                {**metadata, "doc_id": number},
            )
            for number, row in enumerate(self.rows)
        ]
        return [request for request in made for _ in range(repeats)]

    def run(
        self,
        model: Model,
        requests: list[Instance] | None = None,
        arguments: str = "pretrained=tiny",
        out: str | None = "",
        **settings: Any,
    ) -> tuple[list[str], Evaluation]:
        evaluation = Evaluation()
        evaluation.tasks["ours"] = SimpleNamespace(  # type: ignore[assignment]
            pointer={"benchmark": "some", "split": "test"},
            answered_items=lambda table: lambda row: ItemKey(table[row]["item_id"], (Path(table[row]["clip"]),), {}),
        )
        model.task_dict = {task: {"test": self.rows} for task in ("ours", "theirs")}
        setattr(model, identity.ARGUMENTS, arguments)
        command = SimpleNamespace(output_path=str(self.out) if out == "" else out, seed=settings.pop("seed", None))
        before = dict(vars(model))
        with AskedModel(model, KeptAnswers(model, evaluation, {"cli_args": command, **settings})).lasting():
            responses = model.generate_until(self.requests() if requests is None else requests)
        assert vars(model).keys() == before.keys(), "the model is left as it was"
        return [one if isinstance(one, str) else one.text for one in responses], evaluation


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    return World(tmp_path)


@pytest.fixture
def log() -> Iterator[list[str]]:
    lines: list[str] = []
    sink = logger.add(lines.append, format="{message}")
    yield lines
    logger.remove(sink)


def test_an_interrupted_run_goes_on_and_asks_nothing_twice(world: World, log: list[str]) -> None:
    first, second = Model(stop_at=3), Model()
    with pytest.raises(Killed):
        world.run(first)
    answers, evaluation = world.run(second)
    assert (first.asked, second.asked) == (["item-0", "item-1", "item-2"], ["item-3", "item-4"])
    assert answers == ["What? clip 0 1", "What? clip 1 2", "What? clip 2 3", "What? clip 3 1", "What? clip 4 2"]
    assert evaluation.answers_kept == 3
    assert sum("3 answers kept from before" in line for line in log) == 1


def test_token_counts_are_kept_with_the_answer(world: World) -> None:
    world.run(Model())
    model = Model()
    setattr(model, identity.ARGUMENTS, "pretrained=tiny")
    assert world.run(model)[0] and not model.asked
    lines = kept_lines(world.out)
    assert [line["item"] for line in lines] == [row["item_id"] for row in world.rows]
    assert all(line["tokens"]["output_tokens"] == len(line["text"]) for line in lines)


@pytest.mark.parametrize(
    "change",
    [
        lambda world: {"arguments": "pretrained=other"},
        lambda world: {"requests": world.requests({**GREEDY, "max_new_tokens": 8})},
        lambda world: {"system_instruction": "Be brief."},
        lambda world: [row.update(question="Why?") for row in world.rows] and {},
        lambda world: [row.update(item_id=f"{row['item_id']}-b") for row in world.rows] and {},
        lambda world: [Path(row["clip"]).write_text("another", encoding="utf-8") for row in world.rows] and {},
    ],
    ids=["arguments", "generation settings", "system instruction", "prompt", "item", "clip"],
)
def test_whatever_changes_an_answer_asks_again(world: World, change: Callable[[World], dict[str, Any]]) -> None:
    world.run(Model())
    model = Model()
    world.run(model, **change(world))
    assert len(model.asked) == 5


def test_other_versions_and_weights_ask_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = world.folder / "weights"
    weights.mkdir()
    for number in range(2):
        (weights / "model.safetensors").write_text("x" * (number + 1), encoding="utf-8")
        model = Model()
        world.run(model, arguments=f"pretrained={weights},max_num_frames=8")
        assert len(model.asked) == 5
    monkeypatch.setattr(identity, "installed_version", lambda package: f"{package} of tomorrow")
    model = Model()
    world.run(model, arguments=f"pretrained={weights},max_num_frames=8")
    assert len(model.asked) == 5


def test_a_server_that_an_argument_overrides_asks_nothing_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (arguments, asked) in enumerate([("base_url=http://a/v1", 0), ("model=b", 5)]):
        world.run(Model(), arguments=arguments)
        model = Model()
        monkeypatch.setenv("OPENAI_API_BASE", f"http://{number}/v1")
        world.run(model, arguments=arguments)
        assert len(model.asked) == asked


def test_an_answer_goes_with_the_item_and_not_with_its_place(world: World) -> None:
    world.run(Model())
    world.rows.reverse()
    model = Model()
    answers, _ = world.run(model)
    assert not model.asked and answers[0] == "What? clip 4 5"


def test_each_repeat_is_an_answer_of_its_own(world: World) -> None:
    first, second = Model(stop_at=3), Model()
    with pytest.raises(Killed):
        world.run(first, world.requests(SAMPLED, repeats=2))
    answers, _ = world.run(second, world.requests(SAMPLED, repeats=2))
    assert second.asked == ["item-1", "item-2", "item-2", "item-3", "item-3", "item-4", "item-4"]
    assert len(set(answers)) == 10
    other_seeds = Model()
    world.run(other_seeds, world.requests(SAMPLED, repeats=2), seed=[1, 2, 3, 4])
    assert len(other_seeds.asked) == 10


def test_sampled_answers_are_not_kept_where_all_runs_meet(world: World) -> None:
    for _ in range(2):
        model = Model()
        world.run(model, world.requests(SAMPLED), out=None)
        assert len(model.asked) == 5
    for expected in (5, 0):
        model = Model()
        world.run(model, out=None)
        assert len(model.asked) == expected


@pytest.mark.parametrize(
    "say", ["", " \n", "[LMMS_EVAL_REQUEST_FAILED after 3 retries] busy", "[LMMS_EVAL_BUDGET_EXCEEDED]"]
)
def test_what_is_no_answer_is_not_kept(world: World, say: str) -> None:
    assert world.run(Model(say=say))[0] == [say] * 5
    assert not kept_lines(world.out)
    model = Model()
    world.run(model)
    assert len(model.asked) == 5


@pytest.mark.parametrize("text", ["[LMMS_EVAL_BUDGET_EXCEEDED]", NO_CONTENT])
def test_what_an_earlier_version_kept_in_place_of_an_answer_is_asked_again(world: World, text: str) -> None:
    world.run(Model())
    change_lines(world, lambda lines: [json.dumps({**json.loads(lines[0]), "text": text}) + "\n", *lines[1:]])
    model = Model()
    world.run(model)
    assert model.asked == ["item-0"]


@pytest.mark.parametrize(
    ("model", "sizes"),
    [
        (Model(batch_size=2), [2, 2, 1]),
        (Model(batch_size="auto"), [1] * 5),
        (Model(batch_size=1, _workers=["cuda:0", "cuda:1"]), [2, 2, 1]),
        (Model(batch_size=1, num_concurrent=1), [1] * 5),
        (Model(batch_size=1, num_concurrent=2), [5]),
        (
            Model(num_concurrent=1, adaptive_concurrency=True, adaptive_config=SimpleNamespace(max_concurrency=16)),
            [5],
        ),
    ],
)
def test_an_adapter_gets_what_it_can_answer_at_once(world: World, model: Model, sizes: list[int]) -> None:
    world.run(model)
    assert [len(call) for call in model.calls] == sizes
    assert all(model.silent) and not tqdm(disable=False).disable


@pytest.mark.parametrize("at_once", [1, 4])
def test_async_openai_sends_each_request_once_also_where_it_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    world = World(tmp_path, items=40)

    def run(url: str) -> list[str]:
        requests = world.requests()
        for request in requests:
            content = [{"type": "text", "text": f"Item {request.args[3]}"}]
            message = {"role": "user", "content": content}
            request.arguments = (*request.args[:1], lambda row, m=message: [m], *request.args[1:2], *request.args[3:])
        return world.run(AsyncOpenAIChat(base_url=url, api_key="none", num_cpus=at_once), requests)[0]

    def interrupt(prompt: str, before: int) -> Say:
        if sum(server.asked.values()) == 20:
            os.kill(os.getpid(), signal.SIGINT)
        return Say(f"Answer to {prompt}")

    expected = [f"Answer to Item {number}" for number in range(40)]
    with JudgeServer(interrupt, protocol="HTTP/1.1") as server:
        with pytest.raises(KeyboardInterrupt):
            run(server.url)
        server.script = lambda prompt, before: Say(f"Answer to {prompt}", delay=0.02)
        assert run(server.url) == run(server.url) == expected
        assert len(server.asked) == 40 and sum(server.asked.values()) - 40 <= at_once, "only what was under way"
    with JudgeServer(server.script, protocol="HTTP/1.1") as server:
        assert run(server.url) == expected
        assert set(server.asked.values()) == {1} and server.most_at_once == at_once


def test_batches_are_those_of_a_whole_run(world: World) -> None:
    world.run(Model(batch_size=2))
    change_lines(world, lambda lines: [line for line in lines if json.loads(line)["item"] != "item-2"])
    world.rows.append({**world.rows[0], "item_id": "item-5"})
    model = Model(batch_size=2)
    world.run(model)
    assert model.calls == [["item-2"], ["item-5"]]


def test_other_peoples_tasks_are_asked_at_once_and_never_kept(world: World) -> None:
    for expected in ([5, 1, 1, 1, 1, 1], [5]):
        model = Model()
        answers, _ = world.run(model, [*world.requests(), *world.requests(task="theirs")])
        assert [len(call) for call in model.calls] == expected
        assert len(answers) == 10 and all(answers)


def padded(world: World) -> list[Instance]:
    """Requests as lmms-eval pads them, where another rank has one more."""
    requests = world.requests()
    more = copy.copy(requests[-1])
    more.metadata = {**more.metadata, "__padding_only__": True}
    return [*requests, more]


def test_padding_is_asked_only_where_ranks_compute_in_step(world: World) -> None:
    model = Model()
    world.run(model, padded(world))
    assert len(model.asked) == 5
    (world.out / "answers").rename(world.out / "aside")
    for expected in (6, 0):
        sharded = Model(batch_size=4, accelerator=SimpleNamespace(distributed_type="DistributedType.FSDP"))
        world.run(sharded, padded(world))
        assert len(sharded.asked) == expected


def test_ranks_in_step_ask_a_part_of_which_one_lacks_an_answer(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run(Model())
    gathered: list[Any] = []

    def both_ranks(value: Any) -> list[Any]:
        gathered.append(value)
        return [value, {1}] if isinstance(value, set) else [value, value]

    monkeypatch.setattr(answers, "gather_objects", both_ranks)
    model = Model(batch_size=2, _tp_world_size=2)
    _, evaluation = world.run(model)
    assert model.calls == [["item-2", "item-3"]]
    assert gathered == [5, set()] and evaluation.answers_kept == 10


def test_one_setting_turns_it_off_or_names_the_folder(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answers_folder(None) == world.folder / "home" / "answers"
    monkeypatch.setenv("LMMS_EVAL_TASKS_ANSWERS", "None")
    for _ in range(2):
        model = Model()
        _, evaluation = world.run(model)
        assert len(model.asked) == 5 and evaluation.answers_kept is None and not world.out.exists()
    monkeypatch.setenv("LMMS_EVAL_TASKS_ANSWERS", str(world.folder / "own"))
    world.run(Model())
    assert len(kept_answers(world.folder / "own")) == 5 and not world.out.exists()


def test_answers_that_cannot_be_written_cost_one_warning(world: World, log: list[str]) -> None:
    world.out.write_text("a file, so no folder can be made in it", encoding="utf-8")
    assert len(world.run(Model())[0]) == 5
    assert sum("Answers cannot be kept" in line for line in log) == 1


def change_lines(world: World, change: Callable[[list[str]], list[str]]) -> None:
    """Change the lines of the one file of answers."""
    (path,) = kept_files(world.out)
    path.write_text("".join(change(path.read_text(encoding="utf-8").splitlines(keepends=True))), encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    ["{\n", "null\n", '{"text": "A", "tokens": null}\n', "[" * 10_000 + "\n"],
    ids=["cut", "null", "no key", "deep"],
)
def test_a_damaged_answer_is_asked_again(world: World, caplog: pytest.LogCaptureFixture, damage: str) -> None:
    world.run(Model())
    change_lines(world, lambda lines: [damage, *lines[1:]])
    model = Model()
    world.run(model)
    assert model.asked == ["item-0"] and "1 line kept in" in caplog.text
    world.run(again := Model())
    assert not again.asked


def test_an_answer_of_another_form_is_asked_again(world: World, log: list[str]) -> None:
    world.run(Model())
    change_lines(
        world, lambda lines: [json.dumps({**json.loads(line), "tokens": {"none": 1}}) + "\n" for line in lines]
    )
    model = Model()
    world.run(model)
    assert len(model.asked) == 5 and sum("is asked again" in line for line in log) == 5


@pytest.mark.parametrize("left", [1, 0.5, 0])
def test_a_line_that_was_cut_off_costs_its_answer_alone(
    world: World, caplog: pytest.LogCaptureFixture, left: float
) -> None:
    world.run(Model())
    change_lines(world, lambda lines: [*lines[:-1], lines[-1][: int(left * (len(lines[-1]) - 1))]])
    model = Model()
    answers, _ = world.run(model)
    # Whole but for its end is whole.
    assert model.asked == ([] if left == 1 else ["item-4"]) and len(set(answers)) == 5 and not caplog.text


def test_what_was_written_is_on_the_disk_at_the_end_of_a_run_that_is_killed(world: World) -> None:
    with pytest.raises(Killed):
        world.run(Model(stop_at=3))
    world.run(Model())
    assert [len(path.read_bytes().splitlines()) for path in kept_files(world.out)] in ([3, 2], [2, 3])
    assert len(kept_answers(world.out)) == 5


def test_a_file_that_was_copied_or_renamed_answers_nothing_else(world: World) -> None:
    world.run(Model(say="of tiny"))
    (path,) = kept_files(world.out)
    world.run(Model(say="of other"), arguments="pretrained=other", requests=world.requests()[:1])
    (other,) = {file.parent for file in kept_files(world.out)} - {path.parent}
    path.rename(other / "renamed.jsonl")
    (other / "copy.jsonl").write_bytes((other / "renamed.jsonl").read_bytes())
    model = Model(say="asked")
    answers, _ = world.run(model, arguments="pretrained=other")
    assert answers == ["of other", *["asked"] * 4]
    (other / "copy.jsonl").rename(path)
    assert world.run(Model())[0] == ["of tiny"] * 5


def test_keys_are_not_in_the_folder(world: World, log: list[str]) -> None:
    world.run(Model(), arguments="model_version=served,api_key=never-to-be-written-down")
    world.run(Model(), arguments="model_version=other,api_key=never-to-be-written-down")
    texts = [path.read_text(encoding="utf-8") for path in (world.out / "answers").rglob("*.json*")]
    assert len(texts) == 4 and not any("never-to-be" in text for text in texts)
    assert any("are of other models, arguments or software" in line for line in log)


def test_a_model_without_known_arguments_is_left_alone(world: World) -> None:
    model, evaluation = Model(say="yes"), Evaluation()
    model.task_dict = {"ours": {"test": world.rows}}
    with AskedModel(model, KeptAnswers(model, evaluation, {})).lasting():
        model.generate_until(world.requests())
    assert len(model.calls) == 1 and evaluation.answers_kept is None


def test_the_arguments_of_a_model_that_lmms_eval_builds_are_known() -> None:
    replace(CREATE)
    replace(CREATE)
    built = Model.create_from_arg_string("say=yes,stop_at=3", {"batch_size": 2, "device": None})
    assert (built.say, built.stop_at, built.batch_size) == ("yes", 3, 2)
    assert find_arguments(built) == {"say": "yes", "stop_at": "3"}


def test_kept_answers_do_not_depend_on_what_else_is_known_of_the_weights() -> None:
    asked = Model()
    known = Weights("c0ffee", "bfloat16", "qwen2_5_vl")
    whole = identity.model_identity(asked, {}, known)
    assert whole == identity.model_identity(asked, {}, Weights("c0ffee", "bfloat16"))
    assert whole != identity.model_identity(asked, {}, Weights("0ther", "bfloat16"))
