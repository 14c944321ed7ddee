"""Answers that are kept as they come: what is asked again, what is not, and what tells two answers apart."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asking
import pytest
import tqdm as bars
from by_day import first_by_day
from judge_server import JudgeServer, Say
from kept_answers import kept_answers, kept_files, kept_lines
from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts
from lmms_eval.models.chat.async_openai import AsyncOpenAIChat
from lmms_eval.models.chat.openai import OpenAICompatible
from lmms_eval.models.simple.openai import OpenAICompatible as SimpleOpenAI

from lmms_eval_tasks.host.asking import kept_answers as answers
from lmms_eval_tasks.host.asking.kept_answers import KeptAnswers, answers_folder
from lmms_eval_tasks.host.asking.servers import ServerReplies
from lmms_eval_tasks.host.model import identity
from lmms_eval_tasks.host.model.identity import ModelFacts, Weights, find_arguments
from lmms_eval_tasks.host.replacements import CREATE, replace
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.models.stand_ins import ConstantAnswer
from lmms_eval_tasks.utils.answers.reply import Reply

SAMPLED: dict[str, Any] = {"temperature": 0.7, "do_sample": True}
ALL = [f"item-{number}" for number in range(5)]
tqdm = bars.tqdm
"""As an adapter has it in its module."""


class Killed(BaseException):
    """Ends a run from within."""


class Model:
    """Answers with the prompt, the clip's text, and the number of the request; notes what it was asked in each call."""

    task_dict: dict[str, dict[str, list[dict[str, Any]]]]

    def __init__(self, stop_at: int | None = None, batch_size: int | str = 1, say: str | None = None, **more: Any):
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


class World:
    """A task with items on disk, and runs over them."""

    def __init__(self, folder: Path, items: int = 5) -> None:
        self.folder, self.out, self.rows = folder, folder / "out", []
        self.said = ""
        for number in range(items):
            clip = folder / f"{number}.mp4"
            clip.write_text(f"clip {number}", encoding="utf-8")
            self.rows.append({"item_id": f"item-{number}", "clip": str(clip), "question": "What?"})

    def requests(
        self, generation: dict[str, Any] = asking.GREEDY, repeats: int = 1, task: str = "ours"
    ) -> list[Instance]:
        made = [
            asking.request(number, task, str(row["question"]), generation=generation, repeats=repeats)
            for number, row in enumerate(self.rows)
        ]
        return [request for request in made for _ in range(repeats)]

    def run(
        self,
        model: Any,
        requests: list[Instance] | None = None,
        arguments: str = "pretrained=tiny",
        shared: bool = False,
        **settings: Any,
    ) -> tuple[list[str], int | None]:
        """What a model answers, and how much of it was kept from before; `shared` is a run without an output path."""
        evaluation = Evaluation(tasks={"ours": asking.stand_in_task()})
        model.task_dict = {task: {"test": self.rows} for task in ("ours", "theirs")}
        setattr(model, identity.ARGUMENTS, arguments)
        server = ServerReplies(model)
        command = asking.command(None if shared else self.out, **settings)
        stage = KeptAnswers(ModelFacts(model), evaluation, command, server)
        texts = asking.ask(model, self.requests() if requests is None else requests, stage, server)
        self.said = stage.describe()
        return texts, stage.facts()["answers_kept"]

    def asked(self, **how: Any) -> list[str]:
        """The items that a further run of a new model is asked."""
        model = Model()
        self.run(model, **how)
        return model.asked

    def change_lines(self, change: Callable[[list[str]], list[str]]) -> None:
        """Change the lines of the one file of answers."""
        (path,) = kept_files(self.out)
        path.write_text("".join(change(path.read_text(encoding="utf-8").splitlines(keepends=True))), encoding="utf-8")


@pytest.fixture
def world(tmp_path: Path, home: Path) -> World:
    return World(tmp_path)


