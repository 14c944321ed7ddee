"""Bases of our models: how they are built from arguments, and those that answer one request at a time."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from accelerate import Accelerator
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from lmms_eval.utils import simple_parse_args_string
from PIL.Image import Image
from tqdm import tqdm

from lmms_eval_tasks.host.model.answer_forms import model_name
from lmms_eval_tasks.host.ranks import stop_if_any
from lmms_eval_tasks.host.tasks.running import state_of
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, guess_option
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.text import quote, suggest
from lmms_eval_tasks.utils.data.card import Row


@dataclass(frozen=True)
class Request:
    """One item to answer."""

    task: str
    doc: Mapping[str, Any]
    clips: tuple[Path, ...]
    pictures: tuple[Image, ...] = ()
    prompt: str = ""
    guess: Callable[[Row], Sequence[str]] = guess_option
    form: AnswerForm = AnswerForm.WORDS

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
        """The model that ``--model_args`` describes, as lmms-eval makes it."""
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
        """The arguments that the model takes, and whether each has to be given."""
        parameters = inspect.signature(cls).parameters.values()
        hosts = inspect.signature(OwnModel).parameters.keys()
        return {
            one.name: one.default is one.empty
            for one in parameters
            if one.kind is not one.VAR_KEYWORD and one.name not in hosts
        }

    @classmethod
    def check_arguments(cls, arg_string: str) -> None:
        """Refuse arguments that the model does not take."""
        problems, known = Problems(), cls.argument_names()
        try:
            given = simple_parse_args_string(arg_string)
        except ValueError:
            given = {name: True for name, needed in known.items() if needed}
            problems.add("--model_args", f"Expected name=value,name=value but got {quote(arg_string)}.")
        for name in (name for name in given if name not in known):
            expected = f"one of the arguments {', '.join(known)}" if known else "no arguments"
            problems.add(name, f"Expected {expected}, but got this one.{suggest(name, known)}")
        for name, needed in known.items():
            if needed and name not in given:
                problems.add(name, "Expected this argument but found none.", f"--model_args {name}=…")
        problems.raise_if_any(f"{model_name(cls)} cannot be run as asked")

    def loglikelihood(self, requests: list[Instance]) -> NoReturn:
        """Not offered: our models give no probabilities."""
        raise NotImplementedError(f"{type(self).__name__} answers in text and has no likelihoods.")

    def generate_until_multi_round(self, requests: list[Instance]) -> NoReturn:
        """Not offered: one request, one response."""
        raise NotImplementedError(f"{type(self).__name__} answers in one round.")


class RequestModel(OwnModel):
    """A model that answers each request by itself and never batches; subclasses implement `answer`."""

    is_simple = True
    shows_clips = False

    @abc.abstractmethod
    def answer(self, request: Request) -> str:
        """The response to one request."""

    def answer_each(self, requests: Sequence[Request]) -> Iterator[str]:
        """Responses as they come, in order."""
        return map(self.answer, requests)

    def prepare(self, requests: list[Request]) -> None:
        """Called once with all requests of this rank before the first is answered; on every rank."""

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """Answer lmms-eval's requests in order."""
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
        request = Request(task, doc, clips, pictures, prompt)
        return replace(request, guess=state.kind.guesses, form=state.kind.answer_form) if state else request
