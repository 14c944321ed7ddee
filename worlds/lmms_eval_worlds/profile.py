"""The profile of a model: the step at which it fails on scenes that it is asked about in several ways, and the command
`worlds profile` with its tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.api import InputError, Metric, Record, RunRecords
from lmms_eval_tasks.api.commands import make_console, text_table
from lmms_eval_tasks.api.evidence import EVIDENCE_SCORES
from lmms_eval_tasks.api.runs import Run, read_run
from lmms_eval_worlds.card import CARD, SUBSETS

if TYPE_CHECKING:
    from rich.console import Console

STEPS = ("seen", "ordered", "explained", "counterfactual", "grounded")
SEEN, CAUSAL = STEPS[:2], STEPS[2:]
"""The controls, what is perceived before any question of cause; and the questions of cause and effect."""
NO_FAILURE = "none fails"
ALL, SEEN_RIGHTLY = "all scenes", "scenes seen rightly"
CONTROL_RIGHT, CONTROL_WRONG, NO_CONTROL = "its control is right", "its control is not right", "no control of its own"


@dataclass(frozen=True)
class ModelProfile:
    run: RunRecords
    seen_rightly: frozenset[str]
    controls: Mapping[str, bool]

    def accuracy(self, of: str, steps: Sequence[str], depth: str = "") -> Metric:
        """Percent of scored questions that are right; of evidence an answer is right where its evidence matches."""
        return Metric(f"{of}_{steps[0]}", "right", _percent_right, partial(self._counts, of, steps, depth))

    def chance(self, steps: Sequence[str]) -> float | None:
        """Return the score of a guess on the questions that `accuracy` counts of all scenes, in percent; None without
        any."""
        guesses = [
            0.0 if "grounding" in record.fields else float(record.fields["chance"])
            for record in self.run.records
            if self._counts(ALL, steps, "", record) and is_right(record) is not None
        ]
        return sum(guesses) / len(guesses) if guesses else None

    def questions(self, of: str, steps: Sequence[str]) -> tuple[int, int]:
        """Count the right questions among those that `accuracy` counts, and all that it counts."""
        verdicts = [is_right(one) for one in self.run.records if self._counts(of, steps, "", one)]
        return verdicts.count(True), len(verdicts) - verdicts.count(None)

    @property
    def depths(self) -> list[str]:
        """The depths of its scenes with causal questions, the least first."""
        causal = (record for record in self.run.records if step_of_record(record) in CAUSAL)
        return sorted({record.stratum["depth"] for record in causal}, key=int)

    def first_failures(self) -> Counter[str]:
        """Count the scenes that fail first at each step, where a scored question of it is not right."""
        return Counter(_first_failures(self.run.records).values())

    def share_failing(self, step: str) -> tuple[RunRecords, Metric]:
        """The share of scenes that fail first at a step: one record of each scene, and the score of these."""
        failures = _first_failures(self.run.records)
        one_each = {record.group_id: record for record in self.run.records if record.group_id in failures}
        share = Metric("first_failure", "scenes", lambda record: 100.0 * (failures[record.group_id] == step))
        return replace(self.run, parts=[list(one_each.values())]), share

    def _counts(self, of: str, steps: Sequence[str], depth: str, record: Record) -> bool:
        if step_of_record(record) not in steps or depth not in ("", record.stratum["depth"]):
            return False
        if of == ALL:
            return True
        if of == SEEN_RIGHTLY:
            return record.group_id in self.seen_rightly
        if step_of_record(record) in SEEN:
            return False
        known = {True: CONTROL_RIGHT, False: CONTROL_WRONG, None: NO_CONTROL}
        return of == known[self.controls.get(record.item_id)]


def profile_of(run: RunRecords) -> ModelProfile | None:
    """The profile of a run's records; None where they have no perception or no causal question that is scored."""
    steps = {step_of_record(record) for record in run.records if is_right(record) is not None}
    if not steps & set(SEEN) or not steps & set(CAUSAL):
        return None
    records = [
        replace(record, group_id=str(record.fields["scene"]))
        for record in run.records
        if step_of_record(record) in STEPS
    ]
    return ModelProfile(replace(run, parts=[records]), _seen_rightly(records), _own_controls(records))


def step_of_record(record: Record) -> str:
    """The step that a record's question tests; empty where it tests none."""
    return str(record.fields.get("step", ""))


def is_right(record: Record) -> bool | None:
    """Whether an answer is right, for evidence whether its evidence matches too; None where that is not scored."""
    if "grounding" not in record.fields:
        return record.correct
    value = EVIDENCE_SCORES["faithful"].value(record)
    return None if value is None else value > 0


