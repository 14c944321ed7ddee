"""Our models in lmms-eval, the forms of answers that models give, checks of a run before weights are loaded, and texts
of adapters that are no answers.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from lmms_eval_tasks.host.model.model_identity import describe_absent
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, Task
from lmms_eval_tasks.utils.core.files import why_unwritable
from lmms_eval_tasks.utils.core.text import parse_arguments, suggest

MODELS = {
    "constant_answer": "floors.ConstantAnswer",
    "random_answer": "floors.RandomAnswer",
    "replay": "replay.Replay",
    "sample_solver": "sample_solver.SampleSolver",
    "video_diffusion": "video_diffusion.VideoDiffusion",
}
"""Name to class, with its module in `lmms_eval_tasks.models`."""

CHAT_MODELS = {"shared_prefix": "shared_prefix.SharedPrefix", "shared_vllm": "shared_vllm.SharedVLLM"}
"""The same for models that take lmms-eval's chat messages."""

CLIPLESS = frozenset({"constant_answer", "random_answer", "replay"})
"""Those that look at no clip and so need none."""


def is_ours(kind: type) -> bool:
    """Whether a class of models is, or is made from, one of this package."""
    return any(base.__module__.startswith(f"{__package__.partition('.')[0]}.") for base in kind.__mro__)


def model_name(kind: type) -> str:
    """The name by which lmms-eval knows one of our classes; the class's own where it is none of them."""
    return next(
        (name for name, path in {**MODELS, **CHAT_MODELS}.items() if path.endswith(f".{kind.__name__}")), kind.__name__
    )


FORMS = "answer_forms"
"""The attribute by which a model's class names the forms of its answers; without it they are words."""


def answer_forms(model: object) -> frozenset[AnswerForm]:
    """The forms of the answers that a model, or a class of models, gives."""
    return frozenset(map(AnswerForm, getattr(model, FORMS, (AnswerForm.WORDS,))))


def describe_misfit(model: str, tasks: Mapping[str, frozenset[AnswerForm]]) -> str | None:
    """Return the reason a model cannot answer tasks, or None if it can or nothing is known of it."""
    if model not in MODELS and frozenset().union(*tasks.values()) == {AnswerForm.WORDS}:
        return None  # importing somebody else's model can take long
    kind = find_class(model)
    return None if kind is None else describe_misfit_of(kind, model, tasks)


def describe_misfit_of(kind: object, model: str, tasks: Mapping[str, frozenset[AnswerForm]]) -> str | None:
    """The same for a model, or a class of models, that is there."""
    given = answer_forms(kind)
    reasons = []
    for name, forms in tasks.items():
        for form in sorted(forms - given):
            answers = " or ".join(sorted(one.value for one in given))
            reasons.append(f"{name} takes {form.value} for an answer, but the model {model} gives {answers}.")
            if models := _models_of(form):
                reasons.append(f"  Models for it: {', '.join(models)}.")
            if others := _tasks_beside(name, given):
                reasons.append(f"  Tasks of the same benchmark for {model}: {', '.join(others)}.")
    return "\n".join(reasons) or None


def describe_unknown(names: Iterable[str], matched: Collection[str], known: Iterable[str]) -> str | None:
    """Return the names of a run's ``--tasks`` that match nothing, with suggestions, or None if all match."""
    unknown = [name for name in names if not (name in matched or fnmatch.filter(matched, name) or Path(name).is_file())]
    reasons = [f"There is no task, group or tag {name!r}.{suggest(name, known)}" for name in unknown]
    return "\n".join([*reasons, "All of them: lmms-eval --tasks list"]) if unknown else None


def describe_unready(options: Mapping[str, Any]) -> str | None:
    """Return the reason a run of lmms-eval's command line would be lost (output path or weights), or None if none is
    known."""
    reasons = [describe_absent(str(options.get("model")), parse_arguments(options.get("model_args")))]
    path = options.get("output_path")
    if path and (reason := why_unwritable(Path(path))):
        reasons.append(
            f"The output path {path} cannot be written to: {reason}. Nothing was computed.\n"
            "Remedy: give --output_path a folder of your own."
        )
    return "\n\n".join(filter(None, reasons)) or None


def find_class(model: str) -> Any:
    """The class of a model; None where it cannot be imported, which lmms-eval says by itself."""
    from lmms_eval.models import MODEL_REGISTRY_V2

    try:
        return MODEL_REGISTRY_V2.get_model_class(model)
    except Exception:  # whatever somebody else's module raises
        return None


def _models_of(form: AnswerForm) -> list[str]:
    """Our models that are for answers of one form; every model that is not ours gives words."""
    given = {name: answer_forms(find_class(name)) for name in MODELS}
    return [name for name, forms in given.items() if form in forms and AnswerForm.WORDS not in forms]


def _tasks_beside(name: str, given: frozenset[AnswerForm]) -> list[str]:
    """Tasks of a task's benchmark that take answers of some form."""
    known = registry().find_task(name)
    beside: list[Task] = list(registry().tasks_of(known.benchmark.name).values()) if known else []
    return [task.name for task in beside if task.kind.answer_form in given]
