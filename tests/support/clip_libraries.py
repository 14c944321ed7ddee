"""Libraries that read clips, as they are where they are installed and cannot be used."""

from __future__ import annotations

from pathlib import Path


def write_broken_torchcodec(folder: Path) -> Path:
    """A torchcodec that can be imported and reads no clip, as 0.17 without FFmpeg; the folder to import it from."""
    package = folder / "torchcodec"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "decoders.py").write_text(
        "class VideoDecoder:\n"
        "    def __init__(self, source, **options):\n"
        '        raise RuntimeError("Could not load libtorchcodec. Likely causes:\\n  1. FFmpeg is not installed.")\n'
    )
    return folder
