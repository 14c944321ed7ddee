"""Requests that go to the rank that has their clip: nothing that lmms-eval sees depends on it."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts
from loguru import logger
from small_clips import write_noise
from thread_ranks import ThreadRanks

from lmms_eval_tasks.host.asking import dealing
from lmms_eval_tasks.host.asking.dealing import ClipDealer
from lmms_eval_tasks.host.asking.kept_answers import KeptAnswers
from lmms_eval_tasks.host.asking.stages import AskedModel, AskingStage
from lmms_eval_tasks.host.model import identity
from lmms_eval_tasks.host.ranks import Exchange
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import Encode, ItemKey
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths

GREEDY: dict[str, Any] = {"max_new_tokens": 16, "temperature": 0}
OURS, PROBE, THEIRS = "ours", "ours_probe", "theirs"
PADDING = "__padding_only__"


class Adapter:
    """Answers with the prompt and the clip; notes the task, document and clip of each request that it got."""

    def __init__(self, tables: dict[str, list[dict[str, Any]]], **more: Any) -> None:
        self.task_dict = {task: {"test": rows} for task, rows in tables.items()}
        self.asked: list[tuple[str, int, str]] = []
        self.sizes: list[int] = []
        vars(self).update(more)

    def generate_until(self, requests: list[Instance]) -> list[Any]:
        assert requests, "an adapter of lmms-eval is always asked something"
        self.sizes.append(len(requests))
        responses = []
        for request in requests:
            prompt, _, doc_to_visual, doc, task, split = request.args
            row = self.task_dict[task][split][doc]
            clips = doc_to_visual(row)
            self.asked.append((task, doc, *clips))
            text = f"{prompt} {clips} {sum(asked[:2] == (task, doc) for asked in self.asked)}"
            responses.append(GenerationResult(text, TokenCounts(output_tokens=len(text))))
        return responses


class LoadedTask:
    """As much of a loaded task as requests name."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.eval_docs = rows

    def doc_to_visual(self, row: dict[str, Any]) -> list[str]:
        return [row["clip"]] if row["clip"] else []


