"""What is dealt to whom: questions to ranks and rows to parts of a run, clips whole and shares even; what differs
between ranks; and what lmms-eval is left to ask of a part.
"""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from releases import question_row, write_causalvqa
from task_states import docs_of, new_state
from thread_ranks import ThreadRanks

from lmms_eval_tasks.causalvqa.benchmark import prepare
from lmms_eval_tasks.host.asking import parts, rank_agreement
from lmms_eval_tasks.host.asking.dealing import QUESTION, Deal, deal_questions
from lmms_eval_tasks.host.asking.parts import PartOfRun, deal_rows, without_tasks
from lmms_eval_tasks.host.asking.rank_agreement import describe_disagreement, rank_facts, stop_unless_ranks_agree
from lmms_eval_tasks.host.tasks import running
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import Encode
from lmms_eval_tasks.registry import read_card
from lmms_eval_tasks.runs.run_files import Shard
from lmms_eval_tasks.utils.data.home import absent_clips, clip_path
from lmms_eval_tasks.utils.data.prepare import CLIP_SECONDS, Preparation, make_table

CLIPS = [Path(f"{number}.mp4") for number in range(12)]
Questions = list[tuple[Encode, ...]]
Lengths = dict[Path, float | None]
ENCODES = st.builds(Encode, st.sampled_from(CLIPS), st.sampled_from(["the clip", "reversed"]), st.booleans())
QUESTIONS = st.lists(st.lists(ENCODES, max_size=2).map(tuple), max_size=40)
LENGTHS = st.dictionaries(st.sampled_from(CLIPS), st.none() | st.floats(0, 600))


def whole(*clips: int) -> tuple[Encode, ...]:
    return tuple(Encode(CLIPS[clip], "the clip") for clip in clips)


def holders(things: list[tuple[Any, Any]]) -> dict[Any, set[Any]]:
    """Each thing, and who has it."""
    found: dict[Any, set[Any]] = defaultdict(set)
    for thing, holder in things:
        found[thing].add(holder)
    return found


def loads(deal: Deal, questions: Questions, lengths: Lengths) -> list[float]:
    """The cost of each rank, summed anew from what it was dealt."""
    shown = {encode.clip for encodes in questions for encode in encodes}
    known = [length for clip in shown if (length := lengths.get(clip)) is not None]
    mean = sum(known) / len(known) if known else 1.0
    costs = [QUESTION * mean * deal.ranks.count(rank) for rank in range(len(deal.clips))]
    dealt = zip(questions, deal.ranks, strict=True)
    for encode, rank in {(encode, rank) for encodes, rank in dealt for encode in encodes}:
        length = lengths.get(encode.clip)
        costs[rank] += encode.is_video * (mean if length is None else length)
    return costs


@pytest.mark.slow
@given(QUESTIONS, LENGTHS, st.integers(1, 8), st.randoms())
def test_every_question_and_every_clip_go_to_one_rank_and_shares_are_even(
    questions: Questions, lengths: Lengths, ranks: int, random: Any
) -> None:
    deal = deal_questions(questions, lengths, ranks)
    assert len(deal.ranks) == len(questions) and set(deal.ranks) <= set(range(ranks)) and len(deal.clips) == ranks
    dealt = zip(questions, deal.ranks, strict=True)
    having = holders([(encode.clip, rank) for encodes, rank in dealt for encode in encodes])
    assert all(len(found) == 1 for found in having.values())
    assert having == {clip: {rank} for rank, clips in enumerate(deal.clips) for clip in clips}
    costs = loads(deal, questions, lengths)
    # All that stays together, on as many ranks as there are questions, is at most the most expensive.
    alone = loads(deal_questions(questions, lengths, max(1, len(questions))), questions, lengths)
    assert max(costs) <= sum(costs) / ranks + max(alone) + 1e-6
    again = dict(sorted(lengths.items(), key=lambda item: random.random()))
    assert deal_questions(list(questions), again, ranks) == deal, "it depends on nothing but its arguments"


TENS: Lengths = dict.fromkeys(CLIPS, 10.0)


