"""Which test files `make quick` runs after a change."""

from __future__ import annotations

from pathlib import Path

import changed_tests
import pytest
from changed_tests import OF_BENCHMARKS, OF_PAGES, ROOT, SUITES, all_tests, reached

TESTS, WORLDS = SUITES.values()
EVERY = frozenset(all_tests())


def reached_from(*names: str) -> set[Path]:
    return set(reached([ROOT / name for name in names]))


def below(*folders: Path) -> set[Path]:
    found = {path for path in EVERY if any(path.is_relative_to(folder) for folder in folders)}
    assert found
    return found


@pytest.mark.slow
def test_all_are_reached_without_a_change_or_from_what_all_import() -> None:
    assert reached_from() == EVERY
    assert len(reached_from("lmms_eval_tasks/utils/core/text.py")) > 0.9 * len(EVERY)


@pytest.mark.slow
def test_a_module_reaches_those_that_import_it_and_those_of_its_folder() -> None:
    from_page = reached_from("lmms_eval_tasks/report/page.py")
    assert below(TESTS / "report") <= from_page < EVERY and not below(TESTS / "construct", WORLDS) & from_page
    assert TESTS / "benchmarks" / "test_export.py" in from_page, "it imports what imports the module"
    assert below(TESTS / "cli") <= reached_from("lmms_eval_tasks/cli/report.py")


@pytest.mark.slow
def test_a_benchmark_reaches_its_tests_and_those_of_all_benchmarks() -> None:
    for name in ("benchmark.py", "mvp_mini.yaml", "published.json"):
        assert below(OF_BENCHMARKS, TESTS / "mvp") <= reached_from(f"lmms_eval_tasks/mvp/{name}") < EVERY
    assert below(OF_BENCHMARKS, WORLDS) <= reached_from("worlds/lmms_eval_worlds/card.py") < EVERY


@pytest.mark.slow
def test_pages_and_files_of_tests_reach_what_reads_them() -> None:
    assert reached_from("docs/views.md", "examples/demo.sh") == below(OF_PAGES)
    assert reached_from("tests/board/test_board.py") == {TESTS / "board" / "test_board.py"}
    assert reached_from("tests/board/test_board.expected") == {TESTS / "board" / "test_board.py"}
    assert reached_from("tests/hostile/answers.jsonl") == below(TESTS / "hostile")
    with_runs = reached_from("tests/support/made_runs.py")
    assert TESTS / "report" / "test_tables.py" in with_runs and len(with_runs) < 10


@pytest.mark.slow
def test_the_names_of_words_are_those_of_the_modules_that_read_them() -> None:
    assert reached_from("lmms_eval_tasks/utils/answers/words.json") >= below(TESTS / "utils" / "answers")


def test_changed_files_are_committed_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        changed_tests._git("-c", "user.name=a", "-c", "user.email=a@b", *arguments)

    monkeypatch.setattr(changed_tests, "ROOT", tmp_path)
    git("init", "--quiet", "--initial-branch", "main")
    for name in ("kept.py", "committed.py", "edited.py"):
        (tmp_path / name).write_text("")
    git("add", "kept.py", "edited.py")
    git("commit", "--quiet", "--message", "one")
    git("checkout", "--quiet", "-b", "other")
    git("add", "committed.py")
    git("commit", "--quiet", "--message", "two")
    (tmp_path / "edited.py").write_text("1")
    (tmp_path / "new.py").write_text("")
    changed = {path.name for path in changed_tests.changed_files("main")}
    assert changed == {"committed.py", "edited.py", "new.py"}
    assert changed_tests.changed_files("absent") == []
