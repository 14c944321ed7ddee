"""Files by what they hold: the digest of a file's bytes, computed once as long as the file stays as it is."""

from __future__ import annotations

from pathlib import Path

from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.data.manifest import file_sha256

_DIGESTS: dict[tuple[str, int, int], str] = {}
"""Path, size and time of change to digest, for this process. It depends on nothing but the files."""


def content_digest(path: Path, progress: Progress = no_progress) -> str:
    """SHA-256 of a file's bytes, in hexadecimal; read anew where its size or its time of change is another."""
    facts = path.stat()
    key = str(path), facts.st_size, facts.st_mtime_ns
    if key not in _DIGESTS:
        _DIGESTS[key] = file_sha256(path, progress)
    return _DIGESTS[key]
