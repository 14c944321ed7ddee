"""Answers kept in a folder that runs and ranks may share, from which an interrupted run goes on."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any
from unittest.mock import patch

from loguru import logger
from tqdm import tqdm

from lmms_eval_tasks.host.asking.samples import generation_of, is_sampled, sample_of
from lmms_eval_tasks.host.asking.servers import ServerReplies, sends_each_alone
from lmms_eval_tasks.host.asking.stages import EACH, Ask, AskingStage, is_padding
from lmms_eval_tasks.host.model.identity import ModelFacts, find_arguments, get_nested_attr, model_identity
from lmms_eval_tasks.host.ranks import gather_objects
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import ItemKey
from lmms_eval_tasks.utils.answers.reply import Reply
from lmms_eval_tasks.utils.core.files import file_sha256, write_file
from lmms_eval_tasks.utils.core.store import KeptValues
from lmms_eval_tasks.utils.core.text import ANSWERS, hide_secrets
from lmms_eval_tasks.utils.data.home import home

FOLDER = "answers"
MODEL = "model.json"
FORMAT = 3
"""Moves when what is kept changes its meaning."""
CONCURRENCY = ("num_concurrent", "num_cpus", "num_processes")
"""How adapters of servers call the number of requests that they send at once."""
ROUNDS = 4
"""Such an adapter gets this many times as many requests, because it waits for the slowest of them."""
IN_STEP = ("FSDP", "DEEPSPEED", "MEGATRON_LM", "TP")
"""Kinds of distribution, as accelerate names them, in which all ranks have to compute together."""
ASKED_ONCE = frozenset({"lmms_eval.models.simple.srt_api"})
"""Modules of adapters that end their server once they have answered what they were given."""
METRICS_LOG = "lmms_eval.models.model_utils.gen_metrics"
"""Writes a line to the log whenever an adapter has answered what it was given."""


def answers_folder(output_path: str | None) -> Path | None:
    """Return where answers are kept: $LMMS_EVAL_TASKS_ANSWERS, else the output path, else the data home."""
    chosen = os.environ.get(ANSWERS)
    if chosen:
        return None if chosen.lower() == "none" else Path(chosen).expanduser().absolute()
    return (Path(output_path).expanduser().absolute() if output_path else home()) / FOLDER


def log_kept(count: int, folder: Path) -> None:
    if count:
        logger.info("{:,} {} kept from before ({}).", count, "answer" if count == 1 else "answers", folder)


@dataclass(frozen=True)
class ItemRequest:
    key: str | None
    """The key of its answer; None if one of its clips cannot be read, without which nobody could say what it is of."""
    task: str
    item_id: str
    repeat: int


class AnswerFiles:
    def __init__(self, folder: Path, identity: Mapping[str, Any]) -> None:
        self._identity, self._model = identity, _digest(identity)
        self.folder = folder / self._model[:16]
        self._values = KeptValues(self.folder)
        self._can_write = True
        self._empty: set[str] = set()
        """Keys of the answers that were empty and are asked for again, once."""

    def find(self, items: Sequence[ItemRequest | None]) -> list[Reply | None]:
        """Return the answer to each item with the same clips; None where there is none, or one that was empty once."""
        from lmms_eval.api.instance import TokenCounts

        def read(value: Mapping[str, Any]) -> Reply | None:
            try:
                reply = Reply.from_json(value, TokenCounts)
            except (TypeError, KeyError) as error:
                logger.warning("An answer kept in {} cannot be read and is asked again ({}).", self.folder, error)
                return None
            return None if reply.missing else reply

        keys = [item.key if item else None for item in items]
        both = {key: (key, _second(key)) for key in keys if key}
        kept = self._values.read({one for of_key in both.values() for one in of_key})
        found: list[Reply | None] = []
        for key in keys:
            first, again = (read(kept[one]) if one in kept else None for one in both.get(key or "", ("", "")))
            if key and first and first.silence and not again:
                self._empty.add(key)
                first = None
            found.append(again or first)
        return found

    def keep(self, item: ItemRequest, reply: Reply) -> None:
        """Keep an answer; one that is empty is asked for once more, and what never came whenever a run asks again."""
        if not self._can_write or reply.missing or (key := item.key) is None:
            return
        value = {"task": item.task, "item": item.item_id, "repeat": item.repeat, **reply.to_json()}
        self._write(lambda: self._values.keep(_second(key) if key in self._empty else key, value))

    def count(self) -> int:
        """Return how many answers are kept, those of other tasks and ranks among them."""
        return len({(one.get("task"), one.get("item"), one.get("repeat")) for one in self._values.read().values()})

    def close(self) -> None:
        if self._can_write:
            self._write(self._values.close)

    def _write(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            self._can_write = False
            logger.warning("Answers cannot be kept: if this run is interrupted, it starts again ({}).", error)

    def write_identity(self) -> None:
        """Write down, for people, which model the answers are of."""
        path, folder = self.folder / MODEL, self.folder.parent
        try:
            if path.is_file():
                return
            if any(folder.glob(f"*/{MODEL}")):
                other = "The answers kept in {} are of other models, arguments or software; each {} says which."
                logger.info(other, folder, MODEL)
            text = json.dumps(self._identity, ensure_ascii=False, indent=2, default=str)
            write_file(path, hide_secrets(text, os.environ).encode("utf-8", "replace"))
        except OSError as error:
            logger.debug("{} cannot be written ({}).", path, error)

    def key_of(self, asked: Mapping[str, Any], clips: Sequence[Path]) -> str | None:
        """Return the key of the answer to what is asked of some clips; None if one of them cannot be read."""
        try:
            digests = [file_sha256(clip) for clip in clips]
        except OSError:
            return None
        return hashlib.sha256("\0".join((self._model, _digest(asked), *digests)).encode()).hexdigest()


def _second(key: str) -> str:
    """Return the key of an answer that was asked for again, because the first one was empty."""
    return hashlib.sha256(f"{key} again".encode()).hexdigest()


_CANONICAL = json.JSONEncoder(sort_keys=True, default=str)


def _digest(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(_CANONICAL.encode(value).encode()).hexdigest()


class KeptAnswers(AskingStage):
    """Keeps the model's answers to our tasks, and asks for none again that was kept."""

    def __init__(
        self,
        facts: ModelFacts,
        evaluation: Evaluation,
        settings: Mapping[str, Any],
        server: ServerReplies,
        expect: Callable[[Sequence[Any]], object] = len,
    ) -> None:
        self._model, self._weights, self._evaluation, self._settings = facts.model, facts.weights, evaluation, settings
        self._server, self._expect = server, expect
        self.places: frozenset[int] = frozenset()
        """The places of the last requests whose answers were kept from before."""
        self._count: int | None = None
        command = settings.get("cli_args")
        output_path, self._seeds = getattr(command, "output_path", None), getattr(command, "seed", None)
        # Without an output path all runs share the folder, and a draw would come back in a run that asks for a new.
        self._keep_sampled = bool(output_path or os.environ.get(ANSWERS))
        self._folder = answers_folder(output_path) if evaluation.clips_needed else None
        self._files: AnswerFiles | None = None

    @contextmanager
    def during(self) -> Iterator[None]:
        """Open the files of the model's answers, unless it keeps them itself or it is not known what they depend on."""
        model, arguments = self._model, find_arguments(self._model)
        keep_itself = getattr(model, "keep_answers_in", None)
        if self._folder is not None and keep_itself:
            keep_itself(self._folder)
            yield
            self._count = model.answers_kept
        elif self._folder is None or arguments is None or type(model).__module__ in ASKED_ONCE:
            yield
        else:
            asked = {name: self._settings.get(name) for name in ("system_instruction", "fewshot_as_multiturn")}
            identity = model_identity(model, arguments, self._weights) | {"format": FORMAT, "asked": asked}
            self._files = AnswerFiles(self._folder, identity)
            try:
                yield
            finally:
                self._files.close()

    def describe(self) -> str:
        """Say what a run that ends now leaves to the next."""
        if self._files:
            count, folder = self._files.count(), self._files.folder
            kept = f"{count:,} {'answer is' if count == 1 else 'answers are'} kept ({folder})"
            return f"{kept}; the same command resumes."
        if self._evaluation.clips_needed and getattr(self._model, "keep_answers_in", None):
            return "Its answers are kept; the same command resumes."
        return "No answer is kept; the same command begins anew."

    def facts(self) -> Mapping[str, Any]:
        return {"answers_kept": self._count}

    def answer(self, ask: Ask, requests: list[Any]) -> list[Reply]:
        if (files := self._files) is None:
            self.places = frozenset()
            return ask(requests)
        asked_items = self._read_items(files, requests)
        answers = files.find(asked_items)
        self.places = frozenset(place for place, one in enumerate(answers) if one is not None)
        count = len(self.places)
        total = self._count = sum(gather_objects(count))
        is_first = os.environ.get("RANK", "0") == "0"
        if is_first:
            log_kept(total, files.folder)
            files.write_identity()
        missing = [place for place, answer in enumerate(answers) if answer is None and not is_padding(requests[place])]
        each, alone, lock = hasattr(self._model, EACH), sends_each_alone(self._model), Lock()
        with tqdm(total=len(requests), initial=count, desc="Answers", unit="item", disable=each or not is_first) as bar:

            def take(place: int, reply: Reply, keep: bool = True) -> None:
                with lock:
                    if answers[place] is None:
                        answers[place] = reply
                        bar.update()
                        if keep and (item := asked_items[place]):
                            files.keep(item, reply)

            if each:
                for number, reply in self._model.generate_each([requests[place] for place in missing]):
                    take(missing[number], reply)
                return [answer or Reply() for answer in answers]
            parts = [missing][: len(missing)] if alone else self._divide(requests, asked_items, answers)
            self._expect([requests[place] for places in parts for place in places])
            places_of = {id(requests[place]): place for place in missing}
            with _quiet(self._model), self._server.taken_by(lambda request, reply: take(places_of[id(request)], reply)):
                for places in parts:
                    replies = ask([requests[place] for place in places])
                    for place, reply in zip(places, replies, strict=False):
                        take(place, reply, keep=len(replies) == len(places))
        return [answer or Reply() for answer in answers]

    def _divide(
        self, requests: Sequence[Any], asked_items: Sequence[ItemRequest | None], answers: Sequence[Any]
    ) -> list[list[int]]:
        """Return the places of the requests that are asked together, in the order in which they are asked."""
        size, in_step = part_size(self._model), computes_in_step(self._model)
        parts: dict[int, list[int]] = defaultdict(list)
        missing: set[int] = set()
        for place, request in enumerate(requests):
            padding = is_padding(request) and request.task_name in self._evaluation.tasks
            if padding and not in_step:
                continue
            part = place // size if in_step or asked_items[place] is not None else -1
            if answers[place] is None and not padding:
                missing.add(part)
            parts[part].append(place)
        if in_step:
            return [parts[part] for part in sorted(set().union(*gather_objects(missing)))]
        return [[place for place in parts[part] if answers[place] is None] for part in sorted(missing)]

    def _read_items(self, files: AnswerFiles, requests: Sequence[Any]) -> list[ItemRequest | None]:
        """Return the item of each request; None of others' tasks, padding, and answers that are not to be kept."""
        tables: dict[tuple[str, str], Callable[[int], ItemKey]] = {}
        asked_items: list[ItemRequest | None] = []
        for request in requests:
            state = self._evaluation.tasks.get(request.task_name)
            generation = generation_of(request)
            sampled = is_sampled(generation)
            if state is None or is_padding(request) or (sampled and not self._keep_sampled):
                asked_items.append(None)
            else:
                doc_id, task, split = request.args[-3:]
                if (task, split) not in tables:
                    tables[task, split] = state.shown.answered_items(self._model.task_dict[task][split])
                item, repeat = tables[task, split](doc_id), sample_of(request) - 1
                asked = {
                    "task": task,
                    "pointer": dict(state.pointer),
                    # Equal requests have one answer, unless it is drawn.
                    "item": None if state.asks_alike and not sampled else item.item_id,
                    "prompt": request.args[0],
                    "generation": generation,
                    "repeat": repeat,
                    "seeds": self._seeds if sampled else None,
                    **item.shown,
                }
                key = files.key_of(asked, item.files)
                asked_items.append(ItemRequest(key, task, item.item_id, repeat))
        return asked_items


