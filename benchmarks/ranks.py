"""What the ranks of a run cost one another: seconds and bytes, against ranks and clips.

Two questions a clip go to the rank that has their clip, and their answers come back, by the code that does it in a run.
Few ranks are processes that share torch's store. More than a machine holds are threads that share one in memory, whose
seconds are those of all of them. The rival is torch's `all_gather_object`, by which every rank gets the requests, the
plan and the answers of all, padded to the largest: its bytes are counted on the same requests.
"""

from __future__ import annotations

import math
import multiprocessing
import pickle
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from lmms_eval.api.instance import Instance
from loguru import logger
from measuring import Options, print_ratio
from torch.distributed import HashStore, TCPStore

from lmms_eval_tasks.host import ranks
from lmms_eval_tasks.host.asking import across_ranks
from lmms_eval_tasks.host.asking.across_ranks import deal_questions
from lmms_eval_tasks.host.ranks import Exchange
from lmms_eval_tasks.host.tasks.running import Evaluation
from lmms_eval_tasks.host.tasks.task_view import Encode

TASK, QUESTIONS, SECONDS = "task", 2, 10.0
PROMPT = "What would have happened if the ball had not been pushed? Answer with the letter of one option. " * 8


class Cost(NamedTuple):
    """What one rank has spent.

    Attributes:
        seconds: Of a processor, by its process.
        sent: Bytes that it put into the store.
        received: Bytes that it took out.
    """

    seconds: float
    sent: int
    received: int


class CountingStore:
    """torch's store as one rank uses it, with the bytes of values counted."""

    def __init__(self, store: Any) -> None:
        self._store, self.sent, self.received = store, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def set(self, key: str, value: bytes) -> None:
        """Put a value."""
        self.sent += len(value)
        self._store.set(key, value)

    def get(self, key: str) -> bytes:
        """Take a value out."""
        value: bytes = self._store.get(key)
        self.received += len(value)
        return value


def clip_of(item: int) -> Path:
    return Path(f"clip-{item // QUESTIONS}.mp4")


def requests_of(rank: int, size: int, items: int) -> list[Instance]:
    """A rank's requests, by stride, as lmms-eval has them."""
    made = []
    for item in range(rank, items, size):
        arguments = (f"{item} {PROMPT}", {"max_new_tokens": 16}, None, item, TASK, "test")
        made.append(Instance("generate_until", arguments, 0, {"task": TASK, "doc_id": item, "repeats": 1}))
    return made


def answer(request: Instance) -> str:
    return f"The ball would have stayed where it was, so the answer to {request.doc_id} is B."


def take_part(store: Any, rank: int, size: int, clips: int) -> Cost:
    """Do what one rank does in a run, with a model that answers at once.

    Raises:
        AssertionError: where an answer came to another request than its own.
    """
    counting, items = CountingStore(store), clips * QUESTIONS
    evaluation = Evaluation()
    shown = SimpleNamespace(encodes=lambda item: (Encode(clip_of(item), "the clip"),), seconds=lambda item: SECONDS)
    evaluation.tasks[TASK] = SimpleNamespace(shown=shown)  # type: ignore[assignment]
    HERE.exchange = Exchange(rank, size, counting)
    dealer = across_ranks.ClipDealer(SimpleNamespace(), evaluation, {TASK: SimpleNamespace(eval_docs=range(items))})
    requests = requests_of(rank, size, items)
    begun = time.process_time()
    answers = dealer.generate_until(lambda asked: list(map(answer, asked)), requests)
    seconds = time.process_time() - begun
    assert answers == list(map(answer, requests))
    return Cost(seconds, counting.sent, counting.received)


logger.remove()
HERE = threading.local()
"""What the rank of a thread has in place of torch's process group."""
ranks.current_exchange = lambda: HERE.exchange


def in_process(port: int, rank: int, size: int, clips: int) -> Cost:
    """Take part as a process of its own, which shares a store of this machine."""
    return take_part(TCPStore("127.0.0.1", port, None, False), rank, size, clips)


def measure(size: int, clips: int, processes: bool) -> list[Cost]:
    """What each rank spends."""
    if not processes:
        store = HashStore()
        with ThreadPoolExecutor(size) as pool:
            return list(pool.map(lambda rank: take_part(store, rank, size, clips), range(size)))
    # The store's thread does not outlive a fork, so the processes come before it.
    with multiprocessing.get_context("fork").Pool(size) as pool:
        server = TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
        return pool.starmap(in_process, [(server.port, rank, size, clips) for rank in range(size)], chunksize=1)


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
    parser.add_size("--processes", "2,4,8", "2", "ranks that are processes")
    parser.add_size("--clips", "1000,4000,16000", "20,80", "their clips")
    parser.add_size("--threads", "16,64", "3,6", "ranks that are threads")
    parser.add_size("--many-clips", "25000,100000", "20,80", "their clips")
    options = parser.parse_args()
    worlds = (("processes", options.processes, options.clips), ("threads", options.threads, options.many_clips))
    for kind, *numbers in worlds:
        sizes, counts = ([int(number) for number in listed.split(",")] for listed in numbers)
        seconds: dict[tuple[int, int], float] = {}
        received: dict[tuple[int, int], float] = {}
        for size in sizes:
            for clips in counts:
                costs = measure(size, clips, kind == "processes")
                spent = seconds[size, clips] = max(cost.seconds for cost in costs)
                most = received[size, clips] = max(cost.received for cost in costs)
                stated = f"{size} {kind}, {clips:,} clips, {most / 1e6:.3f} MB a rank, {spent:.2f} s of a processor"
                print_ratio(most / padded_bytes(size, clips), stated)
        for name, cells in (("seconds", seconds), ("bytes a rank", received)):
            by_ranks = f"ranks^{exponent(cells, 0):.2f} and " if len(sizes) > 1 else ""
            print(f"{name} grow with {by_ranks}clips^{exponent(cells, 1):.2f}")


if __name__ == "__main__":
    main()
