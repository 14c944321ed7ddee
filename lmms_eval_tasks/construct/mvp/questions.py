"""Questions with two candidates about a clip and a contrasting one, the source's own or a model's, and their checks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lmms_eval_tasks.construct.curation.candidates import plain_text
from lmms_eval_tasks.construct.curation.mining import Ints
from lmms_eval_tasks.construct.curation.vectors import Floats, read_vectors
from lmms_eval_tasks.construct.engine.roles import Form
from lmms_eval_tasks.construct.engine.steps import Asking, Forecast, PaperCount, Removed, RowStep, SetStep
from lmms_eval_tasks.construct.engine.texts import bare_words, holds_text, is_marked
from lmms_eval_tasks.construct.mvp.rows import (
    AnnotatedClip,
    AskedClip,
    ContrastedClip,
    MvpBuildConfig,
    NeighbouredClip,
    OpposedClip,
)

CONTRAST = "contrast"
"""The role of the model that says which annotations exclude another."""
ROWS = 256
"""Clips whose cosines with all others are in memory at a time."""

AskedAbout = tuple[str, str, str]
"""Source, skill and question: annotations that differ in none of them can be told from each other."""


class ChosenContrasts(Form):
    """Ids of the descriptions that exclude the given one."""

    contrasts: list[str]


class FindNeighbours(SetStep[AnnotatedClip, NeighbouredClip]):
    """Gives each clip the other annotations of its source, skill and question, those of the most alike clips first."""

    name = "another annotation"
    takes = AnnotatedClip
    gives = NeighbouredClip

    def __init__(self, config: MvpBuildConfig) -> None:
        self._config = config

    def run(self, rows: Sequence[AnnotatedClip], remove: Callable[[str, Removed], None]) -> Sequence[NeighbouredClip]:
        """Look at all clips at once."""
        clips = list(dict.fromkeys(row.clip for row in rows))
        vectors = read_vectors(self._config.embeddings, self._config.ids, clips)
        places = {clip: place for place, clip in enumerate(clips)}
        neighboured: dict[str, NeighbouredClip] = {}
        for members in _by_question(rows).values():
            texts = _one_text_each(row.answer for row in members)
            question = min(row.question for row in members)
            names = sorted(texts)
            numbers = {name: number for number, name in enumerate(names)}
            codes = np.array([numbers[plain_text(row.answer)] for row in members], dtype=np.int64)
            own = vectors[[places[row.clip] for row in members]]
            nearest = nearest_codes(own, codes, self._config.others)
            for row, code in zip(members, codes.tolist(), strict=True):
                answer = texts[names[code]]
                given = tuple(option for option in row.options if plain_text(option) != names[code])
                others = given or tuple(texts[names[other]] for other in nearest[code])
                if not others:
                    remove(row.id, Removed("nothing to tell it from", "no other annotation of its source and skill"))
                    continue
                values = {**annotation_of(row), "question": question, "answer": answer}
                neighboured[row.id] = NeighbouredClip(**values, others=others)
        return [neighboured[row.id] for row in rows if row.id in neighboured]


class ChooseContrasts(RowStep[NeighbouredClip, ContrastedClip]):
    """Has a model choose which other annotations exclude a clip's own; answers to a source's question are all taken."""

    name = "contrasts"
    takes = NeighbouredClip
    gives = ContrastedClip
    roles = (CONTRAST,)
    forecast = Forecast(requests=1.0, characters=2500, reply_tokens=60)

    def __init__(self, config: MvpBuildConfig) -> None:
        self._most = config.contrasts

    def run(self, row: NeighbouredClip, asking: Asking) -> Sequence[ContrastedClip]:
        """Choose the contrasts of one clip."""
        if row.question:
            contrasts = row.others if row.options else row.others[: self._most]
            return [ContrastedClip(**annotation_of(row), contrasts=contrasts)]
        offered = {f"D{number}": text for number, text in enumerate(row.others, start=1)}
        shown = [{"id": name, "text": text} for name, text in offered.items()]
        reply = asking.ask(CONTRAST, "mvp_contrast", ChosenContrasts, description=row.answer, others=shown)
        if unknown := [name for name in reply.contrasts if name not in offered]:
            raise Removed("a contrast that was not offered", ", ".join(unknown))
        chosen = tuple(offered[name] for name in dict.fromkeys(reply.contrasts))[: self._most]
        if not chosen:
            raise Removed("nothing excludes it")
        return [ContrastedClip(**annotation_of(row), contrasts=chosen)]


class MeetContrasts(SetStep[ContrastedClip, OpposedClip]):
    """A row for each clip and contrast that another clip has; that one annotation excludes another holds both ways."""

    name = "a clip of the contrast"
    takes = ContrastedClip
    gives = OpposedClip

    def run(self, rows: Sequence[ContrastedClip], remove: Callable[[str, Removed], None]) -> Sequence[OpposedClip]:
        """Look at all contrasts at once."""
        opposed: defaultdict[str, list[OpposedClip]] = defaultdict(list)
        for members in _by_question(rows).values():
            texts = _one_text_each(row.answer for row in members)
            excluded: defaultdict[str, set[str]] = defaultdict(set)
            for row in members:
                one = plain_text(row.answer)
                for other in map(plain_text, row.contrasts):
                    excluded[one].add(other)
                    excluded[other].add(one)
            for row in members:
                shown = sorted(excluded[plain_text(row.answer)] & texts.keys())
                for number, other in enumerate(shown, start=1):
                    values = {**annotation_of(row), "id": f"{row.id}/{number}"}
                    opposed[row.id].append(OpposedClip(**values, other=texts[other]))
                if not shown:
                    remove(row.id, Removed("no clip shows what excludes it"))
        return [one for row in rows for one in opposed[row.id]]


def annotation_of(row: AnnotatedClip) -> dict[str, Any]:
    """The fields that every row about one annotated clip has."""
    return {name: getattr(row, name) for name in AnnotatedClip.model_fields}


def nearest_codes(vectors: Floats, codes: Ints, number: int) -> list[list[int]]:
    """The codes whose vectors are most alike to those of each code, the most alike first, by code where equal."""
    order = np.argsort(codes, kind="stable")
    ordered, vectors = codes[order], vectors[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    nearest: list[list[int]] = []
    best = np.full(len(starts), -np.inf)
    for first in range(0, len(ordered), ROWS):
        here = ordered[first : first + ROWS]
        alike = np.maximum.reduceat(vectors[first : first + ROWS] @ vectors.T, starts, axis=1)
        for code in range(here[0], here[-1] + 1):
            best = np.maximum(best, alike[here == code].max(axis=0))
            if first + ROWS >= len(ordered) or ordered[first + ROWS] != code:
                best[code] = -np.inf
                nearest.append(_greatest(best, min(number, len(starts) - 1)))
                best = np.full(len(starts), -np.inf)
    return nearest


def _greatest(values: Floats, number: int) -> list[int]:
    """Places of the greatest values, falling; of equal ones the first."""
    if not number:
        return []
    least = np.partition(values, -number)[-number]
    places = np.flatnonzero(values >= least)
    return [int(place) for place in places[np.lexsort((places, -values[places]))][:number]]


def _by_question(rows: Sequence[Any]) -> Mapping[AskedAbout, list[Any]]:
    groups: defaultdict[AskedAbout, list[Any]] = defaultdict(list)
    for row in rows:
        groups[row.source, row.skill, plain_text(row.question)].append(row)
    return groups


def _one_text_each(texts: Iterable[str]) -> dict[str, str]:
    """Plain text to the text that stands for all that differ in no more."""
    chosen: dict[str, str] = {}
    for text in texts:
        plain = plain_text(text)
        chosen[plain] = min(text, chosen.get(plain, text))
    return chosen


WRITER, CHECKER = "question", "exclusion"
"""Roles of the models that write questions, and that check whether two candidates exclude each other."""
LONGEST = 400
"""Characters of a question or candidate."""
GIVEN_AWAY = "the question gives a candidate away"


class PairQuestion(Form):
    """A question about either clip; the candidate of the first description, and that of the second."""

    question: str
    first: str
    second: str


class CheckedCandidates(Form):
    """Faults of a question and its candidates."""

    same_meaning: bool
    both_can_hold: bool
    gives_away: bool


class WritePairQuestions(RowStep[OpposedClip, AskedClip]):
    """Gives each clip a question and two candidates."""

    name = "question and candidates"
    takes = OpposedClip
    gives = AskedClip
    roles = (WRITER,)
    paper = PaperCount("548K examples", "3")
    forecast = Forecast(requests=1.2, characters=1800, reply_tokens=80)

    def __init__(self, config: MvpBuildConfig) -> None:
        self._tries = config.tries

    def run(self, row: OpposedClip, asking: Asking) -> Sequence[AskedClip]:
        """Write the question of one clip and contrast."""
        texts = sorted((row.answer, row.other))
        if row.question:
            question, candidates = row.question, (texts[0], texts[1])
            if objection := objection_to(question, candidates):
                raise Removed(objection)
        else:
            question, candidates = self._write(texts, asking)
        return [
            AskedClip(
                id=row.id,
                clip=row.clip,
                source=row.source,
                category=row.category,
                skill=row.skill,
                question=question,
                candidates=candidates,
                answer=candidates[texts.index(row.answer)],
            )
        ]

    def _write(self, texts: Sequence[str], asking: Asking) -> tuple[str, tuple[str, str]]:
        refused: list[dict[str, str]] = []
        for _ in range(self._tries):
            reply = asking.ask(WRITER, "mvp_question", PairQuestion, first=texts[0], second=texts[1], refused=refused)
            question, candidates = reply.question.strip(), (reply.first.strip(), reply.second.strip())
            objection = objection_to(question, candidates)
            if not objection and not question.endswith("?"):
                objection = "no question"
            if not objection:
                return question, candidates
            refused = [*refused, {**reply.model_dump(), "objection": objection}]
        raise Removed(objection, f"{question} {' | '.join(candidates)}")


class CheckCandidates(RowStep[AskedClip, AskedClip]):
    """Has a model say whether the candidates exclude each other and the question leaves both open."""

    name = "candidates exclude each other"
    takes = AskedClip
    gives = AskedClip
    roles = (CHECKER,)
    forecast = Forecast(requests=1.0, characters=1500, reply_tokens=40, rows=0.9)

    def run(self, row: AskedClip, asking: Asking) -> Sequence[AskedClip]:
        """Check one question; which candidate is right is not shown."""
        first, second = row.candidates
        reply = asking.ask(
            CHECKER, "mvp_exclusion", CheckedCandidates, question=row.question, first=first, second=second
        )
        if reply.same_meaning:
            raise Removed("candidates of one meaning", f"{first} | {second}")
        if reply.both_can_hold:
            raise Removed("candidates do not exclude each other", f"{first} | {second}")
        if reply.gives_away:
            raise Removed(GIVEN_AWAY, row.question)
        return [row]


def objection_to(question: str, candidates: tuple[str, str]) -> str:
    """Return the fault that rules find in a question and its candidates, empty if they find none."""
    texts = (question, *candidates)
    if not all(bare_words(text) and text.isprintable() and len(text) <= LONGEST for text in texts):
        return "a text that is empty, too long or not printable"
    if bare_words(candidates[0]) == bare_words(candidates[1]):
        return "equal candidates"
    if any(map(is_marked, candidates)):
        return "a candidate says which it is"
    first, second = candidates
    return GIVEN_AWAY if _names(question, first, second) != _names(question, second, first) else ""


def _names(question: str, candidate: str, other: str) -> bool:
    own = set(bare_words(candidate)) - set(bare_words(other))
    return holds_text(question, candidate) or (bool(own) and own <= set(bare_words(question)))
