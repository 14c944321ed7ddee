"""What a benchmark is made of: the one place that benchmarks import, ours and those of other packages.

Everything here is public: a name changes only with a line in the changelog, and the former one warns for a version.
The modules beside it hold what fewer benchmarks need. docs/own_benchmark.md leads through a whole benchmark.

Examples:
    A small benchmark asks on which side of a clip a lamp goes on. Its items are pairs: one question about a clip and
    about its mirror image, with opposite answers. The card holds what the paper says; scores are in percent.

    >>> from lmms_eval_tasks.api import Card, Human, SplitFacts
    >>> CARD = Card(
    ...     name="lamp_side",
    ...     title="Lamp side",
    ...     paper="https://arxiv.org/abs/2601.00001",
    ...     licence="CC0",
    ...     homepage="",
    ...     main_metric="pair_accuracy",
    ...     splits={"test": SplitFacts(items=4, groups=2, clips=4, strata={("attic",): 1, ("hall",): 1})},
    ...     strata_columns=("room",),
    ...     chance={"pair_accuracy": 25.0, "single_accuracy": 50.0},
    ...     human=(Human("pair_accuracy", "test", 95.0, "paper, Table 2", "ten people, each pair seen by one"),),
    ...     prepare_command="lmms-eval-tasks prepare lamp_side --source DIR",
    ... )

    A line of the raw release has a form, and `read_release` makes two rows of it. Every problem of the file is
    collected before anything is refused. `read_removed` reads which pairs `lmms-eval-tasks filter` took out.

    >>> from pathlib import Path
    >>> from lmms_eval_tasks.api import GroupedIssues, InputError, Row, RowForm, read_removed, read_rows
    >>> class ReleasedPair(RowForm):
    ...     pair: str
    ...     room: str
    ...     left: str
    ...     right: str
    >>> def read_release(source: Path, without: Path | None = None) -> list[Row]:
    ...     file = source / "pairs.jsonl"
    ...     if not file.is_file():
    ...         raise InputError(f"{CARD.title} cannot be prepared: there is no {file}.")
    ...     issues = GroupedIssues()
    ...     pairs = []
    ...     for place, pair in read_rows(file, ReleasedPair, issues):
    ...         pairs.append(pair)
    ...         if pair.left == pair.right:
    ...             issues.add("right", "Expected another clip than the left one, but got", f"{pair.right} ({place})")
    ...     issues.raise_if_any(f"{file} cannot be prepared", "nothing was written")
    ...     removed = read_removed(without) if without else frozenset()
    ...     return [
    ...         {"item_id": f"{pair.pair}_{side}", "group_id": pair.pair, "room": pair.room,
    ...          "question": "On which side does the lamp go on?", "options": ["On the left.", "On the right."],
    ...          "answer": letter, "clip": f"test/{clip}"}
    ...         for pair in pairs if pair.pair not in removed
    ...         for side, letter, clip in (("left", "A", pair.left), ("right", "B", pair.right))
    ...     ]
    >>> from lmms_eval_tasks.api.release import as_lines
    >>> first = {"pair": "p1", "room": "attic", "left": "a.mp4", "right": "b.mp4"}
    >>> second = {"pair": "p2", "room": "hall", "left": "c.mp4", "right": "d.mp4"}
    >>> third = {"pair": "p3", "room": "hall", "left": "e.mp4", "right": "f.mp4"}
    >>> Path("raw").mkdir()
    >>> wrong = [{**first, "pair": 2}, {"pair": "p2", "room": "hall", "left": "c.mp4"}, {**second, "right": "c.mp4"}]
    >>> _ = Path("raw/pairs.jsonl").write_text(as_lines([first, *wrong]))
    >>> try:
    ...     read_release(Path("raw"))
    ... except InputError as error:
    ...     print(error)
    raw/pairs.jsonl cannot be prepared: 3 problems, nothing was written.
      pair: Expected a text, but got `2` (line 2).
      right: Expected this field, but it is missing from line 3.
      right: Expected another clip than the left one, but got c.mp4 (line 4).

    With a sound release, and without the pair that models solve blind, it gives:

    >>> _ = Path("raw/pairs.jsonl").write_text(as_lines([first, second, third]))
    >>> solved = {"task": "lamp_side_blind", "group_id": "p3", "removed": True, "why": "right on all", "members": {}}
    >>> _ = Path("blind.jsonl").write_text(as_lines([solved]))
    >>> rows = read_release(Path("raw"), without=Path("blind.jsonl"))
    >>> for row in rows:
    ...     print(row["item_id"], row["group_id"], row["answer"], row["clip"])
    p1_left p1 A test/a.mp4
    p1_right p1 B test/b.mp4
    p2_left p2 A test/c.mp4
    p2_right p2 B test/d.mp4

    `prepare` writes the rows as a table and links their clips. Its parameters are options of the command line, and
    `progress`. What was prepared before stays until the block of `building` ends without an error.

    >>> from typing import Annotated
    >>> import typer
    >>> from lmms_eval_tasks.api import Origin, Progress, SplitManifest, building, no_progress
    >>> def prepare(
    ...     source: Annotated[Path, typer.Option(help="Folder of the release.")],
    ...     without: Annotated[Path | None, typer.Option(help="What a filter wrote.")] = None,
    ...     progress: Progress = no_progress,
    ... ) -> dict[str, SplitManifest]:
    ...     rows = read_release(source, without)
    ...     clips = {row["clip"]: source / "videos" / Path(row["clip"]).name for row in rows}
    ...     origin = Origin(str(source), {"pairs.jsonl": source / "pairs.jsonl"})
    ...     with building(CARD.name) as build:
    ...         build.add_split("test", rows, {"room": "string"}, clips, origin, progress)
    ...     return {"test": build.splits["test"]}
    >>> try:
    ...     prepare(Path("elsewhere"))
    ... except InputError as error:
    ...     print(error)
    Lamp side cannot be prepared: there is no elsewhere/pairs.jsonl.

    It returns what the manifest says of each split. Of the release above, with digests made up here:

    >>> manifest = SplitManifest(
    ...     source="raw", source_sha256={"pairs.jsonl": "5f" * 32}, table_sha256="a7" * 32, answers_withheld=False,
    ...     rows=4, groups=2, clips=4, data_set={"kind": "official", "items": 4, "of": 4},
    ... )
    >>> manifest.data_set.text
    'the official release'

    What a record contributes to a score is a value in the score's unit; None leaves the item out. Most scores are
    shared. `LEFT_RATE` is this benchmark's own: the percent of read answers that say left, 50 without a bias.

    >>> from lmms_eval_tasks.api import (
    ...     COMMON_METRICS, OFFICIAL_ACCURACIES, PAIR_ACCURACY, PAIRS_SCORED, SINGLE_ACCURACY, Metric, Record
    ... )
    >>> def says_left(record: Record) -> float | None:
    ...     return None if record.answered is None else 100.0 * (record.answered == "A")
    >>> LEFT_RATE = Metric("left_rate", "says left", says_left, higher_is_better=None)
    >>> SCORES = (PAIR_ACCURACY, SINGLE_ACCURACY, *OFFICIAL_ACCURACIES, PAIRS_SCORED, LEFT_RATE)

    The hooks say how an item is asked and graded; the task's YAML names them, with `aggregate` for each score.
    `doc_to_text` asks a question with its options; another way to ask is a hook that gives `task.put` a function. Here
    the benchmark's own script reads only the first character of a response, so ``(B)`` is wrong in
    `OFFICIAL_ACCURACIES`.

    >>> from collections.abc import Mapping, Sequence
    >>> from typing import Any
    >>> from lmms_eval_tasks.api import RunningTask, choice_grader, doc_to_text, hook
    >>> grade = choice_grader(read_official=lambda response: response[:1] or None, stratum=("room",))
    >>> @hook
    ... def process_results(task: RunningTask, doc: Row, results: Sequence[Any]) -> dict[str, Any]:
    ...     return task.grade_first(doc, results, grade)

    In an evaluation the package binds the first parameter to the task that runs. To try hooks without one, as in a
    test, a stand-in is enough. A running task also gives each row `asked`: whether its clips are there.

    >>> from lmms_eval_tasks.api import aggregate, doc_to_target, doc_to_visual, process_docs, read_prompt
    >>> from lmms_eval_tasks.api import write_submission
    >>> from lmms_eval_tasks.api.prompts import TaskSettings
    >>> class Rehearsal(RunningTask):
    ...     settings, model = TaskSettings(read_prompt("mcq_letter")), None
    ...     def judge(self, schema):
    ...         return None
    ...     def open_table(self):
    ...         return [{**row, "asked": True} for row in rows]
    ...     def show(self, doc):
    ...         return [f"videos/{doc['clip']}"]
    ...     def put(self, doc, kwargs, ask):
    ...         return ask(doc, self.settings)
    ...     def grade_first(self, doc, results, grade):
    ...         graded = grade(doc, results[0], self)
    ...         values = {metric.name: metric.item(graded.record) for metric in SCORES}
    ...         return {"submission_rows": graded.to_json(), **values}
    ...     def finish(self, items, args, warn=None):
    ...         return len(items)
    >>> task = Rehearsal()
    >>> docs = process_docs(task, [{"benchmark": "lamp_side", "split": "test"}])
    >>> doc_to_visual(task, docs[0]), doc_to_target(task, docs[0])
    (['videos/test/a.mp4'], 'A')
    >>> print(doc_to_text(task, docs[0]))
    Watch the video and answer the question about it. Exactly one of the options below is right.
    <BLANKLINE>
    Question: On which side does the lamp go on?
    <BLANKLINE>
    Options:
    (A) On the left.
    (B) On the right.
    <BLANKLINE>
    Reply with the letter of the right option only.
    >>> said = ["A", "(B)", "A", "I cannot tell."]
    >>> lines = [process_results(task, doc, [response]) for doc, response in zip(docs, said)]
    >>> for metric in SCORES:
    ...     score = aggregate(metric, [line[metric.name] for line in lines])
    ...     print(f"{metric.name}: {score:g}{metric.unit}")
    pair_accuracy: 50%
    single_accuracy: 75%
    pair_accuracy_official: 0%
    single_accuracy_official: 50%
    pairs_scored: 2
    left_rate: 66.6667%
    >>> write_submission(task, [line["submission_rows"] for line in lines], None)
    4

    Without its task a hook says what is missing:

    >>> try:
    ...     process_results(docs[0], ["A"])
    ... except RuntimeError as error:
    ...     print(error)
    The hook lmms_eval_tasks.api.process_results was called without its task. lmms-eval-tasks binds it when ...

    The leaderboard takes a line per item. A form says so once, for the writer and the check of the file.

    >>> from lmms_eval_tasks.api import ChoiceForm, GradedItem, Table
    >>> class Answer(RowForm):
    ...     id: str
    ...     answer: str
    >>> ANSWERS = ChoiceForm(
    ...     card=CARD,
    ...     row_type=Answer,
    ...     values=lambda row, split: {"id": row["item_id"]},
    ...     answers=lambda row: ("A", "B"),
    ...     path=lambda split, part: "submissions/lamp_side.jsonl",
    ...     id_field="id",
    ...     answer_field="answer",
    ... )
    >>> table = Table("test", rows, manifest.data_set)
    >>> entries = [GradedItem.from_json(line["submission_rows"]) for line in lines]
    >>> built = ANSWERS.build(entries, table, "answers")
    >>> print(built.text)
    {"id": "p1_left", "answer": "A"}
    {"id": "p1_right", "answer": "B"}
    {"id": "p2_left", "answer": "A"}
    {"id": "p2_right", "answer": ""}
    >>> built.rows, built.empty
    (4, 1)

    The check of a file notes every issue, with its line. Somebody edited this one:

    >>> edited = built.text.replace("p1_right", "p9_right").replace('"A"', '"left"', 1)
    >>> _ = Path("lamp_side.jsonl").write_text(edited)
    >>> issues = GroupedIssues()
    >>> _ = ANSWERS.check(Path("lamp_side.jsonl"), {"test": table}, False, issues)
    >>> try:
    ...     issues.raise_if_any("lamp_side.jsonl cannot be submitted")
    ... except InputError as error:
    ...     print(error)
    lamp_side.jsonl cannot be submitted: 3 problems.
      answer: Expected the letter of an option of the item, or an empty text, but got `left` (line 1).
      id: Expected items of split test, but got `p9_right` (line 2).
      rows: Expected one for every item of split test, but there is none for `p1_right`.

    One object names all the parts; an entry point of the package announces it.

    >>> from lmms_eval_tasks.api import Benchmark, TaskKind
    >>> PAIRS = TaskKind((*SCORES, *COMMON_METRICS), members="clips", views=("blind", "single_frame", "shuffled"))
    >>> BENCHMARK = Benchmark(
    ...     card=CARD,
    ...     folder=Path("lamp_side"),
    ...     kinds={"pairs": PAIRS},
    ...     prepare=prepare,
    ...     schema=lambda: {"room": "string"},
    ...     submission=ANSWERS,
    ... )
    >>> [metric.title for metric in BENCHMARK.kind_of({"benchmark": "lamp_side", "split": "test"}).metrics]
    ['pair accuracy', 'single accuracy', 'official reader', 'official reader, single', 'pairs', 'says left', 'unparsed',
    'unscored', 'sample data']

    A second benchmark asks after how many seconds the lamp goes on, and takes a free answer. Half a second off is
    still right, so its grading says what is right. It raises nothing, whatever the response is. The record has no
    score, and says why, where the clip is missing or the key is withheld.

    >>> import re
    >>> from lmms_eval_tasks.api import TaskContext, UnscoredReason
    >>> def grade_time(row: Row, response: object, context: TaskContext) -> GradedItem:
    ...     said = response if row["asked"] and isinstance(response, str) else ""
    ...     found = re.search("[0-9]{1,4}([.][0-9]{1,3})?", said)
    ...     late = round(float(found[0]) - float(row["answer"]), 3) if found and row["answer"] else None
    ...     record = Record.graded(
    ...         item_id=row["item_id"],
    ...         group_id=row["group_id"],
    ...         stratum={"room": row["room"]},
    ...         expected=row["answer"],
    ...         answered=found[0] if found else None,
    ...         asked=row["asked"],
    ...         right=late is not None and abs(late) <= 0.5,
    ...         fields={"late": late, "prompt": context.settings.signature},
    ...     )
    ...     return GradedItem(record, {"seconds": float(found[0]) if found else None})
    >>> timed = [
    ...     {**row, "question": "After how many seconds is the lamp on?", "options": [], "answer": str(number + 1.5)}
    ...     for number, row in enumerate(docs)
    ... ]
    >>> timed[3]["asked"] = False
    >>> said = ["After 1.8 seconds.", "At once.", "About 5 s", ""]
    >>> graded = [grade_time(row, response, task) for row, response in zip(timed, said)]
    >>> for one in graded:
    ...     print(one.record.expected, one.record.answered, one.record.outcome.value, one.record.why)
    1.5 1.8 correct
    2.5 None unparsed
    3.5 5 wrong
    4.5 None unscored no clip
    >>> graded[3].record.unscored_reason is UnscoredReason.NO_CLIP
    True

    Its score is in seconds, 60 at most. A column of the report shows a score, and with `interval` its 95% bootstrap
    interval; a count has none.

    >>> from lmms_eval_tasks.api import Column
    >>> def seconds_off(record: Record) -> float | None:
    ...     return None if record.fields["late"] is None else min(abs(record.fields["late"]), 60.0)
    >>> SECONDS_OFF = Metric(
    ...     "seconds_off",
    ...     "seconds off",
    ...     seconds_off,
    ...     value_bounds=(0.0, 60.0),
    ...     bounds=(0.0, 60.0),
    ...     unit="s",
    ...     higher_is_better=False,
    ... )
    >>> records = [one.record for one in graded]
    >>> columns = (Column(SINGLE_ACCURACY, "accuracy", interval=True), Column(SECONDS_OFF), Column())
    >>> {column.heading: column.cell([records]) for column in columns}
    {'accuracy': '33.3 [0.0, 50.0]', 'seconds off': '0.9', 'items': '4'}
    >>> Column(PAIRS_SCORED, interval=True)
    Traceback (most recent call last):
        ...
    ValueError: Expected a mean, which has an interval, but pairs_scored is a count.

    A panel of the report page is made of the runs' records. Outcomes have colours of their own there.

    >>> from collections import Counter
    >>> from lmms_eval_tasks.api import Outcome, Panel, RunRecords, share_plot
    >>> def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    ...     in_hall = ([one for one in run.records if one.stratum["room"] == "hall"] for run in runs)
    ...     counts = [Counter(record.outcome.value for record in records) for records in in_hall]
    ...     figure = share_plot("Items in the hall by outcome", runs, counts, [outcome.value for outcome in Outcome])
    ...     return [Panel("The hall", figure, "Its lamp goes on slowly. Right: at most half a second off.")]
    >>> [panel] = panels("lamp_time", [RunRecords("1", "a model", [records])])
    >>> panel.figures.table().texts()
    [('a model', '1', '0', '1', '0', '1')]

    Where rows have options, people are asked these without a word. Here they are offered two times. `AskedItem.keys`
    makes the items of a group versions of one, so that nobody answers for two of them.

    >>> from lmms_eval_tasks.api import AskedItem, Inquiry, OfferedChoice
    >>> TWO = (OfferedChoice("EARLY", "E", "In the first 3 seconds"), OfferedChoice("LATE", "L", "Later"))
    >>> def ask_half(rows: Sequence[Row]) -> list[AskedItem]:
    ...     return [
    ...         AskedItem(
    ...             item=item,
    ...             item_id=row["item_id"],
    ...             question="When does the lamp go on?",
    ...             ways={version: (row["clip"],)},
    ...             choices=TWO,
    ...             key="EARLY" if float(row["answer"]) < 3 else "LATE",
    ...         )
    ...         for (item, version), row in zip(AskedItem.keys(rows), rows)
    ...     ]
    >>> INQUIRY = Inquiry("choice", ask_half, responses=5, attention=1)
    >>> for asked in INQUIRY.items(timed):
    ...     print(asked.item, asked.ways, asked.key)
    p1 {'p1_left': ('test/a.mp4',)} EARLY
    p1 {'p1_right': ('test/b.mp4',)} EARLY
    p2 {'p2_left': ('test/c.mp4',)} LATE
    p2 {'p2_right': ('test/d.mp4',)} LATE

    Its file for the leaderboard is no list of choices, so three functions make its form.

    >>> from lmms_eval_tasks.api import Built, Checked, SubmissionForm
    >>> class Times(RowForm):
    ...     seconds: dict[str, float]
    >>> def examine(
    ...     entries: Sequence[GradedItem], rows: Mapping[str, Row], allow_incomplete: bool, issues: GroupedIssues
    ... ) -> None:
    ...     for entry in () if allow_incomplete else entries:
    ...         if entry.submission["seconds"] is None:
    ...             issues.add("seconds", "Expected a time for every item, but there is none for", entry.record.item_id)
    >>> def build(entries: Sequence[GradedItem], table: Table, part: str) -> Built:
    ...     given = {entry.record.item_id: entry.submission["seconds"] for entry in entries}
    ...     in_order = (row["item_id"] for row in table.rows)
    ...     times = {item: given[item] for item in in_order if given.get(item) is not None}
    ...     return Built(as_lines([{"seconds": times}]), rows=len(given), empty=len(given) - len(times))
    >>> def check(
    ...     path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: GroupedIssues
    ... ) -> Checked:
    ...     table = prepared.get("test")
    ...     known = {row["item_id"] for row in table.rows} if table else set()
    ...     times = {item: time for _, row in read_rows(path, Times, issues) for item, time in row.seconds.items()}
    ...     for item in times if table else ():
    ...         if item not in known:
    ...             issues.add("seconds", "Expected items of split test, but got", item)
    ...     against = f"the form, and every item against {table}" if table else "the form alone"
    ...     return Checked("Lamp time, split test", len(times), 0, against, against=table)
    >>> TIMES = SubmissionForm(("times",), lambda split, part: "submissions/lamp_time.json", examine, build, check)
    >>> issues = GroupedIssues()
    >>> TIMES.examine(graded, {}, False, issues)
    >>> try:
    ...     issues.raise_if_any("The run cannot be submitted")
    ... except InputError as error:
    ...     print(error)
    The run cannot be submitted: 1 problem.
      seconds: Expected a time for every item, but there is none for p1_right, p2_right.
    >>> file = TIMES.build(graded, table, "times")
    >>> print(file.text)
    {"seconds": {"p1_left": 1.8, "p2_left": 5.0}}
    >>> file.rows, file.empty
    (4, 2)
    >>> _ = Path("lamp_time.json").write_text(file.text)
    >>> TIMES.check(Path("lamp_time.json"), {"test": table}, True, GroupedIssues()).checked
    'the form, and every item against the prepared split test'

    Its prompt is `prompts/lamp_time.txt` in its folder, which its YAML names and which asks without options. Its
    `prepare` goes as the first one does. What writes a small release, always the same for a seed, becomes
    `lmms-eval-tasks sample lamp_time`.

    >>> from dataclasses import replace
    >>> from lmms_eval_tasks.api import SampleWriter
    >>> def write_release(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    ...     lines = [{"pair": f"p{seed}_{number}", "left": "a.mp4"} for number in range(sizes["pairs"])]
    ...     _ = (folder / "pairs.jsonl").write_text(as_lines(lines))
    >>> TIMED = TaskKind(
    ...     metrics=(SINGLE_ACCURACY, SECONDS_OFF, *COMMON_METRICS),
    ...     extractor="first number 1",
    ...     columns=columns,
    ...     panels=panels,
    ...     guesses=lambda row: ("2.5",),
    ... )
    >>> def prepare_times(source: Path, progress: Progress = no_progress) -> dict[str, SplitManifest]:
    ...     ...  # with building("lamp_time")
    >>> TIME_CARD = replace(
    ...     CARD,
    ...     name="lamp_time",
    ...     title="Lamp time",
    ...     main_metric="single_accuracy",
    ...     chance={},
    ...     human=(),
    ...     prepare_command="lmms-eval-tasks prepare lamp_time --source DIR",
    ... )
    >>> LAMP_TIME = Benchmark(
    ...     card=TIME_CARD,
    ...     folder=Path("lamp_time"),
    ...     kinds={"timed": TIMED},
    ...     prepare=prepare_times,
    ...     schema=lambda: {"room": "string"},
    ...     submission=TIMES,
    ...     inquiries={"answer": INQUIRY},
    ...     sample=SampleWriter("pairs of clips", {"pairs": 2}, write_release),
    ... )
    >>> LAMP_TIME.kind_of({"kind": "timed"}).metric("seconds_off").unit
    's'
    >>> LAMP_TIME.inquiry("answer").responses
    5
    >>> LAMP_TIME.sample.write(Path("raw"), 7, LAMP_TIME.sample.sizes, no_progress)
    >>> print(Path("raw/pairs.jsonl").read_text(), end="")
    {"pair": "p7_0", "left": "a.mp4"}
    {"pair": "p7_1", "left": "a.mp4"}
"""

