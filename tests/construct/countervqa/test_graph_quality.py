"""`countervqa graph-quality`: causal links that are compared with a reference, take by take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import printed
from expected import Expected
from refusals import refusal

from lmms_eval_tasks.construct.countervqa.checks import compare_graphs
from lmms_eval_tasks.utils.people.baseline import LinkCounts


def write_links(path: Path, **takes: str) -> Path:
    links = {take: [{"from": pair[0], "to": pair[1]} for pair in pairs.split()] for take, pairs in takes.items()}
    path.write_text(json.dumps(links))
    return path


def write_graphs(path: Path, *takes: tuple[str, str, str]) -> Path:
    """A graphs.jsonl of takes, each with its actions and links as letters."""
    lines = []
    for take, actions, pairs in takes:
        listed = [{"id": name, "start": float(place), "text": name} for place, name in enumerate(actions)]
        links = [{"cause": pair[0], "effect": pair[1]} for pair in pairs.split()]
        lines.append(json.dumps({"clip": f"{take}.mp4", "actions": listed, "links": links}) + "\n")
    path.write_text("".join(lines))
    return path


def test_graphs_are_compared_take_by_take(tmp_path: Path, expected: Expected) -> None:
    gold = write_graphs(tmp_path / "gold.jsonl", ("t", "abcd", "ab cd ad"), ("u", "abc", "ab"), ("v", "ab", ""))
    quality = compare_graphs(write_links(tmp_path / "predicted.json", t="ab cd bc", u="", w="ab"), gold)
    assert quality.takes == {"t": LinkCounts(2, 1, 1, 2), "u": LinkCounts(0, 0, 1, 2), "v": LinkCounts(0, 0, 0, 1)}
    assert quality.total == LinkCounts(2, 1, 2, 5)
    assert (quality.total.precision, quality.total.recall, quality.total.f1) == pytest.approx((2 / 3, 1 / 2, 4 / 7))
    assert quality.total.accuracy == pytest.approx(7 / 10)
    assert (quality.missing, quality.unknown) == (("v",), ("w",))
    # Without actions there is no accuracy; they may also come from the prediction.
    links = write_links(tmp_path / "links.json", t="ab")
    total = compare_graphs(write_links(tmp_path / "predicted.json", t="ab bc"), links).total
    assert (total.precision, total.accuracy) == (0.5, None)
    assert compare_graphs(write_graphs(tmp_path / "p.jsonl", ("t", "abc", "ab")), links).total.accuracy == 1.0
    gold = write_graphs(tmp_path / "gold.jsonl", ("t", "ab", "ab"))
    said = [refusal(compare_graphs, write_links(tmp_path / "p.json", t="ab ax zb"), gold)]
    said += [refusal(compare_graphs, write_links(tmp_path / "p.json", x="ab"), gold)]
    expected("\n\n".join(said))


@pytest.mark.usefixtures("hundred_columns")
def test_the_worst_takes_are_shown_first_and_those_of_one_score_by_name(tmp_path: Path, expected: Expected) -> None:
    takes = [(name, "abc", "ab bc") for name in ("d", "c", "b", "a")]
    gold = write_graphs(tmp_path / "gold.jsonl", *takes, ("e", "ab", ""), ("f", "ab", "ab"))
    links = write_links(tmp_path / "p.json", a="ab ac", b="ab bc", c="ab bc", d="ac", e="", g="ab")
    for number in (2, 5, 6):
        expected(printed("countervqa", "graph-quality", links, gold, "--takes", number))
