"""Putting clips where a build wants them: linked, taken from an earlier build, or made."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from lmms_eval_tasks.utils.core.files import replacing
from lmms_eval_tasks.utils.data.release import Clip


def place_clip(clip: Clip | Path, target: Path, earlier: Iterable[Path]) -> None:
    """Make `target` a clip: linked where it is a file, else kept or taken from an earlier build, else made."""
    if isinstance(clip, Path):
        link(clip.absolute(), target)
    elif not clip.is_made(target):
        target.unlink(missing_ok=True)
        made = next(filter(clip.is_made, earlier), None)
        if made is not None:
            link_or_copy(made, target)
            return
        with replacing(target) as beside:
            clip.make(beside)


def link(path: Path, target: Path) -> None:
    """Make `target` a symbolic link to `path`; a hard link or a copy where the file system has no symbolic ones."""
    if target.is_symlink() and target.readlink() == path:
        return
    target.unlink(missing_ok=True)
    try:
        target.symlink_to(path)
    except OSError:
        link_or_copy(path, target)


def link_or_copy(path: Path, target: Path) -> None:
    """Make `target` a second name of the file, or a copy where the file system has no hard links."""
    try:
        os.link(path, target, follow_symlinks=False)
    except OSError:
        shutil.copyfile(path, target, follow_symlinks=False)
