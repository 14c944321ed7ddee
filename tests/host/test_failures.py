"""A run of ours that fails inside lmms-eval: the command line ends with 1, a program gets the exception."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from submission_world import prepare_world

from lmms_eval_tasks.host.ranks import LONGEST, RunStopped, describe_exception, end_where_lmms_eval_goes_on
from lmms_eval_tasks.models.stand_ins import ConstantAnswer
from lmms_eval_tasks.registry import registry

GOES_ON = """
try:
    fail()
except Exception as error:
    logger.{level}("It goes on: {{}}", error)
"""


class HubError(Exception):
    """As the hub's own library raises it."""

    __module__ = "huggingface_hub.errors"


@pytest.fixture(autouse=True)
def listening() -> Iterator[None]:
    before = set(logger._core.handlers)  # type: ignore[attr-defined]
    end_where_lmms_eval_goes_on()
    yield
    for added in set(logger._core.handlers) - before:  # type: ignore[attr-defined]
        logger.remove(added)


def go_on(module: str, error: Exception, level: str = "error") -> None:
    """Catch an exception in a module of a name, and log that."""

    def fail() -> None:
        raise error

    exec(GOES_ON.format(level=level), {"__name__": module, "logger": logger, "fail": fail})


def test_where_lmms_eval_goes_on_the_process_ends_and_says_why() -> None:
    for module, level in (("lmms_eval.__main__", "error"), ("lmms_eval.loggers.evaluation_tracker", "warning")):
        with pytest.raises(RunStopped) as ended:
            go_on(module, OSError(5, "Input/output error"), level)
        assert str(ended.value.code) == "\nThe run has failed: OSError: [Errno 5] Input/output error"


def test_a_full_disk_is_named_with_the_output_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["lmms-eval", f"--output_path={tmp_path}"])
    monkeypatch.setattr("lmms_eval_tasks.utils.core.files.free_space", lambda folder: folder != tmp_path)
    with pytest.raises(RunStopped, match=f"The run has failed: FullDisk: The disk of {tmp_path} is full.* Remedy: "):
        go_on("lmms_eval.loggers.evaluation_tracker", OSError(28, "No space left on device"), "warning")


def test_what_is_no_failure_of_a_run_ends_nothing() -> None:
    go_on("lmms_eval.evaluator", ValueError("a baseline that is not there"))
    go_on("lmms_eval.loggers.evaluation_tracker", HubError("503"), "warning")
    go_on("lmms_eval.__main__", ValueError("no network for a dashboard"), "info")
    exec("logger.warning('a limit')", {"__name__": "lmms_eval.__main__", "logger": logger})


def test_an_exception_is_one_line_that_names_the_cause() -> None:
    from tenacity import retry, stop_after_attempt

    @retry(stop=stop_after_attempt(2))
    def fail() -> None:
        raise ValueError("one\n two " + "x" * LONGEST)

    try:
        fail()
    except Exception as error:
        text = describe_exception(error)
    assert text.startswith("ValueError: one two xxx") and text.endswith("x…") and len(text) < LONGEST + 20


@pytest.mark.host
def test_a_program_gets_the_exception(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import lmms_eval.models  # noqa: F401  (loads the entry points, as every evaluation does)
    from lmms_eval.evaluator import simple_evaluate

    def fail(*_: Any) -> str:
        raise ZeroDivisionError("a reader that raises")

    prepare_world(tmp_path / "releases")
    monkeypatch.setattr(ConstantAnswer, "answer", fail)
    with pytest.raises(ZeroDivisionError, match="a reader that raises"):
        simple_evaluate("constant_answer", tasks=["yocausal_vlm"], bootstrap_iters=0)


@pytest.mark.host
def test_a_variant_that_would_fail_stops_the_run_before_a_model_is_loaded(home: Path, tmp_path: Path) -> None:
    import lmms_eval.models  # noqa: F401  (loads the entry points, as every evaluation does)
    from lmms_eval.tasks import TaskManager

    variants = {
        "metric_list: [{metric: cider}]": "lists scores that yocausal lacks: cider.",
        "doc_to_text: !function lmms_eval_tasks.yocausal.hooks.gone": "names a function that cannot be loaded: ",
    }
    prepare_world(tmp_path / "releases")
    folder = registry().benchmarks["yocausal"].folder
    for number, line in enumerate(variants):
        (tmp_path / f"{number}.yaml").write_text(
            f"include: {folder / 'yocausal_vlm.yaml'}\ntask: variant_{number}\ndataset_kwargs:\n  data_files:\n"
            f"    test: {folder / 'pointers' / 'vlm.json'}\n{line}\n"
        )
    manager = TaskManager(include_path=str(tmp_path), model_name="constant_answer")
    for number, why in enumerate(variants.values()):
        with pytest.raises(RunStopped) as stopped:
            manager.match_tasks([f"variant_{number}"])
        assert why in str(stopped.value.code)