def part_size(model: Any) -> int:
    """Return how many requests an adapter gets at once: a batch, one a worker, or enough for its server."""
    batch = _whole(get_nested_attr(model, "batch_size")) or _whole(get_nested_attr(model, "batch_size_per_gpu")) or 1
    at_once = max(_whole(get_nested_attr(model, name)) for name in CONCURRENCY)
    if get_nested_attr(model, "adaptive_concurrency"):
        at_once = max(at_once, _whole(get_nested_attr(model, "adaptive_config", "max_concurrency")))
    workers = get_nested_attr(model, "_workers")  # of `async_hf_model`
    batch = max(batch, len(workers) if isinstance(workers, list) else 0)
    return max(batch, ROUNDS * at_once if at_once > 1 else 1)


def _whole(value: Any) -> int:
    """Return a number from 1; 0 for anything else, such as the batch size `auto`."""
    try:
        return max(0, int(value))
    except (TypeError, ValueError):
        return 0


def computes_in_step(model: Any) -> bool:
    """Whether the model's ranks have to compute together, so that each has to be asked as much as the others."""
    kind = str(get_nested_attr(model, "accelerator", "distributed_type") or "").rpartition(".")[2]
    return kind in IN_STEP or _whole(get_nested_attr(model, "_tp_world_size")) > 1


@contextmanager
def _quiet(model: Any) -> Iterator[None]:
    """Silence an adapter's progress bar and its line of metrics, of which there would be one for each part."""
    # Of the class: the object's own method is wrapped as long as an evaluation lasts.
    names = getattr(inspect.unwrap(getattr(type(model), "generate_until", _quiet)), "__globals__", {})
    bar = names.get("tqdm")
    with ExitStack() as stack:
        if isinstance(bar, type) and issubclass(bar, tqdm) and names is not globals():

            class Silent(bar):  # type: ignore[misc, valid-type]
                def __init__(self, *arguments: Any, **named: Any) -> None:
                    super().__init__(*arguments, **{**named, "disable": True})

            stack.enter_context(patch.dict(names, tqdm=Silent))
        logger.disable(METRICS_LOG)
        stack.callback(logger.enable, METRICS_LOG)
        yield
