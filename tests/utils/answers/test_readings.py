"""While a reader's version stays, it reads all texts the same: recorded ones, and others pieced together from them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from expected import Expected, read_sections

from lmms_eval_tasks.utils.answers.choice import EXTRACTOR, choice_grader
from lmms_eval_tasks.utils.answers.evidence import DEFAULTS, MATCHINGS, EvidenceQuestion, grade_evidence
from lmms_eval_tasks.utils.answers.evidence_boxes import BoxConvention, Evidence, EvidenceInstance
from lmms_eval_tasks.utils.answers.hooks import TaskSettings
from lmms_eval_tasks.utils.answers.plausible import PLAUSIBILITY_READER, plausibility_grader
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.answers.verdict import VERDICT_READER, verdict_grader
from lmms_eval_tasks.utils.scoring.record import Record, UnparsedReason

TESTS = Path(__file__).parents[2]
GRADERS: dict[str, Callable[..., Any]] = {
    EXTRACTOR: choice_grader(),
    VERDICT_READER: verdict_grader(),
    PLAUSIBILITY_READER: plausibility_grader(),
}
KINDS = {"mcq": EXTRACTOR, "choice": EXTRACTOR, "verdict": VERDICT_READER, "plausibility": PLAUSIBILITY_READER}
"""Readers of the responses of `utils/answers`."""
RECORDED = {
    **{f"utils/answers/{name}.jsonl": "" for name in ("answers", "cut_off", "other_languages", "public", "variations")},
    **{f"countervqa/verdicts{name}.jsonl": VERDICT_READER for name in ("", "_second", "_third", "_held_out")},
    "countervqa/rules.jsonl": VERDICT_READER,
    "intphys2/answers.jsonl": PLAUSIBILITY_READER,
}
"""Files of responses to the reader that they are for, where their rows name none."""
OPTIONS = ["The cat pushes it", "A gust of wind moves the curtain", "The man pulls the cloth", "The dog tilts it"]
ROW = {"item_id": "1", "group_id": "1", "question": "?", "options": OPTIONS, "answer": "A", "split": "test"}
PIECED = 2000
SHORT = 300
"""Characters of the recorded texts from which others are pieced."""
DAMAGED = 1000
PIECES = ("{", "}", "[", "]", '"', "'", ",", ":", "0", "9", "-", "null", "// ", "```json\n", "answer_choice", "C", "\n")
A_LINE = 100
REASONS = dict(zip(UnparsedReason, ".~?/+-", strict=True))


@dataclass(frozen=True)
class Said:
    """A response for a reader, to a question and options that are those of `ROW` where none are recorded."""

    reader: str
    reply: Reply
    asked: Mapping[str, Any]


def recorded() -> Iterator[Said]:
    for name, reader in RECORDED.items():
        for line in (TESTS / name).read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            asked = {name: row[name] for name in ("question", "options") if row.get(name)}
            (text,) = (row[name] for name in ("input", "answer", "text") if name in row)
            yield Said(reader or KINDS[row["kind"]], Reply(text), asked)
    cases = json.loads((TESTS / "utils/answers/cases.json").read_text(encoding="utf-8"))["cases"]
    yield from (Said(EXTRACTOR, Reply(case["text"]), {}) for case in cases)


def responses(reader: str) -> list[Said]:
    """Those recorded for a reader; then beginnings of some with ends of others, of which every second was cut off."""
    found, chance = [one for one in recorded() if one.reader == reader], random.Random(0)
    short = [one for one in found if len(one.reply.text) < SHORT]
    for number in range(PIECED):
        said, other = chance.choice(short), chance.choice(short)
        begins, ends = (one.reply.text.split(" ") for one in (said, other))
        words = begins[: chance.randrange(len(begins) + 1)] + ends[chance.randrange(len(ends) + 1) :]
        reply = Reply(" ".join(words))
        found.append(Said(reader, reply.used_all() if number % 2 else reply, said.asked))
    return found


def symbol(record: Record) -> str:
    """The letter or the verdict that was read, else a sign for the reason why nothing was."""
    return record.answered[0] if record.answered else REASONS[record.unparsed_reason or UnparsedReason.EMPTY]


def hold(expected: Expected, texts: Sequence[str], read: Sequence[str]) -> None:
    """Compare what is read of texts, in so many signs each, with what the reader's version read of them."""
    width, kept = len(read[0]), read_sections(expected.file).get(expected.name, "").replace("\n", "")
    before = [kept[at : at + width] for at in range(0, len(kept), width)]
    changed = [each for each in zip(texts, before, read, strict=False) if each[1] != each[2]]
    shown = "".join(f"\n{text!r} was {one}, is {other}" for text, one, other in changed[:5])
    assert expected.writes or not changed, f"{len(changed)} texts are read otherwise: the version has to move.{shown}"
    whole = "".join(read)
    expected("\n".join(whole[at : at + A_LINE] for at in range(0, len(whole), A_LINE)))


