"""The configuration of a CounterVQA build, and its rows, from takes to questions.

Source: CounterVQA (arXiv 2511.19923), sections 2.3 and A.1: the fifth of a clip's pairs of which an observer is most
confident go on. Appendix D: simpler models see frames of the clip; how many is not said there, and the number here
is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from lmms_eval_tasks.construct.countervqa.graphs import (
    FILTERS,
    GraphMeasures,
    Pair,
    TakeLinks,
    links_of_takes,
    read_links,
)
from lmms_eval_tasks.construct.countervqa.questions import CANDIDATES, AbsentActions, AbsentIdeas
from lmms_eval_tasks.construct.countervqa.takes import Take, read_takes
from lmms_eval_tasks.construct.engine.config import DEFAULT_ROLE, BuildConfig, ConfigPath, RoleSettings
from lmms_eval_tasks.construct.engine.encoders import TFIDF, EncodedTexts, SentenceEncoder, encode_texts, find_encoder
from lmms_eval_tasks.construct.engine.steps import Form, PipelineRow
from lmms_eval_tasks.countervqa.release import CounterfactualQuestion
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.judge.client import read_settings
from lmms_eval_tasks.utils.judge.replies import Sampling

SHARE = 0.2
"""Of a clip's pairs, those that go on from the observer; the paper's number."""

MOST_EXAMPLES = 2

FRAMES = 8
"""Of a clip, evenly spread. Ours."""


def _named(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    settings = read_settings(value)
    if settings is None:
        raise PydanticCustomError("model", "Expected the name of a model")
    return settings.model_dump()


NamedModel = Annotated[RoleSettings, BeforeValidator(_named)]
"""A model as a mapping, or as an option names it: NAME, or ``model=NAME,url=…``."""


@dataclass(frozen=True)
class Source:
    """Annotated takes, the links that are known without a model, None where one is asked, and warnings."""

    takes: Sequence[Take]
    links: Mapping[str, TakeLinks] | None
    warnings: tuple[str, ...]
    encoder: SentenceEncoder
    seed: int

    @cached_property
    def encoded(self) -> EncodedTexts:
        return encode_texts([action.text for take in self.takes for action in take.actions], self.encoder)

    @cached_property
    def absent(self) -> AbsentActions:
        return AbsentActions(self.takes, self.encoded, self.seed)


Confidence = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class LinkTest(Form):
    conditions: str
    effect_without_cause: bool
    common_cause: str
    explained_by_common_cause: bool
    confidence: Confidence


class Criticism(Form):
    objections: str
    sound: bool
    confidence: Confidence


class VerifierExample(Form):
    given: Annotated[dict[str, Any], Field(min_length=1)]
    reply: LinkTest


class CriticExample(Form):
    given: Annotated[dict[str, Any], Field(min_length=1)]
    reply: Criticism


class Examples(Form):
    """What the verifier and the critic are shown of other pairs: what was given, and the reply.

    Source: CounterVQA, A.1, where each is shown two. They are not published, so there are none unless they are given.
    """

    verifier: Annotated[tuple[VerifierExample, ...], Field(max_length=MOST_EXAMPLES)] = ()
    critic: Annotated[tuple[CriticExample, ...], Field(max_length=MOST_EXAMPLES)] = ()


class CounterVqaConfig(BuildConfig):
    annotations: tuple[ConfigPath, ...] = ()
    links: ConfigPath | None = None
    takes: ConfigPath | None = None
    clips: ConfigPath | None = None
    encoder: str = TFIDF
    min_ancd: Annotated[float, Field(ge=0.0, le=1.0)] = 0.2
    min_depth: Annotated[int, Field(ge=0)] = 3
    min_cnda: Annotated[float, Field(ge=0.0, le=2.0)] = 0.12
    candidates: Annotated[int, Field(ge=1, le=1000)] = CANDIDATES
    own_rules: bool = True
    model: NamedModel | None = None
    rephrase: bool = False
    examples: Examples = Examples()
    pair_share: Annotated[float, Field(gt=0.0, le=1.0)] = SHARE
    naive: bool = False
    verify_with: tuple[NamedModel, ...] = ()
    drop_solved_by: tuple[NamedModel, ...] = ()
    frames: Annotated[int, Field(ge=1, le=1024)] = FRAMES

    @property
    def verifiers(self) -> dict[str, RoleSettings]:
        return _numbered("verifying model", self.verify_with)

    @property
    def solvers(self) -> dict[str, RoleSettings]:
        return _numbered("solving model", self.drop_solved_by)

    @property
    def models(self) -> Mapping[str, RoleSettings]:
        """Role to the model that is asked in it; `model` is asked in all that have none of their own."""
        default = {DEFAULT_ROLE: self.model} if self.model else {}
        return {**default, **self.verifiers, **self.solvers, **self.roles}

    @property
    def reply_folders(self) -> Mapping[str, str]:
        """Role to a folder of its own for its replies, where an earlier one verifies or solves by the same model."""
        folders = {}
        for models in (self.verifiers, self.solvers):
            times = Counter[Sampling]()
            for role, settings in models.items():
                times[settings.sampling] += 1
                if times[settings.sampling] > 1:
                    folders[role] = f"run_{times[settings.sampling]}"
        return folders

    def failed(self, measures: GraphMeasures) -> tuple[str, ...]:
        """The filters that a graph does not pass."""
        least = (0.0, 0.0, 0.0) if self.naive else (self.min_ancd, self.min_depth, self.min_cnda)
        # A path of that length was found, however long the longest is.
        values = (measures.ancd, measures.depth, measures.cnda)
        found = zip(FILTERS, values, least, strict=True)
        return tuple(name for name, value, wanted in found if value is None or value < wanted)

    def check(self) -> None:
        asks, has_links = bool(self.model or self.roles), self.links is not None
        faults = {
            "Expected annotations, the files with timed descriptions, but got none.": not self.annotations,
            "Expected links, the file with the causal links, or model, who to ask for them; got none.": not (
                asks or has_links or self.naive
            ),
            "Expected model, who writes the questions, beside naive, but got none.": self.naive and not asks,
            "Expected no links beside naive, whose questions are written without any.": self.naive and has_links,
            "Expected model, who to ask for other words, beside rephrase, but got none.": self.rephrase and not asks,
            "Expected clips, what the models see, beside drop_solved_by, but got none.": bool(self.drop_solved_by)
            and self.clips is None,
        }
        if found := [fault for fault, is_one in faults.items() if is_one]:
            raise InputError("\n".join(found))

    @cached_property
    def source(self) -> Source:
        takes, warnings = read_takes(self.annotations, self.takes)
        links: Mapping[str, TakeLinks] | None = None
        if self.naive:
            # Nobody is asked, so that nothing is known of any pair.
            links = {take.uid: TakeLinks((), frozenset()) for take in takes}
        elif self.links is not None:
            links, further = links_of_takes(takes, read_links(self.links), self.links)
            warnings += further
        return Source(takes, links, warnings, find_encoder(self.encoder), self.seed)


def _numbered(role: str, models: Sequence[RoleSettings]) -> dict[str, RoleSettings]:
    return {f"{role} {number} ({one.model})": one for number, one in enumerate(models, start=1)}


class TakeRow(PipelineRow):
    take: Take

    def shown(self) -> dict[str, Any]:
        """The take as a model is shown it: what is done in it, and each action with its time."""
        actions = [
            {"id": one.id, "seconds": one.start, **({"subject": one.subject} if one.subject else {}), "text": one.text}
            for one in self.take.actions
        ]
        return {"task": self.take.task, "actions": actions}


class ChosenPairs(TakeRow):
    """The pairs of a take that go on from the observer, those that it cuts, and how many it saw."""

    pairs: tuple[Pair, ...]
    cut: tuple[Pair, ...]
    seen: int


class LinkedTake(TakeRow):
    links: TakeLinks


class MeasuredTake(LinkedTake):
    """A take with the measures of its graph, and its main goal and absent actions where a model was asked for them."""

    measures: GraphMeasures
    ideas: AbsentIdeas | None = None


class TakeQuestion(LinkedTake):
    question: CounterfactualQuestion


PAPER_COUNTS = {
    "annotated clips": 1200,
    "clips that pass the filters": 712,
    "candidate questions": 21_360,
    "questions kept": 3987,
}
"""CounterVQA (arXiv 2511.19923), sections 2.3 and A.1; candidates are 712 clips x 3 levels x 10."""
