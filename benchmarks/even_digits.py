"""Rewards for `grpo_rise.py`, as a user adds his own: `train countervqa grpo --plugin FILE --reward even_digits`."""

import re
import zlib

from swift.rewards import ORM, orms


class EvenDigits(ORM):
    """The share of even digits among the digits of an answer; 0 without any."""

    def __call__(self, completions: list[str], **columns: object) -> list[float]:
        """One number from 0 to 1 for each answer."""
        digits = [re.findall("[0-9]", text) for text in completions]
        return [sum(int(digit) % 2 == 0 for digit in some) / len(some) if some else 0.0 for some in digits]


class Checksum(ORM):
    """A number from 0 to 1 that an answer's text fixes and that nothing can be learnt from."""

    def __call__(self, completions: list[str], **columns: object) -> list[float]:
        """One number from 0 to 1 for each answer."""
        return [zlib.crc32(text.encode()) / 2**32 for text in completions]


orms["even_digits"], orms["checksum"] = EvenDigits, Checksum