def test_an_interrupted_run_goes_on_and_asks_nothing_twice(world: World, log: list[str]) -> None:
    first, second = Model(stop_at=3), Model()
    with pytest.raises(Killed):
        world.run(first)
    answers, kept = world.run(second)
    assert (first.asked, second.asked) == (ALL[:3], ALL[3:])
    assert answers == ["What? clip 0 1", "What? clip 1 2", "What? clip 2 3", "What? clip 3 1", "What? clip 4 2"]
    assert kept == 3
    assert sum("3 answers kept from before" in line for line in log) == 1
    assert [len(path.read_bytes().splitlines()) for path in kept_files(world.out)] in ([3, 2], [2, 3])
    assert len(kept_answers(world.out)) == 5
    assert all(line["tokens"]["output_tokens"] == len(line["text"]) for line in kept_lines(world.out))
    # An answer goes with the item and not with its place.
    world.rows.reverse()
    answers, _ = world.run(again := Model())
    assert not again.asked and answers[0] == "What? clip 4 2"


def test_one_rank_shows_how_many_answers_there_are_and_says_how_many_were_kept(
    world: World, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bar(tqdm):  # type: ignore[type-arg]
        def __init__(self, **how: Any) -> None:
            shown.append(how)
            super().__init__(**{**how, "disable": True})

    def said() -> list[str]:
        return [line.partition(" (")[0] for line in log]

    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(answers, "tqdm", Bar)
    for rank, asked in (("0", 1), ("1", 2), ("0", 3)):
        monkeypatch.setenv("RANK", rank)
        world.run(Model(), world.requests()[:asked])
    plain = {"desc": "Answers", "unit": "item"}
    assert shown == [
        {"total": 1, "initial": 0, "disable": False, **plain},
        {"total": 2, "initial": 1, "disable": True, **plain},
        {"total": 3, "initial": 2, "disable": False, **plain},
    ]
    assert said() == ["2 answers kept from before"]
    monkeypatch.delenv("RANK")
    world.run(Model(), world.requests()[:1])
    assert said()[1:] == ["1 answer kept from before"]
    each = Model(generate_each=lambda requests: ((number, Reply("B")) for number in range(len(requests))))
    assert world.run(each)[0][3:] == ["B"] * 2 and shown[-1] == {"total": 5, "initial": 3, "disable": True, **plain}


def change_prompts(world: World) -> dict[str, Any]:
    for row in world.rows:
        row["question"] = "Why?"
    return {}


def change_clips(world: World) -> dict[str, Any]:
    for row in world.rows:
        Path(row["clip"]).write_text("another", encoding="utf-8")
    return {}


CHANGES: dict[str, Callable[[World], dict[str, Any]]] = {
    "arguments": lambda world: {"arguments": "pretrained=other"},
    "generation settings": lambda world: {"requests": world.requests({**asking.GREEDY, "max_new_tokens": 8})},
    "system instruction": lambda world: {"system_instruction": "Be brief."},
    "prompt": change_prompts,
    "clip": change_clips,
}


def test_whatever_changes_an_answer_asks_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.run(Model())
    for what, change in CHANGES.items():
        assert len(world.asked(**change(world))) == 5, what
    weights = world.folder / "weights"
    weights.mkdir()
    arguments = f"pretrained={weights},max_num_frames=8"
    for number in range(2):
        (weights / "model.safetensors").write_text("x" * (number + 1), encoding="utf-8")
        assert len(world.asked(arguments=arguments)) == 5
    monkeypatch.setattr(identity, "installed_version", lambda package: f"{package} of tomorrow")
    assert len(world.asked(arguments=arguments)) == 5
    known = [Weights("c0ffee", "bfloat16", "qwen2_5_vl"), Weights("c0ffee", "bfloat16"), Weights("0ther", "bfloat16")]
    whole, without_family, other = (identity.model_identity(Model(), {}, one) for one in known)
    assert whole == without_family != other
    # A variable names the server, unless an argument overrides it.
    for number, (arguments, asked) in enumerate([("base_url=http://a/v1", 0), ("model=b", 5)]):
        world.run(Model(), arguments=arguments)
        monkeypatch.setenv("OPENAI_API_BASE", f"http://{number}/v1")
        assert len(world.asked(arguments=arguments)) == asked


def test_each_repeat_and_each_seed_is_an_answer_of_its_own(world: World) -> None:
    first, second = Model(stop_at=3), Model()
    with pytest.raises(Killed):
        world.run(first, world.requests(SAMPLED, repeats=2))
    answers, _ = world.run(second, world.requests(SAMPLED, repeats=2))
    assert second.asked == ["item-1", "item-2", "item-2", "item-3", "item-3", "item-4", "item-4"]
    assert len(set(answers)) == 10
    assert len(world.asked(requests=world.requests(SAMPLED, repeats=2), seed=[1, 2, 3, 4])) == 10
    # Where all runs meet, one that is asked for a new draw would get an old one.
    shared = [len(world.asked(requests=world.requests(how), shared=True)) for how in (SAMPLED, SAMPLED)]
    assert shared == [5, 5] and [len(world.asked(shared=True)) for _ in range(2)] == [5, 0]


NO_ANSWERS = ["[LMMS_EVAL_REQUEST_FAILED after 3 retries] busy", "[LMMS_EVAL_BUDGET_EXCEEDED]"]


def test_what_is_no_answer_is_neither_kept_nor_taken_where_an_earlier_version_kept_it(world: World) -> None:
    for say in NO_ANSWERS:
        assert world.run(Model(say=say))[0] == [say] * 5
        assert not kept_lines(world.out)
    assert len(world.asked()) == 5
    world.change_lines(lambda lines: [json.dumps({**json.loads(lines[0]), "text": NO_ANSWERS[-1]}) + "\n"])
    assert world.asked()[0] == "item-0"


def test_an_empty_answer_is_asked_for_once_more_and_then_kept(world: World) -> None:
    for say, asked in ((" \n", 5), ("", 5), ("late", 0)):
        answers, kept = world.run(model := Model(say=say))
        assert len(model.asked) == asked and kept == 5 - asked
    assert answers == [""] * 5 and len(kept_answers(world.out)) == 10
    (world.out / "answers").rename(world.out / "aside")
    for say, asked in (("", 5), ("B", 5), ("late", 0)):
        answers, _ = world.run(model := Model(say=say))
        assert len(model.asked) == asked
    assert answers == ["B"] * 5


def test_an_adapter_gets_what_it_can_answer_at_once(tmp_path: Path, home: Path) -> None:
    adaptive = {"adaptive_concurrency": True, "adaptive_config": SimpleNamespace(max_concurrency=16)}
    calls: list[tuple[list[int], dict[str, Any]]] = [
        ([2, 2, 1], {"batch_size": 2}),
        ([1] * 5, {"batch_size": "auto"}),
        ([2, 2, 1], {"_workers": ["cuda:0", "cuda:1"]}),
        ([1] * 5, {"num_concurrent": 1}),
        ([5], {"num_concurrent": 2}),
        ([5], {"num_concurrent": 1, **adaptive}),
    ]
    for number, (sizes, settings) in enumerate(calls):
        folder = tmp_path / str(number)
        folder.mkdir()
        World(folder).run(model := Model(**settings))
        assert [len(call) for call in model.calls] == sizes
        assert all(model.silent) and not tqdm(disable=False).disable


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at_once", "adapter"),
    first_by_day([(number, name) for number in (4, 1) for name in ("openai", "async_openai", "openai, simple")], 2),
)
def test_adapters_of_servers_send_each_request_once_also_where_they_are_interrupted(
    tmp_path: Path, home: Path, at_once: int, adapter: str
) -> None:
    world = World(tmp_path, items=40)

    def connect(url: str) -> Any:
        if adapter.startswith("openai"):
            kind = OpenAICompatible if adapter == "openai" else SimpleOpenAI
            return kind(base_url=url, api_key="none", num_concurrent=at_once, max_retries=1, timeout=60)
        return AsyncOpenAIChat(base_url=url, api_key="none", num_cpus=at_once)

    def run(url: str) -> list[str]:
        requests = world.requests()
        for request in requests:
            message = {"role": "user", "content": [{"type": "text", "text": f"Item {request.args[3]}"}]}
            request.arguments = (*request.args[:1], lambda row, m=message: [m], *request.args[1:2], *request.args[3:])
            if adapter == "openai, simple":
                request.arguments = (f"Item {request.args[3]}", request.args[2], lambda row: [], *request.args[3:])
        return world.run(connect(url), requests)[0]

    def interrupt(prompt: str, before: int) -> Say:
        if sum(server.asked.values()) == 20:
            os.kill(os.getpid(), signal.SIGINT)
        return Say(f"Answer to {prompt}")

    expected = [f"Answer to Item {number}" for number in range(40)]
    # Workers of pytest-xdist ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with JudgeServer(interrupt, protocol="HTTP/1.1") as server:
        with pytest.raises(KeyboardInterrupt):
            run(server.url)
        signal.signal(signal.SIGINT, before)
        server.script = lambda prompt, before: Say(f"Answer to {prompt}", delay=0.02)
        assert run(server.url) == run(server.url) == expected
        assert len(server.asked) == 40 and sum(server.asked.values()) - 40 <= at_once, "only what was under way"
    with JudgeServer(server.script, protocol="HTTP/1.1") as server:
        assert run(server.url) == expected
        assert set(server.asked.values()) == {1} and server.most_at_once == at_once


