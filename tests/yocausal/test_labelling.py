"""Labels of causality by a judge: frames that it is shown, agreement of labels, and the command."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from commands import printed, refusal
from expected import Expected
from hypothesis import given
from hypothesis import strategies as st
from judge_server import Fail, JudgeServer, Say
from numbered_clips import cut_off, write_numbered
from scipy import stats
from small_clips import falling_ball

from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.sample.drawn_clips import write_clip
from lmms_eval_tasks.utils.data.clips import FrameStream
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.yocausal.benchmark import prepare
from lmms_eval_tasks.yocausal.labelling import (
    cohens_d,
    count_frames,
    f1_score,
    kendall_tau,
    labelling_prompt,
    read_frames,
)


def test_the_judge_is_asked_for_a_cause_and_its_effect_and_not_for_reversal() -> None:
    text = labelling_prompt("yocausal_causality")[0].text
    assert "A visibly causes B" in text and "revers" not in text and "backward" not in text


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=40))
def test_agreement_of_labels(pairs: list[tuple[bool, bool]]) -> None:
    first, second = sum(one for one, _ in pairs), sum(other for _, other in pairs)
    both = sum(one and other for one, other in pairs)
    f1, tau = f1_score(pairs), kendall_tau(pairs)
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
    assert count_frames(cut_off(write_numbered(tmp_path / "cut.mp4", 40), 5)) == 35


def test_no_more_frames_are_turned_into_pictures_than_are_shown_also_where_some_do_not_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken, pixels = [], FrameStream.pixels

    def count(stream: FrameStream, *args: Any) -> Any:
        taken.append(args)
        return pixels(stream, *args)

    monkeypatch.setattr(FrameStream, "pixels", count)
    clip = write_numbered(tmp_path / "clip.mp4", 120)
    found = read_frames(clip, 8)
    assert len(found[0]) == len(taken) == 8 and found[1] == 9.6
    monkeypatch.setattr("lmms_eval_tasks.yocausal.labelling.count_frames", lambda path: 155)
    assert read_frames(clip, 8) == found


def test_a_clip_that_is_damaged_at_its_end_is_not_labelled(tmp_path: Path) -> None:
    clip = write_numbered(tmp_path / "clip.mp4", 40, (160, 96))
    content = clip.read_bytes()
    end = content.index(b"moov") - 4
    clip.write_bytes(content[: end - 3000] + b"\xff" * 3000 + content[end:])
    with pytest.raises(UnreadableClip, match="cannot be decoded") as raised:
        read_frames(clip, 8)
    assert type(raised.value.__cause__).__name__ == "InvalidDataError"


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
    prepare(str(release), labels=out)
    used = {row["item_id"]: row["vlm_causality"] for row in load_table("yocausal", "test", require_clips=False)}
    assert used == {name: line["vlm_causality"] for name, line in labels.items()}


@pytest.mark.slow
def test_labels_by_an_imported_prompt(prepared: Path, tmp_path: Path) -> None:
    text = tmp_path / "checkout" / "VLM_labeling" / "prompt.txt"
    text.parent.mkdir(parents=True)
    text.write_text("Say {yes} or {no}.", encoding="utf-8")
    imported = printed("prompts", "import", "yocausal", "--from", tmp_path / "checkout", "--accept-other")
    name = imported.split(" as ", 1)[1].split(":", 1)[0]
    out = tmp_path / "labels.jsonl"
    with JudgeServer(lambda *_: Say('{"video_has_general_causality": false, "note": "…"}')) as server:
        shown = printed(*options(server.url, out, "--prompt", name, "--limit", 2))
    assert shown.startswith("2 clips: 0 causal, 2 not, 0 unlabelled\n")
    assert {body["messages"][0]["content"][0]["text"] for body in server.bodies} == {"Say {yes} or {no}."}
    (signature,) = {line["prompt"] for line in read_labels(out).values()}
    assert signature.startswith(f"{name}:")


@pytest.mark.slow
def test_without_a_judge_or_any_label_no_file_is_written(prepared: Path, tmp_path: Path) -> None:
    unnamed = "Expected --judge to name a model, but got none.\n"
    assert refusal("yocausal", "label", "--judge", "none") == unnamed
    out = tmp_path / "labels.jsonl"
    with JudgeServer(lambda *_: Fail(400)) as server:
        message = refusal(*options(server.url, out, "--limit", 2))
    assert message.startswith(f"No clip could be labelled, and {out} was not written: animal_1 (request refused")
    assert not out.exists()
