"""What the ranks of a run cost one another: seconds and bytes, against ranks and clips.

Two questions a clip go to the rank that has their clip, and their answers come back, by the code that does it in a run;
each rank is a process. The rival is to give every rank the requests, the plan and the answers of all, by torch's
`all_gather_object`, which pads them to the largest: its bytes are counted on the same requests.

Measured on two cores, 2026-11-26: 8 processes and 100,000 clips: 28 MB a rank, 0.13 of the rival's, 5.5 s of a
processor; 32 processes and 25,000 clips: 2.4 MB, 0.03, 1.3 s.
"""

from __future__ import annotations

import math
import multiprocessing
import pickle
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch.distributed as dist
from lmms_eval.api.instance import Instance
from loguru import logger
from measuring import Options, print_ratio

from lmms_eval_tasks.host import ranks
from lmms_eval_tasks.host.asking import dealing
from lmms_eval_tasks.host.asking.dealing import deal_questions
from lmms_eval_tasks.host.ranks import Exchange
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import Encode
from lmms_eval_tasks.utils.answers.reply import Reply

TASK, QUESTIONS, SECONDS = "task", 2, 10.0
logger.remove()
PROMPT = "What would have happened if the ball had not been pushed? Answer with the letter of one option. " * 8


class Cost(NamedTuple):
    """What one rank has spent.

    Attributes:
        seconds: Of a processor, by its process.
        received: Bytes that it got of other ranks.
    """

    seconds: float
    received: int


class CountingExchange(Exchange):
    """The ranks, with the bytes of what one of them receives counted, and the seconds of counting them."""

    received = 0
    counting = 0.0

    def gather(self, value: Any) -> list[Any]:
        """Return the values of all ranks, each padded to the largest."""
        values = super().gather(value)
        self._count(values, len(values))
        return values

    def scatter(self, values: Sequence[Any] | None, source: int = 0) -> Any:
        """Return the value for this rank; those of a source are padded to its largest, which is not counted."""
        value = super().scatter(values, source)
        self._count([value], int(source != self.rank))
        return value

    def _count(self, values: Sequence[Any], times: int) -> None:
        begun = time.process_time()
        CountingExchange.received += times * max(len(pickle.dumps(value)) for value in values)
        CountingExchange.counting += time.process_time() - begun


def clip_of(item: int) -> Path:
    return Path(f"clip-{item // QUESTIONS}.mp4")


def requests_of(rank: int, size: int, items: int) -> list[Instance]:
    """A rank's requests, by stride, as lmms-eval has them."""
    made = []
    for item in range(rank, items, size):
        arguments = (f"{item} {PROMPT}", {"max_new_tokens": 16}, None, item, TASK, "test")
        made.append(Instance("generate_until", arguments, 0, {"task": TASK, "doc_id": item, "repeats": 1}))
    return made


def answer(request: Instance) -> Reply:
    return Reply(f"The ball would have stayed where it was, so the answer to {request.doc_id} is B.")


def take_part(store: str, rank: int, size: int, clips: int) -> Cost:
    """Do what one rank does in a run, in a process of its own, with a model that answers at once.

    Raises:
        AssertionError: where an answer came to another request than its own.
    """
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=size)
    ranks.current_exchange = lambda: CountingExchange(rank, size)
    dealing.current_exchange = ranks.current_exchange  # type: ignore[attr-defined]
    items = clips * QUESTIONS
    shown = SimpleNamespace(encodes=lambda item: (Encode(clip_of(item), "the clip"),), seconds=lambda item: SECONDS)
    evaluation = Evaluation(tasks={TASK: SimpleNamespace(shown=shown)})  # type: ignore[dict-item]
    dealer = dealing.ClipDealer(SimpleNamespace(), evaluation, {TASK: SimpleNamespace(eval_docs=range(items))})
    requests = requests_of(rank, size, items)
    begun = time.process_time()
    answers = dealer.answer(lambda asked: list(map(answer, asked)), requests)
    seconds = time.process_time() - begun - CountingExchange.counting
    assert answers == list(map(answer, requests))
    dist.destroy_process_group()
    return Cost(seconds, CountingExchange.received)


def measure(size: int, clips: int) -> list[Cost]:
    """What each rank spends."""
    with (
        tempfile.TemporaryDirectory(prefix="ranks") as folder,
        multiprocessing.get_context("fork").Pool(size) as pool,
    ):
        return pool.starmap(take_part, [(f"{folder}/store", rank, size, clips) for rank in range(size)], chunksize=1)


def padded_bytes(size: int, clips: int) -> int:
    """Bytes that `all_gather_object` gives to each rank: of requests, of the plan and of answers."""
    items = clips * QUESTIONS
    hands = [requests_of(rank, size, items) for rank in range(size)]
    encodes = [(Encode(clip_of(item), "the clip"),) for item in range(items)]
    plan = deal_questions(encodes, dict.fromkeys(map(clip_of, range(items)), SECONDS), size)
    answers = [{request.doc_id: [answer(request)] for request in hand} for hand in hands]
    sent: list[Sequence[Any]] = [hands, [plan], answers]
    return sum(size * max(len(pickle.dumps(value)) for value in values) for values in sent)


def exponent(cells: Mapping[tuple[int, int], float], place: int) -> float:
    """The mean exponent with which a number grows along one side of a table, from its smallest to its largest."""
    ends = []
    for key, value in cells.items():
        for other, more in cells.items():
            if key[1 - place] == other[1 - place] and key[place] < other[place]:
                ends.append(math.log(more / value) / math.log(other[place] / key[place]))
    return sum(ends) / len(ends)


def main() -> None:
    """Print what was measured."""
    parser = Options(__doc__)
    parser.add_size("--ranks", "2,8,32", "2,3", "how many ranks")
    parser.add_size("--clips", "4000,25000,100000", "20,80", "their clips")
    options = parser.parse_args()
    sizes, counts = ([int(number) for number in listed.split(",")] for listed in (options.ranks, options.clips))
    seconds: dict[tuple[int, int], float] = {}
    received: dict[tuple[int, int], float] = {}
    for size in sizes:
        for clips in counts:
            costs = measure(size, clips)
            spent = seconds[size, clips] = max(cost.seconds for cost in costs)
            most = received[size, clips] = max(cost.received for cost in costs)
            stated = f"{size} ranks, {clips:,} clips, {most / 1e6:.3f} MB a rank, {spent:.2f} s of a processor"
            print_ratio(most / padded_bytes(size, clips), stated)
    for name, cells in (("seconds", seconds), ("bytes a rank", received)):
        by_ranks = f"ranks^{exponent(cells, 0):.2f} and " if len(sizes) > 1 else ""
        print(f"{name} grow with {by_ranks}clips^{exponent(cells, 1):.2f}")


if __name__ == "__main__":
    main()
