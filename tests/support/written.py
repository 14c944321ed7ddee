"""What a command wrote, as a line for each file, which a test expects whole; see support/expected.py."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet
from played import Asked

TEXTS = {".csv", ".json", ".jsonl", ".md"}
REPLIES = "replies"
"""A build's folder, whose files are named by chance and written by threads."""
VARYING = (
    # Of the bytes of clips and pictures, which depend on the encoder's version.
    (re.compile(r"\b[0-9a-f]{64}\b"), "SHA256"),
    (re.compile(r'"version": "[^"]*"'), '"version": ""'),
    # A prompt's text is another test's.
    (re.compile(r'("prompt": "\w+:)[0-9a-f]{8}"'), r'\1"'),
    (re.compile(r'"/(?:[^"/\n]+/)+'), '"/'),
)
"""What differs between machines and versions, and what is read in its place."""
NUMBER = re.compile(r"\d+\.\d+")


def digest(text: str) -> str:
    for pattern, put in VARYING:
        text = pattern.sub(put, text)
    # The last places of a computed number depend on the libraries.
    text = NUMBER.sub(lambda found: f"{float(found[0]):.6g}", text)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:12]


def written(folder: Path) -> str:
    """The texts and tables below a folder, each with its number of lines and their digest; then other files' names."""
    lines, others = [], []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if REPLIES in name.parts or name.name.startswith(".") or path.is_dir():
            continue
        if path.suffix == ".parquet":
            lines.append(summary(name, map(as_json, pyarrow.parquet.read_table(path).to_pylist())))
        elif path.suffix in TEXTS:
            lines.append(summary(name, path.read_text("utf-8").splitlines()))
        else:
            others.append(name.as_posix())
    return "\n".join([*lines, summary("names of the other files", others)])


def requested(asked: Iterable[Asked]) -> str:
    """The prompts that models were asked by, each with how often, and the digest of what they were shown."""
    by_prompt: dict[str, list[str]] = {}
    for one in asked:
        by_prompt.setdefault(one.prompt, []).append(as_json([one.model, one.given, len(one.pictures)]))
    return "\n".join(summary(prompt, sorted(shown)) for prompt, shown in sorted(by_prompt.items()))


def summary(name: Path | str, lines: Iterable[str]) -> str:
    held = list(lines)
    return f"{name}: {len(held)}, {digest(chr(10).join(held))}"


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
