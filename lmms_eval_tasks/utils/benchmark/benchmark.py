"""The object of a benchmark, which names all of its parts: kinds of tasks, and tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Concatenate, Literal

from lmms_eval_tasks.utils.answers.choice import EXTRACTOR, choice_grader
from lmms_eval_tasks.utils.answers.hooks import DEFAULT, Ask, Grade, TaskSettings, Warn, ask_choice
from lmms_eval_tasks.utils.answers.losses import CLIP_LOSSES_READER, DENOISING_READER
from lmms_eval_tasks.utils.benchmark.views import (
    POSITIONS,
    USUAL_VIEWS,
    Masking,
    View,
    check_views,
    find_view,
    name_view,
)
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.work import Progress
from lmms_eval_tasks.utils.data.card import Card, Row
from lmms_eval_tasks.utils.people.inquiries import Inquiry, with_usual

if TYPE_CHECKING:
    import datasets

    from lmms_eval_tasks.utils.answers.hooks import Prompt, PromptSource, Restored, RunningTask
    from lmms_eval_tasks.utils.data.manifest import SplitManifest
    from lmms_eval_tasks.utils.data.prepare import Preparation
    from lmms_eval_tasks.utils.people.baseline import HumanStudy
    from lmms_eval_tasks.utils.reporting.columns import Column, Layout, RunRecords
    from lmms_eval_tasks.utils.reporting.item_views import AnswerView, ItemView
    from lmms_eval_tasks.utils.reporting.panels import Panel
    from lmms_eval_tasks.utils.reporting.references import ReferencedMetric
    from lmms_eval_tasks.utils.scoring.log_line import LogLine
    from lmms_eval_tasks.utils.scoring.metrics import Metric
    from lmms_eval_tasks.utils.scoring.prediction_lines import PredictionLines
    from lmms_eval_tasks.utils.scoring.record import Record
    from lmms_eval_tasks.utils.submission.form import OfficialForm


@dataclass(frozen=True)
class SampleWriter:
    """Writer that makes and prepares the sample data of one benchmark.

    Attributes:
        contents: what the benchmark's folder of the sample holds, in a few words for the sample's README.
        sizes: how much to draw by default, by names of the writer's own.
        write: called with the folder, the seed, the sizes and a progress callback; writes the release to the folder,
            with the same bytes for the same seed and sizes.
        prepare: options of `lmms-eval-tasks prepare` for the benchmark, a tuple for each time that it has to run;
            `{folder}` stands for the folder.
        release: the release below the folder, `.` when it is the folder itself. It exists, and is marked as sample
            data, when `write` is called.
    """

    contents: str
    sizes: Mapping[str, int]
    write: Callable[[Path, int, Mapping[str, int], Progress], None]
    prepare: tuple[tuple[str, ...], ...] = (("--source", "{folder}"),)
    release: str = "."


class AnswerForm(str, Enum):
    """Form of answer that a model gives and a task accepts."""

    WORDS = "words"
    LOSSES = "denoising losses"
    """Of a clip and its reversal, as `DenoisingResponse` has them."""
    CLIP_LOSSES = "clip losses"
    """One number for each clip that is shown, as `ClipLosses` has them."""


_READERS = {
    AnswerForm.WORDS: EXTRACTOR,
    AnswerForm.LOSSES: DENOISING_READER,
    AnswerForm.CLIP_LOSSES: CLIP_LOSSES_READER,
}


def guess_option(row: Row) -> Sequence[str]:
    """The letters of a row's options; yes and no where it has none."""
    return ascii_uppercase[: len(row.get("options") or ())] or ("Yes", "No")


