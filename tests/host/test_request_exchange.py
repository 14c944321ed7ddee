"""Requests that go to the rank that has their clip: nothing that lmms-eval sees depends on it."""

from __future__ import annotations

import copy
import multiprocessing
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asking
import pytest
from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts
from small_clips import write_noise
from thread_ranks import ThreadRanks

from lmms_eval_tasks.host.asking import dealing
from lmms_eval_tasks.host.asking.dealing import ClipDealer
from lmms_eval_tasks.host.asking.kept_answers import KeptAnswers
from lmms_eval_tasks.host.asking.samples import sample_of
from lmms_eval_tasks.host.asking.stages import PADDING, AskedModel, AskingStage
from lmms_eval_tasks.host.model import identity
from lmms_eval_tasks.host.ranks import Exchange, current_exchange, gather_objects, leave_process_group
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import Encode
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths

OURS, PROBE, THEIRS = "ours", "ours_probe", "theirs"
SHARDED = SimpleNamespace(distributed_type="DistributedType.FSDP")
Row = dict[str, str]


class Adapter:
    """Answers with the prompt and the clip; notes the task, document and clip of each request that it got."""

    def __init__(self, tables: dict[str, list[Row]], **more: Any) -> None:
        self.task_dict = {task: {"test": rows} for task, rows in tables.items()}
        self.asked: list[tuple[str, int, str]] = []
        self.sizes: list[int] = []
        vars(self).update({identity.ARGUMENTS: "pretrained=tiny"}, **more)

    def generate_until(self, requests: list[Instance]) -> list[Any]:
        assert requests, "an adapter of lmms-eval is always asked something"
        self.sizes.append(len(requests))
        responses = []
        for request in requests:
            prompt, _, doc_to_visual, doc, task, split = request.args
            clips = doc_to_visual(self.task_dict[task][split][doc])
            self.asked.append((task, doc, *clips))
            text = f"{prompt} {clips} {sample_of(request)}"
            responses.append(GenerationResult(text, TokenCounts(output_tokens=len(text))))
        return responses


class LoadedTask:
    """As much of a loaded task as requests name."""

    def __init__(self, rows: list[Row]) -> None:
        self.eval_docs = rows

    def doc_to_visual(self, row: Row) -> list[str]:
        return [row["clip"]] if row["clip"] else []


Tasks = dict[str, LoadedTask]


