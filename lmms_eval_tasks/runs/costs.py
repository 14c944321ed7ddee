"""What the answers of a run's tasks cost, from its card: tokens, seconds, answers cut off and failed, and money."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.runs.run_card import COST, Sections
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import Cell, Number, cell_text
from lmms_eval_tasks.utils.core.text import describe, parse_arguments

KINDS = {"in": "input", "out": "output", "reasoning": "reasoning"}
"""Kinds of tokens, by their names in prices and headings."""
MILLION = 1_000_000
READING = (
    "Tokens are means an answer, as the model's adapter counts them. Seconds are those of the model on all ranks "
    "together, by the clips that it was asked about. Kept answers are of an earlier run and cost nothing in this one."
)
Price = Mapping[str, float]
"""Money for a million tokens of a kind."""


def read_price(text: str) -> Price:
    try:
        price = {name: float(value) for name, value in parse_arguments(text).items()}
    except ValueError:
        price = {"": 0.0}
    if set(price) - set(KINDS) or not all(0 <= value < float("inf") for value in price.values()):
        raise InputError(
            f"Expected --price in=MONEY,out=MONEY for a million tokens, but got {describe(text)}. Add reasoning=MONEY "
            "where a provider counts reasoning beside the output."
        )
    return price


@dataclass(frozen=True)
class Cost:
    """The sums over some tasks of a run, by the names of the card's fields."""

    sums: Counter[str]

    @classmethod
    def of(cls, card: Sections, tasks: Sequence[str]) -> Cost | None:
        """Return what some tasks cost; None where the card does not say it of all of them."""
        sums = Counter[str]()
        for task in tasks:
            section = card.get(f"{COST}{task}", {})
            numbers = {name: value for name, value in section.items() if isinstance(value, int | float)}
            if not numbers:
                return None
            sums.update(numbers)
        return cls(sums)

    def tokens(self, kind: str) -> float | None:
        number = self.sums[f"answers with {kind} tokens"]
        return self.sums[f"{kind} tokens"] / number if number else None

    @property
    def seconds_a_clip(self) -> float | None:
        return self.sums["seconds"] / self.sums["clips"] if self.sums["clips"] else None

    def money(self, price: Price) -> float | None:
        """Return what the answers that were not kept cost; None where tokens that have a price were not counted."""
        paid = 0.0
        for name, of_million in price.items():
            kind = KINDS[name]
            if of_million and not self.sums[f"answers with {kind} tokens"]:
                return None
            paid += of_million * (self.sums[f"{kind} tokens"] - self.sums[f"{kind} tokens kept"]) / MILLION
        return paid

    def cells(self, price: Price) -> dict[str, Cell]:
        cells: dict[str, Cell] = {f"tokens {name}": Number(self.tokens(kind)) for name, kind in KINDS.items()}
        cells["s a clip"] = Number(self.seconds_a_clip, digits=2)
        cells |= {name: int(self.sums[f"answers {name}"]) for name in ("cut off", "failed", "kept")}
        return cells | ({"money": Number(self.money(price), digits=4)} if price else {})


def cost_columns(costs: Sequence[Cost | None], price: Price) -> list[str]:
    """Return the headings below which any of some costs has something to say."""
    rows = [cost.cells(price) for cost in costs if cost]
    nothing = ("0", "0.0", "0.00", cell_text(Number(None)))
    return [name for name in (rows[0] if rows else ()) if any(cell_text(row[name]) not in nothing for row in rows)]
