"""Report of CaST-Bench: columns, published figures, panels and items of its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from lmms_eval_tasks.api import COMMON_METRICS, Column, Panel, Record, Row, RunRecords, share_plot
from lmms_eval_tasks.api.evidence import EVIDENCE_SCORES, read_truth
from lmms_eval_tasks.api.page import (
    AnswerView,
    ItemView,
    Layout,
    LayoutPlace,
    ReferencedMetric,
    evidence_answer_view,
    published_models,
    scatter_panel,
    tracks_of,
    usual_panels,
)
from lmms_eval_tasks.api.runs import Run
from lmms_eval_tasks.cast_bench import card
from lmms_eval_tasks.cast_bench.card import CARD, OPTION_KINDS
from lmms_eval_tasks.cast_bench.release import frame_of

FOLDER = Path(__file__).parent
PUBLIC_QUESTIONS = 80
FULL, PUBLIC = "full", "80-QA public example set"
SETS = {FULL: "full set", PUBLIC: "80 public questions"}
"""The sets of published figures, and what they are called in a table."""
PRINTED = {
    "accuracy": "qa_accuracy",
    "temporal_recall": "temporal_R@0.5",
    "im_tiou": "IM-tIoU",
    "st_recall": "ST_R@0.1",
    "im_viou": "IM-vIoU",
    "faithful": "faithful",
    "spurious": "spurious",
}
"""Our scores to their names in `published.json`, in the paper's order."""
LEADING = [EVIDENCE_SCORES[name] for name in ("accuracy", "faithful", "im_tiou", "im_viou")]
DIMENSION_HEADINGS = ("answer", "causal chain", "coverage", "overall")
GROUNDED = ("right, supported", "right, not supported", "wrong, supported", "wrong, not supported", "not graded")


def _matching(records: Sequence[Record]) -> str:
    return ", ".join(sorted({str(record.fields.get("matching") or "not said") for record in records}))


# Intervals are over clips, as questions about one clip are not independent.
_COMMON = (Column(COMMON_METRICS.unparsed), Column(COMMON_METRICS.unscored), Column(title="questions"))
COLUMNS = (*(Column(metric, interval=True) for metric in LEADING), Column(title="matching", text=_matching), *_COMMON)
OPEN_COLUMNS = (
    Column(card.JUDGE_SCORE, interval=True),
    *map(Column, card.JUDGE_DIMENSIONS, DIMENSION_HEADINGS),
    *_COMMON,
)


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside what is known of them: the project page's table of the full benchmark."""
    public = items == PUBLIC_QUESTIONS
    split = PUBLIC if public else FULL
    models = partial(published_models, FOLDER, source="cast-bench.github.io", split=split, without=("Human",))
    return tuple(
        ReferencedMetric(
            metric,
            chance=CARD.chance.get(metric.name),
            people=tuple(human for human in CARD.human if human.metric == metric.name and not public),
            published=models(metric=PRINTED[metric.name]),
            note=f"Published scores are of the {PUBLIC_QUESTIONS} public questions." if public else "",
        )
        for metric in LEADING
    )


def panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    return [*_grounding_panels(task, runs), *_distractor_panels(runs), *usual_panels(runs)]


def _grounding_panels(task: str, runs: Sequence[RunRecords]) -> list[Panel]:
    accuracy, *_, im_viou = references(task, max(len(run.records) for run in runs))
    return [
        scatter_panel(
            "Accuracy against grounding",
            runs,
            accuracy,
            im_viou,
            "Numbers are the runs. Far right and low: right answers without the evidence.",
        ),
        Panel(
            "Right answer and right evidence",
            share_plot(
                "Questions of each run by answer and evidence",
                runs,
                [Counter(map(_grounded, run.records)) for run in runs],
                GROUNDED,
            ),
            "Supported: an instance of the answer's evidence matches a true one in time and space.",
        ),
    ]


