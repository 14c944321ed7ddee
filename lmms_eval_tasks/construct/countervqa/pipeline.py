"""The pipeline of a CounterVQA build, the files of a set, and counts of its losses next to the paper's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any

from lmms_eval_tasks.construct.countervqa import steps
from lmms_eval_tasks.construct.countervqa.graphs import FILTERS, Pair
from lmms_eval_tasks.construct.countervqa.questions import with_partners
from lmms_eval_tasks.construct.countervqa.rows import PAPER_COUNTS, CounterVqaConfig, LinkedTake, TakeQuestion, TakeRow
from lmms_eval_tasks.construct.countervqa.takes import interaction_of
from lmms_eval_tasks.construct.engine.command import CHARACTERS_A_TOKEN
from lmms_eval_tasks.construct.engine.config import DEFAULT_ROLE
from lmms_eval_tasks.construct.engine.encoders import TFIDF
from lmms_eval_tasks.construct.engine.running import BuiltTable, Findings, Pipeline, PipelineRun
from lmms_eval_tasks.construct.engine.steps import Forecast, ReadyStep, Step, make_case
from lmms_eval_tasks.countervqa.card import CARD
from lmms_eval_tasks.countervqa.release import CLIPS, GRAPHS, QUESTIONS, RULE_LEVELS
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.data.clips import clip_lengths
from lmms_eval_tasks.utils.data.made import clip_frames
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
            replace(steps.filter_graphs.given(config=config), forecast=Forecast(), paper=""),
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
    if (verifiers or solvers) and not config.naive:
        chosen[-1] = replace(chosen[-1], paper=f"{PAPER_COUNTS['questions kept']:,}")
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


MEASURES = "takes.jsonl"
"""The measures of every graph, beside the lines of the steps."""


def write_release(rows: Sequence[TakeQuestion], folder: Path, config: CounterVqaConfig) -> list[str]:
    by_take = _by_take(rows)
    questions = (with_partners([row.question for row in here]) for here in by_take.values())
    write_file(folder / GRAPHS, as_lines(_graph(here[0]) for here in by_take.values()))
    write_file(folder / QUESTIONS, as_lines(one.model_dump() for here in questions for one in here))
    if config.clips is None:
        return ["The folder of the clips is not known: name it to `prepare` by --videos."]
    missing = 0
    for name in (here[0].take.clip for here in by_take.values()):
        if (config.clips / name).is_file():
            (folder / CLIPS / name).parent.mkdir(parents=True, exist_ok=True)
            link((config.clips / name).absolute(), folder / CLIPS / name)
        else:
            missing += 1
    return [f"{missing} of {len(by_take)} clips are not in {config.clips}."] if missing else []


def _by_take(rows: Iterable[TakeQuestion]) -> dict[str, list[TakeQuestion]]:
    by_take: dict[str, list[TakeQuestion]] = {}
    for row in rows:
        by_take.setdefault(row.take.uid, []).append(row)
    return by_take


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


def describe_build(run: PipelineRun[CounterVqaConfig]) -> Findings:
    config, measured = run.config, _left(run, steps.measure_graphs)
    pairs, statistics = count_pairs(run), count_questions(run)
    tables = [table_of_statistics(statistics, not config.naive)]
    if pairs:
        tables.insert(0, BuiltTable("Pairs of actions", ("", "number"), [(one, f"{n:,}") for one, n in pairs.items()]))
    lines = [{"take": row.id, **asdict(row.measures), "removed_by": config.failed(row.measures)} for row in measured]
    return Findings(
        lines={MEASURES: lines},
        facts={"pairs": pairs, "statistics": statistics},
        tables=tables,
        warnings=[*config.source.warnings, *_warnings(run)],
    )


def _warnings(run: PipelineRun[CounterVqaConfig]) -> Iterator[str]:
    config = run.config
    asked, failed = sum(step.asked for step in run.runs), sum(step.unusable for step in run.runs)
    if failed:
        yield (
            f"{failed:,} of {asked:,} requests brought no usable reply; the files of the steps say why. "
            "No question rests on them."
        )
    for sampling, times in Counter(one.sampling for one in config.verify_with).items():
        if times > 1 and not sampling.temperature:
            yield (
                f"verify_with names {sampling.model} twice with temperature 0, where both say the same; with "
                "temperature=0.7 they are two runs."
            )
    if config.encoder == TFIDF and not config.naive:
        yield "CNDA is by TF-IDF, the default; the paper's threshold belongs to a sentence encoder."


def count_pairs(run: PipelineRun[CounterVqaConfig]) -> dict[str, int]:
    """What became of the pairs of actions; nothing where links were given."""
    chosen, judged = _left(run, steps.choose_pairs), _left(run, steps.judge_pairs)
    if not chosen:
        return {}
    seen = sum(row.seen for row in chosen)
    return {
        "candidate pairs of actions": seen,
        "  that the observer lets on": sum(len(row.pairs) for row in chosen),
        "  that are causal links": sum(len(row.links.links) for row in judged),
        "  that are none, cut or judged": sum(len(row.links.unlinked or ()) for row in judged),
        "  unknown, as a step failed": seen - sum(len(row.links.known()) for row in judged),
    }


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


def count_questions(run: PipelineRun[CounterVqaConfig]) -> dict[str, Any]:
    """Statistics of a set, as `build.json` has them; lengths of clips are in seconds, none where no clip's is known."""
    every, clips = [row.question for row in run.left], run.config.clips
    takes = [here[0].take for here in _by_take(run.left).values()]
    files = [clips / take.clip for take in takes] if clips else []
    lengths = clip_lengths(files, run.progress, "reading the length of clips").values()
    interactions, deciding = Counter[str](), Counter[str]()
    for take in takes:
        interaction, by = interaction_of(take)
        interactions[interaction] += 1
        deciding[by] += 1
    seconds: dict[str, float] = {}
    if ordered := sorted(length for length in lengths if length is not None):
        below = {share: ordered[ceil(share * len(ordered) / 100) - 1] for share in (50, 90, 95)}
        seconds = {"mean length of clips": fmean(ordered)}
        seconds |= {f"  {share}% are no longer than": length for share, length in below.items()}
        seconds |= {"  the longest": ordered[-1]}
    levels = Counter(question.level for question in every)
    measured = _left(run, steps.measure_graphs)
    failing = Counter(name for row in measured for name in run.config.failed(row.measures))
    filters = () if run.config.naive else FILTERS
    return {
        "graphs": {"measured": len(measured), "removed": {name: failing[name] for name in filters}},
        "levels": {f"L{level}": levels[level] for level in (1, 2, 3)},
        "of the main goal": sum(question.goal is not None for question in every),
        "questions": dict(sorted(Counter(question.interaction for question in every).items())),
        "clips": dict(sorted(interactions.items())),
        "interaction decided by": {name: deciding[name] for name in DECIDED_BY},
        "seconds": {"clips": len(ordered), **seconds},
    }


def table_of_statistics(counts: Mapping[str, Any], of_paper: bool) -> BuiltTable:
    """One row per count, with its share, and the paper's where it gives one and the set was made by its method."""
    questions, clips = sum(counts["questions"].values()), sum(counts["clips"].values())
    removed, measured = counts["graphs"]["removed"], counts["graphs"]["measured"]
    rows = [(f"graphs that the filter {name} removes by itself", removed[name], measured) for name in removed]
    rows += [(f"level {level}", counts["levels"][f"L{level}"], questions) for level in (1, 2, 3)]
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
    write=write_release,
    find=describe_build,
)
