"""How long CaST-Bench scoring takes, from raw text to the scores over all questions, beside a plain-Python scorer.

Scores 2,066 questions, the size of the benchmark, and N more (100,000), built from the 80 public questions and two
models' public predictions. `plain_*` write the published definitions (METRICS.md, and where it is silent the rules of
the official code) out in plain Python, for comparison here and as a second opinion in the tests.

The plain scorer does not judge the form of answers.

Measured on two cores, 2026-11-22: 128 µs a question against 85 µs.
"""

from __future__ import annotations

import ast
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measuring import Options, end_without, print_ratio

from lmms_eval_tasks.api.evidence import EVIDENCE_SCORES, EvidenceQuestion, grade_evidence
from lmms_eval_tasks.utils.answers.evidence_reading import read_truth

PUBLIC_SIZE = 2_066
MODELS = ("sonnet-4.6", "qwen3vl-8b")

Row = dict[str, Any]
PlainTimeline = tuple[int, int, dict[int, list[float]]]


def plain_seconds(value: Any) -> int:
    text = "" if value is None else str(value).strip()
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return int(float(text))
    groups = [int(group) for group in re.findall(r"\d+", text)]
    if len(groups) > 2:
        return groups[0] * 3600 + groups[1] * 60 + groups[2]
    return groups[0] * 60 + groups[1] if len(groups) == 2 else groups[0] if groups else 0


def plain_box(value: Any) -> list[float] | None:
    if isinstance(value, str):
        text = value.strip()
        if text[:1] != "[" or text[-1:] != "]":
            return None
        value = text[1:-1].split(",")
    try:
        box = [float(edge) for edge in value]
    except (TypeError, ValueError):
        return None
    return box if len(box) == 4 and box[2] > box[0] and box[3] > box[1] else None


def plain_answer(text: str) -> Row:
    if "</think>" in text:
        text = text.split("</think>", 1)[1]
    start, depth = -1, 0
    for position, character in enumerate(text):
        if character == "{":
            if start < 0:
                start = position
            depth += 1
        elif character == "}" and start >= 0:
            depth -= 1
            if depth == 0:
                part = text[start : position + 1]
                start = -1
                for read in (json.loads, ast.literal_eval):
                    try:
                        value = read(part)
                        break
                    except Exception:  # as the official code does
                        value = None
                if isinstance(value, dict) and ("instances" in value or "answer_choice" in value):
                    return value
    return {}


def plain_timeline(evidences: list[Row], key: str, swapped: bool = False) -> PlainTimeline:
    starts, ends = [], []
    boxes: dict[int, list[float]] = {}
    for evidence in evidences:
        start, end = plain_seconds(evidence["evidence_start_time"]), plain_seconds(evidence["evidence_end_time"])
        starts.append(start)
        ends.append(end)
        for second, value in evidence.get(key, {}).items():
            at, box = plain_seconds(second), plain_box(value)
            if box is not None and start <= at <= end:
                if swapped:
                    box = [float(int(box[index])) for index in (1, 0, 3, 2)]
                if at not in boxes or plain_area(box) > plain_area(boxes[at]):
                    boxes[at] = box
    return (min(starts), max(ends), boxes) if starts else (0, -1, {})


def plain_area(box: list[float]) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def plain_iou(first: list[float] | None, second: list[float] | None) -> float:
    if first is None or second is None:
        return 0.0
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / (plain_area(first) + plain_area(second) - width * height)