def _percent_right(record: Record) -> float | None:
    right = is_right(record)
    return None if right is None else 100.0 * right


def _seen_rightly(records: Iterable[Record]) -> frozenset[str]:
    """The scenes whose controls were all right; a scene without a control is not among them."""
    verdicts: dict[str, bool] = {}
    for record in records:
        if step_of_record(record) in SEEN:
            verdicts[record.group_id] = verdicts.get(record.group_id, True) and record.correct is True
    return frozenset(scene for scene, right in verdicts.items() if right)


def _own_controls(records: Sequence[Record]) -> dict[str, bool]:
    """Of each causal question that has controls of its own whether they are all right."""
    of_event: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for record in records:
        if step_of_record(record) in SEEN:
            for event in record.fields["about"]:
                of_event[record.group_id, event].append(record.correct is True)
    found = {}
    for record in records:
        if step_of_record(record) in CAUSAL:
            events = [(record.group_id, event) for event in record.fields["about"]]
            if verdicts := [right for event in events for right in of_event.get(event, ())]:
                found[record.item_id] = all(verdicts)
    return found


def _first_failures(records: Iterable[Record]) -> dict[str, str]:
    """Scene to the step that fails first, or `NO_FAILURE`."""
    verdicts: defaultdict[str, defaultdict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        if (right := is_right(record)) is not None:
            verdicts[record.group_id][step_of_record(record)].append(right)
    return {
        scene: next((step for step in STEPS if not all(steps.get(step, ()))), NO_FAILURE)
        for scene, steps in verdicts.items()
        if steps.keys() & set(SEEN) and steps.keys() & set(CAUSAL)
    }


LEADING = ("counterfactual", "paired", "evidence")
"""The causal tasks; a page shows the profile in the section of the first that the run has."""
CONTROLS = "perception"

Tasks = Mapping[str, Sequence[Record]]
"""Name of a task without its view to its records."""


def tasks_by_view(run: Run) -> dict[str, dict[str, Sequence[Record]]]:
    """The tasks of Worlds that a run holds, by the view of their clips, which is empty for whole ones."""
    found: dict[str, dict[str, Sequence[Record]]] = {}
    for task, records in run.records.items():
        if records and (bare := task.removesuffix(f"_{records[0].view}")) in map(task_name, SUBSETS):
            found.setdefault(records[0].view, {})[bare] = records
    return found


def profiles_of_section(task: str, runs: Sequence[RunRecords]) -> list[ModelProfile]:
    """The profiles that the section of a task shows, of those runs whose first causal task it is."""
    order = [task_name(subset) for subset in LEADING]
    found = []
    for run in runs:
        tasks = _tasks_beside(task, run)
        causal = [name for name, records in tasks.items() if any(step_of_record(one) in CAUSAL for one in records)]
        first = min(causal, key=lambda name: order.index(name) if name in order else len(order), default="")
        if task == first:
            found.append(profile_of(replace(run, parts=list(tasks.values()))))
    return [one for one in found if one]


def task_name(subset: str) -> str:
    return f"{CARD.name}_{subset}"


def _tasks_beside(task: str, run: RunRecords) -> Tasks:
    """A task and the others of its run that show the same view."""
    if run.results is None:
        return {task: run.records}
    # The report has read this run already, and said what is odd about it.
    whole = read_run(run.results, allow_incomplete=True, allow_predictions=True)
    return tasks_by_view(whole).get(run.view, {})


# ---- the command ---------------------------------------------------------------------------------------------------


def profile(
    runs: Annotated[list[Path], typer.Argument(help="Output folders of runs of worlds: the latest run of each.")],
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Also read interrupted runs, as far as they go.")
    ] = False,
) -> None:
    """Show which step of a causal answer fails: seeing, ordering, explaining, supposing, or showing.

    It needs the perception questions and causal ones of the same scenes in one run; `report --html` draws the same.

    Examples:
        lmms-eval-tasks worlds profile out/worlds
        lmms-eval-tasks worlds profile out/qwen out/internvl
    """
    finished = [read_run(source, allow_incomplete) for source in runs]
    models = [run.title for run in finished]
    named = [
        run.title if models.count(run.title) == 1 else f"{run.title} ({source})"
        for run, source in zip(finished, runs, strict=True)
    ]
    # Of all runs, before anything is printed of the first.
    profiles = [profiles_of(run, name) for run, name in zip(finished, named, strict=True)]
    console = make_console()
    for run, of_run in zip(finished, profiles, strict=True):
        for note in run.notes:
            console.print(f"note: {note}.", style="yellow", soft_wrap=True)
        for one in of_run:
            print_profile(console, one)


