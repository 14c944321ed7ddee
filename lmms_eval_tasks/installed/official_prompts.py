"""Official prompt texts: read from the user's checkout of the official repository, verified, kept in the data home.

A text is *official* where its digest is the card's, and else *another* text, which a run can only ask with under a name
of its own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lmms_eval_tasks.installed.prompts import prompt_ids
from lmms_eval_tasks.installed.registry import find_benchmark, read_card
from lmms_eval_tasks.utils.benchmark.task_files import LARGEST_CONFIG
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.core.variables import PROMPT
from lmms_eval_tasks.utils.data.home import home
from lmms_eval_tasks.utils.prompting.prompts import OFFICIAL, Prompt


def read_whole(path: Path) -> str:
    """A prompt file's text, byte for byte, so that its digest is the file's.

    Raises:
        OSError, ValueError: where it cannot be read, is not UTF-8, or is empty.
    """
    text = path.read_bytes().decode("utf-8")
    if not text.strip():
        raise ValueError("the file is empty")
    return text


@dataclass(frozen=True)
class OfficialPrompt:
    """Where a benchmark's official prompt is, and how it is asked with.

    Attributes:
        benchmark: Name of the benchmark.
        part: What of the prompt its official file holds; the card's `prompt_sha256` has that text's digest.
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
    def flag(self) -> str:
        """What else the command needs that imports it, after a space."""
        return ""

    @property
    def published(self) -> str:
        """The official text's SHA-256."""
        return read_card(self.benchmark).prompt_sha256[self.part]

    def status(self, text: str) -> str:
        """The id by which records name a text of this prompt: whether it is official, or another."""
        digest = sha256(text)
        return OFFICIAL if digest == self.published else f"{self.benchmark}-other-{digest[:8]}"

    def prompt(self, text: str) -> Prompt:
        """The prompt from a text of its file, its id saying whether it is the official one.

        Raises:
            ValueError: where none can be made from it.
        """
        return Prompt(self.status(text), self.template(text))

    def find(self, name: str) -> Prompt:
        """An imported prompt, by the name ``official`` or that of another text.

        Raises:
            InputError: where it was not imported, or is no longer what was imported.
        """
        path = _path(self.benchmark, name)
        title = read_card(self.benchmark).title
        if not path.is_file():
            raise InputError(
                f"Expected a prompt id, one of {', '.join((*prompt_ids(), *imported(self.benchmark)))}, but got "
                f"{name!r}."
                + (f" {title}'s official prompt is not on this machine. {self._remedy}" if name == OFFICIAL else "")
            )
        _, text = _imported_text(path, path.stat().st_mtime_ns)
        if text is None or self.status(text) != name:
            raise InputError(f"{path} is not {title}'s prompt {name} any more. {self._remedy}")
        return self.prompt(text)

    def find_only(self) -> Prompt:
        """The one imported text of this prompt, whatever its name.

        Raises:
            InputError: where none was imported, or several were.
        """
        paths = {name: _path(self.benchmark, name) for name in imported(self.benchmark)}
        read = {name: _imported_text(path, path.stat().st_mtime_ns) for name, path in paths.items()}
        names = [name for name, (part, _) in read.items() if part == self.part]
        if len(names) == 1:
            return self.find(names[0])
        title = read_card(self.benchmark).title
        if not names:
            raise InputError(f"{title}'s official {self.part} is not on this machine. {self._remedy}")
        raise InputError(
            f"Expected one text of {title}'s official {self.part}, but {', '.join(names)} were imported, from releases "
            f"that differ. Remove those that you do not mean from {paths[names[0]].parent}."
        )

    @property
    def _remedy(self) -> str:
        return (
            f"Run `lmms-eval-tasks prompts import {self.benchmark} --from CHECKOUT{self.flag}` with a checkout of "
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
                f"check out the release that the card is about, or keep this text as {prompt.prompt_id} by "
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
    """Refuse a choice of prompt for the whole run that a benchmark's tasks cannot follow, before a model is loaded.

    Raises:
        InputError: where LMMS_EVAL_TASKS_PROMPT names no prompt, or one that was not imported.
    """
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
    """Hexadecimal SHA-256 of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def _path(benchmark: str, name: str) -> Path:
    return home() / "prompts" / benchmark / f"{name}.json"


@cache
def _imported_text(path: Path, changed: int) -> tuple[str | None, str | None]:
    """Part and text in an imported file, None where it cannot be read; `changed` is the time of its last change."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        part, text = content.get("part"), content["text"]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None, None
    return part, text if isinstance(text, str) else None
