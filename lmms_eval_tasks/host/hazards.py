"""Which known hazards apply to a run of lmms-eval, for its run card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import metadata
from typing import Any

from lmms_eval_tasks.host.environment import Unknown, installed_version
from lmms_eval_tasks.host.evaluation import Evaluation
from lmms_eval_tasks.host.weights import get_nested_attr
from lmms_eval_tasks.utils.benchmark.views import Shown
from lmms_eval_tasks.utils.runs.hazards import APPLIES, DOES_NOT_APPLY, FILE, RunFacts, applies, known_hazards
from lmms_eval_tasks.utils.runs.run_card import HAZARD, HAZARDS

HOST_MODELS = "lmms_eval.models."
ATTRIBUTES: Mapping[str, tuple[str, ...]] = {"batch_size": ("batch_size", "batch_size_per_gpu")}
"""Arguments that lmms-eval's adapters keep under other names than their own."""
NO_VALUE = frozenset({"", "none"})
"""Texts by which an argument of lmms-eval's command line is left unset."""


def hazard_fields(
    evaluation: Evaluation, arguments: Mapping[str, str], batch_size: object
) -> Iterator[tuple[str, str, Callable[[], str]]]:
    """Fields of a card, each with its section and what finds it, which may raise; this does not."""
    try:
        hazards = known_hazards()
    except Exception as error:  # a card never ends a run
        yield HAZARDS, FILE.name, partial(_fail, error)
        return
    applying: dict[str, dict[str, str]] = {}
    for name, hazard in hazards.items():
        try:
            facts = _facts(evaluation, {"batch_size": str(batch_size), **arguments})
            if applies(hazard, facts):
                applying[name] = hazard.found(facts)
        except Exception as error:  # whatever a fact's finder raises
            yield HAZARDS, name, partial(_fail, error)
        else:
            yield HAZARDS, name, partial(str, APPLIES if name in applying else DOES_NOT_APPLY)
    for name, found in applying.items():
        yield from ((f"{HAZARD}{name}", field, partial(str, text)) for field, text in found.items())


def _fail(error: Exception) -> str:
    raise error


def _facts(evaluation: Evaluation, arguments: Mapping[str, str]) -> RunFacts:
    model = evaluation.model
    if model is None:
        raise Unknown("which model ran is not known")
    return RunFacts(
        adapter=adapter_of(type(model)),
        weights=evaluation.weights.family,
        shows_videos=shows_videos(evaluation),
        version=version_of,
        argument=partial(_argument, model, arguments),
        reader=evaluation.clip_reader,
    )


def adapter_of(kind: type) -> str:
    """The module with the code by which a class of models answers, without lmms-eval's own prefix."""
    owner = next((base for base in kind.__mro__ if "generate_until" in vars(base)), kind)
    return owner.__module__.removeprefix(HOST_MODELS)


def version_of(package: str) -> str | None:
    """The version of a package, also where another one brings its module, as eva-decord does; None where none does."""
    if version := installed_version(package):
        return version
    others = metadata.packages_distributions().get(package.replace("-", "_"), ())
    return next((metadata.version(other) for other in others), None)


def shows_videos(evaluation: Evaluation) -> bool:
    """Whether any task of a run shows its model a video."""
    shown = {state.view.shown for state in evaluation.tasks.values()}
    return evaluation.clips_needed and bool(shown - {Shown.NOTHING, Shown.FRAME})


def _argument(model: Any, arguments: Mapping[str, str], name: str) -> Any:
    for attribute in ATTRIBUTES.get(name, (name,)):
        value = get_nested_attr(model, attribute)
        if isinstance(value, (bool, int, float, str)):
            return value
    typed = arguments.get(name, "")
    return None if typed.lower() in NO_VALUE else typed
