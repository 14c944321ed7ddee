"""Models in lmms-eval by name, weights and arguments, and the software and hardware of this process."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from lmms_eval_tasks import __version__
from lmms_eval_tasks.host.ranks import stop_if_any
from lmms_eval_tasks.runs.run_card import Missing
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.core.files import file_sha256
from lmms_eval_tasks.utils.core.text import parse_arguments

OWN_MODULES = f"{__package__.partition('.')[0]}."
"""The beginning of the names of this package's modules."""
FORMS = "answer_forms"
"""The attribute by which a model's class names the forms of its answers; without it they are words."""
SHOWS_CLIPS = "shows_clips"
"""The attribute by which a class of ours says whether it looks at clips; all others do."""


def is_ours(kind: type) -> bool:
    """Whether a class of models is, or is made from, one of this package."""
    return any(base.__module__.startswith(OWN_MODULES) for base in kind.__mro__)


def own_models() -> list[str]:
    """The names by which lmms-eval knows the models of this package."""
    from lmms_eval.models import MODEL_REGISTRY_V2

    names = MODEL_REGISTRY_V2.list_canonical_model_ids()
    return [name for name in names if MODEL_REGISTRY_V2.resolve(name).class_path.startswith(OWN_MODULES)]


def find_class(model: str) -> Any:
    """The class of a model of lmms-eval by its name; None where it cannot be imported, which lmms-eval says itself."""
    from lmms_eval.models import MODEL_REGISTRY_V2

    try:
        return MODEL_REGISTRY_V2.get_model_class(model)
    except Exception:  # whatever somebody else's module raises
        return None


def needs_clips(model: str | None) -> bool:
    """Whether a model of lmms-eval looks at clips; somebody else's is not imported for that, which can take long."""
    return model not in own_models() or bool(getattr(find_class(model), SHOWS_CLIPS, True))


def answer_forms(model: object) -> frozenset[AnswerForm]:
    return frozenset(map(AnswerForm, getattr(model, FORMS, (AnswerForm.WORDS,))))


def get_nested_attr(holder: Any, *names: str) -> Any:
    """Return an attribute of an attribute …; None where one is missing or raises, as properties of adapters can."""
    for name in names:
        try:
            holder = getattr(holder, name, None)
        except Exception:  # whatever a property of somebody else's model raises
            return None
    return holder


@dataclass(frozen=True)
class Weights:
    commit: str | None = None
    precision: str | None = None
    family: str | None = None
    parameters: int | None = None


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a run's model, once model and tasks have met."""

    model: Any = None
    weights: Weights = field(default_factory=Weights)
    clip_reader: str | None = None


def read_weights(model: Any) -> Weights:
    """Return what is known of the weights of an adapter that has just been loaded; raises nothing."""

    def first(ends: tuple[str, ...], *holders: tuple[str, ...]) -> str | None:
        found = (get_nested_attr(model, *holder, *ends) for holder in holders)
        return next((str(value) for value in found if value), None)

    # Adapters hold the network under whatever name.
    held = get_nested_attr(model, "__dict__")
    holders = (get_nested_attr(model, "model"), *(held.values() if isinstance(held, dict) else ()))
    families = (get_nested_attr(holder, "config", "model_type") for holder in holders)
    precision = first(("dtype",), ("engine", "settings"), ("model",), ("_model",))
    counts = (get_nested_attr(model, holder, "num_parameters") for holder in ("model", "_model"))
    parameters = None
    if count := next(filter(callable, counts), None):
        with suppress(Exception):  # whatever counting raises in somebody else's model
            parameters = count()
    return Weights(
        commit=first(("_commit_hash",), ("model", "config"), ("_model", "config"), ("_config",)),
        precision=precision and precision.removeprefix("torch."),
        family=next((family for family in families if isinstance(family, str) and family), None),
        parameters=parameters if isinstance(parameters, int) and parameters > 0 else None,
    )


def weights_identity(pretrained: str, revision: str | None = None) -> str | None:
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


ARGUMENTS = "_lmms_eval_tasks_arguments"
"""The model's attribute for the arguments that it was built with."""
ANSWERING = (
    "lmms-eval", "torch", "transformers", "decord", "av", "torchvision", "torchcodec", "qwen-vl-utils", "vllm",
    "sglang",
)  # fmt: skip
"""Packages whose versions may change an answer."""
VARIABLES = re.compile(r"FORCE_QWENVL_VIDEO_READER|(?:VIDEO|FPS|IMAGE)_[A-Z_]+|OPENAI_(?:API_BASE|BASE_URL)")
"""Variables of the environment that choose how clips are read, or which server answers."""
FILES = re.compile(r"pretrained|model|peft|lora|adapter|checkpoint|ckpt|weights|tokenizer|processor|prompt|^path$")
"""Arguments that may name a file or folder which a model is loaded from."""


def wrap_create(create: Any) -> Any:
    """Return the class method by which lmms-eval builds a model, which then knows its arguments."""

    @functools.wraps(create.__func__)
    def create_and_note(cls: Any, arg_string: Any, additional_config: Any = None) -> Any:
        try:
            model = create.__func__(cls, arg_string, additional_config)
        except AssertionError as error:
            stop_if_any(describe_processes(cls, error))
            raise
        setattr(model, ARGUMENTS, arg_string)
        return model

    return classmethod(create_and_note)


