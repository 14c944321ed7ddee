"""How long each reader of a model's or a judge's output takes for a megabyte of any text.

    python benchmarks/reader_growth.py [--size 1000000] [--limit 0.3] [--reader cast_bench]

Every reader of tests/support/model_output.py reads every piece of tests/support/output_pieces.json, repeated up to the
size. Each text is also read at a quarter of the size, which gives the exponent with which the time grows: 1 is linear.
Ends with status 1 where a text takes longer than the limit.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
TRIES = 3
"""A text that seems too slow is read so often, and its best time counts."""
SHOWN = 3
"""Slowest texts that are printed of each reader."""
TELLING = 0.02
"""Seconds below which a time is mostly noise, and no exponent is taken from it."""


def seconds(read: Callable[[str], object], text: str, limit: float) -> float:
    """CPU seconds that reading takes."""
    best = math.inf
    for _ in range(TRIES):
        started = time.process_time()
        read(text)
        best = min(best, time.process_time() - started)
        if best < limit / 2:
            break
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--limit", type=float, default=0.3)
    parser.add_argument("--reader", action="append", help="only this one; may be repeated")
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tools")]
    from model_output import long_texts, pieces, readers

    print(f"{len(pieces())} pieces, texts of {options.size:,} characters, limit {options.limit} s", flush=True)
    number, slow = 0, 0
    for name in options.reader or readers():
        measured = []
        both_sizes = zip(long_texts(name, options.size), long_texts(name, options.size // 4), strict=True)
        for (piece, text), (_, short) in both_sizes:
            longer, exponent = seconds(readers()[name], text, options.limit), None
            if longer >= TELLING:
                exponent = math.log(longer / max(seconds(readers()[name], short, options.limit), 1e-6), 4)
            measured.append((longer, exponent, piece))
        measured.sort(key=lambda entry: -entry[0])
        exponents = [exponent for _, exponent, _ in measured if exponent is not None]
        growth = f"exponent up to {max(exponents):.2f}" if exponents else f"all under {TELLING} s"
        print(f"{name}: {len(measured)} texts, up to {measured[0][0]:.3f} s, {growth}", flush=True)
        over = sum(longer > options.limit for longer, _, _ in measured)
        for longer, exponent, piece in measured[: max(SHOWN, over)]:
            print(
                f"    {longer:.3f} s  {'' if exponent is None else f'{exponent:.2f}':>5}  {ascii(piece)[:90]}",
                flush=True,
            )
        number, slow = number + len(measured), slow + over
    print(f"{number} texts, {slow} over {options.limit} s")
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main())
