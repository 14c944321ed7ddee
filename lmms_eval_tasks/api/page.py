"""More of what a report's page shows: items, answers, figures, and published scores.

Examples:
    A benchmark asks about eight clips, four by day and four by night. Two models have answered.

    >>> from lmms_eval_tasks.api import Human, Metric, Panel, Record, RunRecords, TaskKind
    >>> def run_of(tag, model, answers):
    ...     scenes = ["day"] * 4 + ["night"] * 4
    ...     return RunRecords(tag, model, [[
    ...         Record.graded(f"q{n}", f"clip{n}", {"scene": scene}, key, answer, asked=True, fields={})
    ...         for n, (scene, key, answer) in enumerate(zip(scenes, "ABABABAB", answers))
    ...     ]])
    >>> large, small = run_of("1", "Large", "ABABABBB"), run_of("2", "Small", "ABBAAAAA")
    >>> accuracy = Metric("accuracy", "accuracy", lambda r: None if r.correct is None else 100.0 * r.correct)
    >>> day, night = accuracy.by("scene", ("day", "night"))

    The paper's scores lie in the benchmark's folder, in `published.json`. They and the scores of people stand beside
    those of the runs. Values are in the unit of the metric, here percent; a count cannot be compared so.

    >>> import json
    >>> from functools import partial
    >>> from pathlib import Path
    >>> from lmms_eval_tasks.api.page import ReferencedMetric, published_models
    >>> folder = Path("doors").resolve()
    >>> folder.mkdir()
    >>> printed = {
    ...     "accuracy": {"Big-7B": 62.5, "Big-72B": 75.0, "Human": 96.0},
    ...     "night": {"Big-7B": 50.0, "Big-72B": 62.5},
    ... }
    >>> entries = [
    ...     {"metric": metric, "model": model, "value": value, "source": "Doors paper, Table 2"}
    ...     for metric, values in printed.items()
    ...     for model, value in values.items()
    ... ]
    >>> _ = (folder / "published.json").write_text(json.dumps({"records": entries}))
    >>> def references(task, items):
    ...     people = (Human("accuracy", "test", 96.0, "Doors paper, Table 2", "of 20 questions"),)
    ...     models = partial(published_models, folder, source="Doors paper", without=("Human",))
    ...     return (
    ...         ReferencedMetric(accuracy, chance=50.0, people=people, published=models(metric="accuracy")),
    ...         ReferencedMetric(night, chance=50.0, published=models(metric="night")),
    ...     )
    >>> overall, at_night = references("doors", 8)
    >>> overall.best
    Published(model='Big-72B', value=75.0, source='Doors paper, Table 2')
    >>> overall.estimate(large.parts)
    Estimate(value=87.5, low=52.9..., high=97.7..., groups=8)
    >>> ReferencedMetric(Metric.total("items", "items", lambda r: 1.0))
    Traceback (most recent call last):
    ...
    ValueError: Expected a mean, which has an interval, but items is a count.

    A table of the paper has the same figures where it prints them, and runs beside them (`report --layout paper`): each
    place is a score, and what tells its entries from others. The benchmark's `layouts` are such tables.

    >>> from lmms_eval_tasks.api.page import Layout, LayoutPlace
    >>> table = Layout(
    ...     "Table 2: models by scene",
    ...     sources=("Doors paper, Table 2",),
    ...     places=[
    ...         LayoutPlace("all", "doors", accuracy, {"metric": "accuracy"}),
    ...         LayoutPlace("night", "doors", accuracy, {"metric": "night"}, lambda r: r.stratum["scene"] == "night"),
    ...     ],
    ... )

    A page has panels. Those that most benchmarks have are made of the records; figures are drawn
    when a page or a file is written, and have their numbers as a table.

    >>> from lmms_eval_tasks.api.page import heat_map, outcome_panel, scatter_panel, usual_panels
    >>> def panels(task, runs):
    ...     cells = {
    ...         (run.name, metric.title): run.estimate(metric) for run in runs for metric in (day, night)
    ...     }
    ...     table = heat_map("Accuracy by scene", [run.name for run in runs], ("day", "night"), cells, accuracy.bounds)
    ...     return [
    ...         scatter_panel("Overall and at night", runs, *references(task, 8), note="Numbers are the runs."),
    ...         Panel("Accuracy by scene", table, "In percent; the small number is how many clips there are."),
    ...         *usual_panels(runs),
    ...     ]
    >>> for panel in panels("doors", [large, small]):
    ...     print(panel.title)
    Overall and at night
    Accuracy by scene
    What became of the items
    Letters: expected × answered
    Letters: expected × answered
    >>> panels("doors", [large])[0].figures.table().texts()
    [('Large', '1', '87.5', '75.0'), ('Big-7B', 'published', '62.5', '50.0'), ('Big-72B', 'published', '75.0', '62.5')]
    >>> print(usual_panels([small])[1].note)
    Most given: A, 6 of 8 answers; it is the key 4 times. A column that is full from top to bottom is position bias.

    Where the items have no letters, the outcomes alone are shown.

    >>> outcomes = outcome_panel([large, small])
    >>> outcomes.figures.table().texts()
    [('Large', '1', '7', '1', '0', '0'), ('Small', '2', '4', '4', '0', '0')]
    >>> print(outcomes.note)
    Unparsed: asked, but nothing in the response reads as an answer. Unscored: could not be asked or graded.

    A score that a model has at several timesteps is drawn against them, with one line or more for each run. Here the
    large model was right at every timestep, and the small one where there is much noise.

    >>> from dataclasses import replace as but
    >>> from lmms_eval_tasks.api.page import Figure, timestep_plot
    >>> def right_at(timestep):
    ...     return but(accuracy, value=lambda r: 100.0 if timestep > 500 else 0.0)
    >>> curves = [("Large", large, lambda timestep: accuracy), ("Small", small, right_at)]
    >>> against = timestep_plot("Accuracy by timestep", (250.0, 750.0), curves, rule=50.0)
    >>> isinstance(against, Figure), against.table().texts()[2:]
    (True, [('Small', '2', '250', '0.0 [0.0, 32.4]'), ('Small', '2', '750', '100.0 [67.6, 100.0]')])

    Two runs are compared on the items that both have: the second score less the first with its 95% interval, and the
    exact McNemar test of the groups that one run alone gets right.

    >>> from lmms_eval_tasks.api.page import compare_records
    >>> compared = compare_records({"doors": large.records}, {"doors": small.records}, [accuracy])
    >>> compared.differences[0].change, compared.differences[0].interval
    (-37.5, (-75.0, 12.5))
    >>> compared.test.only_first, compared.test.only_second, compared.test.p_value
    (4, 1, 0.375)

    Below the panels stands each item with its clips, and what the runs answered. Evidence is drawn into the clip: spans
    in seconds, both ends included, and boxes in pixels of the clip.

    >>> from lmms_eval_tasks.api.page import AnswerView, InstanceTrack, ItemView
    >>> def item_view(record, row):
    ...     door = InstanceTrack("door", spans=((2, 3),), boxes={2: (40, 30, 120, 200), 3: (44, 30, 124, 200)})
    ...     return ItemView({"": row["clip"]}, frame=(640, 360), tracks=(door,))
    >>> def answer_view(record, row, response):
    ...     return AnswerView({"scene": record.stratum["scene"], "words": str(len(response.split()))})
    >>> kind = TaskKind(
    ...     (accuracy,), references=references, panels=panels, item_view=item_view, answer_view=answer_view
    ... )
    >>> kind.item_view(large.records[0], {"clip": "test/clip0.mp4"}).clips
    {'': 'test/clip0.mp4'}
    >>> kind.answer_view(large.records[0], {}, "The answer is A.").facts
    {'scene': 'day', 'words': '4'}

    Where answers come with their evidence, the tracks are made of it: of the truth, and of what was answered, as it was
    read when it was graded.

    >>> from lmms_eval_tasks.api.evidence import EvidenceQuestion, grade_evidence, read_truth
    >>> from lmms_eval_tasks.api.page import evidence_answer_view, predicted_tracks, tracks_of
    >>> seen = {"evidence_start_time": "00:02", "evidence_end_time": "00:03", "evidence_rationale": "It opens."}
    >>> seen["bboxes_in_time_range"] = {"00:02": [40, 30, 120, 200], "00:03": [44, 30, 124, 200]}
    >>> response = {"answer_choice": "A", "instances": [{"instance_name": "door", "evidences": [seen]}]}
    >>> truth = read_truth([{
    ...     "evidence_instance_id": "door", "evidence_start_time": "00:02", "evidence_end_time": "00:03",
    ...     "bboxes_in_range": seen["bboxes_in_time_range"],
    ... }])
    >>> record = grade_evidence(EvidenceQuestion("q", "clip", {}, "A", truth, frame=(640, 360)), json.dumps(response))
    >>> predicted_tracks(record, json.dumps(response), (640, 360)) == tracks_of(truth)
    True
    >>> evidence_answer_view(record, json.dumps(response), (640, 360)).facts["IM-vIoU"]
    '100.0'

    What leads to what in a clip is drawn by time, with the links between the two events that a question is about; an
    answer claims that the one leads to the other, or that it does not. Numbers along a quantity are drawn as curves.

    >>> from lmms_eval_tasks.api.page import EventGraph
    >>> events = {"push": ("Somebody pushes.", 1.0), "open": ("The door opens.", 2.0), "bell": ("A bell rings.", 3.5)}
    >>> graph = EventGraph(events, links=(("push", "open"), ("open", "bell")), asked=("push", "bell"))
    >>> graph.path
    (('push', 'open'), ('open', 'bell'))
    >>> view = ItemView({"": "test/clip0.mp4"}, graph=graph)
    >>> losses = {"forward": [(100, 0.4), (900, 0.1)], "reversed": [(100, 0.5), (900, 0.2)]}
    >>> answer = AnswerView(claim=False, curves=losses, axes=("timestep", "loss"))
"""

from __future__ import annotations

from lmms_eval_tasks.utils.reporting.columns import Layout, LayoutPlace
from lmms_eval_tasks.utils.reporting.figure import Figure
from lmms_eval_tasks.utils.reporting.grids import heat_map
from lmms_eval_tasks.utils.reporting.item_views import (
    AnswerView,
    EventGraph,
    InstanceTrack,
    ItemView,
    evidence_answer_view,
    predicted_tracks,
    tracks_of,
)
from lmms_eval_tasks.utils.reporting.panels import outcome_panel, scatter_panel, timestep_plot, usual_panels
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, published_models
from lmms_eval_tasks.utils.scoring.compare import compare_records

__all__ = [
    "AnswerView",
    "EventGraph",
    "Figure",
    "InstanceTrack",
    "ItemView",
    "Layout",
    "LayoutPlace",
    "ReferencedMetric",
    "compare_records",
    "evidence_answer_view",
    "heat_map",
    "outcome_panel",
    "predicted_tracks",
    "published_models",
    "scatter_panel",
    "timestep_plot",
    "tracks_of",
    "usual_panels",
]
