"""Views, the parts of an item that a model is shown: a class for each, and the names of their tasks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from lmms_eval_tasks.utils.answers.hooks import OPTIONS_PROMPT, Prompt, without_clip
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.data import made
from lmms_eval_tasks.utils.data.card import Row
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.clips import FrameOrder
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, Together, UnscoredReason

if TYPE_CHECKING:
    import datasets

CLIP = "clip"
"""The field of a record that has the name of the clip that a model described."""
DESCRIBE = "caption"
"""The prompt of the first pass with captions."""
CAPTIONED = "captioned"
"""The prompt in which a caption stands in place of the clip."""
NO_CAPTION = "(Nobody has described this video. The answer will not be scored.)"
QUESTION = "question"
"""The column of somebody else's rows that is left out."""
NOTICE = "hidden_question"
"""The prompt that stands in its place."""
LEAST_OPTIONS = 2
POSITIONS = ("first", "centre", "last")


@dataclass(frozen=True)
class Masking:
    """Rules by which a kind of task blacks out the evidence of its questions.

    Attributes:
        row: A row with what is asked of the masked clip, such as an option more.
        boxes: What of a row's clip is black: the second from which, the second up to which, not included, and a box as
            ``x1, y1, x2, y2`` in pixels of the upright frame.
    """

    row: Callable[[Row], Row]
    boxes: Callable[[Row], Sequence[made.TimedBox]]


class Kind(Protocol):
    """What a view asks of a `TaskKind`."""

    @property
    def visuals(self) -> Sequence[str]: ...

    @property
    def by_option(self) -> Sequence[str]: ...

    @property
    def frame(self) -> str: ...

    @property
    def guess_prompt(self) -> str: ...

    @property
    def masking(self) -> Masking | None: ...


class Suits(str, Enum):
    """Which tasks a view makes sense for."""

    CLIPS = "every task about a clip: the words stay"
    WORDS = "tasks with a clip, questions and options"
    OPTIONS = "tasks with lettered options, which it moves"
    EVIDENCE = "tasks that know where their evidence is"
    NOTHING = "none by itself"


@dataclass(frozen=True)
class Texts:
    """Texts that a view shows.

    Attributes:
        prompt: A prompt by its id.
        caption: The caption of a clip as the item names it; None where it has none.
        check_captions: Raises InputError where there are no captions.
    """

    prompt: Callable[[str], Prompt]
    caption: Callable[[Any], str | None]
    check_captions: Callable[[], object]


@dataclass(frozen=True)
class Item:
    """An item that is asked, whoever's it is: its row, its clips as its task names them, and whether they are there."""

    row: Row
    clips: Callable[[], Sequence[Any]]
    asked: bool = True


