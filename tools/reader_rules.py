"""Write again which labelled response each rule of the readers stands on: tests/utils/answers/rules.jsonl.

A rule is `real` if a response that was collected is read otherwise without it, and else a `guard` if a text of ours is
then read as another answer than its label. One that is neither only finds answers in texts that nobody has sent us: it
is printed, and is to be taken away. ORACLES names the folder of the oracles, where they are at hand.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS / "support")]

from ablation import MODULES, reader_without, rules_of_letters, rules_of_words  # noqa: E402

ANSWERS = TESTS / "utils" / "answers"
TABLE = ANSWERS / "rules.jsonl"
CASES = json.loads((ANSWERS / "cases.json").read_text(encoding="utf-8"))
READERS = {"mcq": "choice", "choice": "choice", "verdict": "verdict", "plausibility": "plausibility"}
VERDICTS = ("verdicts", "verdicts_second", "verdicts_third", "verdicts_held_out", "rules")
Case = dict[str, Any]


def case_of(reader: str, text: str, expected: object, source: str, **more: object) -> Case:
    expected = None if expected == "cannot tell" else expected
    return {"reader": reader, "input": text, **more, "expected": expected, "source": source}


def lines(path: Path) -> Iterator[tuple[str, Case]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        yield f"{path.relative_to(TESTS)}:{number}", json.loads(line)


def labelled(*names: str) -> Iterator[Case]:
    for name in names:
        for source, row in lines(ANSWERS / f"{name}.jsonl"):
            reader, cut_off = READERS[row["kind"]], name == "cut_off"
            options = row.get("options", CASES["contexts"]["five"]) if reader == "choice" else None
            more = {"options": options, "question": row.get("question"), "cut_off": cut_off}
            yield case_of(reader, row["input"], row["expected"], source, **more)


def collected() -> Iterator[Case]:
    """What models of today write, public reports, the oracles, and a small model's run as it was graded."""
    yield from labelled("answers", "public")
    if folder := os.environ.get("ORACLES"):
        oracle = json.loads((Path(folder) / "answer_extraction.json").read_text(encoding="utf-8"))
        for human, context in (("human_causalvqa", "causalvqa_options"), ("human_mvp", "mvp_candidates")):
            options = oracle["contexts"][context]
            options = [*options.values()] if isinstance(options, dict) else options
            for item in oracle["items"]:
                source = f"oracles/answer_extraction.json, {item['id']}"
                yield case_of("choice", item["text"], item[human], source, options=options)
    whole = {reader: reader_without(reader) for reader in MODULES}
    for source, line in lines(TESTS / "real" / "answers.jsonl"):
        task, row = line["task"], line["row"]
        reader = "verdict" if "counterf" in task or "countervqa" in task else "choice"
        reader = "plausibility" if "intphys2" in task or "possible" in task else reader
        more = {"options": row.get("options"), "question": row.get("question"), "cut_off": line["cut_off"]}
        case = case_of(reader, line["response"], None, source, **more)
        if case["options"] or reader != "choice":
            yield case | {"expected": whole[reader](case)}


def written() -> Iterator[Case]:
    """Texts of ours, and the sets of verdicts that were written without knowledge of the reader."""
    for name in VERDICTS:
        for source, row in lines(TESTS / "countervqa" / f"{name}.jsonl"):
            expected = None if "other_language" in row else row["verdict"]
            yield case_of("verdict", row["answer"], expected, source, question=row.get("question"))
    yield from labelled("variations", "other_languages", "cut_off")
    for source, row in lines(TESTS / "intphys2" / "answers.jsonl"):
        yield case_of("plausibility", row["text"], {"possible": "A", "impossible": "B"}.get(row["read"]), source)
    for number, case in enumerate(CASES["cases"]):
        for name, expected in case["expect"].items():
            source = f"utils/answers/cases.json, {number}, {name}"
            yield case_of("choice", case["text"], expected, source, options=CASES["contexts"][name])


def right(case: Case, stands: str) -> tuple[object, ...]:
    """What is no wrong reading of a response; a text of ours may be left unread, too."""
    return (case["expected"],) if stands == "real" else (case["expected"], None)


def stands_on(reader: str, rule: str, cases: Mapping[str, list[Case]]) -> Case | None:
    read = reader_without(reader, {rule})
    for stands, of in cases.items():
        for case in of:
            if read(case) not in right(case, stands):
                kept = {name: case[name] for name in ("input", "options", "question", "cut_off") if case.get(name)}
                return {"rule": rule, "stands": stands, **kept, "expected": case["expected"], "source": case["source"]}
    return None


def main() -> int:
    known = {"real": [*collected()], "guard": [*written()]}
    found, nothing = list[Any](), list[Any]()
    for reader in MODULES:
        whole, cases = reader_without(reader), dict[str, list[Case]]()
        for stands, of in known.items():
            cases[stands] = [one for one in of if one["reader"] == reader and whole(one) in right(one, stands)]
        for rule in [*(rules_of_letters() if reader == "choice" else ()), *rules_of_words(reader)]:
            case = stands_on(reader, rule, cases)
            (found if case else nothing).append(case or rule)
    TABLE.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in found), encoding="utf-8")
    real = sum(line["stands"] == "real" for line in found)
    print(f"{TABLE.relative_to(TESTS)}: {len(found)} rules, {real} of them real")
    print(*(f"nothing stands behind {rule}" for rule in nothing), sep="\n", end="")
    return 1 if nothing else 0


if __name__ == "__main__":
    sys.exit(main())
