"""Base of the models that answer one request at a time and never batch."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from accelerate import Accelerator
from lmms_eval.api.instance import Instance
from lmms_eval.api.model import lmms
from tqdm import tqdm


@dataclass(frozen=True)
class Request:
    """One item to answer.

    Attributes:
        task: Name of the task.
        doc: The item's row of the prepared table.
        clips: The clips that the task shows with it.
    """

    task: str
    doc: Mapping[str, Any]
    clips: tuple[Path, ...]


class RequestModel(lmms):  # type: ignore[misc]
    """A model that runs on any number of ranks and answers each request by itself.

    Subclasses implement `answer`; `batch_size` and `device` are what lmms-eval always passes and mean nothing here.
    """

    is_simple = True
    shows_clips = False

    def __init__(self, batch_size: int | str = 1, device: str | None = None) -> None:
        super().__init__()
        self.accelerator = Accelerator()
        self.device = self.accelerator.device
        self._rank = self.accelerator.process_index
        self._world_size = self.accelerator.num_processes

    @abc.abstractmethod
    def answer(self, request: Request) -> str:
        """The response to one request."""

    def prepare(self, requests: list[Request]) -> None:
        """Called once with all requests of this rank before the first is answered; on every rank."""

    def generate_until(self, requests: list[Instance]) -> list[str]:
        """Answer lmms-eval's requests in order."""
        asked = [self._read(instance) for instance in requests]
        self.prepare(asked)
        return [
            self.answer(request)
            for request in tqdm(asked, desc=type(self).__name__, unit="item", disable=self._rank != 0)
        ]

    def loglikelihood(self, requests: list[Instance]) -> NoReturn:
        """Not offered: these models have no probabilities."""
        raise NotImplementedError(f"{type(self).__name__} answers in text and has no likelihoods.")

    def generate_until_multi_round(self, requests: list[Instance]) -> NoReturn:
        """Not offered: one request, one response."""
        raise NotImplementedError(f"{type(self).__name__} answers in one round.")

    def _read(self, instance: Instance) -> Request:
        _, _, doc_to_visual, doc_id, task, split = instance.args
        doc = self.task_dict[task][split][doc_id]
        clips = tuple(Path(clip) for clip in doc_to_visual(doc)) if self.shows_clips else ()
        return Request(task, doc, clips)