@dataclass(frozen=True)
class View:
    """What a model is shown of an item; each of the classes below changes what differs from the whole item.

    Attributes:
        ending: Of its tasks' names.
        suits: Which tasks it makes sense for.
        clip: What it shows of a clip, in words.
        beside: What it changes beside that, in words.
        needs_clip: Whether it shows something of a clip.
        shows_video: Whether that is a video.
        order: The order in which it shows a clip's frames, which some models can read by themselves.
        keeps_chance: Whether a guess is right as often as in the whole task.
        across: Whether an item counts by the ``mean`` of its samples, or is right if it is in ``all`` of them, or in
            ``any``: then the view alone says which samples there are.
        samples: What its samples are called.
    """

    ending: ClassVar[str] = ""
    suits: ClassVar[Suits] = Suits.NOTHING
    clip: ClassVar[str] = "the clip"
    beside: ClassVar[str] = ""
    needs_clip: ClassVar[bool] = True
    shows_video: ClassVar[bool] = True
    keeps_chance: ClassVar[bool] = True
    across: ClassVar[Together] = "mean"
    samples: ClassVar[str] = "samples"

    @property
    def name(self) -> str:
        return self.ending

    @property
    def family(self) -> str:
        """The view by which a benchmark lists it."""
        return self.ending

    @property
    def order(self) -> FrameOrder | None:
        return None

    @property
    def is_made(self) -> bool:
        """Whether what is shown has to be made of the clip."""
        return type(self).making is not View.making

    def describe(self, kind: Kind) -> str:
        return ", ".join(filter(None, (f"{self.name}: {self.clip}", self.beside)))

    def check(self, texts: Texts) -> None:
        """Raise InputError where a run of it cannot be asked."""

    def select(self, table: datasets.Dataset, kind: Kind) -> datasets.Dataset:
        """Return the rows that are asked."""
        return table

    def seen(self, row: Row, kind: Kind) -> str:
        """Return what a model encodes of a clip, unlike anything else that it may encode of it."""
        return self.clip

    def making(self, clip: Path, row: Row, kind: Kind) -> made.Making | None:
        """Return what makes of a clip what is shown; None where it is shown as it is."""
        return None

    def kept_by(self, find_row: Callable[[], Row], kind: Kind) -> Mapping[str, Any]:
        """Return what an answer is kept by, beside the item, its prompt and its clips, as JSON values."""
        return {}

    def own_prompt(self, kind: Kind, chosen: bool) -> str:
        """Return the id of the prompt by which it asks, `chosen` or not by the user; empty where it is the task's."""
        return ""

    def put(self, item: Item, ask: Callable[[], str], texts: Texts) -> str:
        """Return an item's prompt, by that of the whole item."""
        return without_clip(ask(), item.asked)

    def in_place_of(self, clip: Any, texts: Texts) -> str | None:
        """Return the words that stand in place of a clip; None where none do."""
        return None

    def rewrite(self, row: Row, texts: Texts) -> Row:
        """Return somebody else's row from which the prompt of this view is written."""
        return row

    def check_prompt(self, row: Row, text: str, texts: Texts) -> None:
        """Raise InputError where the prompt of somebody else's task, written of `rewrite`, does not fit the view."""

    def keep(self, record: Record, row: Row, kind: Kind) -> Record:
        """Return the record of an answer to a row that is asked."""
        return record

    def row_id(self, item_id: str) -> str:
        """Return the id of the row that an asked one was made from."""
        return item_id

    def join(self, records: Sequence[Record]) -> Iterable[Record]:
        """Return the records of a task's items; rows that were asked may be samples of one."""
        return records

    def look_back(
        self, clips: Sequence[Path], item: Item, kind: Kind, store: Callable[[], ClipStore], texts: Texts
    ) -> tuple[int | None, UnscoredReason | None]:
        """Return the number of the single frame that was shown, and why nothing could be; raises UnreadableClip."""
        if self.is_made:
            for clip in clips:
                made.count_frames(clip, store())
        return None, None


class Whole(View):
    """The whole item."""


class Blind(View):
    """No clip; the words are the same."""

    ending, suits, clip = "blind", Suits.CLIPS, "nothing"
    needs_clip = shows_video = False


@dataclass(frozen=True)
class SingleFrame(View):
    """One frame as a picture: the task's own, or that at a position."""

    position: str = ""
    ending, suits, clip = "single_frame", Suits.CLIPS, "one frame"
    shows_video = False
    _NAME: ClassVar[re.Pattern[str]] = re.compile(rf"single_frame_({'|'.join(POSITIONS)}|random(?:0|[1-9]\d{{0,5}}))")

    @classmethod
    def read(cls, name: str) -> SingleFrame | None:
        """Return the view of a frame whose position a name has."""
        found = cls._NAME.fullmatch(name)
        return cls(found[1]) if found else None

    @property
    def name(self) -> str:
        return f"{self.ending}_{self.position}" if self.position else self.ending

    def describe(self, kind: Kind) -> str:
        return f"{super().describe(kind)}, {self.position or kind.frame}"

    def seen(self, row: Row, kind: Kind) -> str:
        return self.position or kind.frame

    def making(self, clip: Path, row: Row, kind: Kind) -> made.Making:
        return made.Making(made.show_frame, clip, (self.position or kind.frame,))

    def own_prompt(self, kind: Kind, chosen: bool) -> str:
        """Of a frame drawn at random, as filters of single frames need it, the one that asks for a guess."""
        return kind.guess_prompt if self.position.startswith("random") and not chosen else ""

    def look_back(
        self, clips: Sequence[Path], item: Item, kind: Kind, store: Callable[[], ClipStore], texts: Texts
    ) -> tuple[int | None, UnscoredReason | None]:
        frames = [made.find_frame(clip, self.position or kind.frame, store()) for clip in clips]
        return frames[0], None


