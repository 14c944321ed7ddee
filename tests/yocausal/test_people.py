"""The study of people, with Table 4's row and Figure 6b; and labels of causality by a judge, and their agreement."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import av
import numpy as np
import pytest
from commands import printed, refusal
from expected import Expected
from hypothesis import given
from hypothesis import strategies as st
from judge_server import Fail, JudgeServer, Say
from numbered_clips import cut_off, write_numbered
from prepared_texts import add_texts
from published import records
from scipy import stats
from small_clips import falling_ball
from submission_world import taken_for_released

from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.sample.drawn_clips import write_clip
from lmms_eval_tasks.utils.data.card import SplitFacts
from lmms_eval_tasks.utils.data.prepare import Preparation
from lmms_eval_tasks.utils.people.baseline import score_study
from lmms_eval_tasks.utils.people.responses import Response, read_human_responses
from lmms_eval_tasks.yocausal.benchmark import STUDY
from lmms_eval_tasks.yocausal.card import CARD
from lmms_eval_tasks.yocausal.labelling import cohens_d, f1_score, read_frames
from lmms_eval_tasks.yocausal.prepare import prepare
from lmms_eval_tasks.yocausal.ranking import correlate

pytestmark = pytest.mark.usefixtures("home", "hundred_columns")
HEADER = "item,version,annotator,choice\n"
SHOWN = {"forward_first": ("first", "second"), "reversed_first": ("second", "first")}
"""How a pair is shown to the answers that are wrong and right."""

Row = dict[str, Any]


def pair(item: str, subset: str, causal: bool | None) -> Row:
    labels = {"vlm_causality": causal, "human_discriminable": None, "motion_symmetric": None}
    asked = {"question": "Which is reversed?", "answer": "A", "clip_backward": "test/b.mp4"}
    return {"item_id": item, "group_id": item, "subset": subset, "category": "any", **asked, **labels}


def write_responses(path: Path, answers: Mapping[str, Sequence[str]]) -> Path:
    """Answers by pair: r is right, w wrong, u unknown; each pair is shown in both orders in turn."""
    rows = []
    for item, letters in answers.items():
        for number, answer in enumerate(letters):
            version = list(SHOWN)[number % 2]
            choice = {"w": SHOWN[version][0], "r": SHOWN[version][1], "u": "unknown"}[answer]
            rows.append(f"{item},{version},p{number},{choice}\n")
    path.write_text(HEADER + "".join(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("official", [True, False])
def test_a_worked_example(tmp_path: Path, expected: Expected, official: bool) -> None:
    """Credits: a1 3.5 of 4, a2 1 of 4, g1 1, g2 1.5 of 3; only subset means are averaged.

    The paper's stand beside those on the whole release, here taken to have five pairs.
    """
    with patch.dict(CARD.splits, {"test": SplitFacts(5, 5)} if official else {}), taken_for_released():
        add_texts("yocausal", "test", [
            pair("a1", "animal", True), pair("a2", "animal", False), pair("g1", "general", True),
            pair("g2", "general", None), pair("p1", "physics", True),
        ])  # fmt: skip
    path = write_responses(tmp_path / "people.csv", {"a1": "rrru", "a2": "wuuw", "g1": "rr", "g2": "rwu"})
    labels = tmp_path / "labels.jsonl"
    shown = printed("humans", path, "--items", "yocausal:test", "--labels-out", labels)
    rows = {row[0]: row[1:] for line in shown.splitlines() if (row := line.split())}
    animal, general = 100 * (3.5 / 4 + 1 / 4) / 2, 100 * (1 + 1.5 / 3) / 2
    causal, other = 100 * (3.5 / 4 + 1) / 2, 100 * 1 / 4
    for title, items, value, paper in (
        ("RSI", "4", (animal + general) / 2, "79.08"),
        ("animal", "2", animal, None),
        ("general", "2", general, None),
        ("causal", "2", causal, None),
        ("CCI", "3", causal - other, "8.67"),
    ):
        assert rows[title][:2] == [items, f"{value:.2f}"]
        assert paper is None or (rows[title][-1] == paper) == official
    expected(shown)
    expected(labels.read_text(encoding="utf-8"))


def test_the_judges_labels_of_60_clips_beside_peoples(tmp_path: Path) -> None:
    """Figure 6b prints F1 82.76: here 24 of 34 clips that one of the two calls causal, and 26 that none does.

    Its tau of 0.7613 fits no such table of 40 to 60 clips; of this one tau-b is (24 * 26 - 25) / (29 * 31).
    """
    judged, found = "+" * 29 + "-" * 31, "+" * 24 + "-" * 5 + "+" * 5 + "-" * 26
    rows = [pair(f"c{number}", "animal", label == "+") for number, label in enumerate(judged)]
    add_texts("yocausal", "test", [*rows, pair("unlabelled", "animal", None)])
    given = [f"c{number},,p1,{'CAUSAL' if label == '+' else 'NOT_CAUSAL'}\n" for number, label in enumerate(found)]
    (tmp_path / "people.csv").write_text(HEADER + "".join(given), encoding="utf-8")
    options = ("--items", "yocausal:test", "--mode", "causality")
    cells = [line.split() for line in printed("humans", tmp_path / "people.csv", *options).splitlines()]
    rows_of = {" ".join(line[: 3 if line[0] == "people" else 1]): line for line in cells if line}
    assert rows_of["people find it"][3:] == ["24", "5"] and rows_of["people do not"][3:] == ["5", "26"]
    assert (rows_of["F1"][1], rows_of["F1"][-1]) == ("82.76", "82.76")
    assert rows_of["Kendall"][2:] == [f"{(24 * 26 - 25) / (29 * 31):.4f}", "0.7613"]
    (tmp_path / "more.csv").write_text(HEADER + "unlabelled,,p1,CAUSAL\n", encoding="utf-8")
    assert "but got unlabelled" in refusal("humans", tmp_path / "more.csv", *options)


def read_back(folder: Path, rows: list[Row], answers: Mapping[str, Sequence[str]]) -> tuple[list[Response], Row]:
    """Answers as they are read from a file, and the study's estimates."""
    responses = read_human_responses(write_responses(folder / "people.csv", answers), STUDY.questions(rows))
    return responses, {metric.name: found for metric, found in score_study(STUDY, rows, responses)}


