"""Libraries that read clips, as they are where they are installed and cannot be used."""

from pathlib import Path
from typing import Any

import av
import pytest

NO_FFMPEG = """
class VideoDecoder:
    def __init__(self, source, **options):
        raise RuntimeError("Could not load libtorchcodec. Likely causes:\\n  1. FFmpeg is not installed.")
"""


def write_broken_torchcodec(folder: Path) -> Path:
    """A torchcodec that can be imported and reads no clip, as 0.17 without FFmpeg; the folder to import it from."""
    (folder / "torchcodec").mkdir(parents=True)
    (folder / "torchcodec" / "__init__.py").touch()
    (folder / "torchcodec" / "decoders.py").write_text(NO_FFMPEG)
    return folder


def note_opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that PyAV opens from now on, in their order."""
    opened: list[Path] = []
    open_file = av.open

    def note(path: Any, *more: Any) -> Any:
        opened.append(Path(path))
        return open_file(path, *more)

    monkeypatch.setattr(av, "open", note)
    return opened
