"""Checks of a run before weights are loaded: options, tasks, forms of answers, weights and output path.

Each gives the reason why the run should not begin, or None.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_eval_tasks.host.asking.parts import is_share
from lmms_eval_tasks.host.model.identity import answer_forms, find_class, own_models
from lmms_eval_tasks.host.ranks import command_options
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.runs.run_files import read_shard
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import has_home, why_unwritable
from lmms_eval_tasks.utils.core.text import HOME, SAMPLE, SHARD, first_line, parse_arguments, suggest, summarize_names
from lmms_eval_tasks.utils.data.sampling import read_sample

_ITEMS = "sends what licences do not let you pass on, or fails on scores that only some items enter."
REFUSED = {
    "baseline": "compares nothing here. Run both models, then: lmms-eval-tasks compare OUT OTHER_OUT",
    "num_fewshot": "has no effect: our tasks are asked without examples.",
    "apply_chat_template": "is not needed, and few models have what it asks for: they apply their template anyway.",
    "cache_requests": "keeps requests by the names of tasks alone, so another prompt or data is not seen.",
    "check_integrity": "runs tests that lmms-eval's package lacks. Try: lmms-eval-tasks check",
    "launcher_args": "starts a judge that our tasks do not ask: LMMS_EVAL_TASKS_JUDGE names theirs.",
    "wandb_log_samples": _ITEMS,
    "swanlab_log_samples": _ITEMS,
}
"""Option of lmms-eval's command line to why it is refused, in the words that follow its name."""
FROM_LOG = "--model from_log reads no logs of our tasks. Instead: --model replay --model_args predictions=OUT"
SYSTEM = "--system_instruction does not reach chat models. Try the model's own argument, or --force_simple."
NAMED_MODEL = frozenset({"shared_vllm", "sglang", "vllm", "vllm_generate"})
"""Models whose argument `model` names their weights; others name what a server has, and all others `pretrained`."""


def describe_refused() -> str | None:
    options = command_options()
    reasons = [f"--{name} {reason}" for name, reason in REFUSED.items() if options.get(name)]
    if options.get("model") == "from_log":
        reasons.append(FROM_LOG)
    if options.get("system_instruction"):
        model = _resolve(options["model"], options["force_simple"])
        reasons += [SYSTEM] if model and model.model_type == "chat" else []
    return "\n".join(reasons) or None


def _resolve(model: str, force_simple: bool = False) -> Any:
    from lmms_eval.models import MODEL_REGISTRY_V2

    try:
        return MODEL_REGISTRY_V2.resolve(model, force_simple)
    except ValueError:
        return None


def describe_unknown(names: Iterable[str], matched: Collection[str], known: Iterable[str]) -> str | None:
    unknown = [name for name in names if not (name in matched or fnmatch.filter(matched, name) or Path(name).is_file())]
    reasons = [f"There is no task, group or tag {name!r}.{suggest(name, known)}" for name in unknown]
    return "\n".join([*reasons, "All of them: lmms-eval --tasks list"]) if unknown else None


def describe_unsplit(others: Sequence[str], splits: bool = True) -> str | None:
    try:
        chosen = {SHARD: read_shard(), SAMPLE: read_sample()} if splits else {}
    except InputError as error:
        return str(error)
    given = [name for name, choice in chosen.items() if choice is not None]
    if not given or not others:
        return None
    return (
        f"Expected only tasks of lmms-eval-tasks where {given[0]} is set, but got {summarize_names(others)}: "
        "what others' items show, and which of them belong together, is not known. Run these tasks by themselves, "
        "without it."
    )


def describe_limited_sample(limit: float | None, offset: int | None, splits: bool = True) -> str | None:
    """Say that a sample of groups is drawn from whole tasks, and not from the first items of each."""
    given = [f"--limit {limit:g}"] if limit is not None and limit > 0 else []
    given += [f"--offset {offset}"] if offset else []
    if not (given and splits and read_sample()):
        return None
    return (
        f"{SAMPLE} draws groups of all items of a task, so {' and '.join(given)} cannot be given with it. Remedy: give "
        "one of both."
    )


def describe_shared_limit(limit: float | None, others: int) -> str | None:
    """Say that a share is none of other people's tasks: lmms-eval makes it one number for all tasks of a run."""
    if not (is_share(limit) and others):
        return None
    return (
        f"--limit {limit} is a share of each task of lmms-eval-tasks, and one number of items for all others. Remedy: "
        "run these tasks without others, or give a number of items, such as --limit 8."
    )


def describe_misfit(model: str, tasks: Mapping[str, frozenset[AnswerForm]], kind: object = None) -> str | None:
    if kind is None and model not in own_models() and frozenset().union(*tasks.values()) == {AnswerForm.WORDS}:
        return None  # importing somebody else's model can take long
    if (kind := kind or find_class(model)) is None:
        return None
    given = answer_forms(kind)
    reasons = []
    for name, forms in tasks.items():
        known = registry().find_task(name)
        beside = registry().tasks_of(known.benchmark.name).values() if known else ()
        for form in sorted(forms - given):
            answers = " or ".join(sorted(one.value for one in given))
            reasons.append(f"{name} takes {form.value} for an answer, but the model {model} gives {answers}.")
            # Every model that is not ours gives words.
            ours = {one: answer_forms(find_class(one)) for one in own_models()}
            if models := [one for one, own in ours.items() if form in own and AnswerForm.WORDS not in own]:
                reasons.append(f"  Models for it: {', '.join(models)}.")
            if others := [task.name for task in beside if task.kind.answer_form in given]:
                reasons.append(f"  Tasks of the same benchmark for {model}: {', '.join(others)}.")
    return "\n".join(reasons) or None


def describe_unready(options: Mapping[str, Any]) -> str | None:
    reasons = [
        _describe_homeless(),
        describe_absent(str(options.get("model")), parse_arguments(options.get("model_args"))),
    ]
    path = options.get("output_path")
    if path and (reason := why_unwritable(Path(path))):
        reasons.append(
            f"The output path {path} cannot be written to: {reason}. Nothing was computed.\n"
            "Remedy: give --output_path a folder of your own."
        )
    return "\n\n".join(filter(None, reasons)) or None


def _describe_homeless() -> str | None:
    if os.environ.get("HF_HOME") or has_home():
        return None
    return (
        "Expected a home folder for Hugging Face's caches, but this user has none.\n"
        f"Remedy: set HF_HOME to a folder. The data home is in it, too, unless {HOME} names another."
    )


def describe_absent(model: str, arguments: Mapping[str, str]) -> str | None:
    import huggingface_hub
    from huggingface_hub import constants, errors, file_download

    name = arguments.get("pretrained") or (arguments.get("model") if model in NAMED_MODEL else None)
    if not name or Path(name).exists():
        return None
    known = _resolve(model)
    if known is None or known.class_path.partition(".")[0] not in ("lmms_eval", __name__.partition(".")[0]):
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