class World:
    """Two tasks of ours over some clips, and one of somebody else's."""

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

    def tasks(self) -> Tasks:
        return {task: LoadedTask(rows) for task, rows in self.tables.items()}

    def evaluation(self) -> Evaluation:
        def encodes(row: Row) -> tuple[Encode, ...]:
            return (Encode(Path(row["clip"]), "the clip"),) if row["clip"] else ()

        def seconds(row: Row) -> float | None:
            """What the prepared table says; nothing in that of an earlier version."""
            return self.prepared.get(row["clip"])

        ours = asking.stand_in_task(encodes=encodes, seconds=seconds)
        return Evaluation(tasks={OURS: ours, PROBE: ours})

    def requests(self, rank: int, ranks: int, tasks: Tasks, repeats: int = 1) -> list[Instance]:
        """A rank's requests as lmms-eval makes them: documents by stride, repeated, and padded to equal counts."""
        made = [
            asking.request(doc, task, f"{task} {doc}?", tasks[task].doc_to_visual, repeats=repeats)
            for task, rows in self.tables.items()
            for doc in range(rank, len(rows), ranks)
        ]
        most = sum(-(-len(rows) // ranks) for rows in self.tables.values())
        padding = copy.copy(made[-1])
        padding.metadata = {**padding.metadata, PADDING: True}
        return [one for one in made + [padding] * (most - len(made)) for _ in range(repeats)]


class Run:
    """What the ranks of a run asked and got; the answers to each document are in the order of its repeats."""

    def __init__(self, adapters: list[Adapter], got: list[dict[Any, str]], evaluations: list[Evaluation]) -> None:
        self.adapters, self.evaluations = adapters, evaluations
        every = {key: text for answers in got for key, text in answers.items()}
        assert len(every) == sum(map(len, got)), "each answer came to one rank"
        self.answers: dict[tuple[str, int], list[str]] = {}
        for (task, doc, _), text in sorted(every.items()):
            self.answers.setdefault((task, doc), []).append(text)

    def asked(self, *tasks: str) -> list[tuple[Any, ...]]:
        return [(rank, *one) for rank, model in enumerate(self.adapters) for one in model.asked if one[0] in tasks]

    def opened(self) -> Counter[str]:
        """On how many ranks each clip of our tasks was opened."""
        return Counter(clip for clip, _ in {(one[3], one[0]) for one in self.asked(OURS, PROBE) if len(one) > 3})


Evaluate = Callable[..., Run]


@pytest.fixture
def world(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.delenv("RANK", raising=False)
    return World(tmp_path)


@pytest.fixture
def evaluate(world: World, monkeypatch: pytest.MonkeyPatch) -> Evaluate:
    """Runs on some ranks, which are threads; with an output path answers are kept there."""

    def evaluate(
        count: int,
        repeats: int = 1,
        out: Path | None = None,
        change: Callable[[int, list[Instance], Tasks], None] = lambda rank, requests, tasks: None,
        **adapter: Any,
    ) -> Run:
        ranks = ThreadRanks(count, monkeypatch, dealing)
        adapters = [Adapter(world.tables, **adapter) for _ in range(count)]
        evaluations = [world.evaluation() for _ in range(count)]

        def on_rank(rank: int) -> dict[Any, str]:
            model, evaluation, tasks = adapters[rank], evaluations[rank], world.tasks()
            requests = world.requests(rank, count, tasks, repeats)
            change(rank, requests, tasks)
            stages: list[AskingStage] = [ClipDealer(model, evaluation, {task: tasks[task] for task in (OURS, PROBE)})]
            if out is not None:
                stages.append(KeptAnswers(model, evaluation, asking.command(out)))
            texts = asking.ask(model, requests, *stages)
            return {
                (request.task_name, request.doc_id, place): text
                for place, (request, text) in enumerate(zip(requests, texts, strict=True))
                if PADDING not in request.metadata
            }

        return Run(adapters, ranks.run(on_rank), evaluations)

    return evaluate


@pytest.mark.parametrize(("ranks", "repeats"), [(2, 1), (3, 3), (4, 1)])
def test_every_question_is_answered_once_on_the_rank_that_has_its_clip(
    ranks: int, repeats: int, world: World, evaluate: Evaluate
) -> None:
    one, several = (evaluate(count, repeats) for count in (1, ranks))
    assert several.answers == one.answers and all(map(all, several.answers.values()))
    assert set(several.opened().values()) == {1} and len(several.opened()) == len(world.files)
    asked = Counter(item[1:3] for item in several.asked(OURS, PROBE))
    assert asked == Counter(item[1:3] for item in one.asked(OURS, PROBE)) and set(asked.values()) == {repeats}
    # A rank is asked in the order of tasks and documents, and somebody else's requests stay where they are.
    for model in several.adapters:
        of_ours = [item[:2] for item in model.asked if item[0] != THEIRS]
        assert of_ours == sorted(of_ours)
    assert {item[:3] for item in several.asked(THEIRS)} == {(doc % ranks, THEIRS, doc) for doc in range(3)}


def test_without_the_deal_a_clip_is_opened_on_several_ranks(
    evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dealing.ClipDealer, "answer", lambda self, ask, requests: ask(requests))
    assert max(evaluate(2).opened().values()) == 2


def test_one_rank_and_a_model_that_looks_at_no_clip_are_left_alone(
    world: World, evaluate: Evaluate, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (model,) = evaluate(1).adapters
    assert not log
    assert [one[:2] for one in model.asked] == [
        (task, doc) for task in world.tables for doc in range(len(world.tables[task]))
    ]
    monkeypatch.setattr(dealing, "current_exchange", lambda: Exchange(0, 2))
    asked = [object()]
    assert ClipDealer(model, Evaluation(clips_needed=False), {}).answer(list, asked) == asked


def test_ranks_get_equal_seconds_of_video(
    world: World, evaluate: Evaluate, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = evaluate(2)
    lengths = clip_lengths(world.files, no_progress, "")
    clips = [{Path(one[2]) for one in model.asked if one[0] != THEIRS and len(one) > 2} for model in run.adapters]
    shares = sorted(sum(lengths[clip] or 0 for clip in mine) for mine in clips)
    assert shares[0] > 0 and shares[1] - shares[0] <= max(length or 0 for length in lengths.values())
    stated = f"on one rank: 5 clips, {round(shares[0])} to {round(shares[1])} s of video a rank"
    assert sum(stated in line for line in log) == 1
    # No clip is opened whose length is prepared, and the mean is taken for one that is not.
    opened: list[Path] = []
    monkeypatch.setattr(dealing, "clip_lengths", lambda paths, *_: opened.extend(paths) or {})
    world.prepared = dict.fromkeys(map(str, world.files[1:]), 7.0)
    evaluate(2)
    assert opened == world.files[:1] and "5 clips, 14 to 21 s of video a rank" in log[-1]


def test_a_rank_without_a_clip_is_asked_nothing(world: World, evaluate: Evaluate) -> None:
    rows = world.tables[OURS][:1] * 3
    world.tables = {OURS: rows, PROBE: rows[:1], THEIRS: []}
    one, several = evaluate(1), evaluate(3)
    assert several.answers == one.answers
    assert sorted(model.sizes for model in several.adapters) == [[], [], [4]]


def test_ranks_that_compute_in_step_are_asked_as_much(world: World, evaluate: Evaluate) -> None:
    def texts(run: Run) -> dict[Any, str]:
        """The last answer to each document, without its number: padding is answered too."""
        return {key: texts[-1].rpartition(" ")[0] for key, texts in run.answers.items()}

    one, several = evaluate(1), evaluate(3, accelerator=SHARDED)
    assert len({tuple(model.sizes) for model in several.adapters}) == 1 and texts(several) == texts(one)
    assert set(several.opened().values()) == {1}

    def know(rank: int, requests: list[Instance], tasks: Tasks) -> None:
        """As where the host's cache knows all of our answers, and on one rank somebody else's too."""
        del requests[: rank * len(requests)]

    world.tables.update({OURS: [], PROBE: []})
    run = evaluate(2, change=know, accelerator=SHARDED)
    assert [len(model.asked) for model in run.adapters] == [2, 0], "there is nothing to repeat"


def test_kept_answers_go_on_with_any_number_of_ranks(world: World, evaluate: Evaluate) -> None:
    kept: dict[Any, Any] = {}
    for count in (2, 1, 4):
        run = evaluate(count, out=world.folder / "out")
        assert run.answers and (run.answers == kept or not kept)
        assert len(run.asked(OURS, PROBE)) == (0 if kept else len(world.tables[OURS]) + len(world.tables[PROBE]))
        assert set(run.opened().values()) <= {1}
        kept = run.answers
        assert [evaluation.answers_kept for evaluation in run.evaluations] == [0 if count == 2 else 18] * count


@pytest.mark.parametrize("fault", ["request", "row"])
def test_where_it_cannot_be_done_items_stay_as_lmms_eval_deals_them(
    fault: str, world: World, evaluate: Evaluate, log: list[str]
) -> None:
    def spoil(rank: int, requests: list[Instance], tasks: Tasks) -> None:
        if fault == "row":
            tasks[OURS].eval_docs = []
        elif rank == 1:
            requests[0].metadata["of another host"] = lambda: None

    run = evaluate(2, change=spoil)
    assert run.answers == evaluate(1).answers
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
        model, tasks = adapters[rank], world.tasks()
        requests = [one for one in world.requests(rank, 2, tasks) if PADDING not in one.metadata]
        cache = Cache({(one.task_name, one.doc_id): "known" for one in requests} if rank == 0 else {})
        dealer = ClipDealer(model, world.evaluation(), {task: tasks[task] for task in (OURS, PROBE)})
        with AskedModel(model, dealer).lasting(cache):
            return cache.execute(model, "generate_until", requests)

    known, asked = ranks.run(on_rank)
    assert set(known) == {"known"} and all(isinstance(answer, GenerationResult) for answer in asked)
    assert all(adapter.asked for adapter in adapters), "both ranks answer what one of them lacks"


SENT = [[f"{rank} to {other}" * 10 ** (2 * rank) for other in range(3)] for rank in range(3)]


def be_rank(folder: Path, rank: int, size: int, answers: Any) -> None:
    """Take part in each kind of exchange; the last rank ends before the last of them."""
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{folder / 'store'}", rank=rank, world_size=size)
    ranks, mine = current_exchange(), SENT[rank]
    got = (
        ranks.gather(mine),
        ranks.scatter(None if rank else mine),
        ranks.scatter(mine if rank == 1 else None, source=1),
        ranks.deliver(mine),
    )
    if rank == size - 1:
        answers.put((rank, got, ""))
        answers.close()
        answers.join_thread()
        os._exit(0)
    try:
        gather_objects(rank)
    except RuntimeError as error:
        answers.put((rank, got, str(error)))
    leave_process_group()
    assert not dist.is_initialized()


def test_every_rank_gets_what_is_for_it_and_notices_one_that_has_ended(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    answers: Any = context.Queue()
    processes = [context.Process(target=be_rank, args=(tmp_path, rank, 3, answers)) for rank in range(3)]
    for process in processes:
        process.start()
    for rank, (gathered, part, other, delivered), failure in sorted(answers.get(timeout=120) for _ in range(3)):
        assert gathered == SENT and part == SENT[0][rank] and other == SENT[1][rank]
        assert delivered == [sent[rank] for sent in SENT]
        assert bool(failure) == (rank < 2), failure
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    alone = current_exchange()
    assert (alone.rank, alone.size) == (0, 1)
    assert alone.gather("a") == alone.deliver(["a"]) == ["a"] and alone.scatter(["a"]) == "a"