@pytest.mark.parametrize(
    ("questions", "lengths", "ranks"),
    [
        # Equal seconds, and not equal counts.
        (list(map(whole, range(6))), {**TENS, CLIPS[0]: 60.0}, (0, 1, 1, 1, 1, 1)),
        # Each view of a clip costs the clip again, and a single frame does not.
        ([whole(0), (Encode(CLIPS[0], "reversed"),), whole(1), whole(2)], TENS, (0, 0, 1, 1)),
        ([whole(0), (Encode(CLIPS[0], "centre", False),), whole(1), whole(2), whole(3)], TENS, (0, 0, 1, 1, 0)),
        # Clips that are shown together stay together.
        ([whole(0, 1), whole(1, 2), whole(2), whole(0), whole(3)], TENS, (0, 0, 0, 0, 1)),
        # A further question about a clip costs something too.
        ([whole(0)] * 10 + [whole(1), whole(2), whole(3)], TENS, (*[0] * 10, 1, 1, 1)),
        # Without a clip they go where there is least to do.
        ([whole(0), whole(0), (), (), (), whole(1), ()], TENS, (0, 0, 1, 0, 1, 1, 0)),
    ],
)
def test_questions_are_dealt_by_seconds(questions: Questions, lengths: Lengths, ranks: tuple[int, ...]) -> None:
    assert deal_questions(questions, lengths, 2).ranks == ranks


def test_a_clip_of_unknown_length_is_a_mean_one_and_nothing_is_dealt_to_nobody() -> None:
    deal = deal_questions([whole(0), whole(1), whole(2)], {CLIPS[0]: 20.0, CLIPS[1]: 40.0, CLIPS[2]: None}, 3)
    assert [deal.seconds(rank) for rank in deal.ranks] == [20.0, 40.0, 30.0]
    assert deal_questions([], {}, 3) == Deal((), ({},) * 3)
    assert [deal_questions([whole(0)], {}, 3).seconds(rank) for rank in range(3)] == [1.0, 0, 0]


PAIRED, TWO_CLIPS = read_card("causalvqa"), read_card("yocausal")
Rows = list[tuple[int, int, int, float | None]]
ROWS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8), st.none() | st.floats(0.1, 300)), max_size=40
)


def table_of(rows: Rows, measured: bool = True) -> pa.Table:
    """A table of rows of a group, two clips and their seconds."""
    made = make_table(
        [
            {"item_id": str(place), "group_id": f"g{group}", "clip": f"{one}.mp4", "clip_backward": f"{other}.mp4"}
            for place, (group, one, other, _) in enumerate(rows)
        ],
        dict.fromkeys(("clip_backward", *PAIRED.strata_columns, *TWO_CLIPS.strata_columns), pa.string()),
    )
    seconds = pa.array([length for *_, length in rows], pa.float64())
    return made.append_column(CLIP_SECONDS, seconds) if measured else made


@pytest.mark.slow
@given(ROWS, st.integers(1, 7), st.booleans())
def test_clips_and_groups_are_whole_and_every_row_is_in_one_part(rows: Rows, parts: int, measured: bool) -> None:
    dealt = deal_rows(TWO_CLIPS, table_of(rows, measured), parts)
    assert len(dealt) == len(rows) and set(dealt) <= set(range(1, parts + 1))
    things = [((("group", group), one, other), part) for (group, one, other, _), part in zip(rows, dealt, strict=True)]
    assert all(len(its) == 1 for its in holders([(one, part) for row, part in things for one in row]).values())
    assert dealt == deal_rows(TWO_CLIPS, table_of(rows, measured), parts)


@pytest.mark.slow
@given(st.lists(st.floats(20, 300), min_size=1, max_size=60), st.integers(1, 7))
def test_parts_differ_by_no_more_than_the_longest_clip(lengths: list[float], parts: int) -> None:
    # Two questions about each clip.
    rows: Rows = [(place, place, place, length) for place, length in enumerate(lengths) for _ in range(2)]
    seconds = [0.0] * parts
    for length, part in zip(lengths, deal_rows(PAIRED, table_of(rows), parts)[::2], strict=True):
        seconds[part - 1] += length
    assert max(seconds) - min(seconds) <= max(lengths) + 1e-6


