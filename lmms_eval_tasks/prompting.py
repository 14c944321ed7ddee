"""Prompts of this installation by id, official prompt texts, and the choice of the prompt for a run.

An official text is read from the user's checkout of the official repository, verified and kept in the data home. It
is *official* where its digest is the card's, and else *another* text, which a run can only ask with under a name of
its own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from lmms_eval_tasks.registry import find_benchmark, read_card, registry
from lmms_eval_tasks.utils.answers.evidence import EvidenceSettings, read_evidence_settings
from lmms_eval_tasks.utils.answers.hooks import (
    DEFAULT,
    OFFICIAL,
    QUESTION_AND_OPTIONS,
    Prompt,
    TaskSettings,
    ask_choice,
)
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm, Benchmark, TaskKind
from lmms_eval_tasks.utils.benchmark.tasks import LARGEST_CONFIG
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.text import PROMPT
from lmms_eval_tasks.utils.data.home import home


@cache
def read_prompt(prompt_id: str) -> Prompt:
    """One of the prompts of this installation: `<id>.txt` in the folder ``prompts`` of this package or of a benchmark.

    Raises:
        InputError: where there is no prompt of that id; the message lists those there are.
    """
    files = _prompt_files()
    if prompt_id not in files:
        raise InputError(f"Expected a prompt id, one of {', '.join(files)}, but got {prompt_id!r}.")
    return Prompt(prompt_id, files[prompt_id].read_text(encoding="utf-8").rstrip("\n"))


def prompt_ids() -> tuple[str, ...]:
    return tuple(_prompt_files())


@cache
def _prompt_files() -> dict[str, Path]:
    """Id to file, in alphabetical order: the shared prompts, and those in the folder ``prompts`` of a benchmark."""
    shared = Path(str(resources.files("lmms_eval_tasks"))) / "prompts"
    folders = [shared, *(benchmark.folder / "prompts" for benchmark in registry().benchmarks.values())]
    return dict(sorted((file.stem, file) for folder in reversed(folders) for file in folder.glob("*.txt")))


def choose_prompt(
    kwargs: Mapping[str, Any] | None,
    find: Callable[[str], Prompt] | None = None,
    fields: frozenset[str] = QUESTION_AND_OPTIONS,
    environment: Mapping[str, str] = os.environ,
) -> Prompt:
    """The prompt that a task's configuration or LMMS_EVAL_TASKS_PROMPT names: one of ours, or one that `find` knows.

    One with other fields than the task's is refused: it would leave the options out, say. The benchmark's own, which
    `find` knows, may have fewer, for its author made them so.
    """
    chosen = environment.get(PROMPT) or str((kwargs or {}).get("prompt", DEFAULT))
    if chosen in prompt_ids() or (find is None and chosen != OFFICIAL):
        prompt = read_prompt(chosen)
    elif find is not None:
        prompt = find(chosen)
    else:
        raise InputError(
            f"Expected {PROMPT} to be one of {', '.join(prompt_ids())}, but got {OFFICIAL}: one of the tasks has no "
            "official prompt. Run that task by itself without it."
        )
    if prompt.fields != fields and (chosen in prompt_ids() or not prompt.fields < fields):
        fit = ", ".join(prompt_id for prompt_id in prompt_ids() if read_prompt(prompt_id).fields == fields)
        raise InputError(
            f"Expected a prompt with {' and '.join(sorted(fields, reverse=True))}, one of {fit}, but got "
            f"{chosen!r}, which has {' and '.join(sorted(prompt.fields, reverse=True)) or 'no fields'}. A run of "
            f"several tasks can only have a {PROMPT} that suits all of them."
        )
    return prompt


def read_whole(path: Path) -> str:
    """A prompt file's text, byte for byte, so that its digest is the file's."""
    text = path.read_bytes().decode("utf-8")
    if not text.strip():
        raise ValueError("the file is empty")
    return text


UNPUBLISHED = "(not known to us)"


@dataclass(frozen=True)
class OfficialPrompt:
    """Location of a benchmark's official prompt, and the way items are asked with it.

    Attributes:
        benchmark: Name of the benchmark.
        part: What of the prompt its official file holds; the card's `prompt_sha256` has that text's digest, if known.
        file: Path of that file in the official repository.
        template: The prompt from the text, for `str.format`. Raises ValueError where it cannot be made.
        replaces: Id of our prompt in whose place it is asked.
        for_items: Whether items are asked with it; else it is what a judge is asked for labels.
        read: The text from the file, by default all of it; the file is never executed. Raises OSError, LookupError,
            TypeError or ValueError where it is not there.
    """

    benchmark: str
    part: str
    file: str
    template: Callable[[str], str]
    replaces: str
    for_items: bool = True
    read: Callable[[Path], str] = read_whole

    @property
    def published(self) -> str:
        """The official text's SHA-256, or that it is not known: then every text is another."""
        return read_card(self.benchmark).prompt_sha256.get(self.part, UNPUBLISHED)

    def status(self, text: str) -> str:
        """The id by which records name a text of this prompt: whether it is official, or another."""
        digest = sha256(text)
        return OFFICIAL if digest == self.published else f"{self.benchmark}-other-{digest[:8]}"

    def prompt(self, text: str) -> Prompt:
        """The prompt from a text of its file, its id saying whether it is official; ValueError without one in it."""
        return Prompt(self.status(text), self.template(text))

    def find(self, name: str) -> Prompt:
        """An imported prompt, by the name ``official`` or that of another text.

        Raises:
            InputError: where it was not imported, or is no longer what was imported.
        """
        path, title = _path(self.benchmark, name), read_card(self.benchmark).title
        if not path.is_file():
            known = ", ".join((*prompt_ids(), *imported(self.benchmark)))
            absent = f" {title}'s official prompt is not on this machine. {self._remedy}" if name == OFFICIAL else ""
            raise InputError(f"Expected a prompt id, one of {known}, but got {name!r}.{absent}")
        _, text = _imported(self.benchmark, name)
        if text is None or self.status(text) != name:
            raise InputError(f"{path} is not {title}'s prompt {name} any more. {self._remedy}")
        return self.prompt(text)

    def find_only(self) -> Prompt:
        """The one imported text of this prompt, whatever its name.

        Raises:
            InputError: where none was imported, or several were.
        """
        names = [name for name in imported(self.benchmark) if _imported(self.benchmark, name)[0] == self.part]
        if len(names) == 1:
            return self.find(names[0])
        title = read_card(self.benchmark).title
        if not names:
            raise InputError(f"{title}'s official {self.part} is not on this machine. {self._remedy}")
        raise InputError(
            f"Expected one text of {title}'s official {self.part}, but {', '.join(names)} were imported, from releases "
            f"that differ. Remove those that you do not mean from {_path(self.benchmark, names[0]).parent}."
        )

    @property
    def _remedy(self) -> str:
        flag = " --accept-other" if self.published == UNPUBLISHED else ""
        return (
            f"Run `lmms-eval-tasks prompts import {self.benchmark} --from CHECKOUT{flag}` with a checkout of "
            f"{read_card(self.benchmark).homepage}, or run without it."
        )

    def import_from(self, checkout: Path, accept_other: bool = False) -> Prompt:
        """Take the prompt from a checkout of the official repository into the data home.

        The prompt's id states whether it is official or another text. Another text is only accepted with
        `accept_other`, under a name of its own.

        Raises:
            InputError: where the checkout lacks the file, the file the prompt, or it is another text.
        """
        problems = Problems()
        text, prompt, path = "", None, checkout / self.file
        if not checkout.is_dir():
            problems.add(str(checkout), "Expected a folder, a checkout of the official repository.")
        elif not path.is_file():
            problems.add(str(path), "Expected this file of the official repository, but there is none.")
        elif path.stat().st_size > LARGEST_CONFIG:
            problems.add(str(path), f"Expected the official {self.part}, but got more than {LARGEST_CONFIG:,} bytes.")
        else:
            try:
                text = self.read(path)
                prompt = self.prompt(text)
            except (OSError, LookupError, TypeError, ValueError) as error:
                problems.add(str(path), f"Expected the official {self.part}, but found none ({error}).")
        if prompt is not None and prompt.prompt_id != OFFICIAL and not accept_other:
            problems.add(
                str(path),
                f"Expected the official {self.part} with SHA-256 {self.published}, but got {sha256(text)}.",
                remedy=f"check out the release that the card is about, or keep this text as {prompt.prompt_id} by "
                "--accept-other.",
            )
        title = read_card(self.benchmark).title
        problems.raise_if_any(f"{title}'s official prompt cannot be imported", "nothing was written")
        assert prompt is not None
        content = {"source": self.file, "part": self.part, "sha256": sha256(text), "text": text}
        write_file(_path(self.benchmark, prompt.prompt_id), json.dumps(content, ensure_ascii=False, indent=1) + "\n")
        return prompt


