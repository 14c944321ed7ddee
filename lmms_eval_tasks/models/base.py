"""Bases of our models, repeated failures that end a run, and the record of a model's work for its run card."""

from __future__ import annotations

import abc
import gc
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any, NoReturn

import torch
from accelerate import Accelerator
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from lmms_eval.utils import simple_parse_args_string
from PIL.Image import Image
from tqdm import tqdm

from lmms_eval_tasks.host.asking.samples import sample_of
from lmms_eval_tasks.host.model.identity import model_name
from lmms_eval_tasks.host.ranks import RunStopped, stop_if_any
from lmms_eval_tasks.host.tasks.running import state_of
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, guess_option
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.text import quote, unknown_argument
from lmms_eval_tasks.utils.data.card import Row


@dataclass(frozen=True)
class Request:
    task: str
    doc: Mapping[str, Any]
    clips: tuple[Path, ...]
    pictures: tuple[Image, ...] = ()
    prompt: str = ""
    guess: Callable[[Row], Sequence[str]] = guess_option
    form: AnswerForm = AnswerForm.WORDS
    sample: int = 1

    @property
    def guesses(self) -> Sequence[str]:
        """Possible answers of somebody who saw nothing, in the form that the task asks for."""
        return self.guess(self.doc)


class OwnModel(lmms):  # type: ignore[misc]
    """A model of this package, which runs on any number of ranks; arguments that it does not take are refused."""

    answer_forms = frozenset({AnswerForm.WORDS})

    def __init__(self, batch_size: int | str = 1, device: str | None = None, max_batch_size: int | None = None) -> None:
        super().__init__()
        self.accelerator = Accelerator()
        self.device = self.accelerator.device
        self._rank = self.accelerator.process_index
        self._world_size = self.accelerator.num_processes

    @classmethod
    def create_from_arg_string(cls, arg_string: str, additional_config: dict[str, Any] | None = None) -> OwnModel:
        problem = None
        try:
            cls.check_arguments(arg_string)
        except InputError as error:
            problem = str(error)
        stop_if_any(problem)
        model: OwnModel = super().create_from_arg_string(arg_string, additional_config)
        return model

    @classmethod
    def argument_names(cls) -> dict[str, bool]:
        parameters = inspect.signature(cls).parameters.values()
        hosts = inspect.signature(OwnModel).parameters.keys()
        return {
            one.name: one.default is one.empty
            for one in parameters
            if one.kind is not one.VAR_KEYWORD and one.name not in hosts
        }

    @classmethod
    def check_arguments(cls, arg_string: str) -> None:
        problems, known = Problems(), cls.argument_names()
        try:
            given = simple_parse_args_string(arg_string)
        except ValueError:
            given = {name: True for name, needed in known.items() if needed}
            problems.add("--model_args", f"Expected name=value,name=value but got {quote(arg_string)}.")
        for name in (name for name in given if name not in known):
            problems.add(name, unknown_argument(name, known))
        for name, needed in known.items():
            if needed and name not in given:
                problems.add(name, "Expected this argument but found none.", remedy=f"--model_args {name}=…")
        problems.raise_if_any(f"{model_name(cls)} cannot be run as asked")

    def loglikelihood(self, requests: list[Instance]) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__} answers in text and has no likelihoods.")

    def generate_until_multi_round(self, requests: list[Instance]) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__} answers in one round.")


class RequestModel(OwnModel):
    """A model that answers each request by itself and never batches; subclasses implement `answer`."""

    is_simple = True
    shows_clips = False

    @abc.abstractmethod
    def answer(self, request: Request) -> str:
        """The response to one request."""

    def answer_each(self, requests: Sequence[Request]) -> Iterator[str]:
        return map(self.answer, requests)

    def prepare(self, requests: list[Request]) -> None:
        """Called once with all requests of this rank before the first is answered; on every rank."""

    def generate_until(self, requests: list[Instance]) -> list[str]:
        asked = [self._read(instance) for instance in requests]
        self.prepare(asked)
        answers = self.answer_each(asked)
        return list(tqdm(answers, type(self).__name__, total=len(asked), unit="item", disable=self._rank != 0))

    def _read(self, instance: Instance) -> Request:
        prompt, _, doc_to_visual, doc_id, task, split = instance.args
        doc = self.task_dict[task][split][doc_id]
        visuals = doc_to_visual(doc) if self.shows_clips else ()
        clips = tuple(Path(visual) for visual in visuals if isinstance(visual, (str, Path)))
        pictures = tuple(visual for visual in visuals if isinstance(visual, Image))
        # lmms-eval hands a task's own method on; a user's variant of a task is known by no name.
        state = state_of(getattr(doc_to_visual, "__self__", None))
        request = Request(task, doc, clips, pictures, prompt, sample=sample_of(instance))
        return replace(request, guess=state.kind.guesses, form=state.kind.answer_form) if state else request


ENOUGH = 3
"""After so many alike in a row the run ends."""
OUT_OF_MEMORY = re.compile(r"out of memory|can't allocate memory|not enough memory")


class RepeatedFailures:
    """Ends a run in which one thing after the other fails in the same way, for no reason of its own."""

    def __init__(self, things: str) -> None:
        self._things = things
        self._causes: list[str] = []

    def note(self, message: str | None, shared: str, name: str = "") -> None:
        if message is None:
            self._causes.clear()
            return
        cause = cause_of(message, name)
        self._causes = [*self._causes, cause] if cause in self._causes else [cause]
        if len(self._causes) == ENOUGH:
            raise RunStopped(
                f"{ENOUGH} {self._things} in a row failed in the same way, so the others would too:\n"
                f"  {message}\n{shared}"
            )


def cause_of(message: str, name: str) -> str:
    """Return a message without a thing's name and without numbers, equal for things that fail for one cause."""
    return re.sub(r"\d+", "#", message.replace(name, "") if name else message)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the device or the machine has no memory left."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or bool(OUT_OF_MEMORY.search(str(error)))


def describe_error(error: Exception) -> str:
    """An error in one line: its kind, and the first line of what it says."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def free_memory() -> None:
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


class Work:
    """Seconds of each stage and counts; several threads may add to them."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self._lock = Lock()

    @contextmanager
    def measure(self, stage: str, device: torch.device | None = None) -> Iterator[None]:
        """Add the time until it ends to a stage; work that a device still has to do counts."""
        begun = perf_counter()
        try:
            yield
        finally:
            if device is not None and device.type == "cuda":
                torch.cuda.synchronize(device)
            with self._lock:
                self.seconds[stage] = self.seconds.get(stage, 0.0) + perf_counter() - begun

    def count(self, name: str, number: int = 1) -> None:
        with self._lock:
            self.counts[name] = self.counts.get(name, 0) + number

    def as_facts(self) -> dict[str, dict[str, Any]]:
        with self._lock:
            return {"seconds": dict(self.seconds), "counts": dict(self.counts)}
