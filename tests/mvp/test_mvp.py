"""MVP's annotations, pairs that are drawn at random, the official reader, and what paths and ids name."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import pytest
from expected import Expected
from hypothesis import given
from hypothesis import strategies as st
from oracles import read_oracle
from refusals import refusal
from releases import mvp_pair, write_clip, write_snapshot

from lmms_eval_tasks.finished.submit import validate
from lmms_eval_tasks.mvp.benchmark import (
    SUBSETS,
    official_choice,
    pair_at_random,
    prepare,
    read_candidates,
    read_items,
    strata,
)
from lmms_eval_tasks.registry import load_table, read_card
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.data.home import clip_path, read_manifest
from lmms_eval_tasks.utils.data.prepare import Preparation

HOI = SUBSETS[0]

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    for subset in SUBSETS:
        for member in (1, 2):
            write_clip(tmp_path / "videos" / "pt" / f"{subset}_x_{member}.mp4")
    return tmp_path / "videos"


def test_the_four_subsets_in_order_with_their_pairs(tmp_path: Path, videos: Path, expected: Expected) -> None:
    first, second = mvp_pair("s_1"), mvp_pair("s_0", candidates="['right', 'left']")
    for name in ("s_1_1", "s_1_2", "s_0_1", "s_0_2"):
        write_clip(videos / "pt" / f"{name}.mp4")
    rows = [first[1], second[0], first[0], second[1]]
    prepare(Preparation(), videos, str(write_snapshot(tmp_path, "mini", {HOI: rows})))
    table = load_table("mvp", "mini")
    assert table["item_id"][:4] == ["s_1_2", "s_1_1", "s_0_1", "s_0_2"]
    assert table["answer"][:4] == ["B", "A", "A", "A"]
    assert list(dict.fromkeys(table["subset"])) == list(SUBSETS)
    expected(json.dumps(table[0], indent=1))
    assert clip_path("mvp", "mini/pt/s_1_2.mp4").readlink() == videos / "pt" / "s_1_2.mp4"


def test_a_folder_without_any_of_the_clips_is_refused(tmp_path: Path, expected: Expected) -> None:
    snapshot, elsewhere = write_snapshot(tmp_path, "full", {}), tmp_path / "elsewhere"
    elsewhere.mkdir()
    expected(refusal(prepare, Preparation(), elsewhere, str(snapshot), "full"))


@given(st.lists(st.integers(0, 30), unique=True, min_size=1), st.randoms(use_true_random=False))
def test_members_of_a_pair_are_adjacent_and_nothing_is_lost(stems: list[int], random: Random) -> None:
    rows = [row for stem in stems for row in mvp_pair(str(stem))]
    random.shuffle(rows)
    problems = Problems()
    items = read_items(HOI, "mini", rows, problems)
    assert not problems and not problems.warnings()
    assert sorted(item["item_id"] for item in items) == sorted(row["video_id"] for row in rows)
    groups = [item["group_id"] for item in items]
    assert groups[::2] == groups[1::2] == list(dict.fromkeys(row["video_id"].split("_")[0] for row in rows))
    places = {row["video_id"]: place for place, row in enumerate(rows)}
    assert all(places[a["item_id"]] < places[b["item_id"]] for a, b in zip(items[::2], items[1::2], strict=True))


@given(st.one_of(st.text(), st.none(), st.integers(), st.lists(st.text()), st.just("[" * 9000), st.just("(1," * 3000)))
def test_candidates_are_two_texts_or_a_sentence(value: object) -> None:
    try:
        candidates = read_candidates(value)
    except ValueError as error:
        assert str(error).startswith("Expected {field} ")
    else:
        assert len(set(candidates)) == 2 and all(text.strip() for text in candidates)


def test_white_space_around_texts_is_no_difference() -> None:
    rows = mvp_pair("x", question=" Which way?\n", candidates="['left ', ' right']", answer="right ")
    problems = Problems()
    items = read_items(HOI, "mini", rows, problems)
    assert (len(problems), problems.warnings(), [item["answer"] for item in items]) == (0, (), ["A", "B"])


def test_what_is_odd_is_a_warning_that_the_manifest_keeps(tmp_path: Path, videos: Path, expected: Expected) -> None:
    rows = [
        *mvp_pair("asked", question="Where to?"),
        *mvp_pair("case", question="which way?"),
        *mvp_pair("other", answer="up", candidates="['left', 'up']"),
        *mvp_pair("from", source=" "),
        *mvp_pair("same", answer="left"),
    ]
    without = [{name: cell for name, cell in row.items() if name != "source"} for row in mvp_pair("x")]
    prepare(Preparation(), videos, str(write_snapshot(tmp_path, "mini", {HOI: rows, SUBSETS[1]: without})))
    expected("\n".join(read_manifest(read_card("mvp")).splits["mini"].warnings[:6]))
    table = load_table("mvp", "mini", require_clips=False)
    assert table["source"][6:12] == ["pt", "unknown", "pt", "pt", "unknown", "unknown"]
    assert table["group_id"][6:8] == ["from", "from"]


def released_rows(*of_pairs: tuple[str, ...]) -> list[dict[str, Any]]:
    """Rows of released pairs, each by its source, its question, and the answers to its clips."""
    return [
        {
            "item_id": f"{number}_{member}", "group_id": str(number), "clip": f"{number}_{member}.mp4", "subset": HOI,
            "source": source, "question": question, "options": [answer, "neither"], "answer": "A",
        }
        for number, (source, question, *answers) in enumerate(of_pairs)
        for member, answer in enumerate(answers)
    ]  # fmt: skip


@given(
    st.lists(st.tuples(*map(st.sampled_from, (("pt", "ssv2"), ("Where?", "Who?"), "ab", "cd"))), max_size=8),
    st.integers(0, 3),
)
def test_a_random_pair_is_none_that_the_release_has(pairs: list[tuple[str, ...]], seed: int) -> None:
    rows = released_rows(*pairs)
    paired, left = pair_at_random(rows, seed)
    assert (paired, left) == pair_at_random(rows, seed)
    clips = [row["clip"] for row in (*paired, *left)]
    assert sorted(clips) == sorted(row["clip"] for row in rows)
    by_clip = {row["clip"]: row for row in rows}
    could = nx.Graph()
    for one, other in combinations(rows, 2):
        shared = all(one[name] == other[name] for name in ("source", "question"))
        if shared and one["options"] != other["options"] and one["group_id"] != other["group_id"]:
            could.add_edge(one["clip"], other["clip"])
    for first, second in zip(paired[::2], paired[1::2], strict=True):
        assert could.has_edge(first["clip"], second["clip"]) and first["group_id"] == second["group_id"]
        assert first["options"] == second["options"] and {first["answer"], second["answer"]} == {"A", "B"}
        for row in (first, second):
            answer = row["options"]["AB".index(row["answer"])]
            assert answer == by_clip[row["clip"]]["options"][0]
    # No other way of pairing would leave fewer out.
    assert len(paired) == 2 * len(nx.max_weight_matching(could, maxcardinality=True))


@pytest.mark.slow
def test_how_many_are_in_no_random_pair_is_said(tmp_path: Path, videos: Path) -> None:
    rows = [row for number in range(4) for row in mvp_pair(f"s_{number}")]
    alone = [{**row, "question": "How many?"} for row in mvp_pair("t_0")]
    other = mvp_pair("u_0", source="ssv2")
    other[0]["source"] = "ssv2"
    for row in (*rows, *alone, *other):
        write_clip(videos / row["video_path"].lstrip("/"))
    snapshot = str(write_snapshot(tmp_path, "mini", {HOI: [*rows, *alone, *other]}))
    facts = prepare(Preparation(), videos, snapshot, random_pairs=0)["mini"]
    # Of the other subsets each has one pair, and so has a question, and a source.
    assert (facts.groups, facts.rows) == (4, 8)
    left = [line for line in facts.warnings if "no random partner" in line]
    assert left[0] == f"mini/{HOI}: items for which no random partner is left: 4 (t_0_1, t_0_2, u_0_1, u_0_2)."
    assert [line.partition(" (")[0].rpartition(" ")[2] for line in left] == ["4", "2", "2", "2"]
    with pytest.raises(InputError, match="holds another set"):
        prepare(Preparation(), videos, snapshot)


def test_a_set_without_a_random_pair_is_refused(tmp_path: Path, videos: Path) -> None:
    """Each subset has one question, whose clips are a pair of the release."""
    alone = mvp_pair("t_0")
    for row in alone:
        write_clip(videos / row["video_path"].lstrip("/"))
    with pytest.raises(InputError, match="cannot be paired at random: no question has two clips of one source"):
        prepare(Preparation(), videos, str(write_snapshot(tmp_path, "mini", {HOI: alone})), random_pairs=0)


# Behaviour of the official function, read from facebookresearch/minimal_video_pairs@149e336 tasks/mvp/utils.py.
QUIRKS = [json.loads(line) for line in Path(__file__).with_name("quirks.jsonl").read_text("utf-8").splitlines()]


def test_the_official_reader_has_the_official_quirks() -> None:
    assert [[text, official_choice(text)] for text, _ in QUIRKS] == QUIRKS


def test_the_official_reader_equals_the_official_outputs() -> None:
    for item in read_oracle("answer_extraction.json")["items"]:
        choice = official_choice(item["text"])
        candidate = False if choice is None else str("AB".index(choice))
        assert candidate == item["mvp_official_extract_pred"], item["id"]
        assert choice == item["mvp_official_letter"], item["id"]
        assert int(choice == "A") == item["mvp_official_rating_if_gt_A"], item["id"]
        assert int(choice == "B") == item["mvp_official_rating_if_gt_B"], item["id"]


@pytest.mark.parametrize(
    ("source", "path", "concept"),
    [
        # GRASP's own scenes (i-machine-think/grasp); the paper's text writes Gravity-Continuity and Unchangeableness.
        ("grasp", "grasp/level2/P_GravityContinuity/1.mp4", {"concept": "Gravity-Continuity"}),
        ("grasp", "grasp/level2/IP_GravityContinuity/1.mp4", {"concept": "Gravity-Continuity"}),
        ("grasp", "grasp/level2/P_ObjectPermanence3/1.mp4", {"concept": "Object Permanence"}),
        ("grasp", "grasp/level2/IP_ObjectPermanence/1.mp4", {"concept": "Object Permanence"}),
        ("grasp", "grasp/level2/IP_Unchangeableness2/1.mp4", {"concept": "Unchangeableness"}),
        ("grasp", "grasp/level2/IP_Inertia/1.mp4", {"concept": "Inertia"}),
        ("grasp", "grasp/level2/P_Inertia/1.mp4", {"concept": "Inertia"}),
        ("grasp", "grasp/level2/0001.mp4", {}),
        ("grasp", "grasp/0001.mp4", {}),
        ("inflevel", "inflevel/gravity/side/0001.mp4", {"concept": "Gravity"}),
        ("inflevel", "inflevel/0001.mp4", {}),
        ("intphys", "intphys/_O1_01_2.mp4", {"concept": "Object Permanence"}),
        ("intphys", "intphys/other.mp4", {}),
        ("pt", "pt/videos/0001.mp4", {}),
    ],
)
def test_the_path_of_a_clip_names_its_concept(source: str, path: str, concept: dict[str, str]) -> None:
    row = {"subset": SUBSETS[2], "source": source, "clip": f"mini/{path}"}
    assert strata(row) == {"subset": SUBSETS[2], "source": source, **concept}


def test_ids_of_a_submission_name_a_pair_and_a_member(home: Path, tmp_path: Path, expected: Expected) -> None:
    def write(*ids: str) -> Path:
        row = {"data_name": "mvp_mini", "model_answer": "it falls", "task": SUBSETS[0]}
        (tmp_path / "file.jsonl").write_text(as_lines([{**row, "row_id": one} for one in ids]), encoding="utf-8")
        return tmp_path / "file.jsonl"

    assert validate("mvp", write("s_1_1", "s_1_2", "7_0", "7_1")).rows == 4
    with pytest.raises(InputError) as refused:
        validate("mvp", write("s_1_1", "", "7", "_0", "video"))
    expected(str(refused.value))
