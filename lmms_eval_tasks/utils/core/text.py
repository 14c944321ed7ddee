"""Texts in messages and settings: quoting and listing values, hiding secrets, arguments, environment variables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import pairwise
from urllib.parse import quote as quote_url


def parse_arguments(arguments: str | Mapping[str, object] | None) -> dict[str, str]:
    """Values by name, both without the white space around them; a name without ``=`` has an empty value."""
    if isinstance(arguments, Mapping):
        return {str(name): str(value) for name, value in arguments.items()}
    parts = (part.partition("=") for part in (arguments or "").split(",") if part.strip())
    return {name.strip(): value.strip() for name, _, value in parts}


HIDDEN = "[hidden]"
LEAST = 6
"""A value of fewer characters is no key, and hiding it everywhere would hide words."""

_PARTS = r"api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|subscription[_-]?key|token|secret|passphrase"
_WORDS = r"key|pass|pwd|auth|sig|signature|cookie"
_NAME = rf"(?:[\w-]*(?:{_PARTS}|password|passwd|credentials?|authorization)|(?:[\w-]*[_-])?(?:{_WORDS}))"
_NOT_A_NAME = r"(?:cluster|sort|primary|foreign|public|group|partition)[_-]key\b"
_NO_SECRET = r"(?!(?:true|false|none|null)\b)"
_VALUE = r"(?:\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?|(?:(?:basic|bearer|digest|token)\s+)?[^\s,;\"'}]+)"
_NAMED = re.compile(
    rf"(?i)(?<![\w-])(?!{_NOT_A_NAME})(?P<name>{_NAME}[\"']?\s*[=:]\s*|--?{_NAME}(?:=|\s+)){_NO_SECRET}{_VALUE}"
)
_SHAPED = re.compile(
    r"(?<![A-Za-z0-9])(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|AIza[A-Za-z0-9_-]{20,}|A[KS]IA[A-Z0-9]{12,}"
    r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[A-Za-z0-9-]{10,}|gsk_[A-Za-z0-9]{16,}"
    r"|nvapi-[\w-]{16,}|r8_[A-Za-z0-9]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s]*(?=@)")
_BEARER = re.compile(r"(?i)(?<=bearer )\S+")
_BEARER_KEY = re.compile(r"(?i)(?<=bearer )(?=\S*\d)[\w.~+/-]{16,}=*")
"""A key behind that word, which is also one of a plain language."""
_SECRET_VARIABLE = re.compile(
    r"(?i)(?:key|token|secret|password|passwd|passphrase|credential)s?$|authorization$|(?:^|_)(?:pass|auth)$|_pwd$"
)


def hide_secrets(text: str, environment: Mapping[str, str]) -> str:
    """A text without what looks like a secret, and without the values of variables named … KEY, TOKEN or the like."""
    text = hide_forms(text, secret_forms(environment))
    for pattern in (_SHAPED, _IN_ADDRESS, _BEARER):
        text = pattern.sub(HIDDEN, text)
    return _NAMED.sub(rf"\g<name>{HIDDEN}", text)


def hide_keys(text: str, secrets: Iterable[str]) -> str:
    """A model's answer without secrets and keys of known shapes; its words stay, also those about keys and bearers."""
    text = _SHAPED.sub(HIDDEN, hide_forms(text, (secret for secret in secrets if not secret.isalpha())))
    return _BEARER_KEY.sub(HIDDEN, text)


