"""Boxes of masks that are coded as COCO's compressed run lengths, as in SA-V's files."""

from __future__ import annotations

from lmms_eval_tasks.construct.cast_bench.rows import PixelBox

MORE, SIGN, BITS = 32, 16, 5
LONGEST = 13
"""Characters of a number: more hold no length of a run in any picture."""


def run_lengths(text: str) -> list[int]:
    """The lengths of the runs."""
    lengths: list[int] = []
    place = 0
    while place < len(text):
        value = bits = 0
        for more in text[place : place + LONGEST]:
            part = ord(more) - ord("0")
            if not 0 <= part < 2 * MORE:
                raise ValueError(f"the character {more!r}")
            value |= (part & (MORE - 1)) << bits
            bits += BITS
            place += 1
            if not part & MORE:
                if part & SIGN:
                    value -= 1 << bits
                break
        else:
            raise ValueError("a number that does not end")
        lengths.append(value + lengths[-2] if len(lengths) > 2 else value)
        if lengths[-1] < 0:
            raise ValueError("a run of negative length")
    return lengths


def mask_box(text: str, width: int, height: int) -> PixelBox | None:
    lengths = run_lengths(text)
    if sum(lengths) != width * height:
        raise ValueError(f"runs of {sum(lengths):,} pixels")
    left, top, right, bottom = width, height, 0, 0
    place = 0
    for number, length in enumerate(lengths):
        if number % 2 and length:
            first, last = place, place + length - 1
            left, right = min(left, first // height), max(right, last // height + 1)
            if first // height == last // height:
                top, bottom = min(top, first % height), max(bottom, last % height + 1)
            else:
                top, bottom = 0, height
        place += length
    return (left, top, right, bottom) if right else None