from __future__ import annotations

from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.registry import building
from lmms_eval_tasks.utils.answers.choice import choice_grader
from lmms_eval_tasks.utils.answers.question import TaskContext
from lmms_eval_tasks.utils.benchmark.benchmark import Benchmark, SampleWriter, TaskKind
from lmms_eval_tasks.utils.benchmark.hooks import (
    RunningTask,
    aggregate,
    doc_to_target,
    doc_to_text,
    doc_to_visual,
    hook,
    process_docs,
    write_submission,
)
from lmms_eval_tasks.utils.core.errors import GroupedIssues, InputError
from lmms_eval_tasks.utils.core.forms import RowForm, read_rows
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.card import Card, Human, Row, SplitFacts
from lmms_eval_tasks.utils.data.manifest import SplitManifest, read_removed
from lmms_eval_tasks.utils.data.prepare import Origin
from lmms_eval_tasks.utils.people.inquiries import AskedItem, Inquiry, OfferedChoice
from lmms_eval_tasks.utils.reporting.columns import Column, RunRecords
from lmms_eval_tasks.utils.reporting.grids import share_plot
from lmms_eval_tasks.utils.reporting.panels import Panel
from lmms_eval_tasks.utils.scoring.metrics import (
    COMMON_METRICS,
    OFFICIAL_ACCURACIES,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Metric,
)
from lmms_eval_tasks.utils.scoring.record import GradedItem, Outcome, Record, UnscoredReason
from lmms_eval_tasks.utils.submission.choices import ChoiceForm
from lmms_eval_tasks.utils.submission.form import Built, Checked, SubmissionForm, Table

__all__ = [
    "COMMON_METRICS",
    "OFFICIAL_ACCURACIES",
    "PAIRS_SCORED",
    "PAIR_ACCURACY",
    "SINGLE_ACCURACY",
    "AskedItem",
    "Benchmark",
    "Built",
    "Card",
    "Checked",
    "ChoiceForm",
    "Column",
    "GradedItem",
    "GroupedIssues",
    "Human",
    "InputError",
    "Inquiry",
    "Metric",
    "OfferedChoice",
    "Origin",
    "Outcome",
    "Panel",
    "Progress",
    "Record",
    "Row",
    "RowForm",
    "RunRecords",
    "RunningTask",
    "SampleWriter",
    "SplitFacts",
    "SplitManifest",
    "SubmissionForm",
    "Table",
    "TaskContext",
    "TaskKind",
    "UnscoredReason",
    "aggregate",
    "building",
    "choice_grader",
    "doc_to_target",
    "doc_to_text",
    "doc_to_visual",
    "hook",
    "no_progress",
    "process_docs",
    "read_prompt",
    "read_removed",
    "read_rows",
    "share_plot",
    "write_submission",
]