def describe_processes(kind: type, error: AssertionError) -> str | None:
    """Return what to do where an adapter refuses several processes, as lmms-eval's do without GPUs; else None."""
    if "Unsupported distributed type" not in str(error):
        return None
    return (
        f"lmms-eval's {kind.__name__} does not run in several processes without GPUs. Remedy: start it without "
        "torchrun or accelerate launch; openai sends num_concurrent requests at a time, async_openai num_cpus."
    )


def find_arguments(model: Any) -> dict[str, str] | None:
    given = getattr(model, ARGUMENTS, None)
    return None if given is None else parse_arguments(given)


def model_identity(model: Any, arguments: Mapping[str, str], weights: Weights) -> dict[str, Any]:
    """Return all that a model's answers depend on besides the question, as JSON values."""
    kind = type(model)
    # The code may change between runs while it is being written.
    modules = dict.fromkeys(parent.__module__ for parent in kind.__mro__)
    files = [getattr(sys.modules.get(name), "__file__", None) for name in modules]
    packages = [*ANSWERING, "lmms-eval-tasks"] if is_ours(kind) else ANSWERING
    servers = (get_nested_attr(model, *names) for names in (("base_url",), ("client", "base_url")))
    return {
        "class": f"{kind.__module__}.{kind.__qualname__}",
        "code": [file_sha256(Path(file)) for file in files if file and Path(file).is_file()],
        "arguments": dict(arguments),
        # Not their family, which follows from the class and the files: answers kept by earlier versions lack it.
        "weights": {"commit": weights.commit, "precision": weights.precision},
        "files": dict(_identify_files(arguments)),
        "server": next((str(server) for server in servers if server), None),
        "software": {package: installed_version(package) for package in packages},
        "variables": {
            name: value
            for name, value in sorted(os.environ.items())
            # An argument names the server before a variable does.
            if VARIABLES.fullmatch(name) and not (name.startswith("OPENAI_") and arguments.get("base_url"))
        },
    }


def _identify_files(arguments: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """Yield each argument from which a model may be loaded, with an identity of the file, folder or hub id."""
    for name, value in arguments.items():
        if FILES.search(name) and value:
            try:
                file = Path(value).expanduser()
                if file.is_file():
                    yield name, f"{file.stat().st_size} bytes of {file.stat().st_mtime_ns}"
                else:
                    yield name, weights_identity(value, arguments.get("revision"))
            except (OSError, ValueError):  # no path, and no name of the hub
                yield name, None


PACKAGES = (
    "lmms-eval-tasks", "lmms-eval", "torch", "transformers", "accelerate", "datasets", "numpy", "decord", "av",
    "torchvision", "torchcodec", "qwen-vl-utils", "diffusers", "vllm",
)  # fmt: skip
"""Packages whose versions a run card names."""
STANDS_IN = {"decord": "adapters of lmms-eval that read clips by it cannot run; our own models read by PyAV"}
"""Packages that can be done without, and what is then otherwise."""
OPTIONAL_PACKAGES = frozenset({"torchvision", "torchcodec", "qwen-vl-utils", "diffusers", "vllm"})


def installed_version(package: str) -> str | None:
    """Return the version of a package, None where there is none; ours is that of the code that runs."""
    if package == "lmms-eval-tasks":
        return __version__
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def missing_requirements() -> list[str]:
    """Return packages that ours requires, without its extras, and that are not installed."""
    try:
        requirements = metadata.requires("lmms-eval-tasks") or []
    except metadata.PackageNotFoundError:
        return []
    names = [re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in requirements if "extra ==" not in text]
    # A package of another name can bring the same module, as eva-decord does.
    return [name for name in names if installed_version(name) is None and not find_spec(name.replace("-", "_"))]


def package_version(package: str) -> str | Missing:
    """Return the version of a package for a run card; ``not installed`` for one that not every run needs."""
    version = installed_version(package)
    if version is None and package not in OPTIONAL_PACKAGES:
        return Missing("no package of that name is installed")
    return version or "not installed"


def _cuda() -> str:
    import torch

    return str(torch.version.cuda or "none: a build for the CPU")


def _gpus() -> str:
    import torch

    if not torch.cuda.is_available():
        return "none"
    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    return ", ".join(f"{names.count(name)} × {name}" for name in dict.fromkeys(names))


def _driver() -> str | Missing:
    """Return the NVIDIA driver by the kernel's own file; asking a tool could hang."""
    try:
        line = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8").splitlines()[0]
    except (OSError, IndexError):
        if _gpus() == "none":
            return "none"
        return Missing("the kernel does not say")
    return " ".join(line.partition(":")[2].split())


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


SOFTWARE: Mapping[str, Callable[[], Any]] = {"python": platform.python_version, "CUDA of torch": _cuda}
HARDWARE: Mapping[str, Callable[[], Any]] = {
    "GPUs": _gpus,
    "driver": _driver,
    "CPU": _cpu,
    "CPU cores": os.cpu_count,
    "system": platform.platform,
}
