"""The record, the typed result for one item from which every score is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, create_model
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.utils.core.forms import RowForm
from lmms_eval_tasks.utils.data.card import DataSet
from lmms_eval_tasks.utils.data.sampling import Drawn

OF_SAMPLES = ("sample", "samples")
"""Fields of a record that only a run with several answers an item has."""
OF_SOME = (*OF_SAMPLES, "unparsed_reason", "reading", "drawn")
"""Fields that are written only where they have a value."""
JOINED = ("across", "needs")
"""Fields that are never written: of an item whose samples are several rows, once their records are joined."""
HOW_ASKED = ("prompt", "boxes", "judge", "settings_digest")
"""Fields of a record about how its item was asked and read."""

CUT_OFF = "cut off"
"""The detail of the record of an answer that used all of its tokens."""

FRAME = "frame"
"""Field of a record that has the index of the single frame that was shown."""


Together = Literal["mean", "any", "all"]
"""How the samples of an item count together."""


class Outcome(str, Enum):
    """Outcome of one item."""

    CORRECT = "correct"
    """An answer was read, and it is right."""
    WRONG = "wrong"
    """An answer was read, and it is not right."""
    UNPARSED = "unparsed"
    """The model was asked, and nothing in its response can be read as an answer; it counts as wrong."""
    UNSCORED = "unscored"
    """The model could not be asked, or its answer could not be graded; `UnscoredReason` says why."""


class UnscoredReason(str, Enum):
    """Reason why an item, or a part of it, has no score."""

    NO_CLIP = "no clip"
    """The clip is missing, so the model was not asked."""
    UNREADABLE_CLIP = "unreadable clip"
    """The clip is there and cannot be decoded."""
    SHORT_CLIP = "short clip"
    """The clip has fewer frames than the model needs."""
    UNEQUAL_CLIPS = "unequal clips"
    """Clips that are compared, such as a clip and its reversal, have different frames."""
    NO_CAPTION = "no caption"
    """The model is prompted with a caption, and the clip has none."""
    NO_KEY = "no answer key"
    """The release withholds the answer."""
    NO_JUDGE = "no judge"
    """The run grades nothing, as its user chose."""
    JUDGE_FAILED = "judge failed"
    """The judge gave no reply that can be used."""
    OUT_OF_MEMORY = "out of memory"
    """The model did not fit beside the clip."""
    BUDGET = "budget spent"
    """The run's budget of tokens, lmms-eval's ``--max_tokens``, was spent before the model was asked."""
    BLOCKED = "blocked"
    """The provider blocked or refused the reply; the record's detail has its words."""
    OTHER_ITEM = "other item"
    """The response is about another item."""
    ONLY_PREDICTED = "only predicted"
    """The run kept what the model answered and graded nothing, as lmms-eval's ``--predict_only`` has it."""
    FAILED = "failed"
    """The model gave an error instead of an answer; the record's detail has its text."""

    @classmethod
    def of_error(cls, kind: str) -> UnscoredReason:
        """The reason that a model's error names by its kind, such as ``short_clip``; `FAILED` for any other kind."""
        return next((reason for reason in cls if reason.value == kind.replace("_", " ")), cls.FAILED)


class UnparsedReason(str, Enum):
    """Reason why nothing in a response can be read as an answer."""

    EMPTY = "empty"
    """There is no text, or none beside marked reasoning."""
    CUT_OFF = "cut off in its reasoning"
    """It used all of its tokens, or its reasoning never ends."""
    OTHER_LANGUAGE = "another language"
    """It is not in English, and has none of the forms that are known in other languages."""
    DISAGREES = "letter and text disagree"
    """It names one option by its letter and another by its text."""
    SEVERAL = "several options"
    """It names several options, and chooses none or takes its choice back."""
    NO_OPTION = "names no option"
    """It names no option at all, or takes back the only one."""


class JudgeReading(RowForm):
    """What a judge read in a response, beside our reader; no score of ours counts it.

    Attributes:
        answered: The answer, as a record has it; None where the response chooses none, or there is no reply.
        correct: Whether it is right; None without an answer or a key.
        model: The judge, as its server names it.
        prompt: The signature of the prompt that the judge was asked with.
        reason: Why there is no reply that can be used; empty where there is one.
        fields: The record's own fields that are others with this answer.
    """

    answered: str | None
    correct: bool | None
    model: str
    prompt: str
    reason: str = ""
    fields: dict[str, Any] = Field(default_factory=dict)


_SILENT = (UnscoredReason.OUT_OF_MEMORY, UnscoredReason.FAILED, UnscoredReason.BUDGET, UnscoredReason.BLOCKED)
_UNSHOWN = (UnscoredReason.UNREADABLE_CLIP, UnscoredReason.NO_CAPTION)
_UNHEARD = frozenset((UnscoredReason.NO_CLIP, *_SILENT, *_UNSHOWN))