def test_the_papers_row_of_people_is_rebuilt_from_its_subsets(tmp_path: Path) -> None:
    """Table 4, with one answer a pair. No number of 132 pairs gives 91.70, as printed for physics; 91.67 is nearest."""
    right = {"general": (383, 500), "physics": (121, 132), "human": (304, 400), "animal": (144, 200)}
    rows = [pair(f"{subset}_{n}", subset, None) for subset, (_, pairs) in right.items() for n in range(pairs)]
    answers = {f"{subset}_{n}": "rw"[n >= wins] for subset, (wins, pairs) in right.items() for n in range(pairs)}
    _, estimates = read_back(tmp_path, rows, answers)
    table = {"rsi": 79.07, "rsi_general": 76.6, "rsi_physics": 91.67, "rsi_human": 76.0, "rsi_animal": 72.0}
    assert {name: round(estimates[name].value, 2) for name in table} == table and estimates["cci"] is None


@pytest.mark.slow
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40))
def test_agreement_of_labels(pairs: list[tuple[bool, bool]]) -> None:
    first, second = sum(one for one, _ in pairs), sum(other for _, other in pairs)
    both = sum(one and other for one, other in pairs)
    f1 = f1_score(pairs)
    one, other = ({str(number): float(pair[side]) for number, pair in enumerate(pairs)} for side in (0, 1))
    tau = correlate(one, other).tau
    if first and second and both:
        precision, recall = both / second, both / first
        assert f1 == pytest.approx(100 * 2 * precision * recall / (precision + recall))
    else:
        assert f1 == (0 if first or second else None)
    if tau is not None:
        # For two labels tau-b is the correlation of zeros and ones.
        assert tau == pytest.approx(float(np.corrcoef(np.array(pairs, dtype=float).T)[0, 1]), abs=1e-9)
        assert stats.kendalltau(*zip(*pairs, strict=True)).statistic == pytest.approx(tau)


def test_cohens_d_has_units_of_spread() -> None:
    for first, second, expected in (
        ([1.0, 3.0], [1.0, 3.0], 0.0),
        ([3.0, 5.0], [1.0, 3.0], math.sqrt(2)),
        ([1.0], [1.0, 2.0], None),
        ([1.0] * 2, [1.0] * 2, None),
    ):
        assert cohens_d(first, second) == (None if expected is None else pytest.approx(expected))


