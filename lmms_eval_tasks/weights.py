"""What a model that has just been loaded tells of its weights.

The host throws the weights away before it scores, so that a run card has to be told of them before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Weights:
    """A model's weights.

    Attributes:
        commit: Commit of the hub's repository that they come from; None where the model does not say.
        precision: Their type, as torch names it.
    """

    commit: str | None = None
    precision: str | None = None


def read_weights(model: Any) -> Weights:
    """What a host's adapter tells of its weights; raises nothing."""
    commits = (
        tell(model, *holder, "_commit_hash") for holder in (("model", "config"), ("_model", "config"), ("_config",))
    )
    precisions = (tell(model, *holder, "dtype") for holder in (("engine", "settings"), ("model",), ("_model",)))
    return Weights(
        commit=next((str(commit) for commit in commits if commit), None),
        precision=next((str(found).removeprefix("torch.") for found in precisions if found is not None), None),
    )


def tell(holder: Any, *names: str) -> Any:
    """An attribute of an attribute …; None where there is none or asking fails, as properties of adapters can."""
    for name in names:
        try:
            holder = getattr(holder, name, None)
        except Exception:  # whatever a property of somebody else's model raises
            return None
    return holder
