"""How long mining minimal pairs takes, beside sorting all of their cosines, and filtering the pairs.

The rival computes all cosines of a question by blocked matrix products and sorts those of a skill at once. Both get the
same candidates and vectors, each in a process of its own, and have to give the same pairs in the same order. The rival
holds every pair, and is left out where these are more than MOST_SORTED. Times are of the processor, so that other
programs do not matter.

Measured on two cores, 2026-11-27: 18.7 s of one processor and 1.1 GB: 0.71 of its time and 0.42 of its memory; the
filter 1.7 s. Where 16,000 candidates have one question (`--candidates 16000 --questions 1`), 19 s and 0.6 GB.
"""

from __future__ import annotations

import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from measuring import Options, in_own_process, print_ratio
from numpy.typing import NDArray

from lmms_eval_tasks.construct.curation.candidates import Candidate
from lmms_eval_tasks.construct.curation.mining import distinct_clips, mine_pairs, take_turns
from lmms_eval_tasks.construct.curation.shortcut_filters import MODELS, Records, single_frame_filter
from lmms_eval_tasks.construct.curation.vectors import Floats, exact_units
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

DIMENSIONS, SKILLS, CLUSTERS = 512, 4, 200
SEEDS = 3
BLOCK = 2048
"""Rows of a matrix product of the rival, and sorted pairs that it looks at together."""
MOST_SORTED = 300_000_000
"""Pairs that the rival is given at most: 10 GB."""
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


def by_sorting(candidates: Sequence[Candidate], vectors: Floats) -> Pairs:
    """The rival: the cosines of all pairs of a skill, sorted, and taken in turns with other skills."""
    rows = {clip: row for row, clip in enumerate(distinct_clips(candidates))}
    questions: defaultdict[str, defaultdict[str, list[Candidate]]] = defaultdict(lambda: defaultdict(list))
    for one in sorted(candidates, key=lambda one: one.item_id):
        questions[one.skill][one.question].append(one)
    is_used = np.zeros(len(rows), dtype=bool)
    units = exact_units(vectors.astype(np.float64))
    queues = {skill: sorted_pairs(list(some.values()), rows, units, is_used) for skill, some in questions.items()}
    return list(take_turns(queues, None, None))


def sorted_pairs(
    questions: Sequence[Sequence[Candidate]], rows: dict[str, int], units: Floats, is_used: NDArray[np.bool_]
) -> Iterator[tuple[str, str]]:
    """The pairs of a skill by falling cosine whose clips are free, which are then used."""
    items = [one for members in questions for one in members]
    clips = np.array([rows[one.clip] for one in items])
    cosines, firsts, seconds = [], [], []
    start = 0
    for members in questions:
        answers = np.unique([one.answer for one in members], return_inverse=True)[1]
        vectors = units[clips[start : start + len(members)]]
        for top in range(0, len(members), BLOCK):
            product = vectors[top : top + BLOCK] @ vectors[top:].T
            first, second = np.nonzero(np.triu(answers[top : top + BLOCK, None] != answers[top:], 1))
            cosines.append(product[first, second])
            firsts.append((start + top + first).astype(np.int32))
            seconds.append((start + top + second).astype(np.int32))
        start += len(members)
    first, second = np.concatenate(firsts), np.concatenate(seconds)
    order = np.argsort(-np.concatenate(cosines), kind="stable")
    for at in range(0, len(order), BLOCK):
        some = order[at : at + BLOCK]
        free = some[~(is_used[clips[first[some]]] | is_used[clips[second[some]]])]
        for one, other in zip(first[free].tolist(), second[free].tolist(), strict=True):
            if not (is_used[clips[one]] or is_used[clips[other]]):
                is_used[clips[[one, other]]] = True
                yield items[one].item_id, items[other].item_id


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


def measured(
    mine: Callable[[Sequence[Candidate], Floats], Pairs], candidates: Sequence[Candidate], vectors: Floats
) -> tuple[Pairs, float, float]:
    """The pairs, seconds of the processor, and the process's peak of memory in GB."""
    started = time.process_time()
    pairs = mine(candidates, vectors)
    return pairs, time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def main() -> None:
    """Measure and print.

    Raises:
        SystemExit: the pairs are not the rival's.
    """
    parser = Options(__doc__)
    parser.add_size("--candidates", 50_000, 400)
    parser.add_size("--questions", 40, 4)
    options = parser.parse_args()
    candidates, vectors = make_candidates(options.candidates, options.questions, 0)
    sizes, number = Counter(one.question for one in candidates), pairs_of(candidates)
    print(f"{len(candidates):,} candidates of {DIMENSIONS} dimensions, {number:,} pairs with two answers")
    print(f"{len(sizes)} questions of {min(sizes.values()):,} to {max(sizes.values()):,}")
    pairs, spent, memory = in_own_process(measured, mined, candidates, vectors)
    print(f"ours: {len(pairs):,} pairs in {spent:.2f} s, {memory:.2f} GB", flush=True)
    if number <= MOST_SORTED:
        theirs, rival, held = in_own_process(measured, by_sorting, candidates, vectors)
        print_ratio(spent / rival, f"ours {spent:.2f} s, sorting all pairs {rival:.2f} s")
        print_ratio(memory / held, f"ours {memory:.2f} GB, sorting all pairs {held:.2f} GB")
        if pairs != theirs:
            raise SystemExit("Expected the same pairs in the same order, but they differ.")
    answers = frame_answers(options.candidates, MODELS, SEEDS)
    started = time.process_time()
    groups = single_frame_filter(answers)
    spent = time.process_time() - started
    removed = sum(group.removed for group in groups)
    print(f"filter of {len(groups):,} pairs by {MODELS} models and {SEEDS} frames: {spent:.1f} s, {removed:,} removed")


if __name__ == "__main__":
    main()
