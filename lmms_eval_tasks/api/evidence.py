"""Evidence in answers: boxes with times as JSON, how they are read, and how well they match the truth.

Examples:
    A release says where a ball is that breaks a vase: four boxes, one a second, in pixels of a clip of 640 × 360.

    >>> import json
    >>> from lmms_eval_tasks.api.evidence import is_clock, official_box, read_truth
    >>> released = [{
    ...     "evidence_instance_id": "ball",
    ...     "evidence_start_time": "00:02",
    ...     "evidence_end_time": "00:05",
    ...     "bboxes_in_range": {f"00:0{second}": [64 * second, 36, 64 * second + 64, 108] for second in range(2, 6)},
    ... }]
    >>> truth = read_truth(json.dumps(released))
    >>> truth[0].name, truth[0].evidences[0].start, truth[0].evidences[0].end
    ('ball', 2, 5)

    The command that prepares a release checks it by the same rules: a time is ``mm:ss``, and a box is two corners, the
    upper left one first.

    >>> [text for text in ("00:02", "1:65", "2 s") if not is_clock(text)]
    ['1:65', '2 s']
    >>> official_box("[128, 36, 192, 108]")
    (128.0, 36.0, 192.0, 108.0)
    >>> print(official_box([192, 36, 128, 108]))
    None
    >>> read_truth([{**released[0], "bboxes_in_range": {"00:02": [0, 0, "inf", 9]}}])
    Traceback (most recent call last):
    ...
    ValueError: Expected finite boxes but got one with NaN or infinity.

    A model answers with the option and its evidence. This one writes thousandths of the frame, and sees the ball from
    second 3 to second 6. The answer is read as the official evaluator does; no text raises an error. The diagnosis says
    that the form is not quite as asked for: the letter is in lower case.

    >>> from lmms_eval_tasks.api.evidence import read_evidence_answer
    >>> seen = {
    ...     "evidence_start_time": "00:03", "evidence_end_time": "00:06", "evidence_rationale": "It hits the vase.",
    ...     "bboxes_in_time_range": {f"00:0{time}": [100 * time, 100, 100 * time + 100, 300] for time in (3, 4, 5)},
    ... }
    >>> response = {"answer_choice": "b", "instances": [{"instance_name": "the ball", "evidences": [seen]}]}
    >>> answer = read_evidence_answer(f"Here it is: {json.dumps(response)}")
    >>> answer.answer, len(answer.instances)
    ('B', 1)
    >>> answer.diagnose("ABCD")
    Diagnosis(answer='B', json_valid=True, schema_valid=False)
    >>> read_evidence_answer("I cannot tell.").instances
    ()

    The task's configuration says how the model writes boxes, and what counts as a hit. The run card lists both. All
    that cannot be used is listed at once.

    >>> from lmms_eval_tasks.api import InputError
    >>> from lmms_eval_tasks.api.evidence import EvidenceSettings, evidence_settings_reader
    >>> def find_prompt(name):
    ...     raise InputError(f"Expected a prompt of this benchmark, but got {name}.")
    >>> read_settings = evidence_settings_reader("Vase Bench", "cast_bench_evidence", find_prompt)
    >>> settings = read_settings({"boxes": "xyxy_n1000", "tau_st": 0.3}, {})
    >>> settings.facts()
    {'boxes': 'xyxy_n1000', 'hits': {'eps_overlap': 2, 'tau_t': 0.5, 'tau_st': 0.3, 'coverage_aware': False}}
    >>> read_settings({"boxes": "cxcywh", "tau_st": 30}, {})
    Traceback (most recent call last):
    ...
    lmms_eval_tasks.utils.core.errors.InputError: Vase Bench cannot be run as configured: 2 problems.
      lmms_eval_specific_kwargs: Expected boxes to be one of xyxy_px, yxyx_px, xyxy_n1000, yxyx_n1000, xyxy_resized,
      but got 'cxcywh'.
      lmms_eval_specific_kwargs: Expected tau_st to be a number from 0 to 1, but got 30.

    The answer is graded with these settings, as CaST-Bench's are: boxes become pixels of the clip, and predicted
    instances are matched with true ones. The spans share 3 of 5 seconds, and the boxes in these are the same, so both
    measures are 0.6. An answer is faithful where it is right and its evidence matches.

    >>> from lmms_eval_tasks.api.evidence import EVIDENCE_SCORES, EvidenceQuestion, GroundingSettings, grade_evidence
    >>> asked = EvidenceQuestion("q1", "clip1", {"room": "hall"}, "B", truth, letters="ABCD", frame=(640, 360))
    >>> record = grade_evidence(asked, json.dumps(response), settings.hits, settings.convention)
    >>> record.answered, record.outcome.value, record.fields["grounding"]["im_tiou"]
    ('B', 'correct', 0.6)
    >>> for name in ("accuracy", "faithful", "im_viou"):
    ...     print(f"{name}: {EVIDENCE_SCORES[name].score_records([record]):.0f}")
    accuracy: 100
    faithful: 100
    im_viou: 60
    >>> settings.hits == GroundingSettings(tau_st=0.3)
    True

    What an answer lost to its form has scores of its own, and `EvidenceFields` is what a log line has of all of that.
    Without the size of the clip these boxes cannot be graded, and the answer is graded all the same.

    >>> from dataclasses import replace
    >>> from lmms_eval_tasks.api.evidence import EVIDENCE_FORMAT, EvidenceFields
    >>> unsized = grade_evidence(replace(asked, frame=None), json.dumps(response), settings.hits, settings.convention)
    >>> unsized.outcome.value, EvidenceFields(**unsized.fields).grounding_reason
    ('correct', 'xyxy_n1000 boxes, size of the frame unknown')
    >>> {metric.name: metric.score_records([record, unsized]) for metric in EVIDENCE_FORMAT}["grounding_unscored_rate"]
    50.0

    Read in another convention, the same boxes match worse. The hook that ends a run warns of that, where there are at
    least 20 boxes. When the run is scored again, boxes are read as its log says, unless the environment chooses.

    >>> from lmms_eval_tasks.api.evidence import EvidenceInstance, convention_warnings
    >>> all(isinstance(instance, EvidenceInstance) for instance in answer.instances)
    True
    >>> run = [(asked, answer.instances)] * 7
    >>> for warning in convention_warnings("Vase Bench", run, read_settings({}, {}).convention):
    ...     print(warning)
    Vase Bench's boxes were read as xyxy_px, and do not look it: Read as xyxy_n1000, their mean IoU with true boxes of
    the same second is 1.00, not ... If the model writes boxes so, score its responses again with
    LMMS_EVAL_TASKS_BOXES=xyxy_n1000.
    >>> convention_warnings("Vase Bench", run, settings.convention)
    []
    >>> settings.as_logged([((640, 360), {"convention": "yxyx_n1000", "seen": None})]).convention.value
    'yxyx_n1000'

    The kind of task names the reader, for the run card, and says what is black in the view of masked clips: each box
    from one second up to another, the latter not included.

    >>> from lmms_eval_tasks.api import Metric, TaskKind
    >>> from lmms_eval_tasks.api.evidence import EVIDENCE_READER, Masking
    >>> def timed_boxes(row):
    ...     return [
    ...         (second, second + 1, box)
    ...         for instance in read_truth(row["evidence"])
    ...         for evidence in instance.evidences
    ...         for second, box in zip(evidence.seconds, evidence.boxes)
    ...     ]
    >>> kind = TaskKind(
    ...     metrics=(Metric("im_viou", "IM-vIoU", lambda record: 100.0 * record.fields["im_viou"]),),
    ...     extractor=EVIDENCE_READER,
    ...     read_settings=read_settings,
    ...     views=("blind", "masked"),
    ...     masking=Masking(row=dict, boxes=timed_boxes),
    ... )
    >>> kind.masking.boxes({"evidence": released})[0]
    (2, 3, (128.0, 36.0, 192.0, 108.0))
    >>> kind.extractor
    'evidence reader 1'
"""

from __future__ import annotations

from lmms_eval_tasks.prompting import evidence_settings_reader
from lmms_eval_tasks.utils.answers.evidence import (
    EVIDENCE_FORMAT,
    EVIDENCE_SCORES,
    EvidenceFields,
    EvidenceQuestion,
    GroundingSettings,
    grade_evidence,
)
from lmms_eval_tasks.utils.answers.evidence_boxes import EvidenceInstance, official_box
from lmms_eval_tasks.utils.answers.evidence_reading import EVIDENCE_READER, is_clock, read_evidence_answer, read_truth
from lmms_eval_tasks.utils.answers.evidence_settings import EvidenceSettings, convention_warnings
from lmms_eval_tasks.utils.benchmark.benchmark import Masking

__all__ = [
    "EVIDENCE_FORMAT",
    "EVIDENCE_READER",
    "EVIDENCE_SCORES",
    "EvidenceFields",
    "EvidenceInstance",
    "EvidenceQuestion",
    "EvidenceSettings",
    "GroundingSettings",
    "Masking",
    "convention_warnings",
    "evidence_settings_reader",
    "grade_evidence",
    "is_clock",
    "official_box",
    "read_evidence_answer",
    "read_truth",
]
