"""A process that makes clips, run as a module by `clip_makers` with a store's folder and limit."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import sys
from pathlib import Path

from lmms_eval_tasks.utils.data.clip_store import ClipStore

DONE = b"."
"""The answer to each, whether it could be made or not."""


def main(folder: str, limit: str, number: str) -> None:
    """Make what comes."""
    # Ctrl-C goes to all processes of a terminal; the one that started this one ends it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    if int(number):
        logging.disable()
    store = ClipStore(Path(folder), int(limit))
    while True:
        try:
            making = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            making.run(store)
        except Exception as error:  # whoever asks for it hears of it
            logging.getLogger(__name__).debug("%s: %s", making, error)
        answers.write(DONE)


if __name__ == "__main__":
    main(*sys.argv[1:])
