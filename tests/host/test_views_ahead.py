"""What views show is made ahead of a model: in which order, how far, for which requests, and never twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms

from lmms_eval_tasks.host.asking import views_ahead
from lmms_eval_tasks.host.asking.kept_answers import KeptAnswers
from lmms_eval_tasks.host.asking.stages import AskedModel, AskingStage
from lmms_eval_tasks.host.asking.views_ahead import ViewsAhead
from lmms_eval_tasks.host.model import identity
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import FOLDER, ItemKey
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.made import MadeClip, Making


def make(clip: Path, store: ClipStore) -> MadeClip:
    """A file, and beside its store a note of the thread that has made it."""

    def write(path: Path) -> int:
        with (store.folder.parent / "log").open("a") as log:
            log.write(f"{threading.get_ident()}\n")
        path.write_text(clip.stem, encoding="utf-8")
        return 1

    return MadeClip(store.find_or_make(clip, {"name": "view"}, ".txt", "view", write)[0], (0,))


def makers(folder: Path) -> list[int]:
    """The thread of each thing that was made, so that it is known whether any is made twice."""
    log = folder / "log"
    return list(map(int, log.read_text().split())) if log.exists() else []


GREEDY = {"max_new_tokens": 4, "temperature": 0}


class Model(lmms):  # type: ignore[misc]
    """Answers with what it is shown, and notes what of it there was before it asked."""

    def __init__(self, world: World, batch_size: int = 1, looks: bool = True) -> None:
        super().__init__()
        self.world, self.batch_size, self.looks = world, batch_size, looks
        self.asked: list[int] = []
        self.made: list[int] = []

    def generate_until(self, requests: list[Instance]) -> list[str]:
        return [answer for _, answer in self.answer_each(requests)]

    def answer_each(self, requests: list[Instance]) -> Iterator[tuple[int, str]]:
        for place, request in enumerate(requests):
            doc_id = request.args[-3]
            self.asked.append(doc_id)
            shown = self.world.show(doc_id) if self.looks else ""
            yield place, shown or "nothing"
            ahead = self.world.evaluation.ahead
            assert ahead is not None
            wait(ahead._coming.values())
            self.made.append(len(makers(self.world.home)))

    def loglikelihood(self, requests: Any) -> Any:
        raise NotImplementedError

    def generate_until_multi_round(self, requests: Any) -> Any:
        raise NotImplementedError


class EachModel(Model):
    """One that gives answers as they come, as ours do."""

    def generate_each(self, requests: list[Instance]) -> Iterator[tuple[int, str]]:
        return self.answer_each(requests)

    def generate_until(self, requests: list[Instance]) -> list[str]:
        return [answer for _, answer in self.generate_each(requests)]


class World:
    """A view with two questions about each clip, and runs over them."""

    def __init__(self, home: Path, clips: int = 6) -> None:
        self.home, self.evaluation = home, Evaluation()
        self.rows = []
        for number in range(2 * clips):
            clip = home / f"{number // 2}.mp4"
            clip.write_text(f"clip {number // 2}", encoding="utf-8")
            self.rows.append({"item_id": f"item-{number}", "clip": str(clip)})

    def makings(self, row: dict[str, Any]) -> list[Making]:
        return [Making(make, Path(row["clip"]))]

    def show(self, doc_id: int) -> str:
        (making,) = self.makings(self.rows[doc_id])
        assert self.evaluation.ahead is not None
        return self.evaluation.ahead.take(making).path.read_text(encoding="utf-8")

    def run(self, model: Model, keeps: bool = True, only: int | None = None) -> list[str]:
        self.evaluation.tasks["ours"] = SimpleNamespace(  # type: ignore[assignment]
            pointer={"benchmark": "some", "split": "test"},
            answered_items=lambda table: lambda row: ItemKey(table[row]["item_id"], (Path(table[row]["clip"]),), {}),
            view=SimpleNamespace(is_made=True),
            shown=SimpleNamespace(makings=self.makings),
        )
        model.task_dict = {"ours": {"test": self.rows}}
        setattr(model, identity.ARGUMENTS, "pretrained=tiny")
        requests = [
            Instance(
                "generate_until",
                ("What?", dict(GREEDY), None, number, "ours", "test"),
                0,
                {"task": "ours", "repeats": 1, "doc_id": number},
            )
            for number in range(len(self.rows))
        ][:only]
        command = SimpleNamespace(output_path=str(self.home / "out"), seed=None)
        stages: list[AskingStage] = [KeptAnswers(model, self.evaluation, {"cli_args": command})] if keeps else []
        with AskedModel(model, *stages, ViewsAhead(model, self.evaluation)).lasting():
            answers: list[str] = model.generate_until(requests)
        assert self.evaluation.ahead is None and "generate_until" not in vars(model)
        return answers


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("LMMS_EVAL_TASKS_HOME", str(tmp_path))
    monkeypatch.setattr(views_ahead, "own_cores", lambda: 1)
    return World(tmp_path)


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("kind", [Model, EachModel])
def test_what_comes_next_is_made_meanwhile_and_each_clip_once(kind: type[Model], keeps: bool, world: World) -> None:
    model = kind(world)
    answers = world.run(model, keeps)
    assert len(set(makers(world.home))) == 2 and threading.get_ident() in makers(world.home), "the first is made here"
    assert len(makers(world.home)) == 6 and answers == [one for one in answers[::2] for _ in range(2)]
    # Two clips beyond the one that is shown, until there are no more.
    assert model.made == [3, 3, 4, 4, 5, 5, 6, 6, 6, 6, 6, 6]


def test_a_whole_batch_is_made_ahead(world: World) -> None:
    model = Model(world, batch_size=4)
    world.run(model)
    assert len(makers(world.home)) == 6 and model.made[0] == 5


def test_a_model_that_does_not_look_leaves_nothing(world: World) -> None:
    assert world.run(Model(world, looks=False)) == ["nothing"] * 12
    assert not makers(world.home) and not list((world.home / FOLDER).glob("??/[!.]*"))


def test_what_was_answered_before_is_not_made_again(world: World) -> None:
    world.run(Model(world), only=6)
    assert len(makers(world.home)) == 3
    for path in (world.home / FOLDER).glob("??/[!.]*"):
        path.unlink()  # as where the store was full
    model = Model(world)
    world.run(model)
    assert model.asked == [6, 7, 8, 9, 10, 11] and len(makers(world.home)) == 6


def test_an_order_of_the_models_own_makes_nothing_twice(world: World) -> None:
    class Backwards(Model):
        def generate_until(self, requests: list[Instance]) -> list[str]:
            return super().generate_until(requests[::-1])[::-1]

    model = Backwards(world)
    answers = world.run(model, keeps=False)
    assert model.asked == list(range(11, -1, -1)) and answers == [str(number // 2) for number in range(12)]
    assert len(makers(world.home)) == 6


def test_where_the_run_ends_early_what_was_begun_is_whole_and_nothing_else_begins(world: World) -> None:
    class Failing(Model):
        def generate_until(self, requests: list[Instance]) -> list[str]:
            self.world.show(0)
            raise ValueError("no memory")

    with pytest.raises(ValueError, match="no memory"):
        world.run(Failing(world), keeps=False)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("views-ahead")]
    made = list((world.home / FOLDER).glob("??/[!.]*"))
    assert 1 <= len(made) == len(makers(world.home)) <= 3 and not list(world.home.rglob("*.part"))


class IdlePool:
    """Threads that never come to anything."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.submitted: list[Any] = []

    def submit(self, *work: Any) -> Future[None]:
        self.submitted.append(work)
        return Future()

    def shutdown(self, cancel_futures: bool) -> None:
        assert self.submitted


def test_another_process_waits_for_no_thread_of_this_one(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a fork does that an adapter starts to load batches."""

    class Forking(Model):
        def generate_until(self, requests: list[Instance]) -> list[str]:
            ahead = self.world.evaluation.ahead
            assert ahead is not None
            self.world.show(0)
            coming = dict(ahead._coming)
            monkeypatch.setattr(views_ahead, "os", SimpleNamespace(getpid=lambda: -1))
            shown = [self.world.show(request.args[-3]) for request in requests]
            assert coming and ahead._coming == coming
            return shown

    monkeypatch.setattr(views_ahead, "ThreadPoolExecutor", IdlePool)
    assert all(world.run(Forking(world), keeps=False)) and len(makers(world.home)) == 6