@dataclass(frozen=True)
class TaskKind:
    """Scoring and reporting of one kind of task of a benchmark, whose tasks differ in split or subset.

    The hooks of `lmms_eval_tasks.api.hooks`, which its tasks' YAML names, ask and grade as it says. Everything but its
    scores has a default that suits multiple-choice questions about a clip.

    Attributes:
        metrics: Every score that its tasks may print; their YAML names those that they do.
        ask: Writes the prompt of a row, given the settings; by default the prompt with the question, and its options.
        grade: Grades a response to a row, given the row, the response and the `RunningTask`, and raises nothing; by
            default as an option, by `choice_grader`.
        warn: Of all graded items and the `RunningTask`, messages that are logged at the end of a run.
        extractor: Name and version of what reads answers; by default our reader of choices, or of losses.
        columns: Of the table that `report` prints; by default those of `utils.reporting.columns.usual_columns`.
        references: The scores that are compared with chance, people and published models, the leading one first, given
            the task's or group's name and how many items a run of it has; by default those that the card knows.
        panels: Of a report page, given the task's or group's name; by default `utils.reporting.panels.usual_panels`.
        members: What the two items of a pair are called there, in the plural.
        item_view: What a page shows of an item, from its record and row; by default its clips.
        answer_view: What a page shows of an answer, from its record, row and response; by default what the official
            script reads, where there is one.
        read_settings: From the task's ``lmms_eval_specific_kwargs`` and the environment; raises InputError. By default
            the prompt is chosen, of a task that is answered in words: the one that the task's YAML names, or another
            with the same fields.
        prompt: Id of the prompt where the YAML names none.
        visuals: Columns that name the clips that are shown.
        guesses: Responses of somebody who saw nothing, one for each answer to a row, as its prompt asks for them: what
            `random_answer` chooses from, and `constant_answer` the first of.
        answer_form: What it takes for an answer, by an `AnswerForm` or its text: ``words``, ``denoising losses`` or
            ``clip losses``; a model that gives others is refused before it is loaded.
        rows: Changes the prepared table into the task's items; None where they are the same. It raises InputError
            where the table lacks what they need. To ask only some rows, a pointer's ``subset`` is enough.
        row_id: The prepared row that an item was made from.
        group_column: The column by which its records are grouped; a sample of groups draws by it.
        judge: Whether a judge grades answers: ``required``, or ``optional`` where it has scores without one, so that a
            run which chooses none asks none.
        no_submission: Why no leaderboard takes its tasks, where the benchmark has a form all the same.
        restore: What a finished run used, its settings and verdicts, from the task, its rows and the logged lines;
            None where the settings of today serve.
        log_form: The form of its lines in a sample log, where its scores need more than every task's; a run whose log
            has others is refused in words.
        views: The views that make sense of it, by their names; each is a task of its own.
            By default all that need nothing but a clip, a question and options.
        by_option: Columns with an entry for each option, in the options' order, which are moved with them.
        frame: Which frame the view of a single frame shows: ``first``, ``centre`` or ``last``.
        guess_prompt: Id of the prompt that asks for a guess from one frame drawn at random, with the fields of its own;
            by default its own prompt is asked. It is for filters of what single frames give away.
        masking: How its evidence is blacked out; the view of masked clips needs it.
        best_of: Name of the score of which its authors report the best of several runs: `report` shows how far such a
            choice alone lifts it.

    Raises:
        ValueError: where `best_of` is none of its scores, or it lists something that is no view, a frame or a form of
            answers that is none, or the view of masked clips without a masking.
    """

    metrics: tuple[Metric, ...]
    ask: Ask = ask_choice
    grade: Grade = choice_grader()  # noqa: RUF009
    warn: Warn | None = None
    extractor: str = ""
    columns: tuple[Column, ...] = ()
    references: Callable[[str, int], tuple[ReferencedMetric, ...]] | None = None
    panels: Callable[[str, Sequence[RunRecords]], list[Panel]] | None = None
    members: str = "members"
    item_view: Callable[[Record, Row], ItemView] | None = None
    answer_view: Callable[[Record, Row, str], AnswerView] | None = None
    read_settings: Callable[[Mapping[str, Any], Mapping[str, str]], TaskSettings] | None = None
    prompt: str = DEFAULT
    visuals: tuple[str, ...] = ("clip",)
    guesses: Callable[[Row], Sequence[str]] = guess_option
    answer_form: AnswerForm = AnswerForm.WORDS
    rows: Callable[[datasets.Dataset], datasets.Dataset] | None = None
    row_id: Callable[[str], str] = str
    group_column: str = "group_id"
    judge: Literal["", "optional", "required"] = ""
    no_submission: str = ""
    restore: Callable[[RunningTask, Sequence[Row], Sequence[Mapping[str, Any]]], Restored] | None = None
    log_form: type[LogLine] | None = None
    views: tuple[str, ...] = USUAL_VIEWS
    by_option: tuple[str, ...] = ("options",)
    frame: str = "centre"
    guess_prompt: str = ""
    masking: Masking | None = None
    best_of: str = ""

    def __post_init__(self) -> None:
        """Refuse views that there are not, and the best of a score that it lacks."""
        object.__setattr__(self, "answer_form", AnswerForm(self.answer_form))
        object.__setattr__(self, "extractor", self.extractor or _READERS[self.answer_form])
        check_views(self.views, self)
        if self.frame not in POSITIONS:
            raise ValueError(f"Expected a frame, one of {', '.join(POSITIONS)}, but got {self.frame}.")
        if self.best_of and self.best_of not in (names := [metric.name for metric in self.metrics]):
            raise ValueError(f"Expected best_of, one of {', '.join(names)}, but got {self.best_of}.")

    def offers(self, view: View) -> bool:
        """Whether its tasks have a view; all have the whole item."""
        return not view.name or view.family in self.views

    def metric(self, name: str) -> Metric:
        """One of its metrics; KeyError where it has none of that name."""
        return {metric.name: metric for metric in self.metrics}[name]


