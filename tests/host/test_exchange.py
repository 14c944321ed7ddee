"""What the processes of a run send one another by torch's gloo."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any

from lmms_eval_tasks.host.ranks import current_exchange, gather_objects, leave_process_group

SENT = [[f"{rank} to {other}" * 10 ** (2 * rank) for other in range(3)] for rank in range(3)]


def be_rank(folder: Path, rank: int, size: int, answers: Any) -> None:
    """Take part in each kind of exchange; the last rank ends before the last of them."""
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{folder / 'store'}", rank=rank, world_size=size)
    ranks, mine = current_exchange(), SENT[rank]
    got = (
        ranks.gather(mine),
        ranks.scatter(None if rank else mine),
        ranks.scatter(mine if rank == 1 else None, source=1),
        ranks.deliver(mine),
    )
    if rank == size - 1:
        answers.put((rank, got, ""))
        answers.close()
        answers.join_thread()
        os._exit(0)
    try:
        gather_objects(rank)
    except RuntimeError as error:
        answers.put((rank, got, str(error)))
    leave_process_group()
    assert not dist.is_initialized()


def test_every_rank_gets_what_is_for_it_and_notices_one_that_has_ended(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    answers: Any = context.Queue()
    processes = [context.Process(target=be_rank, args=(tmp_path, rank, 3, answers)) for rank in range(3)]
    for process in processes:
        process.start()
    for rank, (gathered, part, other, delivered), failure in sorted(answers.get(timeout=120) for _ in range(3)):
        assert gathered == SENT and part == SENT[0][rank] and other == SENT[1][rank]
        assert delivered == [sent[rank] for sent in SENT]
        assert bool(failure) == (rank < 2), failure
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]


def test_one_process_has_itself_alone() -> None:
    ranks = current_exchange()
    assert (ranks.rank, ranks.size) == (0, 1)
    assert ranks.gather("a") == ranks.deliver(["a"]) == ["a"] and ranks.scatter(["a"]) == "a"