@pytest.mark.slow
@pytest.mark.parametrize("reader", GRADERS)
def test_a_reader_of_one_version_reads_every_text_the_same(reader: str, expected: Expected) -> None:
    task: Any = SimpleNamespace(settings=TaskSettings())
    said = responses(reader)
    read = [symbol(GRADERS[reader]({**ROW, **one.asked}, one.reply, task).record) for one in said]
    hold(expected, [one.reply.text for one in said], read)


def instance(name: str, seconds: range, box: Sequence[int]) -> dict[str, Any]:
    boxes = {f"00:{second:02}": [*box] for second in seconds}
    return {
        "instance_name": name,
        "evidences": [
            {
                "evidence_start_time": f"00:{seconds.start:02}",
                "evidence_end_time": f"00:{seconds.stop - 1:02}",
                "bboxes_in_time_range": boxes,
            }
        ],
    }


SHOWN = (
    {"cup": (range(4), (10, 20, 50, 60)), "hand": (range(2, 6), (30, 10, 90, 40))},
    {"cup": (range(5), (8, 15, 40, 44))},
)
"""Instances of answers and of the truth, by name: their seconds, and their box in all of them."""


def answers() -> Iterator[str]:
    """Answers with evidence, whole ones and others of which a piece is missing, is there twice or is another one."""
    cases = json.loads((Path(__file__).parent / "evidence/cases/diagnosis.json").read_text("utf-8"))["cases"]
    whole = [
        json.dumps(
            {"answer_choice": "B", "instances": [instance(name, *at) for name, at in SHOWN[0].items()]}, indent=indent
        )
        for indent in (None, 1)
    ]
    texts, chance = [*whole, *(case["text"] for case in cases)], random.Random(0)
    yield from texts
    for _ in range(DAMAGED):
        text = chance.choice([*whole, chance.choice(texts)])
        begin = chance.randrange(len(text) + 1)
        end = begin + chance.choice((0, 1, 1, 2, 5, len(text)))
        yield text[:begin] + chance.choice(("", "", text[begin:end] * 2, *PIECES)) + text[end:]


@pytest.mark.slow
def test_the_reader_of_evidence_reads_every_answer_the_same(expected: Expected) -> None:
    truth = tuple(
        EvidenceInstance(name, (Evidence(seconds.start, seconds.stop - 1, (*seconds,), (box,) * len(seconds)),))
        for name, (seconds, box) in SHOWN[1].items()
    )
    question = EvidenceQuestion("1", "1", {}, "B", truth, "ABCD", (96, 72), (84, 56))
    texts, read = [*answers()], []
    for number, text in enumerate(texts):
        convention, rule = [*BoxConvention][number % 5], [*MATCHINGS][number % 2]
        record = grade_evidence(question, text, DEFAULTS.by_rule(rule), convention)
        read.append(sha256(repr(record.to_json()).encode()).hexdigest()[:3])
    hold(expected, texts, read)