@dataclass(frozen=True)
class Record:
    """Result for one item.

    Attributes:
        item_id: Stable id of the item within its benchmark and split.
        group_id: Id of the pair, clip or question with which the item is only right together.
        stratum: Names and values by which scores are broken down, for instance ``{"difficulty": "easy"}``.
        expected: The key, or None where the release withholds it.
        answered: What the model answered, or None where nothing could be read.
        outcome: How the item counts.
        unscored_reason: Why it is unscored; None where it is scored.
        unparsed_reason: Why nothing could be read; None where something was, or why is not known.
        detail: The reason in more words, for people; empty where there are none.
        view: What the model was shown of the item, by the view's name; empty for the whole item.
        fields: What only this benchmark records, as JSON values.
        sample: Which of the item's answers it is of, from 1, where each item was answered several times; else None.
        samples: Of a first answer, the records of the others.
        reading: What a judge read in the response; None where none was asked.
        across: How the item counts by its samples where its view says which these are: right in ``all``, or in ``any``;
            of other items by their ``mean``.
        needs: How many samples such an item has; one that lacks some has no score.
        drawn: How its group was drawn, where a run asks a sample of the groups; else None.
    """

    item_id: Annotated[str, Field(min_length=1)]
    group_id: str
    stratum: Mapping[str, str]
    expected: str | None
    answered: str | None
    outcome: Annotated[Outcome, Field(strict=False)]
    unscored_reason: Annotated[UnscoredReason, Field(strict=False)] | None = None
    detail: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    view: str = ""
    sample: Annotated[int, Field(ge=1)] | None = None
    samples: tuple[Record, ...] = ()
    unparsed_reason: Annotated[UnparsedReason, Field(strict=False)] | None = None
    reading: JudgeReading | None = None
    across: Together = "mean"
    needs: int = 1
    drawn: Drawn | None = None

    @classmethod
    def graded(  # noqa: PLR0913
        cls,
        item_id: str,
        group_id: str,
        stratum: Mapping[str, str],
        expected: str | None,
        answered: str | None,
        *,
        fields: Mapping[str, Any],
        missing: UnscoredReason | None = None,
        right: bool | None = None,
        unparsed_reason: UnparsedReason | None = None,
    ) -> Record:
        """The record of an answer; attributes as of a record.

        It is unscored where there is no answer, for the reason `missing`, or the key is withheld, and unparsed where
        nothing was read. Else it is right where `right` says so; without that where it is the key.
        """
        reason = missing or (None if expected else UnscoredReason.NO_KEY)
        if reason:
            outcome = Outcome.UNSCORED
        elif answered is None:
            outcome = Outcome.UNPARSED
        else:
            is_right = answered == expected if right is None else right
            outcome = Outcome.CORRECT if is_right else Outcome.WRONG
        unread = unparsed_reason if outcome is Outcome.UNPARSED else None
        return cls(
            item_id, group_id, stratum, expected, answered, outcome, reason, fields=fields, unparsed_reason=unread
        )

    @classmethod
    def of(
        cls,
        row: Mapping[str, Any],
        answered: str | None,
        stratum: Mapping[str, str],
        fields: Mapping[str, Any],
        *,
        missing: UnscoredReason | None = None,
        unparsed_reason: UnparsedReason | None = None,
    ) -> Record:
        """The record of what was answered to a row, as `graded` has it."""
        return cls.graded(
            row["item_id"],
            row["group_id"],
            dict(stratum),
            row["answer"],
            answered,
            fields=dict(fields),
            missing=missing,
            unparsed_reason=unparsed_reason,
        )

    @property
    def each(self) -> tuple[Record, ...]:
        """The records of all of the item's answers, this one first."""
        return self, *self.samples

    @property
    def correct(self) -> bool | None:
        """Whether the item counts as right; None where it is unscored."""
        return None if self.outcome is Outcome.UNSCORED else self.outcome is Outcome.CORRECT

    @property
    def asked(self) -> bool:
        """Whether the model was asked; it is not where the clip is missing."""
        return self.unscored_reason is not UnscoredReason.NO_CLIP

    @property
    def heard(self) -> bool:
        """Whether there is an answer: something could be shown, and neither the model nor a request to it failed."""
        return self.unscored_reason not in _UNHEARD

    @property
    def ran_out(self) -> bool:
        """Whether the answer used all of its tokens, or its reasoning never ends."""
        return self.detail == CUT_OFF

    def is_silent(self, responses: Sequence[object]) -> bool:
        """Whether there is no answer although the model was asked, given what it returned.

        Where it returned something, that is graded; but nothing of a view's item was shown where it could not be made.
        """
        if self.view and self.unscored_reason in _UNSHOWN:
            return True
        return self.asked and not self.heard and not any(responses)

    @property
    def why(self) -> str:
        """The reason and its detail, for people; empty where there is none."""
        reason = self.unscored_reason or self.unparsed_reason
        detail = "" if reason is UnparsedReason.CUT_OFF and self.ran_out else self.detail
        return ": ".join(filter(None, (reason.value if reason else "", detail)))

    @property
    def as_judged(self) -> Record:
        """The record with the answers that a judge read where our reader read none, its samples' too."""
        samples, reading = tuple(one.as_judged for one in self.samples), self.reading
        if reading is None or reading.answered is None or self.outcome is not Outcome.UNPARSED:
            return replace(self, samples=samples)
        outcome = Outcome.CORRECT if reading.correct else Outcome.WRONG
        read = replace(self, answered=reading.answered, outcome=outcome, unparsed_reason=None, samples=samples)
        return read.with_fields(**reading.fields)

    def with_fields(self, **fields: Any) -> Record:
        """The record with further benchmark fields."""
        return replace(self, fields={**self.fields, **fields})

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values, for the sample log."""
        unscored, unparsed = self.unscored_reason, self.unparsed_reason
        written = {**vars(self), "outcome": self.outcome.value, "unscored_reason": unscored and unscored.value}
        written["unparsed_reason"] = unparsed and unparsed.value
        written |= {"stratum": dict(self.stratum), "fields": dict(self.fields)}
        written["samples"] = [one.to_json() for one in self.samples]
        written["reading"] = self.reading and self.reading.model_dump()
        written["drawn"] = self.drawn and self.drawn.model_dump()
        return {name: value for name, value in written.items() if name not in JOINED and (name not in OF_SOME or value)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Record:
        """Read what `to_json` wrote.

        Raises:
            ValueError: where a field is missing or has another type, or the outcome is unknown.
        """
        try:
            return _RECORD.validate_python(value)
        except ValidationError as error:
            raise ValueError(f"Expected a record with item_id, group_id, stratum, …, but got {value!r}.") from error


def percent(flag: bool | None) -> float | None:
    """100 for True, 0 for False, None for None."""
    return None if flag is None else 100.0 * flag


def right(record: Record) -> float | None:
    return percent(record.correct)


def unparsed(record: Record) -> float | None:
    """100 where no answer can be read in a response, 0 where one is; None without a response."""
    return percent(record.answered is None) if record.heard else None


def unscored(record: Record) -> float | None:
    return percent(record.correct is None)


def any_record(_: Record) -> bool:
    return True


@dataclass(frozen=True)
class GradedItem:
    """One item after grading.

    Attributes:
        record: Its record.
        submission: What the submission needs of it beside the record, as JSON values.
    """

    record: Record
    submission: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def first_of(cls, record: Record, submission: Mapping[str, Any] | None) -> GradedItem:
        """An item as its log has it, of several samples the first."""
        return cls(replace(record, samples=()) if record.samples else record, submission or {})


class LogForm(RowForm, extra="ignore"):
    """Base of the forms of a line's parts: at least its fields, each of its type; what else is there is not read."""


