"""Entry point `lmms_eval.models`: declares our models and puts our tasks into lmms-eval's task index.

lmms-eval has an entry point for models and none for tasks, and loads the former before it builds its task index. So
this is where `TaskManager` is taught our folder, after its own, so that our `mvp_mini` replaces the built-in one.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loguru import logger

from lmms_eval_tasks.host.hosting import check_grading, open_split, session, stop_if_any
from lmms_eval_tasks.host.weights import read_weights
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.runs.run import RESULTS, card_path

if TYPE_CHECKING:
    from lmms_eval.models.registry_v2 import ModelManifest

TASKS = Path(__file__).parent
MODELS = {
    "constant_answer": "ConstantAnswer",
    "random_answer": "RandomAnswer",
    "replay": "Replay",
    "sample_solver": "SampleSolver",
    "video_diffusion": "VideoDiffusion",
}
CLIPLESS = frozenset({"constant_answer", "random_answer", "replay"})


def register() -> list[ModelManifest]:
    """Add our tasks to lmms-eval's index and return our models; called by lmms-eval when its models are imported."""
    # Not at the top: importing the host's models calls this function, which must be there by then.
    from lmms_eval.models.registry_v2 import ModelManifest

    try:
        _hook_task_manager()
        _hook_model_creation()
    except (ImportError, AttributeError, TypeError) as error:
        _say_by_hand(error)
    try:
        _hook_saving()
    except (ImportError, AttributeError, TypeError) as error:
        logger.warning(
            "lmms_eval_tasks writes no run cards beside results: this lmms-eval saves otherwise ({}: {}).",
            type(error).__name__,
            error,
        )
    return [
        ModelManifest(model_id=name, simple_class_path=f"lmms_eval_tasks.models.{name}.{cls}")
        for name, cls in MODELS.items()
    ]


def _leave_process_group() -> None:
    """End what torch runs in the background for the ranks on CPUs, which lmms-eval leaves to the end of the process.

    Now and then torch aborts the process there, after everything was written, and the launcher reports a failed run.
    """
    dist = sys.modules.get("torch.distributed")
    if dist is not None and dist.is_available() and dist.is_initialized() and dist.get_backend() == "gloo":
        dist.destroy_process_group()


def _say_by_hand(error: Exception) -> None:
    logger.warning(
        "lmms_eval_tasks could not add its tasks by itself: this lmms-eval is built differently ({}: {}). "
        'Its tasks still work with:  lmms-eval --include_path "$(lmms-eval-tasks path)" …  '
        "(a built-in task then wins over ours of the same name, as with mvp_mini).",
        type(error).__name__,
        error,
    )


def _hook_task_manager() -> None:
    """Wrap the two methods of `TaskManager` that we need.

    Raises:
        ImportError, AttributeError, TypeError: where they are not there, or do not take what they are given here.
    """
    from lmms_eval.tasks import TaskManager

    index_tasks, match_tasks = TaskManager.initialize_tasks, TaskManager.match_tasks
    if getattr(index_tasks, "_lmms_eval_tasks", False):
        return
    inspect.signature(index_tasks).bind(None, include_path=None, include_defaults=True)
    inspect.signature(match_tasks).bind(None, [])
    inspect.signature(TaskManager._get_task_and_group).bind(None, "")

    @functools.wraps(index_tasks)
    def initialize_tasks(self: Any, include_path: Any = None, include_defaults: bool = True) -> dict[str, Any]:
        session.start(clips_needed=getattr(self, "model_name", None) not in CLIPLESS)
        index = index_tasks(self, include_path=include_path, include_defaults=include_defaults)
        return {**index, **self._get_task_and_group(str(TASKS))} if include_defaults else index

    @functools.wraps(match_tasks)
    def match_and_check(self: Any, task_list: list[str]) -> list[str]:
        names: list[str] = match_tasks(self, task_list)
        _check_prepared(self.task_index, names)
        return names

    initialize_tasks._lmms_eval_tasks = True  # type: ignore[attr-defined]
    TaskManager.initialize_tasks = initialize_tasks
    TaskManager.match_tasks = match_and_check
    atexit.register(_leave_process_group)


