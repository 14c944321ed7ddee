"""Requests that go to the rank that has their clip: nothing that lmms-eval sees depends on it."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asking
import pytest
from lmms_eval.api.instance import GenerationResult, Instance, TokenCounts
from releases import write_clip
from thread_ranks import ThreadRanks

from lmms_eval_tasks.host.asking import dealing
from lmms_eval_tasks.host.asking.dealing import ClipDealer
from lmms_eval_tasks.host.asking.kept_answers import KeptAnswers
from lmms_eval_tasks.host.asking.samples import sample_of
from lmms_eval_tasks.host.asking.servers import ServerReplies
from lmms_eval_tasks.host.asking.stages import PADDING, AskingStage
from lmms_eval_tasks.host.model import identity
from lmms_eval_tasks.host.model.identity import ModelFacts
from lmms_eval_tasks.host.ranks import Exchange
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import Encode
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.clips import clip_lengths

OURS, PROBE, THEIRS = "ours", "ours_probe", "theirs"
SHARDED = SimpleNamespace(distributed_type="DistributedType.FSDP")
Row = dict[str, str]
Change = Callable[[int, list[Instance], dict[str, Any]], None]


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
        return list(map(self._answer, requests))

    def _answer(self, request: Instance) -> GenerationResult:
        prompt, _, doc_to_visual, doc, task, split = request.args
        clips = doc_to_visual(self.task_dict[task][split][doc])
        self.asked.append((task, doc, *clips))
        text = f"{prompt} {clips} {sample_of(request)}"
        return GenerationResult(text, TokenCounts(output_tokens=len(text)))


class LoadedTask:
    """As much of a loaded task as requests name."""

    def __init__(self, rows: list[Row]) -> None:
        self.eval_docs = rows

    def doc_to_visual(self, row: Row) -> list[str]:
        return [row["clip"]] if row["clip"] else []


class Run:
    """What the ranks of a run asked and got; the answers to each document are in the order of its repeats."""

    def __init__(self, adapters: list[Adapter], got: list[dict[Any, str]], kept: list[int]) -> None:
        self.adapters, self.kept = adapters, kept
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


class World:
    """Two tasks of ours over some clips, one of somebody else's, and runs over them on ranks that are threads."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._monkeypatch = folder, monkeypatch
        self.prepared: dict[str, float] = {}
        self.files = [write_clip(folder / f"{number}.mp4", 5 * (number + 1)) for number in range(5)]
        # As releases have them: not all questions of a clip stand next to each other.
        rows = [{"item_id": f"{clip.stem}-{n}", "clip": str(clip)} for n in range(2) for clip in self.files]
        blind = [{"item_id": f"blind-{number}", "clip": ""} for number in range(3)]
        self.tables = {OURS: [*rows, *blind], PROBE: rows[:5], THEIRS: rows[:3]}

    def requests(self, rank: int, ranks: int, tasks: dict[str, Any], repeats: int) -> list[Instance]:
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

    def run(
        self, count: int, repeats: int = 1, out: Path | None = None, change: Change = lambda *_: None, **more: Any
    ) -> Run:
        """A run on some ranks; with an output path answers are kept there."""
        ours = asking.stand_in_task(
            encodes=lambda row: (Encode(Path(row["clip"]), "the clip"),) if row["clip"] else (),
            # What the prepared table says; nothing in that of an earlier version.
            seconds=lambda row: self.prepared.get(row["clip"]),
        )
        ranks = ThreadRanks(count, self._monkeypatch, dealing)
        adapters = [Adapter(self.tables, **more) for _ in range(count)]
        evaluation, kept = Evaluation(tasks={OURS: ours, PROBE: ours}), [0] * count

        def on_rank(rank: int) -> dict[Any, str]:
            model = adapters[rank]
            tasks = {task: LoadedTask(rows) for task, rows in self.tables.items()}
            requests = self.requests(rank, count, tasks, repeats)
            change(rank, requests, tasks)
            stages: list[AskingStage] = [ClipDealer(model, evaluation, {task: tasks[task] for task in (OURS, PROBE)})]
            if out is not None:
                stages.append(KeptAnswers(ModelFacts(model), evaluation, asking.command(out), ServerReplies(model)))
            texts = asking.ask(model, requests, *stages)
            kept[rank] = stages[-1].facts().get("answers_kept", 0)
            return {
                (request.task_name, request.doc_id, place): text
                for place, (request, text) in enumerate(zip(requests, texts, strict=True))
                if PADDING not in request.metadata
            }

        return Run(adapters, ranks.run(on_rank), kept)


