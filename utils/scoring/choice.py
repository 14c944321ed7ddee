"""Multiple-choice items: how a prompt lists the options, how a response becomes a record and a record metric items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.utils.answers import read_choice
from lmms_eval_tasks.utils.prompting.prompts import Prompt
from lmms_eval_tasks.utils.scoring.records import NOT_ASKED, Outcome, Record

NO_CLIP = "(The clip of this question is missing. The answer will not be scored.)"


def list_options(options: Sequence[str]) -> str:
    """The options one per line, lettered: ``(A) …``."""
    return "\n".join(f"({letter}) {option}" for letter, option in zip(ascii_uppercase, options, strict=False))


def render_question(prompt: Prompt, row: Mapping[str, Any]) -> str:
    """The prompt for a row of a prepared table.

    A row without its clip asks in other words: lmms-eval's response cache goes by the prompt's text, and an answer to
    the placeholder must not be found again once the clip is there.
    """
    text = prompt.render(question=row["question"], options=list_options(row["options"]))
    return text if row["asked"] else f"{NO_CLIP}\n{text}"


def score_choice(
    row: Mapping[str, Any],
    response: object,
    *,
    stratum: Mapping[str, str],
    official: str | None,
    fields: Mapping[str, Any] | None = None,
) -> Record:
    """Grade one response to a multiple-choice item.

    Args:
        row: Row of a prepared table, with ``asked`` (False where the clip is missing, so nothing was shown).
        response: What the model returned; anything but text counts as unparsed. `NOT_ASKED` is what a saved run holds
            of an item that it could not ask.
        stratum: Values by which scores are broken down.
        official: What the benchmark's own extractor reads in the response; compared with the key as the official
            scorer does.
        fields: Further benchmark fields of the record.

    Returns:
        The record; its fields hold ``official_answered`` and ``official_correct`` (None where unscored) and, for an
        unscored item, ``reason`` (``"no clip"`` or ``"no answer key"``).
    """
    expected: str | None = row["answer"]
    asked = row["asked"] and response != NOT_ASKED
    answered = read_choice(response, row["options"]) if asked and isinstance(response, str) else None
    official_answered = official if asked else None
    reason = "no clip" if not asked else None if expected else "no answer key"
    if reason:
        outcome = Outcome.UNSCORED
    elif answered is None:
        outcome = Outcome.UNPARSED
    else:
        outcome = Outcome.CORRECT if answered == expected else Outcome.WRONG
    return Record(
        item_id=row["item_id"],
        group_id=row["group_id"],
        stratum=dict(stratum),
        expected=expected,
        answered=answered,
        outcome=outcome,
        fields={
            **(fields or {}),
            "official_answered": official_answered,
            "official_correct": None if reason else official_answered == expected,
            **({"reason": reason} if reason else {}),
        },
    )


def metric_items(record: Record, *, pair_by: Iterable[str] = (), single_by: Iterable[str] = ()) -> dict[str, Any]:
    """What lmms-eval's ``process_results`` returns for a paired multiple-choice item.

    Args:
        record: The graded item.
        pair_by: Suffixes of the ``pair_accuracy_…`` breakdowns that the item belongs to.
        single_by: Suffixes of the ``single_accuracy_…`` breakdowns that the item belongs to.

    Returns:
        Metric name to the item's credit (for rates 0 or 100, None where the model was not asked), and the whole record
        under ``"record"``, which is no metric and is only written to the sample log. ``score`` (0 or 100) lets
        lmms-eval print its standard errors, clustered by ``group_id``; an unscored item has none.
    """
    credit = {"group_id": record.group_id, "correct": record.correct}
    official = {"group_id": record.group_id, "correct": record.fields["official_correct"]}
    scored = record.correct is not None
    asked = record.fields.get("reason") != "no clip"
    return {
        "record": record.to_json(),
        "pair_accuracy": credit,
        "pairs_scored": credit,
        "single_accuracy": {**credit, "score": 100.0 * bool(record.correct)} if scored else credit,
        "pair_accuracy_official": official,
        "single_accuracy_official": official,
        "unparsed_rate": 100.0 * (record.answered is None) if asked else None,
        "unscored_rate": 100.0 * (not scored),
        **{f"pair_accuracy_{name}": credit for name in pair_by},
        **{f"single_accuracy_{name}": credit for name in single_by},
    }
