"""The command `compare`, of runs as lmms-eval writes them and with a published model, and its tables on the page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from commands import call, printed, refusal
from docs import ROOT
from expected import Expected
from logged_runs import TASK, strong, weak, write_records, write_run

from lmms_eval_tasks.cast_bench.card import DIMENSIONS
from lmms_eval_tasks.report.page import build_page
from lmms_eval_tasks.report.published_tables import REASONS
from lmms_eval_tasks.report.run_comparison import comparison_panels
from lmms_eval_tasks.runs.folder import read_run
from lmms_eval_tasks.utils.data.card import SetKind
from lmms_eval_tasks.utils.scoring.record import CUT_OFF, Outcome, Record

pytestmark = pytest.mark.usefixtures("hundred_columns")
FORM = {"json_valid": True, "schema_valid": True, "recoverable": True, "answered": "A"}
GROUNDING = {
    "im_tiou": 0.5, "im_viou": 0.25, "supported": True, "supported_strict": False, "false_positives": 0, "pairs": [],
    **dict.fromkeys(("temporal_recall", "tiou_tp_only", "st_recall", "viou_tp_only"), 0.0),
}  # fmt: skip


def compared(*words: object) -> str:
    """What `compare` prints of runs, in a hundred columns but for the folders of the runs."""
    out = printed("compare", *words)
    assert max(len(line) for line in out.splitlines() if not line.startswith("run ")) <= 100
    return out


def rows_of(text: str) -> list[str]:
    """The differences that are printed, without the numbers of the runs."""
    return [" ".join(line.split()).removeprefix("1, 2 ") for line in text.splitlines() if "[" in line]


def test_the_better_of_two_runs(expected: Any, tmp_path: Path) -> None:
    one, two = write_run(tmp_path / "weak", weak()), write_run(tmp_path / "strong", strong())
    out = compared(one, two)
    # Pairs: 20 of 60, all of them among the second run's 45.
    assert rows_of(out)[0].split(" [")[0] == "pair accuracy 33.3 75.0 +41.7"
    assert rows_of(out)[0].endswith(" 0 25 <0.001 <0.001")
    # 2.8016 sqrt(25 / 60 / 60), 2.8016 sqrt(2 * 0.5417 * 0.4583 / 60), and their ratio.
    assert "1, 2 23.3 25.5 0.92 ×" in " ".join(out.split())
    expected(out)
    assert compared(one, two) == out


def test_where_interval_and_exact_test_disagree_it_says_which_decides(tmp_path: Path) -> None:
    flags = {str(group): (group < 9,) * 2 for group in range(24)}
    one = write_run(tmp_path / "one", flags)
    two = write_run(tmp_path / "two", flags | {str(group): (True, True) for group in range(9, 14)})
    out = compared(one, two)
    # Five groups of 24 to none: 2 / 2 ** 5.
    row, interval = rows_of(out)[0], rows_of(out)[0].split("[")[1].split("]")[0]
    assert row.startswith("pair accuracy 37.5 58.3 +20.8") and row.endswith(" 0 5 0.062 0.062")
    assert all(end.startswith("+") for end in interval.split(", "))
    text = (
        "runs 1 and 2, pair accuracy: the interval excludes 0 and the exact test does not reject (p 0.062): the test "
        "decides, no difference is shown"
    )
    assert text in " ".join(out.split())
    caption = comparison_panels(TASK, {1: read_run(one), 2: read_run(two)})[0].table
    assert caption is not None and text in caption.caption
    three = write_run(tmp_path / "three", flags)
    assert "does not reject (p by Holm 0.188)" in " ".join(compared(one, two, three).split())
    # Where both say the same there is nothing to decide.
    assert "decides" not in compared(one, write_run(tmp_path / "all", dict.fromkeys(flags, (True, True))))
    assert "decides" not in compared(one, three)


def test_what_makes_runs_unlike_is_named_and_runs_that_agree_have_no_test(expected: Any, tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", {**weak(), "extra": (True, True), "cut": (True, True)})
    two = write_run(tmp_path / "two", {**strong(), "cut": (True,)}, version="2-A", kind=SetKind.SAMPLE)
    expected(compared(one, two))
    for flag in (True, False):
        runs = [write_run(tmp_path / f"{name} {flag}", dict.fromkeys("abcde", (flag, flag))) for name in ("one", "two")]
        assert "N/A" in compared(*runs)


def test_three_runs_are_compared_two_by_two_and_of_tasks_that_two_have(expected: Any, tmp_path: Path) -> None:
    right, both = {**dict.fromkeys(strong(), (False, False)), "1": (True, True)}, (TASK, "causalvqa_paired")
    flags = (("a", strong(), both), ("b", strong(), both), ("c", right, (TASK,)))
    runs = [write_run(tmp_path / name, of_run, tasks) for name, of_run, tasks in flags]
    expected("".join(compared(*runs, "--task", task) for task in both))


def test_runs_that_cannot_be_compared(expected: Any, tmp_path: Path) -> None:
    one, other = write_run(tmp_path / "one", weak()), write_run(tmp_path / "other", weak())
    two = write_run(tmp_path / "two", weak(), tasks=("mvp_mini",))
    (tmp_path / "link").symlink_to(one)
    refused = [(one, two), (one,), (one, other, "--task", "x"), (one, one), (one, other, tmp_path / "link")]
    expected("".join(refusal("compare", *words) for words in refused))


@pytest.mark.slow
def test_each_kind_of_task_is_compared_by_its_own_scores(tmp_path: Path) -> None:
    def runs(name: str, answers: Any, tasks: tuple[str, ...], *fields: dict[str, Any], **of: Any) -> list[Path]:
        first, last = fields[0], fields[-1]
        return [
            write_run(tmp_path / f"{name} {side}", right, tasks, **of, **more)
            for side, right, more in zip("12", answers, (first, last), strict=True)
        ]

    # Questions of a clip are no pairs. Right: 10 clips of one question, and of 20 others the first, and every second
    # one's second: 40 of 60.
    clips = {str(index): (True, index % 2 > 0, False)[: index % 3 + 1] for index in range(30)}
    none = {name: (False,) * len(flags) for name, flags in clips.items()}
    plain = {"grounding": None, "format": FORM}
    out = compared(*runs("clips", (none, clips), ("cast_bench",), plain))
    assert rows_of(out)[0].startswith("accuracy 0.0 66.7 +66.7")
    assert "pair accuracy" not in out and "smallest difference" not in out
    single = {name: flags[:1] for name, flags in clips.items()}
    out = compared(*runs("single", (single, single), ("cast_bench",), plain))
    assert "accuracy above 16.67" in " ".join(out.split())
    # Evidence.
    right = {str(index): (index % 2 > 0, index % 4 > 0) for index in range(40)}
    fields = [{"format": FORM, "grounding": one} for one in ({**GROUNDING, "im_tiou": 0.3}, GROUNDING)]
    out = compared(*runs("evidence", (right, right), ("cast_bench",), *fields))
    assert [row.partition(" [")[0] for row in rows_of(out)] == [
        "accuracy 62.5 62.5 +0.0", "faithful 62.5 62.5 +0.0", "IM-tIoU 30.0 50.0 +20.0", "IM-vIoU 25.0 25.0 +0.0",
    ]  # fmt: skip
    # Two directions: the test stands beside the score that it is of.
    directed = runs("directed", (weak(), strong()), ("yocausal_vlm",), {"human_credit": 50.0}, stratum={"subset": "a"})
    protocol, pairs, items = rows_of(compared(*directed))
    assert "human protocol" in protocol and "+0.0" in protocol and items.startswith("single accuracy")
    assert pairs.startswith("pair accuracy 33.3 75.0 +41.7")
    assert [row.endswith(" 0 25 <0.001 <0.001") for row in (protocol, pairs, items)] == [False, True, False]
    # A group over two kinds, which have no scores in common, is compared task by task.
    tasks, graded = ("cast_bench", "cast_bench_open"), {**plain, "scores": dict.fromkeys(DIMENSIONS, 5.0)}
    out = compared(*runs("both", (weak(), strong()), tasks, graded, groups={"both": tasks}))
    assert [line for line in out.splitlines() if line in (*tasks, "both")] == list(tasks)


def test_runs_of_one_model_are_named_by_their_folders_or_as_the_user_says(tmp_path: Path) -> None:
    one, two = (write_run(tmp_path / folder / "model", strong()) for folder in ("seed0", "seed1"))
    for command in ("report", "compare"):
        for names, shown in (((), {"(seed0)", "(seed1)"}), (("--name", "a b", "--name", "tuned"), {"a", "tuned"})):
            assert shown <= set(re.split(r"[\s,:]+", printed(command, one, two, *names)))
    short = " ".join(refusal("report", one, two, "--name", "base").split())
    assert "Expected --name once for each of the 2 runs, all different, but got 'base'." in short


@pytest.mark.slow
def test_a_page_of_two_runs_has_the_same_table_and_one_of_many_compares_with_the_first(tmp_path: Path) -> None:
    one, two = write_run(tmp_path / "weak", weak()), write_run(tmp_path / "strong", strong(), version="2-A")
    written = json.loads(printed("compare", one, two, "--format", "json"))["tables"][0]
    table, effects = (panel.table for panel in comparison_panels(TASK, {1: read_run(one), 2: read_run(two)}))
    assert table is not None and effects is not None and list(table.headings) == written["columns"]
    rows = json.loads(json.dumps([[getattr(cell, "value", cell) for cell in row] for row in table.rows]))
    assert rows == [[cell["value"] if isinstance(cell, dict) else cell for cell in row] for row in written["rows"]]
    assert table.caption == "runs 1 and 2 share 120 items in 60 groups"
    assert table.warnings == ["runs 1 and 2 differ: task version 1-A against 2-A"]
    page = build_page([read_run(one), read_run(two)])
    assert "<h3>Differences between runs</h3>" in page and "+41.7 [" in page
    assert "Differences between runs" not in build_page([read_run(one)])
    runs = {number: read_run(write_run(tmp_path / str(number), weak(12))) for number in range(2, 7)}
    first, *_ = comparison_panels(TASK, runs)
    assert first.table is not None
    assert {row[0] for row in first.table.rows} == {"2, 3", "2, 4", "2, 5", "2, 6"}
    assert first.note.endswith("Of 5 runs each is compared with run 2 alone; `compare` has all.")
    del runs[6]
    few, *_ = comparison_panels(TASK, runs)
    assert few.table is not None and len({row[0] for row in few.table.rows}) == 6 and "alone" not in few.note[-60:]


PAIRED = "causalvqa_paired"
CARD: dict[str, Mapping[str, object]] = {
    f"task {PAIRED}": {
        "official prompt": "no", "extractor": "a letter", "generation": '{"max_new_tokens": 16, "temperature": 0}',
    },
    "frames": {"frames": 16, "fps": "not set", "most pixels": 602112},
    "known hazards": {"video_as_images": "applies", "decord_other_frames": "does not apply"},
}  # fmt: skip


def record(group: str, version: int, right: bool) -> Record:
    outcome, detail = (Outcome.CORRECT, "") if right else (Outcome.WRONG, CUT_OFF)
    return Record(f"{group}_{version}", group, {}, "A", "A", outcome, None, detail, {"official_correct": right})


def test_a_published_figure_stands_beside_a_run_with_the_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    monkeypatch.chdir(tmp_path)
    records = [record(f"g{pair:02}", version, version == 0 or pair < 12) for pair in range(20) for version in (0, 1)]
    for name, kind in (("mine", SetKind.OFFICIAL), ("drawn", SetKind.SAMPLE)):
        write_records(Path(name, "model"), {PAIRED: records}, kind=kind, card=CARD)
    texts = []
    for words in ("mine --published qwen2.5-vl", "drawn --published GPT", "mine --published nobody"):
        done = call("compare", *words.split())
        texts.append(f"$ compare {words}\n{done.out}{done.err}")
    expected("\n".join(texts))


def test_the_page_lists_the_same_reasons() -> None:
    page = (ROOT / "docs" / "reproduce.md").read_text("utf-8")
    listed = re.findall(r"^\d\. (.+(?:\n   .+)*)", page.partition("## Why does mine differ?")[2], re.MULTILINE)
    assert [" ".join(one.split()) for one in listed] == [f"**{one.title}** {one.text}" for one in REASONS]
