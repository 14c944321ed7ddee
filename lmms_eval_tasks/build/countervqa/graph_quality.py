"""Agreement of predicted causal links with a reference, clip by clip and over all links.

Source: CounterVQA (arXiv 2511.19923), appendix D and Table 4. The F1 printed there, .9112, is not the harmonic mean of
its precision and recall, .9217; here F1 is always computed from the counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_tasks.build.countervqa.given_links import TakeLinks, read_links
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.text import describe
from lmms_eval_tasks.utils.people.baseline import LinkCounts, count_links

MEASURES = ("precision", "recall", "f1", "accuracy")


@dataclass(frozen=True)
class GraphQuality:
    """Agreement with a reference."""

    takes: Mapping[str, LinkCounts]
    missing: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def total(self) -> LinkCounts:
        """Counts over all takes."""
        return sum(self.takes.values(), LinkCounts())


def compare_graphs(predicted_file: Path, reference_file: Path) -> GraphQuality:
    """Compare two files of links, each of a form that `read_links` takes."""
    predicted, reference = read_links(predicted_file), read_links(reference_file)
    if not predicted.keys() & reference.keys():
        raise InputError(
            f"Expected takes of {reference_file.name} in {predicted_file.name}, but they have none in common."
        )
    problems = Problems()
    counts = {}
    for take, truth in reference.items():
        one = predicted.get(take, TakeLinks(()))
        actions = truth.actions if truth.actions is not None else one.actions
        if actions is not None and (
            missing := {end for pair in (*one.links, *truth.links) for end in pair} - {*actions}
        ):
            names = ", ".join(map(describe, sorted(missing)))
            problems.add(
                describe(take), f"Expected links between its {len(actions)} actions, but got some with {names}."
            )
            continue
        counts[take] = count_links(one.links, truth.links, actions)
    problems.raise_if_any("The graphs cannot be compared")
    unknown = tuple(take for take in predicted if take not in reference)
    return GraphQuality(counts, tuple(take for take in reference if take not in predicted), unknown)