def plain_score(
    row: Row,
    text: str,
    eps_overlap: int = 2,
    tau_t: float = 0.5,
    tau_st: float = 0.1,
    coverage_aware: bool = False,
    swapped: bool = False,
) -> dict[str, float]:
    answer = plain_answer(text)
    predicted = [
        plain_timeline(instance.get("evidences", []), "bboxes_in_time_range", swapped)
        for instance in answer.get("instances", [])
    ]
    grouped: dict[str, list[Row]] = {}
    for evidence in json.loads(row["evidence"]):
        grouped.setdefault(evidence["evidence_instance_id"], []).append(evidence)
    true = [plain_timeline(evidences, "bboxes_in_range") for evidences in grouped.values()]
    candidates = []
    for i, (p_start, p_end, p_boxes) in enumerate(predicted):
        for j, (t_start, t_end, t_boxes) in enumerate(true):
            shared = range(max(p_start, t_start), min(p_end, t_end) + 1)
            if not shared or len(shared) < eps_overlap:
                continue
            siou = sum(plain_iou(p_boxes.get(t), t_boxes.get(t)) for t in shared) / len(shared)
            tiou = len(shared) / (max(p_end, t_end) - min(p_start, t_start) + 1)
            score = siou * tiou if coverage_aware else siou
            if score > 0:
                candidates.append((-score, -len(shared), i, j, tiou, siou * tiou))
    pairs: dict[int, tuple[int, float, float]] = {}
    for _, _, i, j, tiou, viou in sorted(candidates):
        if i not in pairs and all(j != other for other, _, _ in pairs.values()):
            pairs[i] = (j, tiou, viou)
    tious, vious = [pair[1] for pair in pairs.values()], [pair[2] for pair in pairs.values()]
    choice = answer.get("answer_choice")
    right = isinstance(choice, str) and choice.strip().upper() == row["answer"]
    supported = any(viou >= tau_st for viou in vious)
    wanted, found = max(1, len(true)), max(1, len(pairs))
    return {
        "qa_temporal_r1_tau": sum(tiou >= tau_t for tiou in tious) / wanted,
        "qa_temporal_m_tiou_tponly": sum(tious) / found,
        "qa_temporal_m_tiou_pergt": sum(tious) / wanted,
        "qa_st_r1_tau_st": sum(viou >= tau_st for viou in vious) / wanted,
        "qa_st_m_viou_tponly": sum(vious) / found,
        "qa_st_m_viou_pergt": sum(vious) / wanted,
        "qa_accuracy": float(right),
        "qa_faithful_answer_accuracy": float(right and supported),
        "qa_spurious_answer_rate": float(right and not supported),
        "tp": len(pairs),
        "fp": len(predicted) - len(pairs),
        "fn": len(true) - len(pairs),
    }


def plain_run(cases: list[tuple[Row, str]]) -> dict[str, float]:
    rows = [plain_score(row, text) for row, text in cases]
    return {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}


def our_run(cases: list[tuple[Row, str]]) -> dict[str, float | None]:
    records = [grade_evidence(our_question(str(index), row), text) for index, (row, text) in enumerate(cases)]
    return {name: metric.score_records(records) for name, metric in EVIDENCE_SCORES.items()}


def our_question(item_id: str, row: Row) -> EvidenceQuestion:
    return EvidenceQuestion(
        item_id=item_id,
        group_id=row["video"],
        stratum={},
        answer=row["answer"],
        truth=read_truth(row["evidence"]),
        letters="".join(sorted(row["options"])),
    )


def load_cases(oracle: Path) -> list[tuple[Row, str]]:
    """The public questions with each model's public predictions, joined by the text of the question."""
    rows = [json.loads(line) for line in (oracle / "castbench_hf.jsonl").read_text("utf-8").splitlines()]
    by_question = {row["question"]: row for row in rows}
    cases = []
    for model in MODELS:
        for line in (oracle / f"{model}_predictions.jsonl").read_text("utf-8").splitlines():
            prediction = json.loads(line)
            question = re.search(r"Question:\s*(.*?)\s*\nOptions:", prediction["prompt"], re.DOTALL)
            if question:
                cases.append((by_question[question[1]], prediction["predict"]))
    return cases


def timed(run: Callable[[list[tuple[Row, str]]], Any], cases: list[tuple[Row, str]], repeats: int) -> float:
    """The best of some runs, in seconds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run(cases)
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    parser = Options(__doc__)
    parser.add_size("--questions", PUBLIC_SIZE, 40)
    parser.add_size("--more", 100_000, 40, "questions to score beyond these")
    options = parser.parse_args()
    if not os.environ.get("ORACLES"):
        end_without("ORACLES names no folder that holds cast_bench/castbench_hf.jsonl and the public predictions.")
    public = load_cases(Path(os.environ["ORACLES"]) / "cast_bench")
    for size, repeats in ((options.questions, 5), (options.questions + options.more, 1)):
        cases = [public[index % len(public)] for index in range(size)]
        ours, plain = timed(our_run, cases, repeats), timed(plain_run, cases, repeats)
        print_ratio(
            ours / plain,
            f"{size:,} questions, ours {ours:.2f} s, plain Python {plain:.2f} s; "
            f"{1e6 * ours / size:.0f} and {1e6 * plain / size:.0f} µs a question",
        )


if __name__ == "__main__":
    main()