class World:
    """Tasks of ours over some clips, and one of somebody else's; runs of them on ranks that are threads."""

    def __init__(self, folder: Path, clips: int = 5, questions: int = 2) -> None:
        self.folder = folder
        self.prepared: dict[str, float] = {}
        self.files = [folder / f"{number}.mp4" for number in range(clips)]
        for number, file in enumerate(self.files):
            write_noise(file, (32, 32), 5 * (number + 1))
        # As releases have them: not all questions of a clip stand next to each other.
        rows = [{"item_id": f"{clip.stem}-{n}", "clip": str(clip)} for n in range(questions) for clip in self.files]
        blind = [{"item_id": f"blind-{number}", "clip": ""} for number in range(3)]
        self.tables = {OURS: [*rows, *blind], PROBE: rows[:clips], THEIRS: rows[:3]}

    def evaluation(self) -> Evaluation:
        evaluation = Evaluation()
        for task in (OURS, PROBE):
            evaluation.tasks[task] = SimpleNamespace(  # type: ignore[assignment]
                pointer={"benchmark": "some", "split": "test"},
                answered_items=self.answered_items,
                shown=SimpleNamespace(encodes=self.encodes, seconds=self.seconds),
            )
        return evaluation

    def answered_items(self, table: list[dict[str, Any]]) -> Callable[[int], ItemKey]:
        def read(number: int) -> ItemKey:
            row = table[number]
            return ItemKey(row["item_id"], (Path(row["clip"]),) if row["clip"] else (), {})

        return read

    def encodes(self, row: dict[str, Any]) -> tuple[Encode, ...]:
        return (Encode(Path(row["clip"]), "the clip"),) if row["clip"] else ()

    def seconds(self, row: dict[str, Any]) -> float | None:
        """What the prepared table says; nothing in that of an earlier version."""
        return self.prepared.get(row["clip"])

    def requests(self, rank: int, ranks: int, tasks: dict[str, LoadedTask], repeats: int = 1) -> list[Instance]:
        """A rank's requests as lmms-eval makes them: documents by stride, repeated, and padded to equal counts."""
        made = []
        for task, rows in self.tables.items():
            for doc in range(rank, len(rows), ranks):
                arguments = (f"{task} {doc}?", dict(GREEDY), tasks[task].doc_to_visual, doc, task, "test")
                metadata = {"task": task, "doc_id": doc, "repeats": repeats}
                made.append(Instance("generate_until", arguments, 0, metadata))
        most = sum(-(-len(rows) // ranks) for rows in self.tables.values())
        padding = copy.copy(made[-1])
        padding.metadata = {**padding.metadata, PADDING: True}
        return [one for one in made + [padding] * (most - len(made)) for _ in range(repeats)]


class Run:
    """What the ranks of a run asked and got."""

    def __init__(self, adapters: list[Adapter], got: list[dict[Any, str]], evaluations: list[Evaluation]) -> None:
        self.adapters, self.evaluations = adapters, evaluations
        self.got = {key: text for answers in got for key, text in answers.items()}
        assert len(self.got) == sum(map(len, got)), "each answer came to one rank"

    def asked(self, *tasks: str) -> list[tuple[int, str, int, str]]:
        return [(rank, *one) for rank, model in enumerate(self.adapters) for one in model.asked if one[0] in tasks]

    def pairs(self) -> Counter[str]:
        """On how many ranks each clip of our tasks was opened."""
        return Counter(clip for clip, _ in {(one[3], one[0]) for one in self.asked(OURS, PROBE) if len(one) > 3})


Change = Callable[[int, list[Instance], dict[str, LoadedTask]], None]


def evaluate(
    world: World,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
    repeats: int = 1,
    out: Path | None = None,
    change: Change = lambda rank, requests, tasks: None,
    **adapter: Any,
) -> Run:
    """A run on some ranks; with an output path answers are kept there."""
    ranks = ThreadRanks(count, monkeypatch, dealing)
    adapters = [Adapter(world.tables, **adapter) for _ in range(count)]
    evaluations = [world.evaluation() for _ in range(count)]

    def on_rank(rank: int) -> dict[Any, str]:
        model, tasks = adapters[rank], {task: LoadedTask(rows) for task, rows in world.tables.items()}
        requests = world.requests(rank, count, tasks, repeats)
        change(rank, requests, tasks)
        before = vars(model).keys()
        stages: list[AskingStage] = [
            ClipDealer(model, evaluations[rank], {task: tasks[task] for task in (OURS, PROBE)})
        ]
        if out is not None:
            setattr(model, identity.ARGUMENTS, "pretrained=tiny")
            command = SimpleNamespace(output_path=str(out), seed=None)
            stages.append(KeptAnswers(model, evaluations[rank], {"cli_args": command}))
        with AskedModel(model, *stages).lasting():
            responses = model.generate_until(requests)
        assert vars(model).keys() - before <= {identity.ARGUMENTS}, "the model is left as it was"
        assert len(responses) == len(requests)
        texts = [one if isinstance(one, str) else one.text for one in responses]
        return {
            (request.task_name, request.doc_id, place): text
            for place, (request, text) in enumerate(zip(requests, texts, strict=True))
            if PADDING not in request.metadata
        }

    return Run(adapters, ranks.run(on_rank), evaluations)


def by_document(run: Run) -> dict[tuple[str, int], list[str]]:
    """The answers to each document, in the order of its repeats."""
    answers: dict[tuple[str, int], list[str]] = {}
    for (task, doc, _), text in sorted(run.got.items()):
        answers.setdefault((task, doc), []).append(text)
    return answers


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("RANK", raising=False)
    return World(tmp_path)


@pytest.fixture
def log() -> Iterator[list[str]]:
    lines: list[str] = []
    sink = logger.add(lines.append, format="{message}")
    yield lines
    logger.remove(sink)


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_question_is_answered_once_on_the_rank_that_has_its_clip(
    ranks: int, repeats: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, several = (evaluate(world, count, monkeypatch, repeats) for count in (1, ranks))
    assert by_document(several) == by_document(one) and all(several.got.values())
    assert set(several.pairs().values()) == {1} and len(several.pairs()) == len(world.files)
    asked = Counter(item[1:3] for item in several.asked(OURS, PROBE))
    assert asked == Counter(item[1:3] for item in one.asked(OURS, PROBE)) and set(asked.values()) == {repeats}


def test_without_the_deal_a_clip_is_opened_on_several_ranks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing.ClipDealer, "answer", lambda self, ask, requests: ask(requests))
    assert max(evaluate(world, 2, monkeypatch).pairs().values()) == 2


def test_one_rank_is_left_alone(world: World, monkeypatch: pytest.MonkeyPatch, log: list[str]) -> None:
    run = evaluate(world, 1, monkeypatch)
    (model,) = run.adapters
    assert not log
    assert [one[:2] for one in model.asked] == [
        (task, doc) for task in world.tables for doc in range(len(world.tables[task]))
    ]


def test_a_model_that_looks_at_no_clip_is_left_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "current_exchange", lambda: Exchange(0, 2))
    asked = [object()]
    dealer = ClipDealer(Adapter(world.tables), Evaluation(clips_needed=False), {})
    assert dealer.answer(list, asked) == asked


def test_a_rank_is_asked_in_the_order_of_tasks_and_documents(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for model in evaluate(world, 2, monkeypatch).adapters:
        asked = [one[:2] for one in model.asked if one[0] != THEIRS]
        assert asked == sorted(asked)


def test_somebody_elses_requests_stay_where_they_are(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run = evaluate(world, 2, monkeypatch)
    assert {one[:3] for one in run.asked(THEIRS)} == {(doc % 2, THEIRS, doc) for doc in range(3)}


def test_ranks_get_equal_seconds_of_video(world: World, monkeypatch: pytest.MonkeyPatch, log: list[str]) -> None:
    run = evaluate(world, 2, monkeypatch)
    lengths = clip_lengths(world.files, no_progress, "")
    clips = [{Path(one[2]) for one in model.asked if one[0] != THEIRS and len(one) > 2} for model in run.adapters]
    shares = sorted(sum(lengths[clip] or 0 for clip in mine) for mine in clips)
    assert shares[0] > 0 and shares[1] - shares[0] <= max(length or 0 for length in lengths.values())
    stated = f"on one rank: 5 clips, {round(shares[0])} to {round(shares[1])} s of video a rank"
    assert sum(stated in line for line in log) == 1


def test_no_clip_is_opened_whose_length_is_prepared(
    world: World, monkeypatch: pytest.MonkeyPatch, log: list[str]
) -> None:
    opened: list[Path] = []
    monkeypatch.setattr(dealing, "clip_lengths", lambda paths, *_: opened.extend(paths) or {})
    world.prepared = dict.fromkeys(map(str, world.files[1:]), 7.0)
    evaluate(world, 2, monkeypatch)
    assert opened == world.files[:1]
    assert any("5 clips, 14 to 21 s of video a rank" in line for line in log), "the mean is taken for the one"


def test_a_rank_without_a_clip_is_asked_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = World(tmp_path, clips=1, questions=3)
    few.tables = {OURS: few.tables[OURS][:3], PROBE: few.tables[PROBE], THEIRS: []}
    one, several = (evaluate(few, count, monkeypatch) for count in (1, 3))
    assert by_document(several) == by_document(one)
    assert sorted(model.sizes for model in several.adapters) == [[], [], [4]]


def test_ranks_that_compute_in_step_are_asked_as_much(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    sharded = SimpleNamespace(distributed_type="DistributedType.FSDP")
    one = evaluate(world, 1, monkeypatch)
    several = evaluate(world, 3, monkeypatch, accelerator=sharded)
    assert len({tuple(model.sizes) for model in several.adapters}) == 1
    assert {key: texts[-1].rpartition(" ")[0] for key, texts in by_document(several).items()} == {
        key: texts[-1].rpartition(" ")[0] for key, texts in by_document(one).items()
    }
    assert set(several.pairs().values()) == {1}


def test_ranks_in_step_that_have_nothing_to_repeat_ask_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the host's cache knows all of our answers, and on one rank somebody else's too."""
    world.tables.update({OURS: [], PROBE: []})

    def know(rank: int, requests: list[Instance], tasks: dict[str, LoadedTask]) -> None:
        del requests[: rank * len(requests)]

    sharded = SimpleNamespace(distributed_type="DistributedType.FSDP")
    run = evaluate(world, 2, monkeypatch, change=know, accelerator=sharded)
    assert [len(model.asked) for model in run.adapters] == [2, 0]


def test_kept_answers_go_on_with_any_number_of_ranks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    out = world.folder / "out"
    kept: dict[Any, Any] = {}
    for count in (2, 1, 4):
        run = evaluate(world, count, monkeypatch, out=out)
        assert by_document(run) == kept or not kept
        assert len(run.asked(OURS, PROBE)) == (0 if kept else len(world.tables[OURS]) + len(world.tables[PROBE]))
        assert set(run.pairs().values()) <= {1}
        kept = by_document(run)
        assert kept
        assert [evaluation.answers_kept for evaluation in run.evaluations] == [0 if count == 2 else 18] * count


@pytest.mark.parametrize("fault", ["request", "row"])
def test_where_it_cannot_be_done_items_stay_as_lmms_eval_deals_them(
    fault: str, world: World, monkeypatch: pytest.MonkeyPatch, log: list[str]
) -> None:
    def spoil(rank: int, requests: list[Instance], tasks: dict[str, LoadedTask]) -> None:
        if fault == "row":
            tasks[OURS].eval_docs = []
        elif rank == 1:
            requests[0].metadata["of another host"] = lambda: None

    run = evaluate(world, 2, monkeypatch, change=spoil)
    assert by_document(run) == by_document(evaluate(world, 1, monkeypatch))
    assert {one[:3] for one in run.asked(OURS)} == {(doc % 2, OURS, doc) for doc in range(len(world.tables[OURS]))}
    assert sum("cannot keep the questions of a clip on one rank" in line for line in log) == 1


class Cache:
    """lmms-eval's response cache: some answers are known, and the model is not called where all are."""

    def __init__(self, known: dict[tuple[str, int], str]) -> None:
        self.known = known

    def execute(self, lm: Any, reqtype: str, requests: list[Instance]) -> list[Any]:
        results: list[Any] = [self.known.get((one.task_name, one.doc_id)) for one in requests]
        missing = [place for place, result in enumerate(results) if result is None]
        if missing:
            for place, response in zip(missing, getattr(lm, reqtype)([requests[one] for one in missing]), strict=True):
                results[place] = response
        return results


def test_a_rank_with_all_answers_in_the_hosts_cache_keeps_nobody_waiting(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranks = ThreadRanks(2, monkeypatch, dealing)
    adapters = [Adapter(world.tables) for _ in range(2)]

    def on_rank(rank: int) -> list[Any]:
        model, tasks = adapters[rank], {task: LoadedTask(rows) for task, rows in world.tables.items()}
        requests = [one for one in world.requests(rank, 2, tasks) if PADDING not in one.metadata]
        cache = Cache({(one.task_name, one.doc_id): "known" for one in requests} if rank == 0 else {})
        dealer = ClipDealer(model, world.evaluation(), {task: tasks[task] for task in (OURS, PROBE)})
        with AskedModel(model, dealer).lasting(cache):
            return cache.execute(model, "generate_until", requests)

    known, asked = ranks.run(on_rank)
    assert set(known) == {"known"} and all(isinstance(answer, GenerationResult) for answer in asked)
    assert all(adapter.asked for adapter in adapters), "both ranks answer what one of them lacks"
