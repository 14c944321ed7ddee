"""The pipeline of a CounterVQA build, from files to a written set, and counts of its losses next to the paper's."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.construct.countervqa.candidate_questions import (
    AnnotatedTexts,
    FilterGraphs,
    KeptQuestions,
    MakeQuestions,
    MeasureGraphs,
    WriteNaive,
    pair_questions,
)
from lmms_eval_tasks.construct.countervqa.forecast import forecast_build
from lmms_eval_tasks.construct.countervqa.graphs import FILTERS, Pair, TakeLinks, Thresholds, links_of_takes, read_links
from lmms_eval_tasks.construct.countervqa.links import LINK_ROLES, find_links
from lmms_eval_tasks.construct.countervqa.models import BuildModels, choose_models
from lmms_eval_tasks.construct.countervqa.rows import PAPER_COUNTS, BuildOptions, LinkedTake, MeasuredTake
from lmms_eval_tasks.construct.countervqa.step_log import STEPS, StepLog
from lmms_eval_tasks.construct.countervqa.takes import Take, interaction_of, read_takes
from lmms_eval_tasks.construct.countervqa.verification import (
    ImagineAbsent,
    LeaveOutSolved,
    RephraseQuestions,
    VerifyQuestions,
)
from lmms_eval_tasks.construct.engine.attrition import BuiltSet, BuiltTable
from lmms_eval_tasks.construct.engine.command import forecast_table
from lmms_eval_tasks.construct.engine.encoders import (
    TFIDF,
    SentenceEncoder,
    sentence_transformer,
    server_encoder,
    tfidf_encoder,
)
from lmms_eval_tasks.construct.engine.running import StepRun, run_steps
from lmms_eval_tasks.construct.engine.steps import AnyStep, roles_of
from lmms_eval_tasks.countervqa.release import CLIPS, GRAPHS, QUESTIONS, CounterfactualQuestion
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import FAILED, refuse_smaller, replacing, replacing_set, write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.work import Progress
from lmms_eval_tasks.utils.data.clips import clip_lengths
from lmms_eval_tasks.utils.data.manifest import AttritionStep, SetAttrition
from lmms_eval_tasks.utils.data.prepare import link
from lmms_eval_tasks.utils.judge.named import read_settings


@dataclass(frozen=True)
class Attrition:
    """Counts of a build."""

    annotated: int
    pairs: Mapping[str, int]
    linked: int
    removed: Mapping[str, int]
    failing: Mapping[str, int]
    candidates: int
    rejected: Mapping[str, int]
    clips: int

    @property
    def filtered(self) -> int:
        """Clips that pass all filters."""
        return self.linked - sum(self.removed.values())

    @property
    def kept(self) -> int:
        """Questions that were kept."""
        return self.candidates - sum(self.rejected.values())

    def table(self, of_paper: bool = True) -> BuiltTable:
        """One row per step, with the paper's number where it gives one and the set was made by its method."""
        rows = [("annotated clips", self.annotated), *self.pairs.items(), ("clips with causal links", self.linked)]
        rows += [
            (f"  removed by {name} (by itself {self.failing[name]:,})", -count) for name, count in self.removed.items()
        ]
        rows += [("clips that pass the filters", self.filtered), ("candidate questions", self.candidates)]
        rows += [(f"  {reason}", -count) for reason, count in self.rejected.items()]
        rows += [("questions kept", self.kept), ("clips with a question", self.clips)]
        papers = PAPER_COUNTS if of_paper else {}
        cells = [(name, f"{count:,}", f"{papers[name]:,}" if name in papers else "") for name, count in rows]
        of_papers = 100.0 * (1 - PAPER_COUNTS["questions kept"] / PAPER_COUNTS["candidate questions"])
        here = f"{100.0 * (1 - self.kept / self.candidates):.1f}%" if self.candidates else "N/A"
        removed = ("questions removed", here, f"{of_papers:.1f}%" if of_paper else "")
        return BuiltTable("Attrition", ("step", "here", "paper"), [*cells, removed])

    def as_steps(self) -> SetAttrition:
        """The same as it is kept with the set: clips, and from the candidates on questions."""
        unlinked = self.annotated - self.linked
        steps: tuple[tuple[str, int, int, Mapping[str, int]], ...] = (
            ("clips with causal links", self.annotated, self.linked, {"no links": unlinked} if unlinked else {}),
            ("clips that pass the filters", self.linked, self.filtered, self.removed),
            ("candidate questions", self.filtered, self.candidates, {}),
            ("questions kept", self.candidates, self.kept, self.rejected),
        )
        return SetAttrition(
            start="annotated clips",
            rows=self.annotated,
            steps=tuple(
                AttritionStep(step=step, came=came, left=left, removed={why: n for why, n in removed.items() if n})
                for step, came, left, removed in steps
            ),
        )