@dataclass(frozen=True)
class Benchmark:
    """One benchmark.

    Attributes:
        card: Its facts; ``card.name`` is its name.
        folder: Where its YAML files are, of tasks and groups, and their pointers: the JSON object that a task's
            `data_files` name. It has ``benchmark`` and ``split``; with ``subset`` the task asks only the rows that have
            it in their column ``subset``, and ``kind`` says how it works.
        kinds: Kind to how its tasks work. A task's pointer names one; without it the first.
        prepare: Turns a raw release into prepared tables. A function that gets a `Preparation`, and whose further
            parameters are typer options; it returns what was prepared by split.
        schema: Columns of its own in the prepared table, and their types; by default there are none.
        submission: The official form of its answers; None where there is none.
        no_submission: Why there is none.
        official_prompt: Where its official prompt can be imported from; None where there is nothing to import.
        find_prompt: The official prompt or an imported one, by name; raises InputError. By default an imported one.
        predictions: The lines of its official prediction files, where these name no items.
        replaces: Tasks of lmms-eval that its own replace.
        variables: Environment variables that it alone reads, beginning with `LMMS_EVAL_TASKS_`.
        clip_names_are_ids: Whether a clip's name, below its split, is its id in the collection that it comes from.
        inquiries: Mode to how people are asked about it. Where its rows have options, people are asked these, and
            review them, without a word here; a mode ``answer`` of its own stands for all of that.
        human_study: What is made of people's answers, where more is than a baseline; None where it is not.
        layouts: The tables of its paper, for `report --layout paper`.
        statistics: What `check --stats` says of a prepared table beyond clips and words: of its rows, each statistic's
            name, its value (None where the rows give none) and the paper's.
        sample: How its sample data is made; None where it has none.

    Raises:
        ValueError: where it has no kind, or not exactly one of a form of submission and a reason for having none.
    """

    card: Card
    folder: Path
    kinds: Mapping[str, TaskKind]
    prepare: Callable[Concatenate[Preparation, ...], Mapping[str, SplitManifest]]
    schema: Callable[[], Mapping[str, Any]] = dict
    submission: OfficialForm | None = None
    no_submission: str = ""
    official_prompt: PromptSource | None = None
    find_prompt: Callable[[str], Prompt] | None = None
    predictions: PredictionLines | None = None
    replaces: frozenset[str] = field(default_factory=frozenset)
    variables: tuple[str, ...] = ()
    clip_names_are_ids: bool = False
    inquiries: Mapping[str, Inquiry] = field(default_factory=dict)
    human_study: HumanStudy | None = None
    layouts: tuple[Layout, ...] = ()
    statistics: Callable[[Sequence[Row]], Sequence[tuple[str, float | None, float]]] | None = None
    sample: SampleWriter | None = None

    @property
    def pairs_of_clips(self) -> bool:
        """Whether people may answer both items of a pair: those of two clips, and not two versions of a question."""
        return next(iter(self.kinds.values())).members == "clips"

    def __post_init__(self) -> None:
        """Find its prompts where its official one is, and refuse an object that later code could not use."""
        if not self.kinds:
            raise ValueError(f"Expected {self.card.name} to have a kind of task, but it has none.")
        if (self.submission is None) == (not self.no_submission):
            raise ValueError(f'Expected submission=…, or no_submission="why there is none", of {self.card.name}.')
        if self.find_prompt is None and self.official_prompt is not None:
            object.__setattr__(self, "find_prompt", self.official_prompt.find)

    @property
    def name(self) -> str:
        """Its name, as its card has it."""
        return self.card.name

    def inquiry(self, mode: str) -> Inquiry:
        """Return the inquiry that shows people the benchmark in a mode."""
        known = with_usual(self.inquiries)
        if mode not in known:
            raise InputError(f"Expected a mode of {self.name}, one of {', '.join(known)}, but got {mode}.")
        return known[mode]

    def kind_of(self, pointer: Mapping[str, Any]) -> TaskKind:
        """Return the kind of the task that a pointer names; KeyError where it names no kind of this benchmark."""
        return self.kinds[pointer.get("kind") or next(iter(self.kinds))]


@dataclass(frozen=True)
class Task:
    name: str
    benchmark: Benchmark
    pointer: Mapping[str, Any]
    version: str
    metrics: tuple[str, ...]
    config: Mapping[str, Any] | None = None

    @property
    def kind(self) -> TaskKind:
        return self.benchmark.kind_of(self.pointer)

    @property
    def split(self) -> str:
        return str(self.pointer["split"])

    @property
    def view(self) -> str:
        """Name of the view that it shows; empty for the whole item."""
        return str(self.pointer.get("view", ""))

    @property
    def keeps_chance(self) -> bool:
        """Whether a guess is right as often as the benchmark's card says."""
        view = find_view(self.view)
        return view is None or view.keeps_chance

    @property
    def no_submission(self) -> str:
        """Reason why no leaderboard accepts the task although its benchmark has a form; empty if one does."""
        if self.view:
            return "it shows a view of its items, and a leaderboard takes answers to the whole ones."
        return self.kind.no_submission

    def seen_as(self, view: View) -> Task:
        name, pointer = name_view(self.name, view.name), {**self.pointer, "view": view.name}
        return replace(self, name=name, pointer=pointer)


def read_pointer(folder: Path, config: Mapping[str, Any]) -> dict[str, Any] | None:
    """The pointer that a task's configuration in a folder names; None where its data is no pointer of ours."""
    files = ((config.get("dataset_kwargs") or {}).get("data_files") or {}) if isinstance(config, Mapping) else {}
    for file in files.values() if isinstance(files, Mapping) else ():
        try:
            pointer = json.loads((folder / str(file)).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(pointer, dict) and "benchmark" in pointer:
            return pointer
    return None