def _hook_model_creation() -> None:
    """Wrap the method by which the host makes its model, so that scoring can ask what the model was shown.

    Raises:
        ImportError, AttributeError: where it is not there.
    """
    from lmms_eval.api.model import lmms

    create: Any = lmms.__dict__["create_from_arg_string"].__func__ if "create_from_arg_string" in vars(lmms) else None
    if create is None:
        raise AttributeError("lmms has no create_from_arg_string")
    if getattr(create, "_lmms_eval_tasks", False):
        return

    @functools.wraps(create)
    def create_and_remember(cls: Any, *arguments: Any, **named: Any) -> Any:
        session.model = create(cls, *arguments, **named)
        session.weights = read_weights(session.model)
        return session.model

    create_and_remember._lmms_eval_tasks = True  # type: ignore[attr-defined]
    lmms.create_from_arg_string = classmethod(create_and_remember)


def _hook_saving() -> None:
    """Wrap the method by which the host saves its results, so that a run card lies beside them.

    Raises:
        ImportError, AttributeError, TypeError: where it is not there, or does not take what it is given here.
    """
    from lmms_eval.loggers.evaluation_tracker import EvaluationTracker

    save = EvaluationTracker.save_results_aggregated
    if getattr(save, "_lmms_eval_tasks", False):
        return
    signature = inspect.signature(save)
    signature.bind(None, results={}, samples={}, datetime_str="")

    @functools.wraps(save)
    def save_with_card(self: Any, *arguments: Any, **named: Any) -> Any:
        saved = save(self, *arguments, **named)
        try:
            write_card(self, signature.bind(self, *arguments, **named).arguments["results"])
        except Exception as error:  # the run has its results, and no card is worth losing what follows
            logger.warning("No run card was written ({}: {}).", type(error).__name__, error)
        return saved

    save_with_card._lmms_eval_tasks = True  # type: ignore[attr-defined]
    EvaluationTracker.save_results_aggregated = save_with_card


def write_card(tracker: Any, results: Mapping[str, Any]) -> Path | None:
    """Write the card of a run that the host has just saved, beside its results.

    Only the first rank saves results, and so only it gets here.

    Args:
        tracker: The host's tracker, after it has saved.
        results: What it saved.

    Returns:
        The card; None where the run has no task of ours, or no output path.

    Raises:
        AttributeError: where the tracker is another than expected.
        OSError: where the results are not where they should be, or the card cannot be written.
    """
    from lmms_eval_tasks.host.run_card import gather

    if not tracker.output_path:
        return None
    folder = Path(tracker.output_path, tracker.general_config_tracker.model_name_sanitized)
    saved = folder / f"{tracker.date_id}{RESULTS}"
    if not saved.is_file():
        raise FileNotFoundError(f"there is no {saved}")
    card = gather(results)
    if not card:
        return None
    path = card_path(saved)
    write_file(path, json.dumps(card, ensure_ascii=False, indent=2) + "\n")
    return path


def _check_prepared(index: Mapping[str, Any], names: list[str]) -> None:
    """Stop before the model loads where one of our tasks lacks data or judge; the host loads tasks after the model."""
    found: dict[str, None] = {}
    ours = {json.dumps(pointer): pointer for name in names for pointer in pointers(index, name)}
    for pointer in ours.values():
        for check in (open_split, check_grading):
            try:
                check(pointer)
            except InputError as error:
                found[str(error)] = None
    if ours:
        stop_if_any("\n\n".join(found) or None)


def pointers(index: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """The pointer of one of our tasks, or those of a group's or tag's tasks; nothing for other people's tasks."""
    from lmms_eval.utils import load_yaml_config

    entry = index.get(name, {})
    if entry.get("type") == "tag":
        for task in entry["task"]:
            yield from pointers(index, task)
        return
    path = entry.get("yaml_path", -1)
    if path == -1 or TASKS not in Path(path).parents:
        return
    config = load_yaml_config(path, mode="simple")
    if isinstance(config["task"], list):
        for task in config["task"]:
            yield from pointers(index, task)
    else:
        for file in config["dataset_kwargs"]["data_files"].values():
            yield json.loads((Path(path).parent / file).read_text(encoding="utf-8"))
