"""The run of a launch, shown as it goes on, until each part is done or has failed too often."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from lmms_eval_tasks.launch.executors import Jobs
from lmms_eval_tasks.launch.job import DONE, HELD, last_lines
from lmms_eval_tasks.launch.plan import LaunchedPart, LaunchPlan
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import LITTLE, FullDisk, free_space
from lmms_eval_tasks.utils.core.output import make_console


class Show:
    """Shows a launch on standard error in lines, with a bar below them, or where there is no terminal more lines."""

    def __init__(self, count: int) -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self._console = make_console(stderr=True)
        self._states = ""
        self.bar = Progress(
            TextColumn("Parts"), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn(),
            console=self._console, transient=True, disable=not self._console.is_terminal,
        )  # fmt: skip
        self._task = self.bar.add_task("", total=count)

    def note(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def update(self, done: int, running: int, waiting: int, failed: int) -> None:
        states = f"{done} done, {running} running, {waiting} waiting, {failed} failed"
        if states != self._states and not self._console.is_terminal:
            self._console.print(f"Parts: {states}")
        self._states = states
        self.bar.update(self._task, description=states, completed=done)


LAST_LINES = 5
"""So many lines of a failed part's log are shown."""
ENDING = 40.0
"""Seconds that jobs have to end after Ctrl-C."""


def run_parts(plan: LaunchPlan, jobs: Jobs, tries: int, show: Show) -> dict[LaunchedPart, str]:
    """Work on all parts that are not done, those of jobs included that an earlier launch has left."""
    earlier = set(jobs.find_earlier())
    done = {part for part in plan.parts if part.is_done}
    running = [part for part in plan.parts if part not in done and (part in earlier or part.holder())]
    waiting = [part for part in plan.parts if part not in done and part not in running]
    failed: dict[LaunchedPart, str] = {}
    tried: Counter[LaunchedPart] = Counter()

    def update() -> None:
        show.update(len(done), len(running), len(waiting), len(failed))

    update()
    if done:
        show.note(f"{len(done)} of {len(plan.parts)} parts are done already.")
    for part in running:
        show.note(f"Part {part.name} is worked on by a job of an earlier launch, and is waited for.")
    try:
        with _terminated_as_interrupted():
            while True:
                holders = {part: part.holder() for part in running}
                for part, holder in holders.items():
                    outcome = None if holder else jobs.outcome(part)
                    if part.is_done:
                        done.add(part)
                        show.note(f"Part {part.name} is done.")
                    elif outcome is None:
                        continue
                    elif outcome in (DONE, HELD, ""):
                        waiting.append(part)
                    else:
                        jobs.clean(part)
                        tried[part] += 1
                        show.note(f"Part {part.name} failed ({outcome}), try {tried[part]} of {tries}. Log: {part.log}")
                        if tried[part] < tries:
                            waiting.append(part)
                        else:
                            failed[part] = outcome
                    running.remove(part)
                started = jobs.start(waiting, {part: holders.get(part) for part in running})
                waiting = [part for part in waiting if part not in started]
                running += started
                update()
                if not running and not waiting:
                    return failed
                time.sleep(jobs.pause)
    except KeyboardInterrupt:
        show.note("Ending the parts that are worked on.")
        _end(running, jobs)
        raise InputError(
            f"Interrupted: {len(done)} of {len(plan.parts)} parts are done. Repeat the command to resume."
        ) from None


def _end(running: list[LaunchedPart], jobs: Jobs) -> None:
    """End the jobs of parts, as far as they can be reached from here."""
    until = time.monotonic() + ENDING
    while running and time.monotonic() < until:
        jobs.stop({part: part.holder() for part in running})
        time.sleep(min(1.0, jobs.pause))
        running = [part for part in running if part.holder() or jobs.outcome(part) is None]
    for part in running:
        jobs.clean(part)


def describe_failure(part: LaunchedPart, reason: str) -> str:
    if free_space(part.folder) < LITTLE:
        reason += f"; {FullDisk(0, '', str(part.folder))}"
    lines = "".join(f"\n    {line}" for line in last_lines(part.log, LAST_LINES))
    return f"Part {part.name} failed ({reason}). Log: {part.log}{lines}"


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Take SIGTERM, which a scheduler or a shutdown sends, as Ctrl-C."""

    def interrupt(number: int, frame: Any) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