def count_build(
    takes: Sequence[Take], pairs: Mapping[str, int], thresholds: Thresholds, runs: Sequence[StepRun]
) -> Attrition:
    """Count the losses of a build at each stage."""
    by_kind = {type(run.step): run for run in runs}
    measured, filters = by_kind[MeasureGraphs], by_kind[FilterGraphs]
    failing = Counter(name for row in measured.left for name in row.measures.failed(thresholds))
    checks = [by_kind[kind].counts.removed for kind in (VerifyQuestions, LeaveOutSolved) if kind in by_kind]
    rejected = sum(checks, Counter[str]())
    made = by_kind[WriteNaive if WriteNaive in by_kind else MakeQuestions]
    return Attrition(
        annotated=len(takes),
        pairs=pairs,
        linked=len(measured.left),
        removed={name: filters.counts.removed[name] for name in FILTERS},
        failing={name: failing[name] for name in FILTERS},
        candidates=len(made.left),
        rejected=dict(sorted(rejected.items())),
        clips=len({row.take.uid for row in runs[-1].left}),
    )


PAPER_SHARES = {
    "level 1": "38.6%",
    "level 2": "26.7%",
    "level 3": "34.6%",
    "questions that are H2H": "36.2%",
    "clips that are H2H": "39.3%",
    "mean length of clips": "199.7 s",
    "  90% are no longer than": "456.0 s",
    "  95% are no longer than": "720.0 s",
}
"""CounterVQA (arXiv 2511.19923), section 2.2, appendix C and figure 11."""
DECIDED_BY = {
    "column": "  clips decided by a column of the annotations",
    "scenario": "  clips decided by their scenario",
    "wording": "  clips decided by the wording of their actions alone",
}


