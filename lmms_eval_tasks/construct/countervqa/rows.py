"""Rows of a CounterVQA build, from takes to pairs of actions and questions, and the options of the build.

Source: CounterVQA (arXiv 2511.19923), sections 2.3 and A.1: the fifth of a clip's pairs of which an observer is most
confident go on. Appendix D: simpler models see frames of the clip; how many is not said there, and the number here
is ours.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from lmms_eval_tasks.construct.countervqa.graphs import (
    CausalGraph,
    GraphMeasures,
    Pair,
    TakeLinks,
    Thresholds,
    causal_graph,
)
from lmms_eval_tasks.construct.countervqa.questions import CANDIDATES, AbsentIdeas
from lmms_eval_tasks.construct.countervqa.takes import Take
from lmms_eval_tasks.construct.engine.config import ConfigPath, RoleSettings, read_config
from lmms_eval_tasks.construct.engine.encoders import TFIDF
from lmms_eval_tasks.construct.engine.steps import PipelineRow
from lmms_eval_tasks.countervqa.release import CounterfactualQuestion
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import file_sha256
from lmms_eval_tasks.utils.core.text import hide_secrets


class TakeRow(PipelineRow):
    """Row of a take, or of a part of it."""

    take: Take

    @property
    def about(self) -> str:
        """The part of the take; empty for the whole."""
        return ""

    def shown(self) -> dict[str, Any]:
        """The take's actions, as a model is shown them."""
        return shown_take(self.take)


class ObservedPart(TakeRow):
    """Some of a take's pairs of actions, which the observer is asked about at once."""

    first: int
    pairs: tuple[Pair, ...]

    @property
    def about(self) -> str:
        """The numbers of its pairs."""
        return f"pairs {self.first} to {self.first + len(self.pairs) - 1}"


class SurePairs(TakeRow):
    """Pairs of a take, and how sure the observer is that each is a link."""

    confidences: tuple[tuple[Pair, float], ...]


class ChosenPair(TakeRow):
    """A pair that goes on from the observer."""

    pair: Pair

    @property
    def about(self) -> str:
        """Cause and effect."""
        return " > ".join(self.pair)


class JudgedPair(ChosenPair):
    """A pair about which the synthesizer decided."""

    causal: bool


class LinkedTake(TakeRow):
    """A take with what is known of its links."""

    links: TakeLinks

    @property
    def graph(self) -> CausalGraph:
        """The take's causal graph."""
        return causal_graph([action.id for action in self.take.actions], self.links.links, self.take.uid)


class MeasuredTake(LinkedTake):
    """A take with the measures of its graph."""

    measures: GraphMeasures


class ImaginedTake(MeasuredTake):
    """A take with its main goal and absent actions, by a model."""

    ideas: AbsentIdeas


class TakeQuestion(TakeRow):
    """A question about a take."""

    question: CounterfactualQuestion

    @property
    def about(self) -> str:
        """The question's id."""
        return self.question.id


def shown_take(take: Take) -> dict[str, Any]:
    """A take as a model is shown it: what is done in it, and each action with its time."""
    actions = [
        {"id": one.id, "seconds": one.start, **({"subject": one.subject} if one.subject else {}), "text": one.text}
        for one in take.actions
    ]
    return {"task": take.task, "actions": actions}


SHARE = 0.2
"""Of a clip's pairs, those that go on from the observer; the paper's number."""

FRAMES = 8
"""Of a clip, evenly spread. Ours."""


class BuildOptions(BaseModel):
    """Options of a build; see `build` for the meaning of each."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    annotations: tuple[ConfigPath, ...] = ()
    links: ConfigPath | None = None
    takes: ConfigPath | None = None
    clips: ConfigPath | None = None
    encoder: str = TFIDF
    min_ancd: Annotated[float, Field(ge=0.0, le=1.0)] = Thresholds.ancd
    min_depth: Annotated[int, Field(ge=0)] = Thresholds.depth
    min_cnda: Annotated[float, Field(ge=0.0, le=2.0)] = Thresholds.cnda
    candidates: Annotated[int, Field(ge=1, le=1000)] = CANDIDATES
    own_rules: bool = True
    model: RoleSettings | str | None = None
    rephrase: bool = False
    pair_share: Annotated[float, Field(gt=0.0, le=1.0)] = SHARE
    naive: bool = False
    verify_with: tuple[RoleSettings | str, ...] = ()
    drop_solved_by: tuple[RoleSettings | str, ...] = ()
    frames: Annotated[int, Field(ge=1, le=1024)] = FRAMES
    seed: int = 0

    @property
    def thresholds(self) -> Thresholds:
        """Of the filters of graphs."""
        return Thresholds(0.0, 0, 0.0) if self.naive else Thresholds(self.min_ancd, self.min_depth, self.min_cnda)

    def check(self) -> None:
        """Refuse options of which one needs or excludes another."""
        asks, has_links = self.model is not None, self.links is not None
        faults = {
            "Expected --links, the file with the causal links, or --model, who to ask for them; got none.": not (
                asks or has_links or self.naive
            ),
            "Expected --model, who writes the questions, beside --naive, but got none.": self.naive and not asks,
            "Expected no --links beside --naive, whose questions are written without any.": self.naive and has_links,
            "Expected --model, who to ask for other words, beside --rephrase, but got none.": self.rephrase
            and not asks,
            "Expected --clips, what the models see, beside --drop-solved-by, but got none.": self.drop_solved_by
            and self.clips is None,
        }
        if found := [fault for fault, is_one in faults.items() if is_one]:
            raise InputError("\n".join(found))

    def sources(self) -> list[dict[str, str]]:
        """Name and SHA-256 of each file that a set is built from; two may have one name."""
        files = (*self.annotations, self.links, self.takes)
        return [{"file": file.name, "sha256": file_sha256(file)} for file in files if file]

    def facts(self) -> dict[str, Any]:
        """Return the options that, with the sources and the models, decide which set is built, as JSON values."""
        names = ("candidates", "own_rules", "rephrase", "seed", "pair_share", "frames", "naive")
        return {
            "thresholds": asdict(Thresholds(self.min_ancd, self.min_depth, self.min_cnda)),
            "encoder": hide_secrets(self.encoder, os.environ),
            **{name: getattr(self, name) for name in names},
        }


def choose_options(config: Path | None, given: Mapping[str, Any]) -> BuildOptions:
    """The options of a configuration, those of the command line in their place."""
    options = BuildOptions() if config is None else read_config(config, BuildOptions)[0]
    chosen = options.model_copy(update={name: value for name, value in given.items() if value is not None})
    if not chosen.annotations:
        raise InputError("Expected --annotations, the files with timed descriptions, but got none.")
    return chosen


PAPER_COUNTS = {
    "annotated clips": 1200,
    "clips that pass the filters": 712,
    "candidate questions": 21_360,
    "questions kept": 3987,
}
"""CounterVQA (arXiv 2511.19923), sections 2.3 and A.1; candidates are 712 clips x 3 levels x 10."""
