"""Asking models, step by step; what came of every step is a row, also where nothing did."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, TypeVar

from pydantic import BaseModel

from lmms_eval_tasks.countervqa.construction.annotations import Take, TimedAction
from lmms_eval_tasks.utils.core.files import replacing
from lmms_eval_tasks.utils.core.json_rows import as_lines
from lmms_eval_tasks.utils.core.progress import Progress
from lmms_eval_tasks.utils.judge.client import Case, Judge, Verdict
from lmms_eval_tasks.utils.pipeline.budget import RequestBudget
from lmms_eval_tasks.utils.prompting.prompts import read_prompt

R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True)
class AskedStep:
    """One thing that a model was asked.

    Attributes:
        role: Who it was asked as.
        take: The take that it is about.
        about: The pair, question or part of the take.
        verdict: What came of it.
        problem: Why a reply that could be read was not used, or not all of it; empty where it was.
    """

    role: str
    take: str
    about: str
    verdict: Verdict[Any]
    problem: str = ""

    def row(self) -> dict[str, Any]:
        """The step as JSON values."""
        about = {"role": self.role, "take": self.take, "about": self.about}
        return {**about, **self.verdict.to_json(), "problem": self.problem or None}


OpenModel = Callable[[type[Any]], Judge[Any]]
"""Gives what asks a model for replies of a form."""


class Steps:
    """Asks models and keeps a row of every step, in an order that does not depend on who answers first.

    Rows of what was asked before lie in a file without a name, so that not all replies of a build are in memory.

    Args:
        progress: Called after each step.
        folder: Where that file lies; made where it is missing.
        budget: Of the requests, looked at after what was asked at once; None for any number.
    """

    def __init__(self, progress: Progress, folder: Path, budget: RequestBudget | None = None) -> None:
        self._progress = progress
        self._folder = folder
        self._budget = budget or RequestBudget()
        self._latest: list[AskedStep] = []
        self._earlier: IO[bytes] | None = None
        self.done = 0
        """How many steps there were."""
        self.failed = 0
        """How many of them brought no reply that could be read."""

    def ask(
        self,
        role: str,
        model: Judge[R],
        about: Sequence[tuple[Take, str]],
        cases: Sequence[Callable[[], Case | Verdict[R]]],
    ) -> list[Verdict[R]]:
        """Ask a model about several things at once, and keep a row of each.

        Args:
            role: Who it is asked as.
            model: The model.
            about: The take and the part of it that each case is about.
            cases: What makes each case when its turn comes, or says why it cannot be asked about.
        """
        self._put_away()
        total = len(cases)
        verdicts = model.judge_all(cases, lambda _, done, __: self._progress(f"asking the {role}", done, total))
        self._budget.check()
        for (take, part), verdict in zip(about, verdicts, strict=True):
            self._latest.append(AskedStep(role, take.uid, part, verdict))
        self.done += total
        self.failed += sum(verdict.reply is None for verdict in verdicts)
        return verdicts

    def note(self, place: int, problem: str) -> None:
        """Say why the reply of a step, by its place in what was asked last, was not used or not all of it."""
        self._latest[place] = replace(self._latest[place], problem=problem)

    def write(self, path: Path) -> None:
        """Write a row for each step, of which there is one at least."""
        self._put_away()
        assert self._earlier is not None
        self._earlier.seek(0)
        with replacing(path) as beside, beside.open("wb") as file:
            shutil.copyfileobj(self._earlier, file)

    def _put_away(self) -> None:
        if not self._latest:
            return
        if self._earlier is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._earlier = TemporaryFile(dir=self._folder)  # noqa: SIM115, open as long as the steps are
        self._earlier.seek(0, os.SEEK_END)
        self._earlier.write(as_lines(step.row() for step in self._latest).encode("utf-8"))
        self._latest = []


def make_case(prompt_id: str, take: Take | None, **material: Any) -> Case:
    """A case with what a step is given, as JSON, so that no text ends its quotation.

    Args:
        prompt_id: The prompt.
        take: The take whose actions are shown; None where none are.
        material: What else is shown.
    """
    prompt = read_prompt(prompt_id)
    if take is not None:
        material = {"task": take.task, "actions": [_shown(action) for action in take.actions], **material}
    return Case(prompt.render(case=json.dumps(material, ensure_ascii=False)), prompt)


def _shown(action: TimedAction) -> dict[str, Any]:
    subject = {"subject": action.subject} if action.subject else {}
    return {"id": action.id, "seconds": action.start, **subject, "text": action.text}