@pytest.mark.slow
def test_a_request_of_openai_that_cannot_be_written_costs_itself_alone(tmp_path: Path, home: Path) -> None:
    def run(broken: range, items: int = 12) -> list[str]:
        world = World(tmp_path, items)

        def write(number: int) -> list[Any]:
            if number in broken:
                raise ValueError(f"no frames in {number}")
            return [{"role": "user", "content": [{"type": "text", "text": f"Item {number}"}]}]

        requests = world.requests()
        for number, request in enumerate(requests):
            ask = lambda row, number=number: write(number)  # noqa: E731
            request.arguments = (*request.args[:1], ask, *request.args[1:2], *request.args[3:])
        model = OpenAICompatible(base_url=server.url, api_key="none", num_concurrent=3, max_retries=1)
        return world.run(model, requests)[0]

    with JudgeServer(lambda prompt, before: Say(f"To {prompt}"), protocol="HTTP/1.1") as server:
        said = run(range(2, 8))
        failed = {number: f"[LMMS_EVAL_REQUEST_FAILED] ValueError: no frames in {number}" for number in range(2, 8)}
        assert said == [failed.get(number, f"To Item {number}") for number in range(12)]
        assert run(range(0)) == [f"To Item {number}" for number in range(12)]
        assert set(server.asked.values()) == {1} and len(server.asked) == 12
        with pytest.raises(ValueError, match="no frames in"):
            run(range(12, 200), items=200)


