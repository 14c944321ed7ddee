"""What views show is made ahead of a model: in which order, how far, for which requests, and never twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asking
import pytest
from lmms_eval.api.instance import Instance

from lmms_eval_tasks.host.asking import views_ahead
from lmms_eval_tasks.host.asking.kept_answers import KeptAnswers, part_size
from lmms_eval_tasks.host.asking.servers import ServerReplies
from lmms_eval_tasks.host.asking.stages import AskingStage
from lmms_eval_tasks.host.asking.views_ahead import ViewsAhead
from lmms_eval_tasks.host.model import identity
from lmms_eval_tasks.host.model.identity import ModelFacts
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import FOLDER
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


class World:
    """A view with two questions about each clip, and runs over them."""

    def __init__(self, home: Path, clips: int = 6) -> None:
        self.home, self.rows = home, list[dict[str, Any]]()
        self.ahead: ViewsAhead | None = None
        for number in range(2 * clips):
            clip = home / f"{number // 2}.mp4"
            clip.write_text(f"clip {number // 2}", encoding="utf-8")
            self.rows.append({"item_id": f"item-{number}", "clip": str(clip)})
        self.evaluation = Evaluation(tasks={"ours": asking.stand_in_task(makings=self.makings)})

    def makings(self, row: dict[str, Any]) -> list[Making]:
        return [Making(make, Path(row["clip"]))]

    def show(self, doc_id: int) -> str:
        (making,) = self.makings(self.rows[doc_id])
        assert self.ahead is not None
        return self.ahead.take(making).path.read_text(encoding="utf-8")

    def makers(self) -> list[int]:
        """The thread of each thing that was made, so that it is known whether any is made twice."""
        log = self.home / "log"
        return list(map(int, log.read_text().split())) if log.exists() else []

    def made(self) -> list[Path]:
        return list((self.home / FOLDER).glob("??/[!.]*"))

    def run(self, model: Any, keeps: bool = True, only: int | None = None) -> list[str]:
        model.task_dict = {"ours": {"test": self.rows}}
        ahead = self.ahead = ViewsAhead(model, self.evaluation)
        stages: list[AskingStage] = [ahead]
        if keeps:
            command, server = asking.command(self.home / "out"), ServerReplies(model)
            stages.insert(0, KeptAnswers(ModelFacts(model), self.evaluation, command, server, ahead.expect))
        answers = asking.ask(model, [asking.request(number) for number in range(len(self.rows))][:only], *stages)
        assert ahead._pool is None
        return answers


class Model:
    """Answers with what it is shown, and notes what of it there was before it asked."""

    def __init__(self, world: World, batch_size: int = 1) -> None:
        self.world, self.batch_size = world, batch_size
        self.asked: list[int] = []
        self.made: list[int] = []
        setattr(self, identity.ARGUMENTS, "pretrained=tiny")

    def generate_until(self, requests: list[Instance]) -> list[str]:
        return [answer for _, answer in self.answer_each(requests)]

    def answer_each(self, requests: list[Instance]) -> Iterator[tuple[int, str]]:
        for place, request in enumerate(requests):
            doc_id = request.args[-3]
            self.asked.append(doc_id)
            yield place, self.world.show(doc_id)
            ahead = self.world.ahead
            assert ahead is not None
            wait(ahead._coming.values())
            self.made.append(len(self.world.makers()))


class EachModel(Model):
    """One that gives answers as they come, as ours do."""

    def generate_each(self, requests: list[Instance]) -> Iterator[tuple[int, str]]:
        return self.answer_each(requests)

    def generate_until(self, requests: list[Instance]) -> list[str]:
        return [answer for _, answer in self.generate_each(requests)]


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
    assert len(set(world.makers())) == 2 and threading.get_ident() in world.makers(), "the first is made here"
    assert len(world.makers()) == 6 and answers == [one for one in answers[::2] for _ in range(2)]
    # Two clips beyond the one that is shown, until there are no more.
    assert model.made == [3, 3, 4, 4, 5, 5, 6, 6, 6, 6, 6, 6]


def test_a_whole_batch_is_made_ahead_and_an_order_of_the_models_own_makes_nothing_twice(world: World) -> None:
    class Backwards(Model):
        def generate_until(self, requests: list[Instance]) -> list[str]:
            return super().generate_until(requests[::-1])[::-1]

    model = Backwards(world, batch_size=4)
    answers = world.run(model)
    assert model.asked == [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8] and answers == [str(item // 2) for item in range(12)]
    assert len(world.makers()) == 6 and model.made[0] == 5


def test_what_was_answered_before_is_not_made_again(world: World) -> None:
    world.run(Model(world), only=6)
    assert len(world.makers()) == 3
    for path in world.made():
        path.unlink()  # as where the store was full
    model = Model(world)
    world.run(model)
    assert model.asked == [6, 7, 8, 9, 10, 11] and len(world.makers()) == 6


def test_where_the_run_ends_early_what_was_begun_is_whole_and_nothing_else_begins(world: World) -> None:
    class Failing(Model):
        def generate_until(self, requests: list[Instance]) -> list[str]:
            self.world.show(0)
            raise ValueError("no memory")

    with pytest.raises(ValueError, match="no memory"):
        world.run(Failing(world), keeps=False)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("views-ahead")]
    assert 1 <= len(world.made()) == len(world.makers()) <= 3 and not list(world.home.rglob("*.part"))


def test_what_waits_for_a_thread_is_not_begun_where_the_run_ends_early(world: World) -> None:
    begun, ended = list[str](), threading.Event()

    def make_slowly(clip: Path, store: ClipStore) -> MadeClip:
        begun.append(clip.stem)
        if threading.current_thread().name.startswith("views-ahead"):
            assert ended.wait(10)
        return make(clip, store)

    class Failing(Model):
        def generate_until(self, requests: list[Instance]) -> list[str]:
            self.world.show(0)
            threading.Timer(0.1, ended.set).start()
            raise ValueError("no memory")

    world.makings = lambda row: [Making(make_slowly, Path(row["clip"]))]  # type: ignore[method-assign]
    world.evaluation = Evaluation(tasks={"ours": asking.stand_in_task(makings=world.makings)})
    with pytest.raises(ValueError, match="no memory"):
        world.run(Failing(world), keeps=False)
    assert sorted(begun) == ["0", "1"] and len(world.made()) == 2


def test_twice_as_many_are_made_ahead_as_there_are_cores(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views_ahead, "own_cores", lambda: 2)
    model = Model(world)
    world.run(model)
    assert model.made[0] == 5 and len(world.makers()) == 6


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ({}, 1),
        ({"batch_size": 8}, 8),
        ({"batch_size": "auto", "batch_size_per_gpu": 4}, 4),
        ({"batch_size": -1, "batch_size_per_gpu": 4}, 4),
        ({"batch_size": 2, "_workers": [1, 2, 3]}, 3),
    ],
)
def test_an_adapter_is_asked_a_batch_at_once_or_one_for_each_of_its_workers(
    attributes: dict[str, Any], size: int
) -> None:
    assert part_size(SimpleNamespace(**attributes)) == size