def profiles_of(run: Run, name: str) -> Sequence[ModelProfile]:
    """The profiles of a run, one for each view of its clips in which it has both kinds of questions."""
    found = []
    for number, (view, tasks) in enumerate(tasks_by_view(run).items(), 1):
        shown = f"{name}, {view}" if view else name
        held = [task for task in run.records if run.records[task] and run.records[task][0].view == view]
        found.append(profile_of(RunRecords(str(number), shown, list(tasks.values()), run.apart(held), run.path)))
    if known := [one for one in found if one]:
        return known
    causal = ", ".join(map(task_name, LEADING))
    raise InputError(
        f"Expected a run with scored questions of {task_name(CONTROLS)} and of a causal task, any of {causal}, with "
        f"the same view, but {run.path} has {', '.join(run.records)}."
    )


TOGETHER = "causal, together"
RIGHT = "right, % [95%]"


def print_profile(console: Console, profile: ModelProfile) -> None:
    """Print the tables of a profile; intervals are over scenes, and each number has its number of scenes."""
    console.print(profile.run.name, style="bold")
    if profile.run.apart:
        console.print(f"Not of the whole official release: {profile.run.apart}.", style="bold red")
    for print_table in (_print_steps, _print_controls, _print_first_failures, _print_depths):
        console.print()
        print_table(console, profile)
    console.print()


def _print_steps(console: Console, profile: ModelProfile) -> None:
    table = text_table("Accuracy by step", "step", ALL, "guessing", "scenes", SEEN_RIGHTLY, "scenes", numbers=True)
    for name, steps in (*((step, [step]) for step in STEPS), (TOGETHER, CAUSAL)):
        # Of scenes seen rightly all perception questions are right by definition.
        rightly = _cells(profile.run, profile.accuracy(SEEN_RIGHTLY, steps)) if steps[0] in CAUSAL else ("", "")
        score, scenes = _cells(profile.run, profile.accuracy(ALL, steps))
        chance = profile.chance(steps)
        table.add_row(name, score, "" if chance is None else f"{chance:.1f}", scenes, *rightly)
    console.print(table)
    console.print(
        "Percent of questions that are right, with 95% intervals over scenes, beside what guessing scores; a scene is "
        "seen rightly where all its perception questions are right, so that what is lost there is lost in reasoning, "
        "not in seeing."
    )


def _print_controls(console: Console, profile: ModelProfile) -> None:
    table = text_table(
        "Causal questions by their own control", "control", "questions", "right", RIGHT, "scenes",
        numbers=True,
    )  # fmt: skip
    for of in (CONTROL_RIGHT, CONTROL_WRONG, NO_CONTROL):
        right, asked = profile.questions(of, CAUSAL)
        table.add_row(of, f"{asked:,}", f"{right:,}", *_cells(profile.run, profile.accuracy(of, CAUSAL)))
    console.print(table)
    console.print(
        "The control of a causal question is the perception questions of its scene about one of the same events; a "
        "model that answers from what it sees is right more often where its control is right."
    )


def _print_first_failures(console: Console, profile: ModelProfile) -> None:
    counts = profile.first_failures()
    table = text_table("The step that fails first", "step", "scenes", "% [95%]", numbers=True)
    for step in (*STEPS, NO_FAILURE):
        share, _ = _cells(*profile.share_failing(step))
        table.add_row(step, f"{counts[step]:,}", share)
    console.print(table)
    console.print(
        f"Of {counts.total():,} scenes with perception and causal questions, the first step with a question that is "
        "not right; an answer with evidence is right where its evidence matches. A model that guesses fails first at "
        "what is seen nearly everywhere, since all questions of a step have to be right."
    )


def _print_depths(console: Console, profile: ModelProfile) -> None:
    table = text_table("Causal questions by depth", "links", ALL, "scenes", SEEN_RIGHTLY, "scenes", numbers=True)
    for depth in profile.depths:
        of_all, rightly = (_cells(profile.run, profile.accuracy(of, CAUSAL, depth)) for of in (ALL, SEEN_RIGHTLY))
        table.add_row(depth, *of_all, *rightly)
    console.print(table)
    console.print(
        "Links: of the longest chain of causes in the scene; a model that follows each link does not get worse with "
        "their number."
    )


def _cells(run: RunRecords, metric: Metric) -> tuple[str, str]:
    """A score with its interval and its number of scenes."""
    score = run.estimate(metric)
    if score is None:
        return "N/A", "0"
    return f"{score.value:.1f} [{score.low:.1f}, {score.high:.1f}]", f"{score.groups:,}"
