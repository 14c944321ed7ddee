"""Random outputs for every reader of a model's or a judge's output: none may raise an exception.

    python benchmarks/reader_fuzz.py [--outputs 1000000] [--seed N]

Texts of tests/support/model_output.py, drawn anew each time, or by a seed. `--outputs` counts what all readers read
together. Prints how many went through which reader; an exception ends it with status 1 and the shortest such text.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, given, seed, settings

ROOT = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--outputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tools")]
    from model_output import outputs, readers

    counts: Counter[str] = Counter()
    texts = set()
    started = time.monotonic()

    @seed(options.seed)
    @settings(
        max_examples=-(-options.outputs // len(readers())),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(outputs())
    def read_all(text: str) -> None:
        texts.add(hash(text))
        for name, read in readers().items():
            read(text)
            counts[name] += 1

    print(f"seed {options.seed}, {len(readers())} readers")
    read_all()
    for name, count in counts.items():
        print(f"  {name}: {count:,} outputs, 0 exceptions")
    took = time.monotonic() - started
    print(f"{counts.total():,} outputs read, {len(texts):,} different texts, 0 exceptions, {took:.0f} s")


if __name__ == "__main__":
    main()