@pytest.fixture
def world(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.delenv("RANK", raising=False)
    return World(tmp_path, monkeypatch)


@pytest.mark.parametrize(("ranks", "repeats"), [(2, 1), (3, 3), (4, 1)])
def test_every_question_is_answered_once_on_the_rank_that_has_its_clip(ranks: int, repeats: int, world: World) -> None:
    one, several = (world.run(count, repeats) for count in (1, ranks))
    assert several.answers == one.answers and all(map(all, several.answers.values()))
    assert set(several.opened().values()) == {1} and len(several.opened()) == len(world.files)
    asked = Counter(item[1:3] for item in several.asked(OURS, PROBE))
    assert asked == Counter(item[1:3] for item in one.asked(OURS, PROBE)) and set(asked.values()) == {repeats}
    # A rank is asked in the order of tasks and documents, and somebody else's requests stay where they are.
    for model in several.adapters:
        of_ours = [item[:2] for item in model.asked if item[0] != THEIRS]
        assert of_ours == sorted(of_ours)
    assert {item[:3] for item in several.asked(THEIRS)} == {(doc % ranks, THEIRS, doc) for doc in range(3)}


def test_one_rank_and_a_model_that_looks_at_no_clip_are_left_alone(
    world: World, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (model,) = world.run(1).adapters
    assert [one[:2] for one in model.asked] == [
        (task, doc) for task in world.tables for doc in range(len(world.tables[task]))
    ]
    monkeypatch.setattr(dealing, "current_exchange", lambda: Exchange(0, 2))
    asked = [object()]
    assert ClipDealer(model, Evaluation(clips_needed=False), {}).answer(list, asked) == asked


def test_ranks_get_equal_seconds_of_video(world: World, log: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run = world.run(2)
    lengths = clip_lengths(world.files, no_progress, "")
    clips = [{Path(one[2]) for one in model.asked if one[0] != THEIRS and len(one) > 2} for model in run.adapters]
    shares = sorted(sum(lengths[clip] or 0 for clip in mine) for mine in clips)
    assert shares[0] > 0 and shares[1] - shares[0] <= max(length or 0 for length in lengths.values())
    stated = f"on one rank: 5 clips, {round(shares[0])} to {round(shares[1])} s of video a rank"
    assert sum(stated in line for line in log) == 1
    # No clip is opened whose length is prepared, and the mean is taken for one that is not.
    opened: list[Path] = []

    def open_none(paths: list[Path], *_: object) -> dict[Path, float]:
        opened.extend(paths)
        return {}

    monkeypatch.setattr(dealing, "clip_lengths", open_none)
    world.prepared = dict.fromkeys(map(str, world.files[1:]), 7.0)
    world.run(2)
    assert opened == world.files[:1] and "5 clips, 14 to 21 s of video a rank" in log[-1]


def test_a_rank_without_a_clip_is_asked_nothing(world: World) -> None:
    rows = world.tables[OURS][:1] * 3
    world.tables = {OURS: rows, PROBE: rows[:1], THEIRS: []}
    one, several = world.run(1), world.run(3)
    assert several.answers == one.answers
    assert sorted(model.sizes for model in several.adapters) == [[], [], [4]]


def test_ranks_that_compute_in_step_are_asked_as_much(world: World) -> None:
    def texts(run: Run) -> dict[Any, str]:
        """The last answer to each document, without its number: padding is answered too."""
        return {key: texts[-1].rpartition(" ")[0] for key, texts in run.answers.items()}

    one, several = world.run(1), world.run(3, accelerator=SHARDED)
    assert len({tuple(model.sizes) for model in several.adapters}) == 1 and texts(several) == texts(one)
    assert set(several.opened().values()) == {1}

    def know(rank: int, requests: list[Instance], tasks: dict[str, Any]) -> None:
        """As where the host's cache knows all of our answers, and on one rank somebody else's too."""
        del requests[: rank * len(requests)]

    world.tables.update({OURS: [], PROBE: []})
    run = world.run(2, change=know, accelerator=SHARDED)
    assert [len(model.asked) for model in run.adapters] == [2, 0], "there is nothing to repeat"


def test_kept_answers_go_on_with_any_number_of_ranks(world: World) -> None:
    first = world.run(2, out=world.folder / "out")
    assert first.answers and first.kept == [0, 0]
    for count in (1, 4):
        run = world.run(count, out=world.folder / "out")
        assert run.answers == first.answers and not run.asked(OURS, PROBE)
        assert run.kept == [18] * count


@pytest.mark.parametrize("fault", ["request", "row"])
def test_where_it_cannot_be_done_items_stay_as_lmms_eval_deals_them(fault: str, world: World, log: list[str]) -> None:
    def spoil(rank: int, requests: list[Instance], tasks: dict[str, Any]) -> None:
        if fault == "row":
            tasks[OURS].eval_docs = []
        elif rank == 1:
            requests[0].metadata["of another host"] = lambda: None

    run = world.run(2, change=spoil)
    assert run.answers == world.run(1).answers
    assert {one[:3] for one in run.asked(OURS)} == {(doc % 2, OURS, doc) for doc in range(len(world.tables[OURS]))}
    assert sum("cannot keep the questions of a clip on one rank" in line for line in log) == 1
