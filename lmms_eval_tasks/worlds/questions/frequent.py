"""What the keys of other questions give away: the option that is most often right in them."""

from __future__ import annotations

from collections import Counter, defaultdict

from lmms_eval_tasks.worlds.questions.sketch import Sketch, chance_of_first

Stratum = tuple[str, str]


class FrequentAnswers:
    """Keeps count of how often the most frequent answer is right, the rule of that name of `lmms-eval-tasks bias`."""

    def __init__(self) -> None:
        self._right: Counter[tuple[Stratum, str]] = Counter()
        self._asked: defaultdict[tuple[Stratum, str], list[Sketch]] = defaultdict(list)

    def lean(self, sketch: Sketch) -> dict[str, float]:
        """Return the rule's gain over a guess if a question is asked, in that question and in all before it."""
        stratum = _stratum(sketch)
        step = self._advantage(sketch, stratum)
        for other in self._asked[stratum, sketch.right]:
            before = self._advantage(other, stratum, own=1)
            step += self._advantage(other, stratum, own=1, more=sketch.right) - before
        return {f"{sketch.task}/most frequent answer": step}

    def add(self, sketch: Sketch) -> None:
        """Count a question that is asked."""
        stratum = _stratum(sketch)
        self._right[stratum, sketch.right] += 1
        for option in sketch.options:
            self._asked[stratum, option].append(sketch)

    def _advantage(self, sketch: Sketch, stratum: Stratum, own: int = 0, more: str = "") -> float:
        """Return the probability that the rule is right in a question, less that of a guess."""
        counts = [self._right[stratum, option] + (option == more) for option in sketch.options]
        counts[0] -= own
        return chance_of_first(counts) - 1 / len(counts)


def _stratum(sketch: Sketch) -> Stratum:
    return sketch.task, sketch.facts.scene.family