def test_batches_are_those_of_a_whole_run_and_other_peoples_tasks_are_asked_at_once(world: World) -> None:
    theirs = world.requests(task="theirs")
    for sizes in ([5, 2, 2, 1], [5]):
        model = Model(batch_size=2)
        answers, _ = world.run(model, [*world.requests(), *theirs])
        assert [len(call) for call in model.calls] == sizes
        assert len(answers) == 10 and all(answers)
    world.change_lines(lambda lines: [line for line in lines if json.loads(line)["item"] != "item-2"])
    world.rows.append({**world.rows[0], "item_id": "item-5", "question": "Why?"})
    world.run(model := Model(batch_size=2))
    assert model.calls == [["item-2"], ["item-5"]]


def test_ranks_in_step_are_asked_padding_and_a_part_of_which_one_lacks_an_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def padded() -> list[Instance]:
        return [*world.requests(), asking.request(4, padding=True)]

    assert len(world.asked(requests=padded())) == 5
    gathered: list[Any] = []

    def both_ranks(value: Any) -> list[Any]:
        gathered.append(value)
        return [value, {1}] if isinstance(value, set) else [value, value]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "gather_objects", both_ranks)
        model = Model(batch_size=2, _tp_world_size=2)
        _, kept = world.run(model)
    assert model.calls == [["item-2", "item-3"]]
    assert gathered == [5, set()] and kept == 10
    (world.out / "answers").rename(world.out / "aside")
    for asked in (6, 0):
        sharded = Model(batch_size=4, accelerator=SimpleNamespace(distributed_type="DistributedType.FSDP"))
        world.run(sharded, padded())
        assert len(sharded.asked) == asked


def test_what_a_run_leaves_to_the_next_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for asked, said in ((1, "1 answer is"), (5, "5 answers are")):
        world.run(Model(), world.requests()[:asked])
        folder = kept_files(world.out)[0].parent
        assert world.said == f"{said} kept ({folder}); the same command resumes."
    monkeypatch.setenv("LMMS_EVAL_TASKS_ANSWERS", "None")
    world.run(Model())
    assert world.said == "No answer is kept; the same command begins anew."


