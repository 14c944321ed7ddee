"""What a causal graph is worth as a source of questions: three measures, and a filter by each.

Source: CounterVQA (arXiv 2511.19923): adjacent non-causal density (ANCD), causal depth, and the outlier score of causal
node diversity (CNDA), with the thresholds of `Thresholds`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.build.graphs.causal_graph import CausalGraph
from lmms_eval_tasks.build.graphs.depth import Depth
from lmms_eval_tasks.build.graphs.encoders import EncodedTexts

FILTERS = ("ANCD", "depth", "CNDA")
"""In the order in which they are applied."""


@dataclass(frozen=True)
class Thresholds:
    """The least values with which a graph is kept; the paper's by default."""

    ancd: float = 0.2
    depth: int = 3
    cnda: float = 0.12


@dataclass(frozen=True)
class GraphMeasures:
    """The measures of one graph."""

    ancd: float | None
    depth: Depth
    cnda: float | None

    def failed(self, thresholds: Thresholds) -> tuple[str, ...]:
        """Return the names of those `FILTERS` that remove the graph."""
        below = (
            self.ancd is None or self.ancd < thresholds.ancd,
            # A path of that length was found, however long the longest is.
            self.depth.edges < thresholds.depth,
            self.cnda is None or self.cnda < thresholds.cnda,
        )
        return tuple(name for name, fails in zip(FILTERS, below, strict=True) if fails)


@dataclass(frozen=True)
class FilteredGraphs:
    """Graphs that filters keep and remove."""

    kept: tuple[str, ...]
    removed: Mapping[str, tuple[str, ...]]
    failing: Mapping[str, tuple[str, ...]]


def adjacent_noncausal_density(graph: CausalGraph) -> float | None:
    """Adjacent pairs without a link, in either direction, over all adjacent pairs; None without a pair."""
    pairs = graph.adjacent
    if not pairs:
        return None
    has_link = graph.links.has_edge
    return sum(not (has_link(first, second) or has_link(second, first)) for first, second in pairs) / len(pairs)


def mean_outlier_scores(
    texts: Mapping[str, Sequence[str]], tasks: Mapping[str, str], encoded: EncodedTexts
) -> dict[str, float | None]:
    """CNDA of each graph: the outlier scores of its actions among those of the same task (equation 6), averaged."""
    members: dict[str, list[str]] = {}
    for graph in texts:
        members.setdefault(tasks[graph], []).append(graph)
    means: dict[str, float | None] = dict.fromkeys(texts)
    for graphs in members.values():
        scores = encoded.outlier_scores([text for graph in graphs for text in texts[graph]])
        start = 0
        for graph in graphs:
            number = len(texts[graph])
            if number:
                means[graph] = float(scores[start : start + number].mean())
            start += number
    return means


def filter_graphs(measures: Mapping[str, GraphMeasures], thresholds: Thresholds) -> FilteredGraphs:
    """Apply the filters one after the other."""
    removed: dict[str, list[str]] = {name: [] for name in FILTERS}
    failing: dict[str, list[str]] = {name: [] for name in FILTERS}
    kept = []
    for graph, values in measures.items():
        failed = values.failed(thresholds)
        for name in failed:
            failing[name].append(graph)
        if failed:
            removed[failed[0]].append(graph)
        else:
            kept.append(graph)
    return FilteredGraphs(
        tuple(kept),
        {name: tuple(graphs) for name, graphs in removed.items()},
        {name: tuple(graphs) for name, graphs in failing.items()},
    )
