"""Bases of our models, repeated failures that end a run, and the record of a model's work for its run card."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Annotated, Any, NoReturn, TypeVar

import torch
from accelerate import Accelerator
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from lmms_eval.utils import simple_parse_args_string
from PIL.Image import Image
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from tqdm import tqdm

from lmms_eval_tasks.host.asking.samples import sample_of
from lmms_eval_tasks.host.ranks import RunStopped, stop_if_any
from lmms_eval_tasks.host.tasks.running import state_of
from lmms_eval_tasks.models import CHAT_MODELS, MODELS
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, guess_option
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.text import first_line, quote, unknown_argument
from lmms_eval_tasks.utils.data.card import Row

Value = TypeVar("Value")


def agree(make: Callable[[], Value]) -> Value:
    """What a function returns; an `InputError` of it ends the run on all ranks, each of which has to call this."""
    value, problem = None, None
    try:
        value = make()
    except InputError as error:
        problem = str(error)
    stop_if_any(problem)
    return value  # type: ignore[return-value]


def model_name(kind: type) -> str:
    """The name by which lmms-eval knows one of our classes; the class's own where it is none of them."""
    path = f"{kind.__module__}.{kind.__qualname__}".removeprefix(f"{__package__}.")
    return next((name for name, known in {**MODELS, **CHAT_MODELS}.items() if known == path), kind.__name__)


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
    columns: tuple[str, ...] = ()
    """Those of `doc` that name the clips of its item."""

    @property
    def guesses(self) -> Sequence[str]:
        """Possible answers of somebody who saw nothing, in the form that the task asks for."""
        return self.guess(self.doc)


class Arguments(BaseModel):
    """What `--model_args` of a model may hold; a field that the user cannot give has ``init=False``."""

    model_config = ConfigDict(frozen=True)


Words = Annotated[str, BeforeValidator(str)]
"""A text, also one that lmms-eval takes for a number or for true."""
Form = TypeVar("Form", bound=Arguments)
WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a whole number from {ge}",
}
"""The kind of a pydantic error, or how it begins, to what was expected."""


def read_arguments(form: type[Form], given: Mapping[str, Any], model: str) -> Form:
    """Arguments by their form, or all that is wrong with them; None is as good as nothing."""
    known = [name for name, field in form.model_fields.items() if field.init is not False]
    chosen = {name: value for name, value in given.items() if value is not None}
    problems, errors = Problems(), []
    for name in (name for name in chosen if name not in known):
        problems.add(name, unknown_argument(name, known))
    try:
        read = form.model_validate(chosen)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    for detail in errors:
        name, kind = str(detail["loc"][0]), detail["type"]
        if kind == "missing":
            problems.add(name, "Expected this argument but found none.", remedy=f"--model_args {name}=…")
        elif wanted := WORDS.get(kind) or WORDS.get(kind.partition("_")[0]):
            problems.add(name, f"Expected {wanted.format(**detail.get('ctx', {}))}, but got {detail['input']!r}.")
        else:
            problems.add(name, detail["msg"].replace("{field}", name))
    problems.raise_if_any(f"{model} cannot be run as asked")
    return read


class OwnModel(lmms):  # type: ignore[misc]
    """A model of this package, which runs on any number of ranks; arguments that its form lacks are refused."""

    answer_forms = frozenset({AnswerForm.WORDS})
    form: type[Arguments] = Arguments

    def __init__(
        self, batch_size: int | str = 1, device: str | None = None, max_batch_size: int | None = None, **given: Any
    ) -> None:
        super().__init__()
        self.accelerator = Accelerator()
        self.device = self.accelerator.device
        self._rank = self.accelerator.process_index
        self._world_size = self.accelerator.num_processes
        self.arguments: Any = agree(lambda: read_arguments(self.form, given, model_name(type(self))))

    @classmethod
    def create_from_arg_string(cls, arg_string: str, additional_config: dict[str, Any] | None = None) -> OwnModel:
        problems = Problems()
        try:
            simple_parse_args_string(arg_string)
        except ValueError:
            problems.add("--model_args", f"Expected name=value,name=value but got {quote(arg_string)}.")
        agree(lambda: problems.raise_if_any(f"{model_name(cls)} cannot be run as asked"))
        model: OwnModel = super().create_from_arg_string(arg_string, additional_config)
        return model

    def loglikelihood(self, requests: list[Instance]) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__} answers in text and has no likelihoods.")

    def generate_until_multi_round(self, requests: list[Instance]) -> NoReturn:
        raise NotImplementedError(f"{type(self).__name__} answers in one round.")


class RequestModel(OwnModel):
    """A model that answers each request by itself and never batches; subclasses implement `answer` or `answer_each`."""

    is_simple = True
    shows_clips = False

    def answer(self, request: Request) -> str | Reply:
        raise NotImplementedError

    def answer_each(self, requests: Sequence[Request]) -> Iterator[str | Reply]:
        return map(self.answer, requests)

    def prepare(self, requests: list[Request]) -> None:
        """Called once with all requests of this rank before the first is answered; on every rank."""

    def generate_until(self, requests: list[Instance]) -> list[str | Reply]:
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
        kind = state.kind if state else None
        return replace(request, guess=kind.guesses, form=kind.answer_form, columns=kind.visuals) if kind else request


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
    return f"{type(error).__name__}: {first_line(error)}" if str(error) else type(error).__name__


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
