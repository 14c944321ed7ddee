"""Which weights a model was loaded with."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Weights:
    """Which weights a model has.

    Attributes:
        commit: Commit of the hub's repository that they come from; None where the model does not say.
        precision: Their type, as torch names it.
        family: Their ``model_type``, as transformers names it; None where transformers has loaded none in this process.
        parameters: How many they are, as transformers or diffusers counts them; None where neither has loaded them.
    """

    commit: str | None = None
    precision: str | None = None
    family: str | None = None
    parameters: int | None = None


def read_weights(model: Any) -> Weights:
    """The weights of a host's adapter that has just been loaded; raises nothing.

    The host throws weights away before it scores, so they have to be read before the run.
    """
    commits = (
        get_nested_attr(model, *holder, "_commit_hash")
        for holder in (("model", "config"), ("_model", "config"), ("_config",))
    )
    precisions = (
        get_nested_attr(model, *holder, "dtype") for holder in (("engine", "settings"), ("model",), ("_model",))
    )
    return Weights(
        commit=next((str(commit) for commit in commits if commit), None),
        precision=next((str(dtype).removeprefix("torch.") for dtype in precisions if dtype is not None), None),
        family=_read_family(model),
        parameters=_count_parameters(model),
    )


def _count_parameters(model: Any) -> int | None:
    """How many parameters the model that an adapter holds has, by its own count."""
    for holder in ("model", "_model"):
        if callable(count := get_nested_attr(model, holder, "num_parameters")):
            with suppress(Exception):  # whatever counting raises in somebody else's model
                number = count()
                return number if isinstance(number, int) and number > 0 else None
    return None


def _read_family(model: Any) -> str | None:
    """The ``model_type`` of the weights that an adapter holds, under whatever name it holds them."""
    held = get_nested_attr(model, "__dict__")
    holders = (get_nested_attr(model, "model"), *(held.values() if isinstance(held, dict) else ()))
    families = (get_nested_attr(holder, "config", "model_type") for holder in holders)
    return next((family for family in families if isinstance(family, str) and family), None)


def weights_identity(pretrained: str, revision: str | None = None) -> str | None:
    """An identity of weights, which changes when they change.

    For a folder, a digest of its files' names, sizes and times; for a hub id, the commit that was loaded, or None where
    it is not in the hub's cache.
    """
    import huggingface_hub

    folder = Path(pretrained).expanduser()
    if not folder.is_dir():
        for file in ("model_index.json", "config.json"):
            index = huggingface_hub.try_to_load_from_cache(pretrained, file, revision=revision)
            if isinstance(index, str):
                return Path(index).parent.name
        return None
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    facts = [f"{path.relative_to(folder)}\0{path.stat().st_size}\0{path.stat().st_mtime_ns}" for path in files]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def get_nested_attr(holder: Any, *names: str) -> Any:
    """An attribute of an attribute …; None where one is missing or raises, as properties of adapters can."""
    for name in names:
        try:
            holder = getattr(holder, name, None)
        except Exception:  # whatever a property of somebody else's model raises
            return None
    return holder
