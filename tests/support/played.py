"""The models of a build, played in this process: what is said to each prompt, by the prompt's id."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from stub_server import Player, as_text, material_of, player_of

from lmms_eval_tasks.construct.engine.config import BuildConfig
from lmms_eval_tasks.construct.engine.running import BuiltSet, run_steps
from lmms_eval_tasks.construct.engine.steps import Models, PipelineRow, ReadyStep
from lmms_eval_tasks.utils.judge.replies import Case, JudgeReply, JudgeSettings, Send, ServerError

MODEL: dict[str, Any] = {"model": "m", "provider": "local", "first_delay": 0}
"""A role's settings in a configuration."""


@dataclass(frozen=True)
class Asked:
    """A request, and how often the same came before."""

    prompt: str
    given: Mapping[str, Any]
    pictures: tuple[bytes, ...]
    model: str
    text: str
    before: int


class Played:
    """Says to a prompt an object or a text, raises an error, or does what a function of the request gives; of a list
    one after the other, and the last to all further requests. What has no entry a player of the example says.
    """

    def __init__(self, says: Mapping[str, Any], player: Player | None = None) -> None:
        self.says, self.player = says, player
        self.asked: list[Asked] = []
        self._times: Counter[object] = Counter()
        self._lock = threading.Lock()

    @classmethod
    def of_sample(cls, folder: Path, **says: Any) -> Played:
        """The player that knows the truth of the sample's folder of a build."""
        return cls(says, player_of(folder))

    def sender(self, settings: JudgeSettings) -> Send:
        def send(case: Case) -> JudgeReply:
            with self._lock:
                key = (settings.model, case.text, case.images)
                given = material_of(case.text)
                asked = Asked(case.prompt.prompt_id, given, case.images, settings.model, case.text, self._times[key])
                self._times[key] += 1
                number = sum(one.prompt == asked.prompt for one in self.asked)
                self.asked.append(asked)
            said = self.says.get(asked.prompt, self._of_player)
            if isinstance(said, list):
                said = said[min(number, len(said) - 1)]
            said = said(asked) if callable(said) else said
            if isinstance(said, ServerError):
                raise said
            return JudgeReply(as_text(said), settings.model)

        return send

    def _of_player(self, asked: Asked) -> Any:
        assert self.player is not None, f"nothing is said to {asked.prompt}"
        return self.player.reply(asked.text)

    @contextmanager
    def at_work(self) -> Iterator[Played]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("lmms_eval_tasks.utils.judge.server.open_sender", self.sender)
            yield self

    def of(self, prompt: str) -> list[Asked]:
        return [one for one in self.asked if one.prompt == prompt]


def outcome(
    steps: Sequence[ReadyStep], rows: Sequence[PipelineRow], config: BuildConfig, folder: Path, says: Mapping[str, Any]
) -> tuple[list[Any], dict[str, str], Played]:
    """The rows that steps leave, the step and the reason for which each of the others goes, and what was asked."""
    removed: dict[str, str] = {}

    def log(step: ReadyStep, row: PipelineRow, outcome: Any) -> None:
        if outcome.removed:
            removed[row.id] = f"{step.name}: {outcome.removed}"

    with Played(says).at_work() as played:
        runs = run_steps(steps, rows, Models(config, folder), log)
    return list(runs[-1].left), removed, played


@dataclass(frozen=True)
class Built:
    """A set that was built from the sample's folder of a build, and what its models were asked."""

    sources: Path
    out: Path
    made: BuiltSet
    played: Played


BuildSample = Callable[[str], Built]
"""Builds the set of a benchmark."""
