"""The pipeline of a CounterVQA build, the files of a set, and counts of its losses next to the paper's."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.construct.countervqa import steps
from lmms_eval_tasks.construct.countervqa.graphs import FILTERS, Pair
from lmms_eval_tasks.construct.countervqa.questions import with_partners
from lmms_eval_tasks.construct.countervqa.rows import PAPER_COUNTS, CounterVqaConfig, LinkedTake, TakeQuestion, TakeRow
from lmms_eval_tasks.construct.countervqa.takes import interaction_of
from lmms_eval_tasks.construct.engine.command import CHARACTERS_A_TOKEN
from lmms_eval_tasks.construct.engine.config import DEFAULT_ROLE
from lmms_eval_tasks.construct.engine.encoders import TFIDF
from lmms_eval_tasks.construct.engine.running import (
    FACTS,
    BuiltSet,
    BuiltTable,
    Pipeline,
    PipelineRun,
    RowOutcome,
    write_audits,
)
from lmms_eval_tasks.construct.engine.set_folder import FAILED, refuse_smaller, replacing_set
from lmms_eval_tasks.construct.engine.steps import Forecast, PipelineRow, ReadyStep, Step, make_case
from lmms_eval_tasks.countervqa.card import CARD
from lmms_eval_tasks.countervqa.release import CLIPS, GRAPHS, QUESTIONS, RULE_LEVELS, CounterfactualQuestion
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.data.clips import clip_lengths
from lmms_eval_tasks.utils.data.made import clip_frames
from lmms_eval_tasks.utils.data.manifest import AttritionStep, SetAttrition
from lmms_eval_tasks.utils.data.prepare import link

CLIPS_AT_ONCE = 8
"""Whose frames are in memory: the questions about a clip follow each other."""
SENTENCE, REASONED, EXPLAINED = 150, 300, 600
"""Characters of a model's question, of its answer with a reason, and of a reply in several sentences."""