@dataclass(frozen=True)
class QuestionCounts:
    """Counts of a set."""

    levels: Mapping[int, int]
    goals: int
    interactions: Mapping[str, int]
    clips: Mapping[str, int]
    decided_by: Mapping[str, int]
    seconds: Sequence[float]

    def facts(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return {
            "levels": {f"L{level}": self.levels[level] for level in (1, 2, 3)},
            "of the main goal": self.goals,
            "questions": dict(sorted(self.interactions.items())),
            "clips": dict(sorted(self.clips.items())),
            "interaction decided by": {name: self.decided_by[name] for name in DECIDED_BY},
            "seconds": {"clips": len(self.seconds), **self._lengths()},
        }

    def _lengths(self) -> dict[str, float]:
        """Lengths of clips in seconds by what they are called in the table; none where no clip's is known."""
        if not self.seconds:
            return {}
        ordered = sorted(self.seconds)
        below = {share: ordered[math.ceil(share * len(ordered) / 100) - 1] for share in (50, 90, 95)}
        shown = {f"  {share}% are no longer than": seconds for share, seconds in below.items()}
        return {"mean length of clips": fmean(ordered), **shown, "  the longest": ordered[-1]}

    def table(self, of_paper: bool = True) -> BuiltTable:
        """One row per count, with its share, and the paper's where it gives one and the set was made by its method."""
        questions, clips = sum(self.levels.values()), sum(self.clips.values())
        rows = [(f"level {level}", self.levels[level], questions) for level in (1, 2, 3)]
        rows += [("  that ask of the main goal", self.goals, questions)]
        rows += [("questions that are H2H", self.interactions["H2H"], questions)]
        rows += [("clips that are H2H", self.clips["H2H"], clips)]
        rows += [(shown, self.decided_by[name], clips) for name, shown in DECIDED_BY.items()]
        papers = PAPER_SHARES if of_paper else {}
        cells = [
            (name, f"{count:,}", f"{100 * count / total:.1f}%" if total else "N/A", papers.get(name, ""))
            for name, count, total in rows
        ]
        cells += [(name, f"{value:,.1f} s", "", papers.get(name, "")) for name, value in self._lengths().items()]
        return BuiltTable("Statistics", ("", "number", "share", "paper"), cells)


def count_questions(
    by_take: Mapping[str, Sequence[CounterfactualQuestion]],
    takes: Mapping[str, Take],
    clips: Path | None,
    progress: Progress,
) -> QuestionCounts:
    """Count the questions of a set, given by take, whose clips are in a folder; None where they are elsewhere."""
    files = [clips / takes[uid].clip for uid in by_take] if clips else []
    lengths = clip_lengths(files, progress, "reading the length of clips")
    questions = [question for here in by_take.values() for question in here]
    interactions = [interaction_of(takes[uid]) for uid in by_take]
    return QuestionCounts(
        Counter(question.level for question in questions),
        sum(question.goal is not None for question in questions),
        Counter(question.interaction for question in questions),
        Counter(interaction for interaction, _ in interactions),
        Counter(by for _, by in interactions),
        [seconds for seconds in lengths.values() if seconds is not None],
    )


FACTS = "build.json"
MEASURES = "takes.jsonl"
SET = (STEPS, MEASURES, GRAPHS, FACTS, QUESTIONS)
"""The files of a set that a build writes anew."""


def write_set(
    out: Path,
    measured: Sequence[MeasuredTake],
    thresholds: Thresholds,
    kept: KeptQuestions,
    attrition: Attrition,
    facts: Mapping[str, Any],
    clips: Path | None,
    log: StepLog,
    replace: bool = False,
) -> int:
    """Write a set, which takes the place of an earlier one whole."""
    by_uid = {row.id: row for row in measured}
    missing = 0
    with replacing_set(out, SET) as folder:
        if log.done:
            log.write(folder / STEPS)
        write_file(folder / MEASURES, as_lines(_measure_rows(measured, thresholds)))
        with replacing(folder / GRAPHS) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
            for uid in kept:
                file.write(as_lines([_graph_row(by_uid[uid].take, by_uid[uid].links)]))
        counts = {**asdict(attrition), "kept": attrition.kept}
        whole = {"version": lmms_eval_tasks.__version__, **facts, "counts": counts}
        write_file(folder / FACTS, json.dumps(whole, ensure_ascii=False, indent=1) + "\n")
        write_file(folder / QUESTIONS, as_lines(question.model_dump() for here in kept.values() for question in here))
        if not kept:
            raise InputError(
                "Expected at least one question to be kept, but got none; no set was written.\n"
                f"Clips: {attrition.annotated:,} annotated, {attrition.linked:,} with causal links, "
                f"{attrition.filtered:,} that pass the filters; {attrition.candidates:,} candidate questions."
            )
        if (out / QUESTIONS).exists() and not replace:
            failed = f"{log.failed:,} of {log.done:,} steps of models brought no usable reply; "
            hint = f"{failed if log.failed else ''}{out / FAILED} has what was made."
            refuse_smaller(out, _questions_there(out), attrition.kept, hint)
        if clips is not None:
            for uid in kept:
                name = by_uid[uid].take.clip
                if (clips / name).is_file():
                    (out / CLIPS / name).parent.mkdir(parents=True, exist_ok=True)
                    link((clips / name).absolute(), out / CLIPS / name)
                else:
                    missing += 1
    return missing


def _questions_there(out: Path) -> int | None:
    """Return the number of questions of the existing set, or None if it does not say."""
    try:
        kept = json.loads((out / FACTS).read_text(encoding="utf-8"))["counts"]["kept"]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return kept if isinstance(kept, int) else None


def _measure_rows(measured: Iterable[MeasuredTake], thresholds: Thresholds) -> Iterator[dict[str, Any]]:
    """One row per take with a graph: its measures, and the filters that it fails."""
    for row in measured:
        values = row.measures
        yield {
            "take": row.id,
            "ancd": values.ancd,
            "depth": values.depth.edges,
            "depth_bound": values.depth.bound,
            "cnda": values.cnda,
            "removed_by": list(values.failed(thresholds)),
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


GivenLinks = tuple[Mapping[str, TakeLinks], tuple[str, ...]]
"""Take to what is known of its links without a model, and warnings."""


def forecast_set(options: BuildOptions) -> BuiltSet:
    """Estimate the requests to each role without asking any."""
    options.check()
    models = choose_models(options.model, options.verify_with, options.drop_solved_by)
    takes, _ = read_takes(options.annotations, options.takes)
    _given_links(takes, options)
    estimates = forecast_build(takes, options, models)
    table = forecast_table(list(estimates), list(estimates.values()))
    return BuiltSet(None, f"{len(takes):,} annotated clips; nothing was asked", [table])


def build_set(
    options: BuildOptions, out: Path, progress: Progress, max_requests: int | None = None, replace: bool = False
) -> BuiltSet:
    options.check()
    chosen = choose_models(options.model, options.verify_with, options.drop_solved_by)
    takes, warnings = read_takes(options.annotations, options.takes)
    given = _given_links(takes, options)
    steps = steps_of(options, chosen, AnnotatedTexts(takes, choose_encoder(options.encoder)), progress)
    models, log = chosen.open(out, max_requests), StepLog(out)
    models.check([*(LINK_ROLES if given is None else ()), *roles_of(steps)])
    sources = options.sources()
    run = partial(run_steps, models=models, log=log.add, progress=progress)
    pairs: Mapping[str, int] = {}
    if given is None:
        found = find_links(takes, options.pair_share, run)
        linked, pairs = found.takes, found.counts()
    else:
        links, link_warnings = given
        linked = [LinkedTake(id=take.uid, take=take, links=links[take.uid]) for take in takes if take.uid in links]
        warnings += link_warnings
    runs = run(steps, linked)
    measured = next(run.left for run in runs if isinstance(run.step, MeasureGraphs))
    kept, attrition = pair_questions(runs[-1].left), count_build(takes, pairs, options.thresholds, runs)
    statistics = count_questions(kept, {take.uid: take for take in takes}, options.clips, progress)
    facts = {
        "sources": sources,
        "settings": {**options.facts(), **chosen.facts()},
        "steps": {"done": log.done, "failed": log.failed},
        "statistics": statistics.facts(),
    }
    missing = write_set(out, measured, options.thresholds, kept, attrition, facts, options.clips, log, replace)
    warnings += tuple(_warnings(options, chosen, log, out))
    if missing:
        warnings += (f"{missing} of {len(kept)} clips are not in {options.clips}.",)
    elif options.clips is None:
        warnings += (f"The videos have to be put into {out / 'clips'} under the names that graphs.jsonl has.",)
    summary = f"{attrition.kept:,} questions about {len(kept):,} clips in {out}"
    tables = [one.table(of_paper=not options.naive) for one in (attrition, statistics)]
    return BuiltSet(out, summary, tables, warnings, attrition.as_steps())


def steps_of(
    options: BuildOptions, models: BuildModels, texts: AnnotatedTexts, progress: Progress
) -> Sequence[AnyStep]:
    """The steps from takes with their links on that options ask for, in order."""
    asks = models.builder is not None
    steps: list[AnyStep] = [MeasureGraphs(texts, progress), FilterGraphs(options.thresholds)]
    if options.naive:
        steps += [WriteNaive(options.candidates)]
    else:
        steps += [ImagineAbsent(options.candidates, texts.encoder)] if asks else []
        steps += [MakeQuestions(texts, options.candidates, options.own_rules, options.seed, progress)]
    steps += [RephraseQuestions()] if options.rephrase else []
    steps += [VerifyQuestions(tuple(models.verifiers))] if models.verifiers else []
    if models.solvers and options.clips is not None:
        steps += [LeaveOutSolved(tuple(models.solvers), options.clips, options.frames)]
    return steps


def _given_links(takes: Sequence[Take], options: BuildOptions) -> GivenLinks | None:
    """The links that are given; None where a model is asked for them."""
    if options.naive:
        # Nobody is asked, so that nothing is known of any pair.
        return {take.uid: TakeLinks((), frozenset()) for take in takes}, ()
    return links_of_takes(takes, read_links(options.links), options.links) if options.links is not None else None


def _warnings(options: BuildOptions, models: BuildModels, log: StepLog, out: Path) -> Iterator[str]:
    if log.failed:
        yield (
            f"{log.failed:,} of {log.done:,} steps of models brought no usable reply; {out / STEPS} says why. "
            "No question rests on them. Those that the server failed are asked again when the command is run again."
        )
    for model in models.repeated:
        yield (
            f"--verify-with names {model} twice with temperature 0, where both say the same; with temperature=0.7 they "
            "are two runs."
        )
    if options.encoder == TFIDF and not options.naive:
        yield "CNDA is by TF-IDF, the default; the paper's threshold belongs to a sentence encoder."


def choose_encoder(name: str) -> SentenceEncoder:
    """The sentence encoder of a name: `tfidf`, `model=NAME,url=…` of a server, or one of sentence-transformers."""
    if name == TFIDF:
        return tfidf_encoder()
    if "=" in name:
        settings = read_settings(name)
        assert settings is not None
        return server_encoder(settings)
    return sentence_transformer(name)