def _distractor_panels(runs: Sequence[RunRecords]) -> list[Panel]:
    """Return panels on the kinds of wrong options that were chosen; empty if the release does not name kinds."""
    counts = [Counter(str(record.fields.get("chosen_kind")) for record in run.records) for run in runs]
    if not any(of_run[kind] for of_run in counts for kind in OPTION_KINDS):
        return []
    return [
        Panel(
            "Which wrong options were chosen",
            share_plot("Wrong answers of each run by the kind of option", runs, counts, OPTION_KINDS),
            "Text-based options follow from the question alone, video-based ones from another moment of the clip; a "
            "near-miss differs from the answer, or from one of these two, in a detail.",
        )
    ]


def _grounded(record: Record) -> str:
    grounding = record.fields.get("grounding")
    if record.correct is None or grounding is None:
        return GROUNDED[-1]
    return GROUNDED[2 * (not record.correct) + (not grounding["supported"])]


def item_view(record: Record, row: Row) -> ItemView:
    return ItemView({"": row["clip"]}, frame=frame_of(row), tracks=tracks_of(read_truth(row["evidence"])))


def open_item_view(record: Record, row: Row) -> ItemView:
    """The same, with the question without its options."""
    return replace(item_view(record, row), text=row["question"])


def answer_view(record: Record, row: Row, response: str) -> AnswerView:
    return evidence_answer_view(record, response, frame_of(row))


def open_answer_view(record: Record, row: Row, response: str) -> AnswerView:
    scores = record.fields.get("scores") or {}
    return AnswerView({name.replace("_", " "): f"{value:g} of 10" for name, value in scores.items()})


# A second-hand summary, whose figure of the best model is in the table.
PEOPLE = 'secondary: en.papernotes.org summary of arXiv 2605.23216 ("'
STRICTER = "faithful, full set's rule"
SCRIPT = "script"
"""How the official script matches instances, as the leaderboard of the public questions was made."""


def _set_of_run(records: Sequence[Record]) -> str:
    return SETS[PUBLIC if len(records) == PUBLIC_QUESTIONS else FULL]


def _name_matching(runs: Sequence[Run]) -> list[str]:
    """What follows the name of a run whose instances were matched otherwise than the script does."""
    found = [_matching(run.records["cast_bench"]) for run in runs]
    return ["" if how == SCRIPT else f"matching {how}" for how in found]


def _places() -> list[LayoutPlace]:
    """The columns, each of one definition: *faithful* has two."""
    places = [
        LayoutPlace(name.replace("_", " "), "cast_bench", EVIDENCE_SCORES[ours], {"metric": name, "split": tuple(SETS)})
        for ours, name in PRINTED.items()
    ]
    at = list(PRINTED).index("faithful")
    places[at] = replace(places[at], where={"metric": "faithful", "split": PUBLIC})
    places.insert(at + 1, LayoutPlace(STRICTER, "cast_bench", None, {"metric": "faithful", "split": FULL}))
    return places


LAYOUTS = (
    Layout(
        "Table 4: answers and their evidence",
        ("cast-bench.github.io index.html", PEOPLE),
        _places(),
        group=lambda entry: SETS[entry["split"]],
        group_of_run=_set_of_run,
        take=_name_matching,
        digits=2,
        note="The paper's own table was not to be had: its figures are those of the project page, and those of the "
        "public questions the leaderboard's, with one decimal and four columns.\n"
        "The sets are not comparable: Qwen3-VL-8B-Instruct has 43.13 in the full one and 61.3 in the public one.\n"
        "faithful: a right answer with any matched instance of vIoU ≥ 0.1, as the released script counts. Faithful and "
        "spurious do not add up to accuracy in the full set's figures, so these follow a stricter rule, which was not "
        "released: they have a column of their own, which nothing else can fill.\n"
        "How instances were matched for the full set is not said. MiMo-VL's spurious is misprinted: with faithful it "
        "exceeds accuracy; 29.43 would fit.",
    ),
)