@dataclass(frozen=True)
class Reordered(View):
    """All frames in another order."""

    frame_order: FrameOrder = FrameOrder.SHUFFLED
    suits = Suits.CLIPS

    @property
    def name(self) -> str:
        return self.frame_order.value

    @property
    def family(self) -> str:
        return self.name

    @property
    def order(self) -> FrameOrder:
        return self.frame_order

    def describe(self, kind: Kind) -> str:
        return f"{self.name}: {self.seen({}, kind)}"

    def seen(self, row: Row, kind: Kind) -> str:
        return "its frames, last first" if self.frame_order is FrameOrder.REVERSED else "its frames, shuffled"

    def making(self, clip: Path, row: Row, kind: Kind) -> made.Making:
        makes = made.show_reversed if self.frame_order is FrameOrder.REVERSED else made.show_shuffled
        return made.Making(makes, clip)


class Masked(View):
    """The clip with its evidence black, and what the kind asks of that: for benchmarks that know where it is."""

    ending, suits, clip = "masked", Suits.EVIDENCE, "the clip with its evidence black"
    keeps_chance = False

    def select(self, table: datasets.Dataset, kind: Kind) -> datasets.Dataset:
        return _changed(table, (kind.masking.row(row) for row in table.to_list())) if kind.masking else table

    def seen(self, row: Row, kind: Kind) -> str:
        return f"{self.clip} of {row['item_id']}"

    def making(self, clip: Path, row: Row, kind: Kind) -> made.Making | None:
        return made.Making(made.mask_boxes, clip, (self._boxes(row, kind),)) if row["asked"] else None

    def kept_by(self, find_row: Callable[[], Row], kind: Kind) -> Mapping[str, Any]:
        return {"boxes": self._boxes(find_row(), kind)}

    def _boxes(self, row: Row, kind: Kind) -> tuple[made.TimedBox, ...]:
        return tuple(kind.masking.boxes(row)) if kind.masking else ()


class OptionsAlone(View):
    """The clip and the options without the question."""

    ending, suits, beside = "video_only", Suits.WORDS, "and options without the question"

    def own_prompt(self, kind: Kind, chosen: bool) -> str:
        return OPTIONS_PROMPT

    def rewrite(self, row: Row, texts: Texts) -> Row:
        question = row.get(QUESTION)
        if not isinstance(question, str) or not question.strip():
            names = ", ".join(map(str, row))
            raise InputError(f"Expected rows with a column {QUESTION}, which is to be left out, but one has {names}.")
        return {**row, QUESTION: texts.prompt(NOTICE).text}

    def check_prompt(self, row: Row, text: str, texts: Texts) -> None:
        if texts.prompt(NOTICE).text not in text or row[QUESTION].strip() in text:
            raise InputError(
                f"Expected a prompt in which the column {QUESTION} has the whole question, so that it can be left "
                f"out, but got {text[:200]!r}."
            )

        def are_shown(value: object) -> bool:
            options = list(value.values()) if isinstance(value, Mapping) else value
            if not isinstance(options, (list, tuple)) or len(options) < LEAST_OPTIONS:
                return False
            return all(isinstance(option, str) and option in text for option in options)

        if not any(map(are_shown, row.values())):
            raise InputError(
                f"Expected a prompt that shows options, a list in a column of the row, for they are asked about "
                f"alone, but got {text[:200]!r}."
            )


