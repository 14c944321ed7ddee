from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lmms_eval_tasks.construct.countervqa.checks import compare_graphs
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.people.baseline import LinkCounts


def links(path: Path, **takes: str) -> Path:
    path.write_text(
        json.dumps({take: [{"from": a, "to": b} for a, b in pairs.split()] for take, pairs in takes.items()})
    )
    return path


def graphs(path: Path, *takes: tuple[str, str, str]) -> Path:
    """A graphs.jsonl of takes, each with its actions and links as letters."""
    rows: list[dict[str, Any]] = [
        {
            "clip": f"{take}.mp4",
            "actions": [{"id": name, "start": float(place), "text": name} for place, name in enumerate(actions)],
            "links": [{"cause": a, "effect": b} for a, b in pairs.split()],
        }
        for take, actions, pairs in takes
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_counts_of_each_take_and_of_all(tmp_path: Path) -> None:
    gold = graphs(tmp_path / "gold.jsonl", ("t", "abcd", "ab cd ad"), ("u", "abc", "ab"), ("v", "ab", ""))
    predicted = links(tmp_path / "predicted.json", t="ab cd bc", u="", w="ab")
    quality = compare_graphs(predicted, gold)
    assert quality.takes == {"t": LinkCounts(2, 1, 1, 2), "u": LinkCounts(0, 0, 1, 2), "v": LinkCounts(0, 0, 0, 1)}
    assert quality.total == LinkCounts(2, 1, 2, 5)
    assert (quality.total.precision, quality.total.recall, quality.total.f1) == pytest.approx((2 / 3, 1 / 2, 4 / 7))
    assert quality.total.accuracy == pytest.approx(7 / 10)
    assert (quality.missing, quality.unknown) == (("v",), ("w",))


def test_without_actions_there_is_no_accuracy(tmp_path: Path) -> None:
    gold = links(tmp_path / "gold.json", t="ab")
    quality = compare_graphs(links(tmp_path / "predicted.json", t="ab bc"), gold)
    assert (quality.total.precision, quality.total.accuracy) == (0.5, None)
    # The actions may also come from the prediction.
    assert compare_graphs(graphs(tmp_path / "p.jsonl", ("t", "abc", "ab")), gold).total.accuracy == 1.0


def test_what_cannot_be_compared(tmp_path: Path) -> None:
    gold = graphs(tmp_path / "gold.jsonl", ("t", "ab", "ab"))
    with pytest.raises(InputError) as error:
        compare_graphs(links(tmp_path / "p.json", t="ab ax zb"), gold)
    assert str(error.value).splitlines()[1:] == [
        "  `t`: Expected links between its 2 actions, but got some with `x`, `z`."
    ]
    with pytest.raises(InputError, match=r"^Expected takes of gold.jsonl in p.json, but they have none in common\.$"):
        compare_graphs(links(tmp_path / "p.json", x="ab"), gold)
