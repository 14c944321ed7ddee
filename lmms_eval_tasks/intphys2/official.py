"""The answer that IntPhys 2's own notebook reads in a response, misreadings included."""

from __future__ import annotations

from lmms_eval_tasks.api.answers import IMPOSSIBLE, POSSIBLE


def official_answer(text: str, digits: bool = False) -> str | None:
    """Read a response as the official notebook does.

    "Yes" or "yes" anywhere is possible, else "No" or "no" anywhere is impossible: so "I do not know, yes" is possible,
    and "cannot" is impossible, as is "now". YES and NO in capitals are nothing. To the prompt that asks for a digit, 1
    anywhere is possible, else 0 anywhere is impossible: so "100" is possible.

    Args:
        text: The response.
        digits: Whether the prompt asked for 1 or 0.

    Returns:
        The letter of the option; None where neither occurs, which the notebook counts as wrong.

    Source: facebookresearch/IntPhys2@faf78cd, ComputeScoreIntPhys2.ipynb.
    """
    if any(sign in text for sign in (("1",) if digits else ("yes", "Yes"))):
        return POSSIBLE
    return IMPOSSIBLE if any(sign in text for sign in (("0",) if digits else ("no", "No"))) else None