class Captioned(View):
    """A caption in place of the clip."""

    ending, suits, clip = "socratic", Suits.WORDS, "a caption"
    needs_clip = shows_video = False

    def check(self, texts: Texts) -> None:
        texts.check_captions()

    def in_place_of(self, clip: Any, texts: Texts) -> str:
        return texts.caption(clip) or NO_CAPTION

    def put(self, item: Item, ask: Callable[[], str], texts: Texts) -> str:
        caption = "\n\n".join(self.in_place_of(clip, texts) for clip in item.clips())
        return texts.prompt(CAPTIONED).render(caption=caption, prompt=super().put(item, ask, texts))

    def look_back(
        self, clips: Sequence[Path], item: Item, kind: Kind, store: Callable[[], ClipStore], texts: Texts
    ) -> tuple[int | None, UnscoredReason | None]:
        return None, None if all(map(texts.caption, item.clips())) else UnscoredReason.NO_CAPTION


class Describing(View):
    """The first pass of `Captioned`: a model describes each clip, and nothing is scored."""

    ending = "captions"

    @property
    def family(self) -> str:
        return Captioned.ending

    def select(self, table: datasets.Dataset, kind: Kind) -> datasets.Dataset:
        """Return one row of each clip."""
        first = {clip: row for row, clip in reversed(list(enumerate(table[kind.visuals[0]])))}
        return table.select(sorted(first.values()))

    def own_prompt(self, kind: Kind, chosen: bool) -> str:
        return DESCRIBE

    def put(self, item: Item, ask: Callable[[], str], texts: Texts) -> str:
        return without_clip(texts.prompt(DESCRIBE).text, item.asked)

    def keep(self, record: Record, row: Row, kind: Kind) -> Record:
        if record.asked:
            reason = UnscoredReason.ONLY_PREDICTED
            record = replace(
                record, answered=None, outcome=Outcome.UNSCORED, unscored_reason=reason, unparsed_reason=None
            )
        return record.with_fields(**{CLIP: row[kind.visuals[0]]})


class Rotated(View):
    """The clip, and the options in every cyclic order, each a row: an item is right only if it is in all of them.

    Source: the circular evaluation of MMBench (Liu et al. 2024, section 4.3), which VLMEvalKit has.
    """

    ending, suits, beside = "rotated", Suits.OPTIONS, "and options in every order"
    keeps_chance, across, samples = False, "all", "orders of options"
    _TURN: ClassVar[re.Pattern[str]] = re.compile(r"#rotated(\d+)$")
    _ORDERS: ClassVar[str] = "orders"
    """Field of a row's record: how many orders its item has."""

    def select(self, table: datasets.Dataset, kind: Kind) -> datasets.Dataset:
        rows = _with_options(table, self)
        return _changed(table, (moved for row in rows for moved in self.rotate(row, kind.by_option)))

    def rotate(self, row: Row, columns: Sequence[str]) -> Iterator[Row]:
        """Yield a row for each cyclic order of an item's options; `columns` have an entry for each option."""
        count = len(row["options"])
        for turn in range(count or 1):
            moved = {name: [*row[name][turn:], *row[name][:turn]] for name in columns if row[name]}
            key = row["answer"]
            answer = ascii_uppercase[(ascii_uppercase.index(key) - turn) % count] if key and count else key
            item_id = f"{row['item_id']}#rotated{turn}" if turn else row["item_id"]
            yield {**row, **moved, "answer": answer, "item_id": item_id}

    def keep(self, record: Record, row: Row, kind: Kind) -> Record:
        """Return the record with the letters that the item's options have in their own order."""
        turn, count = self._turn(record), len(row["options"])

        def letter(shown: str | None) -> str | None:
            if not shown or shown not in ascii_uppercase[:count]:
                return shown
            return ascii_uppercase[(ascii_uppercase.index(shown) + turn) % count]

        turned = replace(record, expected=letter(record.expected), answered=letter(record.answered))
        return turned.with_fields(**{self._ORDERS: count or 1})

    def _turn(self, record: Record) -> int:
        found = self._TURN.search(record.item_id)
        return int(found[1]) if found else 0

    def row_id(self, item_id: str) -> str:
        return self._TURN.sub("", item_id)

    def join(self, records: Sequence[Record]) -> Iterator[Record]:
        found: dict[str, list[Record]] = {}
        for record in records:
            found.setdefault(self.row_id(record.item_id), []).append(record)
        for item_id, orders in found.items():
            first, *others = (
                replace(one, item_id=item_id, sample=number if len(orders) > 1 else None)
                for number, one in enumerate(sorted(orders, key=self._turn), start=1)
            )
            needs = int(first.fields.get(self._ORDERS, 1))
            yield replace(first, samples=tuple(others), across=self.across, needs=needs)


