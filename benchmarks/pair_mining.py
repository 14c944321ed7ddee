"""How long mining minimal pairs takes, beside a double loop over all pairs of a question, and filtering them.

python benchmarks/pair_mining.py [--candidates N] [--questions N] [--rival N]

The loop is run on whole questions, the largest that fit in --rival candidates: the pairs of all of them would not fit
in 4 GB. Both get the same candidates and vectors and have to give the same pairs in the same order. What the loop would
take for all candidates is its time a pair times the number of pairs of all questions. Times are of the processor, all
threads together, so that other programs do not matter; with two threads ours ends sooner than that.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.build.curation.candidates import Candidate
from lmms_eval_tasks.build.curation.mining import distinct_clips, mine_pairs
from lmms_eval_tasks.build.curation.shortcuts import MODELS, Records, single_frame_filter
from lmms_eval_tasks.build.curation.vectors import Floats, exact_units
from lmms_eval_tasks.utils.scoring.records import Outcome, Record

DIMENSIONS, SKILLS, CLUSTERS = 512, 4, 200
SEEDS = 3
Pairs = list[tuple[str, str]]


def make_candidates(number: int, questions: int, seed: int) -> tuple[list[Candidate], Floats]:
    """Candidates whose questions differ in how many have them as ranks do, 2 to 5 answers each; clips in clusters."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, questions + 1)
    question = rng.choice(questions, number, p=shares / shares.sum())
    answer = rng.integers(0, 2 + question % 4)
    candidates = [
        Candidate(f"item {item:06}", f"clip {item:06}", f"question {asked}", f"answer {key}", f"skill {asked % SKILLS}")
        for item, (asked, key) in enumerate(zip(question.tolist(), answer.tolist(), strict=True))
    ]
    centres = rng.normal(size=(CLUSTERS, DIMENSIONS))
    vectors = centres[rng.integers(0, CLUSTERS, number)] + 0.5 * rng.normal(size=(number, DIMENSIONS))
    return candidates, vectors.astype(np.float32)


def loop(candidates: Sequence[Candidate], vectors: Floats) -> Pairs:
    """The rival: the cosine of every pair of a question in turn, all sorted, and taken skill by skill in turns."""
    places = {clip: place for place, clip in enumerate(distinct_clips(candidates))}
    by_question: dict[tuple[str, str], list[Candidate]] = {}
    for one in sorted(candidates, key=lambda one: one.item_id):
        by_question.setdefault((one.skill, one.question), []).append(one)
    ranked: dict[str, list[tuple[float, str, str]]] = {}
    for (skill, _), members in by_question.items():
        pairs = ranked.setdefault(skill, [])
        for place, one in enumerate(members):
            vector = vectors[places[one.clip]]
            for other in members[place + 1 :]:
                if one.answer != other.answer:
                    cosine = vector @ vectors[places[other.clip]]
                    pairs.append((-float(cosine), one.item_id, other.item_id))
    for pairs in ranked.values():
        pairs.sort()
    clip_of = {one.item_id: one.clip for one in candidates}
    used: set[str] = set()
    mined: Pairs = []
    turns = {skill: iter(ranked[skill]) for skill in sorted(ranked)}
    while turns:
        for skill, pairs_left in list(turns.items()):
            for _, first, second in pairs_left:
                if clip_of[first] not in used and clip_of[second] not in used:
                    used |= {clip_of[first], clip_of[second]}
                    mined.append((first, second))
                    break
            else:
                del turns[skill]
    return mined


def mined(candidates: Sequence[Candidate], vectors: Floats) -> Pairs:
    """Ours, from vectors as a file holds them."""
    pairs = mine_pairs(candidates, exact_units(vectors.astype(np.float64))).pairs
    return [(pair.first.item_id, pair.second.item_id) for pair in pairs]


def frame_answers(number: int, models: int, seeds: int) -> dict[str, Records]:
    """Answers of several models to single frames of items in pairs, two in three of them right."""
    rng = np.random.default_rng(1)
    frames = rng.integers(0, 300, (seeds, number)).tolist()
    answers: dict[str, Records] = {}
    for model in range(models):
        right = (rng.random((seeds, number)) < 2 / 3).tolist()
        answers[f"model {model}"] = {
            "task": [
                Record(
                    f"{item // 2}_{item % 2}",
                    str(item // 2),
                    {},
                    "A",
                    "A",
                    Outcome.CORRECT if right[seed][item] else Outcome.WRONG,
                    fields={"frame": frames[seed][item]},
                )
                for seed in range(seeds)
                for item in range(number)
            ]
        }
    return answers


def pairs_of(candidates: Sequence[Candidate]) -> int:
    """How many pairs of a question with different answers there are."""
    same = Counter(one.question for one in candidates)
    alike = Counter((one.question, one.answer) for one in candidates)
    return sum(n * (n - 1) // 2 for n in same.values()) - sum(n * (n - 1) // 2 for n in alike.values())


def beside_loop(candidates: Sequence[Candidate], vectors: Floats, most: int, spent: float) -> None:
    """Measure both on the largest questions that fit in `most` candidates; `spent` is our time for all."""
    sizes = Counter(one.question for one in candidates)
    chosen: set[str] = set()
    for question, size in sorted(sizes.items(), key=lambda entry: (-entry[1], entry[0])):
        if sum(sizes[one] for one in chosen) + size <= most:
            chosen.add(question)
    kept = [place for place, one in enumerate(candidates) if one.question in chosen]
    part, part_vectors = [candidates[place] for place in kept], vectors[kept]
    number = pairs_of(part)
    print(f"{len(part):,} candidates of {len(chosen)} questions, {number:,} pairs with two answers:")
    if not number:
        return
    started = time.process_time()
    ours = mined(part, part_vectors)
    spent_part = time.process_time() - started
    units = exact_units(part_vectors.astype(np.float64))
    started = time.process_time()
    theirs = loop(part, units)
    rival = time.process_time() - started
    print(f"double loop {rival:.1f} s, ours {spent_part:.2f} s, {rival / spent_part:.0f} times as fast")
    print(f"the same pairs in the same order: {'yes' if ours == theirs else 'NO'} ({len(ours):,})")
    scaled = rival / number * pairs_of(candidates)
    print(f"the double loop on all, by its time a pair: {scaled:.0f} s, ours {scaled / spent:.0f} times as fast")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=50_000)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--rival", type=int, default=4_000, help="candidates that the double loop gets at most")
    arguments = parser.parse_args()
    candidates, vectors = make_candidates(arguments.candidates, arguments.questions, 0)
    sizes = Counter(one.question for one in candidates)
    print(f"{len(candidates):,} candidates of {DIMENSIONS} dimensions, {pairs_of(candidates):,} pairs with two answers")
    print(f"{len(sizes)} questions of {min(sizes.values()):,} to {max(sizes.values()):,}")
    started, watch = time.process_time(), time.perf_counter()
    whole = mined(candidates, vectors)
    spent, wall = time.process_time() - started, time.perf_counter() - watch
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"ours, all: {len(whole):,} pairs in {spent:.1f} s of the processor, {wall:.1f} s by the clock")
    print(f"peak memory {memory:.2f} GB")
    beside_loop(candidates, vectors, arguments.rival, spent)
    answers = frame_answers(arguments.candidates, MODELS, SEEDS)
    started = time.process_time()
    groups = single_frame_filter(answers)
    spent = time.process_time() - started
    removed = sum(group.removed for group in groups)
    print(f"filter of {len(groups):,} pairs by {MODELS} models and {SEEDS} frames: {spent:.1f} s, {removed:,} removed")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB in all")


if __name__ == "__main__":
    main()
