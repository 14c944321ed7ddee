"""Identity of a model of lmms-eval and of its weights: everything on which its answers may depend."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lmms_eval_tasks
from lmms_eval_tasks.host.environment import installed_version
from lmms_eval_tasks.utils.core.files import file_sha256
from lmms_eval_tasks.utils.core.text import first_line, parse_arguments, suggest

NAMED_MODEL = frozenset({"shared_vllm", "sglang", "vllm", "vllm_generate"})
"""Models whose argument `model` names their weights; others name what a server has, and all others `pretrained`."""


@dataclass(frozen=True)
class Weights:
    """Weights of a model."""

    commit: str | None = None
    precision: str | None = None
    family: str | None = None
    parameters: int | None = None


def read_weights(model: Any) -> Weights:
    """The weights of a host's adapter that has just been loaded; raises nothing."""
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
    """Return the number of parameters of the model that an adapter holds, by its own count."""
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
    """An identity of weights, which changes when they change."""
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


def describe_absent(model: str, arguments: Mapping[str, str]) -> str | None:
    """Return the reason the weights of a model cannot be obtained, or None if they can or that is not known."""
    import huggingface_hub
    from huggingface_hub import constants, errors, file_download

    name = arguments.get("pretrained") or (arguments.get("model") if model in NAMED_MODEL else None)
    if not name or Path(name).exists() or not _is_known(model):
        return None
    text, folder = f"Expected weights for {model}, but there is no folder or file {name}", Path(name).expanduser()
    beside = [str(path) for path in (folder.parent.iterdir() if folder.parent.is_dir() else ())]
    remedy = f"{suggest(str(folder), beside)}\nRemedy: name a folder that is there, or a repository of the hub."
    try:
        huggingface_hub.utils.validate_repo_id(name)
        cached = file_download.repo_folder_name(repo_id=name, repo_type="model")
        if (Path(constants.HF_HUB_CACHE) / cached / "snapshots").is_dir():
            return None
        revision = arguments.get("revision") or None
        huggingface_hub.get_hf_file_metadata(huggingface_hub.hf_hub_url(name, "config.json", revision=revision))
    except errors.HFValidationError:
        return f"{text}.{remedy}"
    except errors.GatedRepoError:
        return f"Access to {name} is gated. Remedy: ask for it on {constants.ENDPOINT}/{name}, and run: hf auth login"
    except errors.RevisionNotFoundError:
        return f"{name} on the hub has no revision {revision}. Remedy: name another one."
    except errors.RepositoryNotFoundError:
        return f"{text}, and no repository of that name on the hub that you have access to.{remedy}"
    except (OSError, errors.HTTPError) as error:
        if isinstance(error, errors.HfHubHTTPError):  # the hub knows it, if not this file of it, or is not well
            return None
        return (
            f"{text}, nothing of that name in the hub's cache ({constants.HF_HUB_CACHE}), and the hub cannot be asked "
            f"({first_line(error)}).{remedy}"
        )
    return None


def _is_known(model: str) -> bool:
    """Whether a model is lmms-eval's or ours."""
    from lmms_eval.models import MODEL_REGISTRY_V2

    try:
        code = MODEL_REGISTRY_V2.resolve(model).class_path
    except ValueError:  # there is no such model, which lmms-eval says
        return False
    return code.partition(".")[0] in ("lmms_eval", __name__.partition(".")[0])


def get_nested_attr(holder: Any, *names: str) -> Any:
    """An attribute of an attribute …; None where one is missing or raises, as properties of adapters can."""
    for name in names:
        try:
            holder = getattr(holder, name, None)
        except Exception:  # whatever a property of somebody else's model raises
            return None
    return holder


ARGUMENTS = "_lmms_eval_tasks_arguments"
"""The model's attribute for the arguments that it was built with."""
PACKAGES = (
    "lmms-eval", "torch", "transformers", "decord", "av", "torchvision", "torchcodec", "qwen-vl-utils", "vllm",
    "sglang",
)  # fmt: skip
"""Whose versions may change an answer."""
VARIABLES = re.compile(r"FORCE_QWENVL_VIDEO_READER|(?:VIDEO|FPS|IMAGE)_[A-Z_]+|OPENAI_(?:API_BASE|BASE_URL)")
"""Variables of the environment that choose how clips are read, or which server answers."""
FILES = re.compile(r"pretrained|model|peft|lora|adapter|checkpoint|ckpt|weights|tokenizer|processor|prompt|^path$")
"""Arguments that may name a file or folder which a model is loaded from."""


def wrap_create(create: Any) -> Any:
    """The class method by which lmms-eval builds a model, which then knows its arguments."""

    @functools.wraps(create.__func__)
    def create_and_note(cls: Any, arg_string: Any, additional_config: Any = None) -> Any:
        model = create.__func__(cls, arg_string, additional_config)
        setattr(model, ARGUMENTS, arg_string)
        return model

    return classmethod(create_and_note)


def find_arguments(model: Any) -> dict[str, str] | None:
    """The arguments that lmms-eval built a model with; None where it did not build it."""
    given = getattr(model, ARGUMENTS, None)
    return None if given is None else parse_arguments(given)


def model_identity(model: Any, arguments: Mapping[str, str], weights: Weights) -> dict[str, Any]:
    """Return all that a model's answers depend on besides the question, as JSON values, without batch size and
    device."""
    kind = type(model)
    is_ours = kind.__module__.startswith(f"{lmms_eval_tasks.__name__}.")
    packages = [*PACKAGES, "lmms-eval-tasks"] if is_ours else PACKAGES
    servers = (get_nested_attr(model, *names) for names in (("base_url",), ("client", "base_url")))
    return {
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "code": _digest_code(kind),
        "arguments": dict(arguments),
        # Not their family, which follows from the class and the files: answers kept by earlier versions lack it.
        "weights": {"commit": weights.commit, "precision": weights.precision},
        "files": _identify_files(arguments),
        "server": next((str(server) for server in servers if server), None),
        "software": {package: installed_version(package) for package in packages},
        "variables": {
            name: value
            for name, value in sorted(os.environ.items())
            # An argument names the server before a variable does.
            if VARIABLES.fullmatch(name) and not (name.startswith("OPENAI_") and arguments.get("base_url"))
        },
    }


def _digest_code(kind: type) -> list[str]:
    """SHA-256 of the modules of a model's classes, which may change between runs while they are being written."""
    names = dict.fromkeys(parent.__module__ for parent in kind.__mro__)
    files = [getattr(sys.modules.get(name), "__file__", None) for name in names]
    return [file_sha256(Path(file)) for file in files if file and Path(file).is_file()]


def _identify_files(arguments: Mapping[str, str]) -> dict[str, str | None]:
    """Return an identity that changes with the file, folder or hub id, for each argument from which a model may be
    loaded."""
    identities: dict[str, str | None] = {}
    for name, value in arguments.items():
        if not FILES.search(name) or not value:
            continue
        try:
            file = Path(value).expanduser()
            if file.is_file():
                identities[name] = f"{file.stat().st_size} bytes of {file.stat().st_mtime_ns}"
            else:
                identities[name] = weights_identity(value, arguments.get("revision"))
        except (OSError, ValueError):  # no path, and no name of the hub
            identities[name] = None
    return identities
