"""Reading finished runs: their cards, and logs with what models say."""

import json
from pathlib import Path

import pytest
from logged_runs import TASK, weak, write_run

from lmms_eval_tasks.runs.folder import MAKE_AGAIN, read_run
from lmms_eval_tasks.utils.core.errors import InputError

CARD = {"run": {"limit": "none", "offset": 0}}


def test_a_run_has_its_card_and_an_old_run_none(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", weak())
    assert read_run(folder).card == {}
    (folder / "20261121_run_card.json").write_text(json.dumps(CARD), encoding="utf-8")
    assert read_run(folder).card == CARD


def test_a_broken_card_is_told_with_whatever_else_is_wrong(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", weak())
    (folder / "20261121_run_card.json").write_text('{"run": []}', encoding="utf-8")
    log = folder / f"20261121_samples_{TASK}.jsonl"
    log.write_text(log.read_text(encoding="utf-8") + "\nno item\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_run(folder)
    assert str(error.value) == (
        f"{folder}/20261121_results.json cannot be read: 2 problems.\n"
        f"  {log.name}, lines: Expected logged items of one of our tasks, but got no JSON from character 1 on "
        f"(line 121). Remedy: {MAKE_AGAIN}\n"
        "  20261121_run_card.json: Expected sections of fields that are texts or numbers, but got input should be an "
        "object at run. Remedy: Move it away: the run can be read without its card."
    )


def test_an_item_is_a_line_whatever_a_model_said(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", weak(1))
    log = folder / f"20261121_samples_{TASK}.jsonl"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").split("\n")]
    said = "One\u2028two\x85three\x0bfour"
    text = "\n".join(json.dumps({**line, "filtered_resps": said}, ensure_ascii=False) for line in lines)
    log.write_text(text, encoding="utf-8")
    assert len(read_run(folder).records[TASK]) == 2


def test_a_log_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", weak(1))
    log = folder / f"20261121_samples_{TASK}.jsonl"
    log.write_bytes(b"\xff" + log.read_bytes())
    with pytest.raises(InputError) as error:
        read_run(folder)
    expected = "Expected logged items of one of our tasks, but got bytes that are not UTF-8 (line 1)."
    expected += f" Remedy: {MAKE_AGAIN}"
    assert str(error.value).endswith(f"\n  {log.name}, lines: {expected}")
