"""From annotated takes and their links to candidate questions, and from those that are kept to a set on disk."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.countervqa.construction.absent import AbsentActions, AbsentIdeas
from lmms_eval_tasks.countervqa.construction.annotations import Take
from lmms_eval_tasks.countervqa.construction.attrition import Attrition
from lmms_eval_tasks.countervqa.construction.given_links import Pair, TakeLinks
from lmms_eval_tasks.countervqa.construction.models import STEPS
from lmms_eval_tasks.countervqa.construction.pairs import ReachableGraph
from lmms_eval_tasks.countervqa.construction.questions import make_questions, with_partners
from lmms_eval_tasks.countervqa.construction.settings import BuildSettings
from lmms_eval_tasks.countervqa.construction.steps import Steps
from lmms_eval_tasks.countervqa.released import CLIPS, GRAPHS, QUESTIONS, CounterfactualQuestion
from lmms_eval_tasks.utils.core.files import replacing, write_file
from lmms_eval_tasks.utils.core.json_rows import as_lines
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.data.release import link
from lmms_eval_tasks.utils.data.set_folder import FAILED, refuse_smaller, replacing_set
from lmms_eval_tasks.utils.graphs.causal_graph import CausalGraph, causal_graph
from lmms_eval_tasks.utils.graphs.depth import causal_depth
from lmms_eval_tasks.utils.graphs.encoders import EncodedTexts, SentenceEncoder, encode_texts
from lmms_eval_tasks.utils.graphs.measures import (
    FilteredGraphs,
    GraphMeasures,
    Thresholds,
    adjacent_noncausal_density,
    filter_graphs,
    mean_outlier_scores,
)

FACTS = "build.json"
MEASURES = "takes.jsonl"
SET = (STEPS, MEASURES, GRAPHS, FACTS, QUESTIONS)
"""The files of a set that a build writes anew."""


@dataclass(frozen=True)
class LinkedTakes:
    """All that questions are made from.

    Attributes:
        takes: Every annotated take.
        links: Take to its causal links; a take without an entry has no graph.
        pairs: What became of the pairs that models looked at.
    """

    takes: Sequence[Take]
    links: Mapping[str, TakeLinks]
    pairs: Mapping[str, int] = field(default_factory=dict)

    def graph(self, take: Take) -> CausalGraph:
        """The causal graph of a take that has links."""
        return causal_graph([action.id for action in take.actions], self.links[take.uid].links, take.uid)


@dataclass(frozen=True)
class MeasuredTakes:
    """The graphs, measured and filtered.

    Attributes:
        encoded: The texts of all annotated actions.
        measures: Take to the measures of its graph.
        filtered: Which takes the filters keep.
    """

    encoded: EncodedTexts
    measures: Mapping[str, GraphMeasures]
    filtered: FilteredGraphs


Questions = Mapping[str, Sequence[CounterfactualQuestion]]
"""Take to its questions."""


def measure_takes(
    material: LinkedTakes, thresholds: Thresholds, encoder: SentenceEncoder, progress: Progress = no_progress
) -> MeasuredTakes:
    """Measure the graph of every take that has one, and filter them."""
    encoded = encode_texts([action.text for take in material.takes for action in take.actions], encoder)
    measures = _measure(material, encoded, progress)
    return MeasuredTakes(encoded, measures, filter_graphs(measures, thresholds))


def make_candidates(
    material: LinkedTakes,
    measured: MeasuredTakes,
    settings: BuildSettings,
    proposed: Mapping[str, AbsentIdeas] | None = None,
    progress: Progress = no_progress,
) -> Questions:
    """The questions about each take that the filters keep, without partners.

    Args:
        material: What they are made from.
        measured: Which takes the filters keep.
        settings: How many to make, and by which rules.
        proposed: Take to absent actions and its main goal; None to look for them among other takes'.
        progress: Called after each take.
    """
    absent = AbsentActions(material.takes, measured.encoded, settings.seed)
    kept = set(measured.filtered.kept)
    questions: dict[str, Sequence[CounterfactualQuestion]] = {}
    for take in material.takes:
        if take.uid not in kept:
            continue
        graph = ReachableGraph(material.graph(take), material.links[take.uid].unlinked)
        never = absent.find(take, settings.candidates) if proposed is None else proposed[take.uid]
        questions[take.uid] = make_questions(take, graph, never, settings.candidates, settings.own_rules, settings.seed)
        progress("making questions", len(questions), len(kept))
    return questions


def _measure(material: LinkedTakes, encoded: EncodedTexts, progress: Progress) -> dict[str, GraphMeasures]:
    linked = [take for take in material.takes if take.uid in material.links]
    # The centroid of a task is that of all its annotated takes, whether they have links or not.
    texts = {take.uid: [action.text for action in take.actions] for take in material.takes}
    outliers = mean_outlier_scores(texts, {take.uid: take.task for take in material.takes}, encoded)
    measures = {}
    for number, take in enumerate(linked, start=1):
        graph = material.graph(take)
        density = adjacent_noncausal_density(graph)
        measures[take.uid] = GraphMeasures(density, causal_depth(graph.links), outliers[take.uid])
        progress("measuring graphs", number, len(linked))
    return measures


@dataclass(frozen=True)
class KeptQuestions:
    """The questions of a set.

    Attributes:
        by_take: Take to those that are kept, with their partners; takes without one are not in it.
        attrition: What was lost on the way.
    """

    by_take: Questions
    attrition: Attrition


def keep_questions(
    material: LinkedTakes, measured: MeasuredTakes, candidates: Questions, rejected: Mapping[str, str]
) -> KeptQuestions:
    """Leave out rejected questions and pair the others.

    Args:
        material: What they were made from.
        measured: What the filters kept.
        candidates: All questions.
        rejected: Id of a question that is left out to the reason.
    """
    kept = {}
    for uid, questions in candidates.items():
        if here := [question for question in questions if question.id not in rejected]:
            kept[uid] = with_partners(here)
    filtered = measured.filtered
    attrition = Attrition(
        annotated=len(material.takes),
        pairs=material.pairs,
        linked=len(measured.measures),
        removed={name: len(takes) for name, takes in filtered.removed.items()},
        failing={name: len(takes) for name, takes in filtered.failing.items()},
        candidates=sum(map(len, candidates.values())),
        rejected=dict(sorted(Counter(rejected.values()).items())),
        clips=len(kept),
    )
    return KeptQuestions(kept, attrition)


def write_set(
    out: Path,
    material: LinkedTakes,
    measured: MeasuredTakes,
    kept: KeptQuestions,
    facts: Mapping[str, Any],
    clips: Path | None,
    steps: Steps,
    replace: bool = False,
) -> int:
    """Write a set, which takes the place of an earlier one whole.

    Args:
        out: Its folder, made where it is missing.
        material: What the questions were made from.
        measured: The measures of every graph.
        kept: The questions.
        facts: What it was built from and how, for `build.json`.
        clips: Folder with the takes' videos, which are linked to; None leaves them to be added.
        steps: What was asked.
        replace: Whether a set with fewer questions may take the place of the one that is there.

    Returns:
        How many of the takes have no video there.

    Raises:
        InputError: no question is kept, or fewer than the set has that is there. That one is left as it was.
    """
    by_uid = {take.uid: take for take in material.takes}
    missing = 0
    with replacing_set(out, SET) as folder:
        if steps.done:
            steps.write(folder / STEPS)
        write_file(folder / MEASURES, as_lines(_measure_rows(measured)))
        with replacing(folder / GRAPHS) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
            for uid in kept.by_take:
                file.write(as_lines([_graph_row(by_uid[uid], material.links[uid])]))
        counts = {**asdict(kept.attrition), "kept": kept.attrition.kept}
        whole = {"version": lmms_eval_tasks.__version__, **facts, "counts": counts}
        write_file(folder / FACTS, json.dumps(whole, ensure_ascii=False, indent=1) + "\n")
        questions = (question.model_dump() for here in kept.by_take.values() for question in here)
        write_file(folder / QUESTIONS, as_lines(questions))
        if not kept.by_take:
            raise InputError(
                "Expected at least one question to be kept, but got none; no set was written.\n"
                f"Clips: {kept.attrition.annotated:,} annotated, {kept.attrition.linked:,} with causal links, "
                f"{kept.attrition.filtered:,} that pass the filters; {kept.attrition.candidates:,} candidate questions."
            )
        if (out / QUESTIONS).exists() and not replace:
            failed = f"{steps.failed:,} of {steps.done:,} steps of models brought no usable reply; "
            hint = f"{failed if steps.failed else ''}{out / FAILED} has what was made."
            refuse_smaller(out, _questions_there(out), kept.attrition.kept, hint)
        if clips is not None:
            for uid in kept.by_take:
                name = by_uid[uid].clip
                if (clips / name).is_file():
                    (out / CLIPS / name).parent.mkdir(parents=True, exist_ok=True)
                    link((clips / name).absolute(), out / CLIPS / name)
                else:
                    missing += 1
    return missing


def _questions_there(out: Path) -> int | None:
    """How many questions the set has that is there; None where it does not say."""
    try:
        kept = json.loads((out / FACTS).read_text(encoding="utf-8"))["counts"]["kept"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return kept if isinstance(kept, int) else None


def _measure_rows(measured: MeasuredTakes) -> Iterator[dict[str, Any]]:
    """One row per take with a graph: its measures, and the filters that it fails."""
    failing = {name: set(takes) for name, takes in measured.filtered.failing.items()}
    for uid, values in measured.measures.items():
        yield {
            "take": uid,
            "ancd": values.ancd,
            "depth": values.depth.edges,
            "depth_bound": values.depth.bound,
            "cnda": values.cnda,
            "removed_by": [name for name, takes in failing.items() if uid in takes],
        }


def _graph_row(take: Take, known: TakeLinks) -> dict[str, Any]:
    row = {
        "clip": take.clip,
        "task": take.task,
        "actions": [asdict(action) for action in take.actions],
        "links": _link_rows(known.links),
    }
    return row if known.unlinked is None else {**row, "unlinked": _link_rows(sorted(known.unlinked))}


def _link_rows(pairs: Iterable[Pair]) -> list[dict[str, str]]:
    return [{"cause": cause, "effect": effect} for cause, effect in pairs]