def test_a_row_of_unknown_length_is_a_mean_one() -> None:
    rows: Rows = [(clip, clip, clip, None) for clip in range(6) for _ in range(clip + 1)]
    for table in (table_of(rows), table_of(rows, measured=False)):
        dealt = dict(zip([clip for clip, *_ in rows], deal_rows(PAIRED, table, 3), strict=True))
        assert sorted(dealt.values()) == [1, 1, 2, 2, 3, 3]
    rows = [(clip, clip, clip, length) for clip, length in enumerate((30.0, 10.0, None))]
    assert deal_rows(PAIRED, table_of(rows), 2) == [1, 2, 2]


def test_tasks_without_items_and_groups_without_tasks_are_left_out() -> None:
    tasks = {"group": {"a": 1, "inner": {"b": 2}}, "other": {"c": 3}, "d": 4, "e": 5}
    assert without_tasks(tasks, ["b", "c", "e"]) == {"group": {"a": 1}, "d": 4}
    assert without_tasks(tasks, ["a", "b", "c", "d", "e"]) == {}


class Task:
    """As lmms-eval's task, which has two requests for each document."""

    _instances: list[Any]

    def build_all_requests(self, *, limit: int) -> None:
        self._instances = [SimpleNamespace(doc_id=number // 2) for number in range(2 * limit)]


def test_only_the_documents_of_a_part_are_asked_as_long_as_it_lasts() -> None:
    one, other = Task(), Task()
    part = PartOfRun(
        Shard(1, 2),
        {"one": frozenset({0, 3}), "other": frozenset()},
        {name: {"original": 9, "effective": 4} for name in ("one", "other")},
        {"one": one, "other": other},
    )
    with part.during():
        for task in (one, other):
            task.build_all_requests(limit=4)
    assert [request.doc_id for request in one._instances] == [0, 0, 3, 3] and other._instances == []
    one.build_all_requests(limit=1)
    assert len(one._instances) == 2
    results: dict[str, Any] = {"n-samples": {"one": {"original": 9, "effective": 4}}}
    part.label(results)
    assert results == {
        "n-samples": {"one": {"original": 9, "effective": 2}},
        "shard": {"part": 1, "of": 2, "n-samples": dict(part.whole)},
    }


def test_the_first_rank_says_how_much_a_part_asks_and_a_run_that_is_none_says_nothing(
    monkeypatch: pytest.MonkeyPatch, log: list[str]
) -> None:
    whole = {name: {"original": 9, "effective": 4} for name in ("one", "other")}

    def ask(shard: Shard | None) -> list[str]:
        log.clear()
        part = PartOfRun(shard, {"one": frozenset({0, 3}), "other": frozenset()}, whole, {})

        def begin(rank: int) -> None:
            with part.during():
                pass

        ThreadRanks(2, monkeypatch, parts).run(begin)
        return log

    assert ask(Shard(1, 2)) == ["Part 1/2 of the run: 2 of 8 items.", "Part 1/2 of the run has no item of other."]
    assert ask(None) == []


def test_what_differs_between_ranks_is_named_and_every_rank_gets_an_ordinary_exception(
    expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = {"t, prompt": "mcq:1", "t, data": "x"}, {"t, prompt": "own:2", "t, data": "x"}
    assert describe_disagreement([one, one]) is describe_disagreement([{}]) is None
    expected(f"{describe_disagreement([one, other, one])}\n\n{describe_disagreement([one, {}])}")
    several = ThreadRanks(2, monkeypatch, rank_agreement)
    several.run(lambda rank: stop_unless_ranks_agree([]))
    monkeypatch.setattr(rank_agreement, "rank_facts", lambda states: {"another": "fact"} if several.here else {})
    for message in several.run(lambda rank: refusal(stop_unless_ranks_agree, [])):
        assert "another: not asked on rank 0; fact on rank 1" in message


def facts(task: str, clips_needed: bool = False) -> dict[str, str]:
    state = new_state(task, Evaluation(clips_needed))
    state.doc_to_text(docs_of(state)[0], {})
    return rank_facts([state])


def test_data_and_clips_are_compared(own_world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    before = facts("causalvqa_paired", clips_needed=True)
    assert before == facts("causalvqa_paired", clips_needed=True)
    evaluation = Evaluation()
    evaluation.split_of({"benchmark": "causalvqa", "split": "test"}).absent = {}
    state = new_state("causalvqa_paired", evaluation)
    seen = rank_facts([state])
    next(clip_path("causalvqa", "test").iterdir()).unlink()
    after = facts("causalvqa_paired", clips_needed=True)
    assert {name for name in before if before[name] != after.get(name)} == {
        "causalvqa_paired, items whose clip is missing",
        "causalvqa_paired, first clip",
    }
    missing = [found["causalvqa_paired, items whose clip is missing"] for found in (before, after)]
    assert missing[0] == "0" and re.fullmatch(r"[1-9], [0-9a-f]{12}", missing[1])
    other = [question_row("7", "planning", "hard", (1, 2)), question_row("8", "descriptive", "easy", (3, 4))]
    # A rank that does not see the clips disagrees.
    shutil.rmtree(clip_path("causalvqa", "test"))
    unseen = rank_facts([state])
    assert {name: (seen[name], unseen[name]) for name in seen if seen[name] != unseen[name]} == {
        "causalvqa_paired, first clip": ("found", "not found")
    }
    prepare(Preparation(replace=True), write_causalvqa(tmp_path, "test", other, withheld=True))
    assert facts("causalvqa_paired")["causalvqa_paired, prepared data"] != before["causalvqa_paired, prepared data"]


def test_a_runs_part_its_sample_and_its_judge_are_compared(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_SHARD", "1/3")
    monkeypatch.setenv("LMMS_EVAL_TASKS_SAMPLE", "40:1")
    for judge, named in (("none", "none"), ("served", "served, Sampling(model='served', ")):
        monkeypatch.setenv("LMMS_EVAL_TASKS_JUDGE", judge)
        found = rank_facts([new_state("cast_bench_open")])
        assert (found["part of the run"], found["sample of groups"]) == ("1/3", "40:1")
        assert found["cast_bench_open, judge"].startswith(named) and "cast_bench_open, prompt" not in found
    free = Evaluation(clips_needed=False, judge_needed=False)
    assert "cast_bench_open, judge" not in rank_facts([new_state("cast_bench_open", free)])


def test_what_each_kind_of_task_asks_with_is_compared(world: Path, expected: Any) -> None:
    lines: list[str] = []
    for task in ("causalvqa_paired", "cast_bench", "intphys2_heldout", "mvp_mini_temporal_reasoning", "yocausal"):
        found = {name: text for name, text in facts(task).items() if not name.endswith("prepared data")}
        lines += [f"{name}: {text}" for name, text in found.items() if not name.startswith("version of")]
    expected("\n".join(lines))


def test_clips_are_looked_for_on_the_first_rank_alone(own_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_TASKS_MISSING", "skip")
    several, looked = ThreadRanks(3, monkeypatch, running), []

    def look(*of: Any) -> Any:
        looked.append(several.here)
        return absent_clips(*of)

    monkeypatch.setattr(running, "absent_clips", look)
    pointers = [{"benchmark": "causalvqa", "split": "test"}, {"benchmark": "nobody's", "split": "test"}]

    def asked(clips_needed: bool = True) -> list[list[bool]]:
        evaluations = [Evaluation(clips_needed) for _ in range(3)]

        def on_rank(rank: int) -> list[bool]:
            evaluations[rank].look_for_clips(pointers)
            return list(evaluations[rank].open_split(pointers[0])["asked"])

        return several.run(on_rank)

    assert all(map(all, asked())) and looked == [0]
    next(clip_path("causalvqa", "test").iterdir()).unlink()
    assert not any(map(any, asked())) and looked == [0, 0]
    assert all(map(all, asked(clips_needed=False))) and looked == [0, 0]
