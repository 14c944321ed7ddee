"""Which step of a causal answer a question tests: seeing, ordering, explaining, supposing, or showing."""

from __future__ import annotations


def step_of(subset: str, aspect: str) -> str:
    """The step that a question tests, as `profile.STEPS` names it; empty where it is none of them."""
    if subset == "perception":
        return "ordered" if aspect in ("first", "last") else "seen"
    if subset == "paired":
        return "explained" if aspect == "cause" else "counterfactual"
    return {"counterfactual": "counterfactual", "evidence": "grounded"}.get(subset, "")
