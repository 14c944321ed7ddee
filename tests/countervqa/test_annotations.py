from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from annotated_takes import draw_takes, write_takes
from expected import Expected
from refusals import refusal

from lmms_eval_tasks.construct.countervqa.graphs import TakeLinks, links_of_takes, read_links
from lmms_eval_tasks.construct.countervqa.takes import Take, TimedAction, interaction_of, read_takes

REAL, *FAULTY = map(json.loads, Path(__file__).with_name("annotations.jsonl").read_text("utf-8").splitlines())
"""Annotations as the release has them, not in order, with fields that are missing or null; and others with a fault."""


def written(folder: Path, value: Any, name: str = "annotations.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_the_real_nesting_with_its_missing_fields(tmp_path: Path, expected: Expected) -> None:
    takes, warnings = read_takes([written(tmp_path, REAL)])
    assert [take.uid for take in takes] == ["t1", "t2", "t3"]
    expected("\n".join([*map(str, takes[0].actions), *warnings]))
    assert takes[0].left_out == {"A01", "A02", "A05"}
    assert (takes[0].clip, takes[0].task, takes[1].actions, takes[2].actions) == ("t1.mp4", "", (), ())


def test_both_forms_say_the_same(tmp_path: Path) -> None:
    drawn = draw_takes(5)
    ego_exo, links, tasks = write_takes(tmp_path / "one", drawn)
    listed, _, _ = write_takes(tmp_path / "other", drawn, ego_exo=False)
    assert read_takes([ego_exo], tasks) == read_takes([listed])
    takes, _ = read_takes([ego_exo], tasks)
    assert [take.task for take in takes] == ["task 0", "task 1", "task 2", "task 0", "task 1"]
    assert [len(take.actions) for take in takes] == [14] * 5
    pairs, warnings = links_of_takes(takes, read_links(links), links)
    assert warnings == ()
    assert pairs["take-003"].links == tuple((f"A{a:02d}", f"A{b:02d}") for a, b in drawn["take-003"]["links"])


def test_faults_of_annotations(tmp_path: Path, expected: Expected) -> None:
    messages = [refusal(read_takes, [written(tmp_path, value)]) for value in FAULTY]
    path = tmp_path / "annotations.json"
    for content in (b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"annotations": {"t": "\\ud800"}}'):
        path.write_bytes(content)
        messages += [refusal(read_takes, [path]), refusal(read_links, path)]
    expected("\n".join(messages))


def test_what_is_done_in_a_take_is_said_by_either_file(tmp_path: Path) -> None:
    listed = {"take_uid": "t1", "task": "Making tea", "goal": "a cup of tea", "scenario": "Cooking"}
    annotations = written(tmp_path, [listed, {"take_uid": "t2"}])
    of_takes = [
        {"take_uid": "t1", "task_name": "Milk tea"},
        {"take_uid": "t2", "task_name": "Layup", "parent_task_name": "Basketball", "interaction": "H2O"},
    ]
    takes, _ = read_takes([annotations], written(tmp_path, of_takes, "takes.json"))
    assert [(take.task, take.goal, take.scenario, take.interaction) for take in takes] == [
        ("Milk tea", "a cup of tea", "Milk tea", None),
        ("Layup", "", "Basketball", "H2O"),
    ]


def test_the_interaction_is_the_videos_and_the_wordings_where_nothing_names_it() -> None:
    two = tuple(TimedAction(who, 0.0, None, f"{who} hits the ball.", who) for who in "COC")
    facts: dict[tuple[str, str], tuple[dict[str, Any], ...]] = {
        # Two people's actions do not make a clip of cooking H2H, nor one person's a game of basketball H2O.
        ("H2O", "scenario"): ({"scenario": "Cooking"}, {"scenario": "Covid-19 Rapid Antigen Test"}),
        ("H2H", "scenario"): ({"scenario": "Soccer"},),
        ("H2O", "column"): ({"scenario": "Soccer", "interaction": "H2O"},),
        ("H2H", "column"): ({"interaction": "H2H"},),
        ("H2H", "wording"): ({"scenario": "Gardening"}, {}),
    }
    for interaction, given in facts.items():
        assert {interaction_of(Take("t", "t.mp4", "", two, **one)) for one in given} == {interaction}
    for subjects, texts, found in (
        ("CC", ("C cuts an onion", "C stirs"), "H2O"),
        ("CO", ("C throws the ball", "O catches it"), "H2H"),
        ("CC", ("C throws the ball to O", "C runs"), "H2H"),
        ("OO", ("O picks a cup", "O drinks"), "H2O"),
        ("  ", ("The man pushes another player", "The man runs"), "H2H"),
        # One look of somebody else's in a long clip.
        ("CCCO", ("C cuts", "C stirs", "C boils", "O looks"), "H2O"),
        ("", (), "H2O"),
    ):
        actions = [
            TimedAction("A", 0.0, None, text, who.strip() or None) for who, text in zip(subjects, texts, strict=True)
        ]
        assert interaction_of(Take("t", "t.mp4", "", tuple(actions))) == (found, "wording"), texts


def test_links_in_every_form(tmp_path: Path) -> None:
    forms = {
        "t1": [{"from": "A00", "to": "A03"}, {"from_action": {"id": "A03"}, "to_action": {"id": "t1_A04"}}],
        "t2": [{"cause": 0, "effect": 2}, {"from": "x", "to": "y", "why": "because"}],
    }
    linked = read_links(written(tmp_path, forms, "links.json"))
    assert linked["t1"].links == (("A00", "A03"), ("A03", "A04"))
    assert linked["t2"].links == (("A00", "A02"), ("x", "y"))
    row = {
        "clip": "takes/t1.mp4",
        "actions": [{"id": "a", "start": 0.0, "text": "x"}, {"id": "b", "start": 1.0, "text": "y"}],
        "links": [{"cause": "a", "effect": "b"}],
    }
    lines = tmp_path / "graphs.jsonl"
    other = {**row, "clip": "t2.mp4", "links": [], "unlinked": row["links"]}
    lines.write_text("".join(json.dumps(one) + "\n" for one in (row, other)), encoding="utf-8")
    graph = read_links(lines)["takes/t1"]
    assert (graph.actions, graph.links, graph.unlinked) == (("a", "b"), (("a", "b"),), None)
    # What an earlier build did not have judged is as unknown as it was.
    assert read_links(lines)["t2"] == TakeLinks((), frozenset({("a", "b")}), ("a", "b"))
    assert read_links(lines)["t2"].without(frozenset("b")).unlinked == frozenset()


def test_links_of_descriptions_that_are_left_out_are_left_out_and_faults_are_in_one_message(
    tmp_path: Path, expected: Expected
) -> None:
    takes, _ = read_takes([written(tmp_path, REAL)])

    def linked(links: object) -> tuple[Any, Any]:
        file = written(tmp_path, links, "links.json")
        return links_of_takes(takes, read_links(file), file)

    links, warnings = linked({"t1": [{"from": "A00", "to": "A01"}, {"from": "A00", "to": "A03"}]})
    assert links == {"t1": TakeLinks((("A00", "A03"),))}
    assert warnings == ("Takes with links of descriptions that are left out: 1 (t1: 1).",)
    form = refusal(linked, {"t1": [{"from": "A00"}, 7, {"from": True, "to": "b"}], "t2": "x"})
    actions = {"zz": [], "t1": [{"from": "A00", "to": "A99"}, {"from": "A03", "to": "A03"}]}
    expected(f"{form}\n{refusal(linked, actions)}")