class NoneOfThese(View):
    """The clip, with an option that says so in place of the right one."""

    ending, suits, beside = "none_of_these", Suits.OPTIONS, "and no option that is right"
    OPTION: ClassVar[str] = "None of these"

    def select(self, table: datasets.Dataset, kind: Kind) -> datasets.Dataset:
        return _changed(table, map(self.replace_key, _with_options(table, self)))

    def replace_key(self, row: Row) -> Row:
        """Return a row in which no option is right but one that says so; as it is where its key is withheld."""
        if not (row["answer"] and row["options"]):
            return row
        place = ascii_uppercase.index(row["answer"])
        return {**row, "options": [*row["options"][:place], self.OPTION, *row["options"][place + 1 :]]}


def _with_options(table: datasets.Dataset, view: View) -> Sequence[Row]:
    rows: list[Row] = table.to_list()
    if not any(row["options"] for row in rows):
        raise InputError(f"Expected items with options for the view {view.name}, but none has any.")
    return rows


def _changed(table: datasets.Dataset, rows: Iterable[Row]) -> datasets.Dataset:
    import datasets

    return datasets.Dataset.from_list([dict(row) for row in rows], features=table.features)


_VIEWS: Mapping[str, View] = {
    view.name: view
    for view in (
        Whole(),
        Blind(),
        SingleFrame(),
        Reordered(FrameOrder.SHUFFLED),
        Reordered(FrameOrder.REVERSED),
        OptionsAlone(),
        Captioned(),
        Describing(),
        Rotated(),
        NoneOfThese(),
        Masked(),
    )
}


def views_for(*suits: Suits) -> tuple[str, ...]:
    """The names of the views that make sense for some tasks."""
    return tuple(name for name, view in _VIEWS.items() if view.suits in suits)


CLIP_VIEWS = views_for(Suits.CLIPS)
"""Those that change what is shown and leave the words, which suit every task about a clip."""
VIEWS = views_for(Suits.CLIPS, Suits.WORDS)
"""Those that need nothing of a benchmark but its clips, questions and options."""
USUAL_VIEWS = views_for(Suits.CLIPS, Suits.WORDS, Suits.OPTIONS)
"""Those of multiple-choice questions about a clip."""


def check_views(names: Iterable[str], kind: Kind) -> None:
    """Raise ValueError where a kind of task lists something that is no view, or one that it cannot show."""
    known = {name: view for name, view in _VIEWS.items() if view.suits is not Suits.NOTHING}
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"Expected views, any of {', '.join(known)}, but got {', '.join(unknown)}.")
    lacking = [name for name in names if known[name].suits is Suits.EVIDENCE and kind.masking is None]
    if lacking:
        raise ValueError(f"Expected a masking for the view {', '.join(lacking)}, but found none.")


def find_view(name: str) -> View | None:
    return _VIEWS.get(name) or SingleFrame.read(name)


def join_samples(records: Iterable[Record]) -> tuple[Record, ...]:
    """Return the records of a task's items, by those of its rows as they are logged."""
    rows = tuple(records)
    view = find_view(rows[0].view) if rows else None
    return tuple(view.join(rows)) if view else rows


def listed_as(family: str) -> Iterator[str]:
    """Yield the names that stand in lists of tasks of the views that a benchmark lists by one name."""
    return (name for name, view in _VIEWS.items() if view.family == family)


def split_name(name: str) -> tuple[str, View] | None:
    """A task's or group's name without its view, and the view; None where its ending is no view."""
    for place in (match.start() for match in re.finditer("_", name)):
        view = find_view(name[place + 1 :])
        if place and view:
            return name[:place], view
    return None


def name_view(task: str, view: str) -> str:
    return f"{task}_{view}" if view else task