def test_one_setting_turns_it_off_or_names_the_folder_and_one_warning_says_that_it_cannot_be_written(
    world: World, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answers_folder(None) == world.folder / "home" / "answers"
    monkeypatch.setenv("LMMS_EVAL_TASKS_ANSWERS", "None")
    for _ in range(2):
        model = Model()
        _, kept = world.run(model)
        assert len(model.asked) == 5 and kept is None and not world.out.exists()
    monkeypatch.setenv("LMMS_EVAL_TASKS_ANSWERS", str(world.folder / "own"))
    world.run(Model())
    assert len(kept_answers(world.folder / "own")) == 5 and not world.out.exists()
    monkeypatch.delenv("LMMS_EVAL_TASKS_ANSWERS")
    world.out.write_text("a file, so no folder can be made in it", encoding="utf-8")
    assert len(world.run(Model())[0]) == 5
    assert sum("Answers cannot be kept" in line for line in log) == 1


DAMAGES: dict[str, tuple[Callable[[str], str], list[str], str]] = {
    "cut": (lambda line: "{\n", ["item-4"], "1 line kept in"),
    "null": (lambda line: "null\n", ["item-4"], "1 line kept in"),
    "no key": (lambda line: '{"text": "A", "tokens": null}\n', ["item-4"], "1 line kept in"),
    "deep": (lambda line: "[" * 10_000 + "\n", ["item-4"], "1 line kept in"),
    # Cut off where the process was killed: whole but for its end is whole.
    "no end": (lambda line: line[:-1], [], ""),
    "half": (lambda line: line[: len(line) // 2], ["item-4"], ""),
    "nothing": (lambda line: "", ["item-4"], ""),
    "other form": (
        lambda line: json.dumps({**json.loads(line), "tokens": {"none": 1}}) + "\n", ["item-4"], "is asked again"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", DAMAGES)
def test_a_damaged_line_costs_its_answer_alone(
    world: World, log: list[str], caplog: pytest.LogCaptureFixture, what: str
) -> None:
    damage, asked, warning = DAMAGES[what]
    world.run(Model())
    world.change_lines(lambda lines: [*lines[:-1], damage(lines[-1])])
    answers, _ = world.run(model := Model())
    assert model.asked == asked and len(set(answers)) == 5
    said = caplog.text + "".join(line for line in log if "kept from before" not in line)
    assert warning in said if warning else not said
    assert not world.asked() or warning == "is asked again"


def test_a_file_that_was_copied_or_renamed_answers_nothing_else(world: World) -> None:
    world.run(Model(say="of tiny"))
    (path,) = kept_files(world.out)
    world.run(Model(say="of other"), arguments="pretrained=other", requests=world.requests()[:1])
    (other,) = {file.parent for file in kept_files(world.out)} - {path.parent}
    path.rename(other / "renamed.jsonl")
    (other / "copy.jsonl").write_bytes((other / "renamed.jsonl").read_bytes())
    answers, _ = world.run(Model(say="asked"), arguments="pretrained=other")
    assert answers == ["of other", *["asked"] * 4]
    (other / "copy.jsonl").rename(path)
    assert world.run(Model())[0] == ["of tiny"] * 5


def test_arguments_of_a_model_that_lmms_eval_builds_are_known_and_no_key_is_kept(world: World, log: list[str]) -> None:
    for served in ("served", "other"):
        world.run(Model(), arguments=f"model_version={served},api_key=never-to-be-written-down")
    texts = [path.read_text(encoding="utf-8") for path in (world.out / "answers").rglob("*.json*")]
    assert len(texts) == 4 and not any("never-to-be" in text for text in texts)
    assert any("are of other models, arguments or software" in line for line in log)
    replace(CREATE)
    replace(CREATE)
    built = ConstantAnswer.create_from_arg_string("response=yes", {"batch_size": 2, "device": None})
    assert find_arguments(built) == {"response": "yes"}
    # Nothing is kept of a model that somebody else has built.
    model = Model(say="yes", task_dict={"ours": {"test": world.rows}})
    stage = KeptAnswers(ModelFacts(model), Evaluation(), {}, ServerReplies(model))
    asking.ask(model, world.requests(), stage)
    assert len(model.calls) == 1 and stage.facts() == {"answers_kept": None}