def installed_official(benchmark: str) -> Prompt | None:
    """The official prompt that is asked with where `official` is chosen; None where it is not on this machine."""
    find = find_benchmark(benchmark).find_prompt
    try:
        prompt = find(OFFICIAL) if find else None
    except InputError:
        return None
    return prompt if prompt and prompt.prompt_id == OFFICIAL else None


def imported(benchmark: str) -> tuple[str, ...]:
    """Names of a benchmark's prompts in the data home, in alphabetical order."""
    return tuple(sorted(path.stem for path in _path(benchmark, "").parent.glob("*.json")))


def check_choice(benchmark: str) -> None:
    """Refuse a choice of prompt for the whole run that a benchmark's tasks cannot follow, before a model is loaded."""
    chosen = os.environ.get(PROMPT)
    if not chosen or chosen in prompt_ids():
        return
    source = find_benchmark(benchmark).official_prompt
    if source is not None and source.for_items:
        source.find(chosen)
    elif chosen != OFFICIAL:
        known = ", ".join(prompt_ids())
        raise InputError(f"Expected {PROMPT} to be {OFFICIAL} or one of {known}, but got {chosen!r}.")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _path(benchmark: str, name: str) -> Path:
    return home() / "prompts" / benchmark / f"{name}.json"


def _imported(benchmark: str, name: str) -> tuple[str | None, str | None]:
    try:
        content = json.loads(_path(benchmark, name).read_text(encoding="utf-8"))
        part, text = content.get("part"), content["text"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None, None
    return part, text if isinstance(text, str) else None


def prompt_reader(
    find: Callable[[str], Prompt] | None = None,
    fields: frozenset[str] = QUESTION_AND_OPTIONS,
    default: str | None = None,
) -> Callable[[Mapping[str, Any], Mapping[str, str]], TaskSettings]:
    """Return a reader of the settings of a task of which only the prompt can be chosen, for `TaskKind.read_settings`.

    Args:
        find: Finds the benchmark's own prompts by name, such as ``official``; None where it has none.
        fields: What the task asks with: the fields that a prompt's text has to have; one that `find` gives may have
            fewer.
        default: Id of the prompt where the configuration names none; without it ``mcq_letter``.

    Returns:
        A function of a task's ``lmms_eval_specific_kwargs`` and the environment variables, of which
            LMMS_EVAL_TASKS_PROMPT wins. It raises InputError where no prompt of the name is to be had, or it has other
            fields.
    """

    def read_settings(kwargs: Mapping[str, Any], environment: Mapping[str, str]) -> TaskSettings:
        named = {"prompt": default, **kwargs} if default else kwargs
        return TaskSettings(choose_prompt(named, find, fields, environment))

    return read_settings


def evidence_settings_reader(
    title: str, default: str, find: Callable[[str], Prompt]
) -> Callable[[Mapping[str, Any], Mapping[str, str]], EvidenceSettings]:
    """Reads a task's ``lmms_eval_specific_kwargs``, and what the environment overrides of it for one run.

    The first has ``prompt``; ``boxes``, a `BoxConvention`, and for ``xyxy_resized`` perhaps ``min_pixels`` and
    ``max_pixels``; ``eps_overlap``, ``tau_t``, ``tau_st`` and ``coverage_aware`` as in `GroundingSettings`. What is
    missing has its default; other keys are ignored. The environment may have ``LMMS_EVAL_TASKS_BOXES``, such as
    ``xyxy_resized,min_pixels=3136,max_pixels=602112``, and ``LMMS_EVAL_TASKS_PROMPT``, the id of a prompt.

    Args:
        title: The benchmark's, for messages.
        default: Id of the prompt where the configuration names none.
        find: Finds the benchmark's own prompts, such as ``official``; raises InputError where there is none.

    Returns:
        A function for `TaskKind.read_settings`. It raises InputError, which lists every value that cannot be used.
    """

    def read_settings(kwargs: Mapping[str, Any], environment: Mapping[str, str]) -> EvidenceSettings:
        problems, unknown = Problems(), Problems()
        try:
            prompt = choose_prompt({"prompt": default, **kwargs}, find, environment=environment)
        except InputError as error:
            unknown.add("prompt", str(error))
            prompt = read_prompt(default)
        settings = read_evidence_settings(kwargs, environment, prompt, problems)
        problems.extend(unknown)
        problems.raise_if_any(f"{title} cannot be run as configured")
        return settings

    return read_settings


def read_task_settings(
    benchmark: Benchmark, kind: TaskKind, kwargs: Mapping[str, Any], environment: Mapping[str, str]
) -> TaskSettings:
    if kind.read_settings:
        return kind.read_settings(kwargs, environment)
    if kind.answer_form is not AnswerForm.WORDS:
        return TaskSettings()
    kwargs = {"prompt": kind.prompt, **kwargs}
    asks_judges = benchmark.official_prompt is not None and not benchmark.official_prompt.for_items
    named = kwargs["prompt"]
    fields = read_prompt(named).fields if named in prompt_ids() else QUESTION_AND_OPTIONS
    if kind.ask is ask_choice and not fields < QUESTION_AND_OPTIONS:
        fields = QUESTION_AND_OPTIONS
    return TaskSettings(choose_prompt(kwargs, None if asks_judges else benchmark.find_prompt, fields, environment))


def kwargs_for_checks(benchmark: Benchmark, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """A task's ``lmms_eval_specific_kwargs`` as checks use them, which give everybody the same."""
    source = benchmark.official_prompt
    if source is None or not source.for_items or kwargs.get("prompt") in (None, *prompt_ids()):
        return kwargs
    return {**kwargs, "prompt": source.replaces}
