"""The candidate that MVP's own scorer extracts, misreadings included."""

from __future__ import annotations

import re
from itertools import islice

_WORD_END = re.compile(r"[ab]\b")


def official_choice(text: str) -> str | None:
    """Extract a candidate the way the official `extract_pred` does, so that scores compare with published tables.

    What it does, quirks included:

    - The text is lower-cased, and every "a" or "b" that *ends a word* is a match: the article "a", "camera", "grab".
      The official pattern may take in a preceding "answer:" or "assistant:", but requires none and looks for no word
      start, so those prefixes change nothing.
    - With two or more matches the *second* one is the answer, otherwise the only one.
    - An underscore, digit or letter after the letter hides it (``_B_`` has no match).
    - The official fallback for one-character responses is unreachable, because the pattern has matched them before.

    Args:
        text: The model's response; any string.

    Returns:
        A for the first candidate, B for the second, None where the official function returns False (scored as wrong
        there, but written to the leaderboard file as the first candidate).

    Source: facebookresearch/minimal_video_pairs@149e336, tasks/mvp/utils.py, `extract_pred`.
    """
    matches = [match.group() for match in islice(_WORD_END.finditer(text.lower()), 2)]
    return matches[-1].upper() if matches else None