def test_frames_are_spread_from_the_first_to_the_last(tmp_path: Path) -> None:
    film = np.zeros((24, 32, 32, 3), dtype=np.uint8) + np.arange(0, 240, 10, dtype=np.uint8)[:, None, None, None]
    write_clip(tmp_path / "clip.mp4", film, fps=8)
    images, seconds = read_frames(tmp_path / "clip.mp4", 4)
    shades = []
    for image in images:
        (tmp_path / "x.jpg").write_bytes(image)
        with av.open(str(tmp_path / "x.jpg")) as container:
            shades.append(float(next(container.decode(video=0)).to_ndarray(format="gray").mean()))
    assert seconds == 3.0 and shades == pytest.approx([0, 80, 150, 230], abs=6)
    write_clip(tmp_path / "short.mp4", falling_ball(np.random.default_rng(0))[:3])
    assert len(read_frames(tmp_path / "short.mp4", 8)[0]) == 3
    assert read_frames(cut_off(write_numbered(tmp_path / "cut.mp4", 40), 5), 3)[1] == 35 / 12.5


def options(url: str, out: Path, *more: object) -> tuple[object, ...]:
    judge = f"model=m,provider=local,url={url},first_delay=0,concurrent=2"
    return ("yocausal", "label", "--judge", judge, "--out", out, *more)


def read_labels(path: Path) -> dict[str, dict[str, Any]]:
    return {line["id"]: line for line in map(json.loads, path.read_text(encoding="utf-8").splitlines())}


@pytest.mark.slow
@pytest.mark.usefixtures("hundred_columns")
def test_labels_by_a_judge_agree_with_the_releases_and_can_be_used(
    prepared: Path, release: Path, tmp_path: Path, expected: Expected
) -> None:
    def say(prompt: str, before: int) -> Say | Fail:
        if "rolls past" in prompt:
            return Fail(400)
        return Say(json.dumps({"reasoning": "…", "verdict": "hides" not in prompt, "confidence": 0.75}))

    clip = prepared / "yocausal" / "videos" / "test" / "human" / "fwd" / "human_0001.mp4"
    clip.unlink()
    clip.write_bytes(b"no video")
    out = tmp_path / "labels.jsonl"
    with JudgeServer(say) as server:
        shown = printed(*options(server.url, out))
        asked = len(server.bodies)
        assert printed(*options(server.url, out)) == shown
        # What was judged is not asked again.
        assert asked == 7 and all("rolls past" in str(body["messages"]) for body in server.bodies[asked:])
    images = [part for part in server.bodies[0]["messages"][0]["content"] if part["type"] == "image_url"]
    assert len(images) == 8
    expected(shown)
    labels = read_labels(out)
    assert labels["animal_1"]["vlm_causality"] is True and labels["general_2"]["vlm_causality"] is False
    lost = labels["human_1"]
    assert (lost["vlm_causality"], lost["reason"]) == (None, "clip cannot be decoded (InvalidDataError)")
    prepare(Preparation(), str(release), labels=out)
    used = {row["item_id"]: row["vlm_causality"] for row in load_table("yocausal", "test", require_clips=False)}
    assert used == {name: line["vlm_causality"] for name, line in labels.items()}


@pytest.mark.slow
def test_the_effect_of_the_tables_labels_needs_no_judge(release: Path) -> None:
    prepare(Preparation(), str(release))
    rows = [dict(row) for row in load_table("yocausal", "test", require_clips=False)]
    causal, other = (
        [row["motion"] for row in rows if row["vlm_causality"] is half and row["motion"] is not None]
        for half in (True, False)
    )
    shown = printed("check", "yocausal", "--stats")
    (line,) = [line.split() for line in shown.splitlines() if "Cohen's d of optical flow" in line]
    assert line[-2:] == [f"{cohens_d(causal, other):.3f}", "0.057"]
    # The paper's figure is not rounded away.
    (row,) = [one for one in records("yocausal", "YoCausal Figure 6 (digest)") if one["unit"] == "d"]
    assert row["value"] == 0.057


@pytest.mark.slow
def test_without_a_judge_or_any_label_no_file_is_written(prepared: Path, tmp_path: Path) -> None:
    unnamed = "Expected --judge to name a model, but got none.\n"
    assert refusal("yocausal", "label", "--judge", "none") == unnamed
    out = tmp_path / "labels.jsonl"
    with JudgeServer(lambda *_: Fail(400)) as server:
        message = refusal(*options(server.url, out, "--limit", 2))
    assert message.startswith(f"No clip could be labelled, and {out} was not written: animal_1 (request refused")
    assert not out.exists()