def record_form(**narrowed: Any) -> Any:
    """The form of a record as it is written, each field as `Record` declares it, or narrower."""
    fields: dict[str, Any] = {**get_type_hints(Record, include_extras=True), **narrowed}
    logged: dict[str, Any] = {name: (form, ...) for name, form in fields.items() if name not in (*OF_SOME, *JOINED)}
    logged |= {name: (fields[name], None) for name in OF_SOME if name != "samples"}
    other: Any = create_model("SampleForm", __base__=LogForm, **logged)
    samples: Any = (list[Annotated[other, AfterValidator(_as_record)]], [])
    form: Any = create_model("RecordForm", __base__=LogForm, data_set=(DataSet | None, None), samples=samples, **logged)
    return Annotated[form, AfterValidator(_as_record), AfterValidator(_check_samples)]


def _as_record(read: Any) -> Record:
    values = {name: value for name, value in vars(read).items() if name != "data_set"}
    return Record(**values | {"samples": tuple(values.get("samples", ()))})


def _check_samples(record: Record) -> Record:
    if record.samples:
        got = [(one.item_id, one.sample) for one in record.each]
        if got != [(record.item_id, number) for number in range(1, len(got) + 1)]:
            raise PydanticCustomError("samples", "the item's samples in order, from 1")
    return record


_RECORD: TypeAdapter[Record] = TypeAdapter(record_form())