def hide_in_words(words: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """The words of a command as `hide_secrets` leaves them, also the word after an option such as --api_key."""
    after = (
        not word.startswith("-") and option[:1] == "-" and _NAMED.fullmatch(f"{option} x")
        for option, word in pairwise(["", *words])
    )
    return [HIDDEN if named else hide_secrets(word, environment) for named, word in zip(after, words, strict=True)]


def secret_forms(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets of an environment that `hide_secrets` hides, longest first, for use on many texts."""
    values = {value for name, value in environment.items() if _SECRET_VARIABLE.search(name)}
    values |= {part for value in values for part in re.split(r"[,;\s]+", value)}
    in_addresses = {quote_url(value, safe="", errors="replace") for value in values}
    in_json = {json.dumps(value, ensure_ascii=False)[1:-1] for value in values}
    written = (form for form in values | in_addresses | in_json if len(form) >= LEAST)
    return tuple(sorted(written, key=len, reverse=True))


def hide_forms(text: str, forms: Iterable[str]) -> str:
    for form in forms:
        text = text.replace(form, HIDDEN)
    return text


PREFIX = "LMMS_EVAL_TASKS_"
HOME = f"{PREFIX}HOME"
"""The data home."""
MISSING = f"{PREFIX}MISSING"
"""What a run does about missing clips."""
PROMPT = f"{PREFIX}PROMPT"
"""The prompt of a run."""
JUDGE = f"{PREFIX}JUDGE"
"""The judge of free answers."""
ANSWERS = f"{PREFIX}ANSWERS"
"""Folder in which answers are kept, or `none`."""
SHARD = f"{PREFIX}SHARD"
"""Part of each task that a run works on: `3/7` is the third of seven."""
SAMPLE = f"{PREFIX}SAMPLE"
"""How many groups of each task a run asks, drawn by strata."""
BOXES = f"{PREFIX}BOXES"
"""How a model writes boxes; benchmarks that ask for boxes name it as theirs."""
MATCHING = f"{PREFIX}MATCHING"
"""By which rule evidence is matched; benchmarks that grade evidence name it as theirs."""
CAPTIONS = f"{PREFIX}CAPTIONS"
"""Captions that stand in place of clips."""
VIEW_BYTES = f"{PREFIX}VIEW_BYTES"
"""How many bytes the frames and clips that views make may take."""
REWARD_JUDGE_URL, REWARD_JUDGE_MODEL = f"{PREFIX}REWARD_JUDGE_URL", f"{PREFIX}REWARD_JUDGE_MODEL"
"""The judge of rewards in a training: its server, up to ``/v1``, and its model."""
REWARD_JUDGE_FRAMES, REWARD_JUDGE_REPLIES = f"{PREFIX}REWARD_JUDGE_FRAMES", f"{PREFIX}REWARD_JUDGE_REPLIES"
"""How many frames of a clip it is shown, and the folder in which its replies are kept."""
KNOWN = (
    HOME, MISSING, PROMPT, JUDGE, ANSWERS, CAPTIONS, VIEW_BYTES, SHARD, SAMPLE,
    REWARD_JUDGE_URL, REWARD_JUDGE_MODEL, REWARD_JUDGE_FRAMES, REWARD_JUDGE_REPLIES,
)  # fmt: skip
"""Those of all benchmarks; a benchmark names its own."""

_SIMILAR = PREFIX[: len("LMMS_EVAL_TASK")]


def describe_unknown_variables(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """A sentence for each variable that looks like one of ours and is none, with the nearest that is."""
    ours = {name.removeprefix(PREFIX): name for name in known}
    messages = []
    for name in sorted(names):
        if name in ours.values() or not name.upper().startswith(_SIMILAR):
            continue
        ending = name.upper()[len(_SIMILAR) :].removeprefix("S").removeprefix("_")
        (nearest,) = get_close_matches(ending, ours, n=1, cutoff=0.0)
        messages.append(
            f"{name} is set, but no such variable is read; the nearest is {ours[nearest]}. Known are "
            f"{', '.join(sorted(ours.values()))}."
        )
    return messages


def quote(value: object, longest: int = 60) -> str:
    """A text in backquotes, without the white space around it, or any other value as JSON, in backquotes, too.

    Characters that a terminal would not show, or would obey, are escaped. What is longer than `longest` characters is
    cut there.
    """
    return _in_backquotes(value.strip() if isinstance(value, str) else _as_json(value), longest)


def describe(value: object, longest: int = 60) -> str:
    """A value of a file that may hold anything, fit to be printed.

    A text is in backquotes with the white space around it, cut after `longest` characters, with odd characters escaped.
    A list or an object is only called so. Any other value is as `quote` has it.
    """
    if isinstance(value, str):
        return _in_backquotes(value, longest)
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return quote(value, longest)


_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """A text with the characters escaped that a terminal would not show, or would obey."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def printable_controls(text: str) -> str:
    """A text with the control characters escaped that a terminal would obey; tabs and the ends of lines stay."""
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def printable_lines(text: str) -> str:
    """The same for a text of several lines, whose line feeds stay."""
    return "\n".join(map(printable, text.split("\n")))


def count_bytes(number: int) -> str:
    """A number of bytes in the unit that shows it best: ``512 bytes``, ``1.5 MB``."""
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= size:
            return f"{number / size:.1f} {unit}"
    return f"{number} bytes"


def clock(seconds: float) -> str:
    """A time as minutes and whole seconds, ``MM:SS``."""
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def escape_surrogates(text: str) -> str:
    """A text that can be written as UTF-8: a lone surrogate is the escape that JSON has for it."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def suggest(name: str, known: Iterable[str]) -> str:
    """A sentence that names the known name nearest to one that is not known; empty where none is near."""
    nearest = get_close_matches(name, list(known), n=1)
    return f" Did you mean {nearest[0]}?" if nearest else ""


def unknown_argument(name: str, known: Iterable[str]) -> str:
    """Return the message for an argument that there is not: the nearest known one, or all of them."""
    names = list(known)
    others = f" Known are {', '.join(names)}." if names else " There are none."
    return f"Unknown argument {name}.{suggest(name, names) or others}"


def _as_json(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, RecursionError):
        return str(type(value).__name__)


def _in_backquotes(text: str, longest: int) -> str:
    return f"`{printable(text[:longest])}…`" if len(text) > longest else f"`{printable(text)}`"


def summarize_names(names: Iterable[object], limit: int = 5, separator: str = ", ") -> str:
    """The first `limit` names, and how many more there are; empty where there is none."""
    every = [str(name) for name in names]
    more = [f"… and {len(every) - limit} more"] if len(every) > limit else []
    return separator.join([*every[:limit], *more])