def steps_of(config: CounterVqaConfig) -> Sequence[ReadyStep]:
    config.check()
    questions = len(set(RULE_LEVELS.values())) * config.candidates
    if config.naive or config.links is not None:
        chosen: list[ReadyStep] = [steps.take_given_links.given(config=config)]
    else:
        pairs = [{"pair": 10, "first": "A10", "second": "A11"}] * steps.PAIRS_A_REQUEST
        observed = _expected(
            "observer", 45 * len(pairs), lambda pairs: ceil(pairs / steps.PAIRS_A_REQUEST), pairs=pairs
        )
        tested = _expected("critic", EXPLAINED, lambda pairs: 3 * ceil(config.pair_share * pairs), test=" " * EXPLAINED)
        chosen = [
            replace(steps.choose_pairs.given(config=config), forecast=observed),
            replace(steps.judge_pairs.given(config=config), forecast=tested),
        ]
    chosen += [steps.measure_graphs.given(config=config)]
    if config.naive:
        written = _expected("naive", EXPLAINED * questions, passes=questions)
        chosen += [
            replace(steps.filter_graphs.given(config=config), forecast=Forecast()),
            replace(steps.write_naive.given(config=config), forecast=written),
        ]
    else:
        chosen += [steps.filter_graphs.given(config=config)]
        if config.models.keys() & {steps.ABSENT, DEFAULT_ROLE}:
            chosen += [replace(steps.imagine_absent.given(config=config), forecast=_expected("absent", EXPLAINED))]
        chosen += [replace(steps.write_candidates.given(config=config), forecast=Forecast(rows=questions))]
        chosen += [steps.even_verdicts] if config.own_rules else []
    if config.rephrase:
        rephrased = Forecast(1, 4 * SENTENCE, 0, SENTENCE // CHARACTERS_A_TOKEN)
        chosen += [replace(steps.rephrase_question, forecast=rephrased)]
    if verifiers := tuple(config.verifiers):
        verified = _expected("verification", REASONED, lambda _: len(verifiers), steps.KEPT)
        chosen += [replace(steps.verify_question.given(config=config), roles=verifiers, forecast=verified)]
    if solvers := tuple(config.solvers):
        solved = Forecast(len(solvers), 4 * SENTENCE, config.frames, REASONED // CHARACTERS_A_TOKEN)
        read = lru_cache(maxsize=CLIPS_AT_ONCE)(clip_frames)
        chosen += [replace(steps.leave_out_solved.given(config=config, read=read), roles=solvers, forecast=solved)]
    return chosen


def _expected(
    role: str, reply: int, requests: Callable[[int], float] = lambda _: 1, passes: float = 1.0, **material: Any
) -> Callable[[Sequence[TakeRow]], Forecast]:
    """The forecast of a step that shows takes: given a take's pairs its requests, and the characters of a reply."""

    def forecast(rows: Sequence[TakeRow]) -> Forecast:
        shown = fmean(len(make_case(f"countervqa_{role}", **row.shown(), **material).text) for row in rows)
        asked = fmean(requests(len(row.take.actions) * (len(row.take.actions) - 1) // 2) for row in rows)
        return Forecast(asked, round(shown), reply_tokens=reply // CHARACTERS_A_TOKEN, rows=passes)

    return forecast


def log_lines(step: ReadyStep, row: PipelineRow, outcome: RowOutcome) -> list[dict[str, Any]]:
    """A line for everything that a model was asked, also where nothing came of it."""
    assert isinstance(row, TakeRow)
    take, about = row.take.uid, row.id if isinstance(row, TakeQuestion) else step.name
    names = ("reply", "reason", "model", "prompt", "problem")
    return [
        {"role": asked.role, "take": take, "about": asked.about or about}
        | {name: getattr(asked, name) for name in names}
        for asked in outcome.asked
    ]


STEPS = "steps.jsonl"
MEASURES = "takes.jsonl"
SET = (STEPS, MEASURES, GRAPHS, FACTS, QUESTIONS)
"""The files of a set that a build writes anew."""

Questions = Mapping[str, Sequence[CounterfactualQuestion]]
"""Take to its questions; takes without one are not in it."""


def write_set(run: PipelineRun[CounterVqaConfig], out: Path, replace: bool) -> BuiltSet:
    config, measured = run.config, _left(run, steps.measure_graphs)
    by_uid = {row.id: row for row in measured}
    by_take: dict[str, list[CounterfactualQuestion]] = {}
    for row in run.left:
        by_take.setdefault(row.take.uid, []).append(row.question)
    questions = {uid: with_partners(here) for uid, here in by_take.items()}
    counts = count_build(run)
    asked, failed = sum(step.asked for step in run.runs), sum(step.unusable for step in run.runs)
    statistics = count_questions(questions, run)
    facts = {
        "version": lmms_eval_tasks.__version__,
        "sources": run.sources,
        "settings": config.facts(),
        "steps": {"done": asked, "failed": failed},
        "statistics": statistics,
        "counts": counts,
    }
    missing = 0
    with replacing_set(out, SET) as folder:
        if asked:
            write_audits(folder / STEPS, *run.audits.values())
        measures = (
            {
                "take": row.id,
                "ancd": row.measures.ancd,
                "depth": row.measures.depth,
                "cnda": row.measures.cnda,
                "removed_by": list(config.failed(row.measures)),
            }
            for row in measured
        )
        write_file(folder / MEASURES, as_lines(measures))
        write_file(folder / GRAPHS, as_lines(_graph(by_uid[uid]) for uid in questions))
        write_file(folder / FACTS, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
        write_file(folder / QUESTIONS, as_lines(one.model_dump() for here in questions.values() for one in here))
        if not questions:
            silent = f"{failed:,} of {asked:,} steps of models brought no usable reply.\n" if failed else ""
            raise InputError(
                "Expected at least one question to be kept, but got none; no set was written.\n"
                f"{silent}Clips: {counts['annotated']:,} annotated, {counts['linked']:,} with causal links, "
                f"{_filtered(counts):,} that pass the filters; {counts['candidates']:,} candidate questions."
            )
        if (out / QUESTIONS).exists() and not replace:
            hint = f"{failed:,} of {asked:,} steps of models brought no usable reply; " if failed else ""
            hint = f"{hint}{out / FAILED} has the files of this build."
            refuse_smaller(out, FACTS, lambda facts: facts["counts"]["kept"], counts["kept"], hint)
        for uid in questions if config.clips is not None else ():
            name = by_uid[uid].take.clip
            if (config.clips / name).is_file():
                (out / CLIPS / name).parent.mkdir(parents=True, exist_ok=True)
                link((config.clips / name).absolute(), out / CLIPS / name)
            else:
                missing += 1
    warnings = [*config.source.warnings, *_warnings(config, asked, failed, out)]
    if missing:
        warnings.append(f"{missing} of {len(questions)} clips are not in {config.clips}.")
    elif config.clips is None:
        warnings.append(f"The videos have to be put into {out / 'clips'} under the names that graphs.jsonl has.")
    summary = f"{counts['kept']:,} questions about {len(questions):,} clips in {out}"
    tables = [table_of_losses(counts, not config.naive), table_of_statistics(statistics, not config.naive)]
    return BuiltSet(out, summary, tables, warnings, as_attrition(counts))


def _left(run: PipelineRun[CounterVqaConfig], step: Step[...]) -> Sequence[Any]:
    """The rows that a step left; none where it is no step of the build."""
    return next((one.left for one in run.runs if one.step.name == step.name), ())


def _graph(row: LinkedTake) -> dict[str, Any]:
    def rows(pairs: Iterable[Pair]) -> list[dict[str, str]]:
        return [{"cause": cause, "effect": effect} for cause, effect in pairs]

    actions = [asdict(action) for action in row.take.actions]
    graph = {"clip": row.take.clip, "task": row.take.task, "actions": actions, "links": rows(row.links.links)}
    unlinked = row.links.unlinked
    return graph if unlinked is None else {**graph, "unlinked": rows(sorted(unlinked))}


def _warnings(config: CounterVqaConfig, asked: int, failed: int, out: Path) -> Iterator[str]:
    if failed:
        yield (
            f"{failed:,} of {asked:,} steps of models brought no usable reply; {out / STEPS} says why. "
            "No question rests on them. Those that the server failed are asked again when the command is run again."
        )
    for sampling, times in Counter(one.sampling for one in config.verify_with).items():
        if times > 1 and not sampling.temperature:
            yield (
                f"verify_with names {sampling.model} twice with temperature 0, where both say the same; with "
                "temperature=0.7 they are two runs."
            )
    if config.encoder == TFIDF and not config.naive:
        yield "CNDA is by TF-IDF, the default; the paper's threshold belongs to a sentence encoder."


Counts = Mapping[str, Any]


def count_build(run: PipelineRun[CounterVqaConfig]) -> Counts:
    removed = {one.step.name: one.removed for one in run.runs}
    measured, chosen, judged = (
        _left(run, one) for one in (steps.measure_graphs, steps.choose_pairs, steps.judge_pairs)
    )
    failing = Counter(name for row in measured for name in run.config.failed(row.measures))
    rejected = Counter[str]()
    for check in (steps.verify_question, steps.leave_out_solved):
        rejected.update(removed.get(check.name, {}))
    unlinked = Counter[str]()
    for before in (steps.take_given_links, steps.choose_pairs, steps.judge_pairs, steps.measure_graphs):
        unlinked.update(removed.get(before.name, {}))
    by_rule = steps.even_verdicts if run.config.own_rules else steps.write_candidates
    candidates = len(_left(run, steps.write_naive if run.config.naive else by_rule))
    pairs: dict[str, int] = {}
    if steps.choose_pairs.name in removed:
        seen, tested = sum(row.seen for row in chosen), sum(len(row.pairs) for row in chosen)
        known = sum(len(row.links.known()) for row in judged)
        pairs = {
            "candidate pairs of actions": seen,
            "  that the observer lets on": tested,
            "  that are causal links": sum(len(row.links.links) for row in judged),
            "  that are none, cut or judged": sum(len(row.links.unlinked or ()) for row in judged),
            "  unknown, as a step failed": seen - known,
        }
    return {
        "annotated": len(run.rows),
        "pairs": pairs,
        "unlinked": dict(sorted(unlinked.items())),
        "linked": len(measured),
        "removed": {name: removed[steps.filter_graphs.name][name] for name in FILTERS},
        "failing": {name: failing[name] for name in FILTERS},
        "candidates": candidates,
        "rejected": dict(sorted(rejected.items())),
        "clips": len({row.take.uid for row in run.left}),
        "kept": candidates - sum(rejected.values()),
    }


def _filtered(counts: Counts) -> int:
    return int(counts["linked"] - sum(counts["removed"].values()))


def table_of_losses(counts: Counts, of_paper: bool) -> BuiltTable:
    """One row per step, with the paper's number where it gives one and the set was made by its method."""
    removed = counts["removed"].items()
    rows = [("annotated clips", counts["annotated"]), *counts["pairs"].items()]
    rows += [(f"  {reason}", -count) for reason, count in counts["unlinked"].items()]
    rows += [("clips with causal links", counts["linked"])]
    rows += [(f"  removed by {name} (by itself {counts['failing'][name]:,})", -count) for name, count in removed]
    rows += [("clips that pass the filters", _filtered(counts)), ("candidate questions", counts["candidates"])]
    rows += [(f"  {reason}", -count) for reason, count in counts["rejected"].items()]
    rows += [("questions kept", counts["kept"]), ("clips with a question", counts["clips"])]
    papers = PAPER_COUNTS if of_paper else {}
    cells = [(name, f"{count:,}", f"{papers[name]:,}" if name in papers else "") for name, count in rows]
    of_papers = 100.0 * (1 - PAPER_COUNTS["questions kept"] / PAPER_COUNTS["candidate questions"])
    here = f"{100.0 * (1 - counts['kept'] / counts['candidates']):.1f}%" if counts["candidates"] else "N/A"
    last = ("questions removed", here, f"{of_papers:.1f}%" if of_paper else "")
    return BuiltTable("Attrition", ("step", "here", "paper"), [*cells, last])


def as_attrition(counts: Counts) -> SetAttrition:
    """The losses as they are kept with the set: of clips, and from the candidates on of questions."""
    annotated, linked, candidates = (counts[name] for name in ("annotated", "linked", "candidates"))
    losses: tuple[tuple[str, int, int, Mapping[str, int]], ...] = (
        ("clips with causal links", annotated, linked, counts["unlinked"]),
        ("clips that pass the filters", linked, _filtered(counts), counts["removed"]),
        ("candidate questions", _filtered(counts), candidates, {}),
        ("questions kept", candidates, counts["kept"], counts["rejected"]),
    )
    return SetAttrition(
        start="annotated clips",
        rows=annotated,
        steps=tuple(
            AttritionStep(step=step, came=came, left=left, removed={why: n for why, n in removed.items() if n})
            for step, came, left, removed in losses
        ),
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


def count_questions(questions: Questions, run: PipelineRun[CounterVqaConfig]) -> dict[str, Any]:
    """Statistics of a set, as `build.json` has them; lengths of clips are in seconds, none where no clip's is known."""
    every = [question for here in questions.values() for question in here]
    takes, clips = {take.uid: take for take in run.config.source.takes}, run.config.clips
    files = [clips / takes[uid].clip for uid in questions] if clips else []
    lengths = clip_lengths(files, run.progress, "reading the length of clips").values()
    interactions, deciding = Counter[str](), Counter[str]()
    for uid in questions:
        interaction, by = interaction_of(takes[uid])
        interactions[interaction] += 1
        deciding[by] += 1
    seconds: dict[str, float] = {}
    if ordered := sorted(length for length in lengths if length is not None):
        below = {share: ordered[ceil(share * len(ordered) / 100) - 1] for share in (50, 90, 95)}
        seconds = {"mean length of clips": fmean(ordered)}
        seconds |= {f"  {share}% are no longer than": length for share, length in below.items()}
        seconds |= {"  the longest": ordered[-1]}
    levels = Counter(question.level for question in every)
    return {
        "levels": {f"L{level}": levels[level] for level in (1, 2, 3)},
        "of the main goal": sum(question.goal is not None for question in every),
        "questions": dict(sorted(Counter(question.interaction for question in every).items())),
        "clips": dict(sorted(interactions.items())),
        "interaction decided by": {name: deciding[name] for name in DECIDED_BY},
        "seconds": {"clips": len(ordered), **seconds},
    }


def table_of_statistics(counts: Counts, of_paper: bool) -> BuiltTable:
    """One row per count, with its share, and the paper's where it gives one and the set was made by its method."""
    questions, clips = sum(counts["questions"].values()), sum(counts["clips"].values())
    rows = [(f"level {level}", counts["levels"][f"L{level}"], questions) for level in (1, 2, 3)]
    rows += [("  that ask of the main goal", counts["of the main goal"], questions)]
    rows += [("questions that are H2H", counts["questions"].get("H2H", 0), questions)]
    rows += [("clips that are H2H", counts["clips"].get("H2H", 0), clips)]
    rows += [(shown, counts["interaction decided by"][name], clips) for name, shown in DECIDED_BY.items()]
    papers = PAPER_SHARES if of_paper else {}
    cells = [
        (name, f"{count:,}", f"{100 * count / total:.1f}%" if total else "N/A", papers.get(name, ""))
        for name, count, total in rows
    ]
    lengths = [(name, value) for name, value in counts["seconds"].items() if name != "clips"]
    cells += [(name, f"{value:,.1f} s", "", papers.get(name, "")) for name, value in lengths]
    return BuiltTable("Statistics", ("", "number", "share", "paper"), cells)


PIPELINE = Pipeline(
    benchmark=CARD.name,
    config=CounterVqaConfig,
    read=lambda config: [TakeRow(id=take.uid, take=take) for take in config.source.takes],
    source_files=lambda config: [file for file in (*config.annotations, config.links, config.takes) if file],
    steps=steps_of,
    first="annotated clips",
    write_set=write_set,
    lines=log_lines,
)
