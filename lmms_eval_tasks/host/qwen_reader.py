"""By which reader qwen-vl-utils decodes clips, and ours in its table for those that cannot be used.

It takes torchcodec where that is installed, even without the FFmpeg that torchcodec needs, else decord. What one cannot
read is read by torchvision, which has had no reader of clips since 0.28: a run then ends at its first clip.
Source: vision_process.py of qwen-vl-utils 0.0.14.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.wording import first_line
from lmms_eval_tasks.utils.data.clips import write_placeholder
from lmms_eval_tasks.utils.data.frames import PyavFrames

PYAV = "pyav"
"""Our reader's own name in the table."""
FALLBACK = "torchvision"
"""What qwen-vl-utils reads by where another reader fails."""
CHOICE = "FORCE_QWENVL_VIDEO_READER"
"""The variable of the environment by which a user chooses a reader."""
OPENED = "opened"
"""Where a video of a message has a clip that is open already, a `PyavFrames`; it is read by that."""


@dataclass(frozen=True)
class StandIn:
    """Our reader, in the table of qwen-vl-utils."""

    reason: str | None = None

    def __call__(self, element: Mapping[str, Any]) -> tuple[Any, dict[str, Any], float]:
        """Frames, (T, 3, H, W) RGB, what is known of them, and their rate; the same ones as its reader by decord
        takes."""
        import torch
        from qwen_vl_utils import vision_process

        reader = element.get(OPENED) or PyavFrames(Path(element["video"].removeprefix("file://")))
        first, last, count = vision_process.calculate_video_frame_range(element, reader.count, reader.fps)
        number = vision_process.smart_nframes(element, total_frames=count, video_fps=reader.fps)
        positions: list[int] = torch.linspace(first, last, number).round().long().tolist()
        video = torch.from_numpy(reader.read(positions)).permute(0, 3, 1, 2)
        facts = {
            "fps": reader.fps,
            "frames_indices": positions,
            "total_num_frames": count,
            "video_backend": PYAV,
        }
        return video, facts, number / count * reader.fps


@dataclass(frozen=True)
class ReadOpened:
    """In the table of qwen-vl-utils: reads a clip that is open already, and leaves all others to another reader."""

    other: Any

    def __call__(self, element: Mapping[str, Any]) -> tuple[Any, dict[str, Any], float]:
        """See `StandIn`."""
        read = StandIn() if OPENED in element else self.other
        result: tuple[Any, dict[str, Any], float] = read(element)
        return result


def read_opened() -> None:
    """Let qwen-vl-utils read by `PyavFrames` what a message has as `OPENED`, and everything else as before."""
    from qwen_vl_utils import vision_process

    readers = vision_process.VIDEO_READER_BACKENDS
    readers |= {name: ReadOpened(read) for name, read in readers.items() if not isinstance(read, (ReadOpened, StandIn))}


@dataclass(frozen=True)
class QwenReader:
    """By which reader qwen-vl-utils decodes clips."""

    name: str
    instead_of: str | None = None
    reason: str | None = None

    def __str__(self) -> str:
        instead = f" in place of {self.instead_of}" if self.instead_of else ""
        return f"qwen-vl-utils: {self.name}{instead}"


def settle_reader() -> QwenReader:
    """Find by which reader qwen-vl-utils decodes clips, with ours in its table for those that cannot be used."""
    from qwen_vl_utils import vision_process

    readers = vision_process.VIDEO_READER_BACKENDS
    readers.setdefault(PYAV, StandIn())
    name, chosen = vision_process.get_video_reader_backend(), vision_process.FORCE_QWENVL_VIDEO_READER is not None
    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder, "clip.mp4")
        write_placeholder(clip)
        reasons = {reader: _find_fault(readers, reader, clip) for reader in (name, FALLBACK)}
    if not chosen:
        readers |= {reader: StandIn(reason) for reader, reason in reasons.items() if reason}
    elif reasons[name] and reasons[FALLBACK]:
        raise InputError(
            f"{CHOICE} is {name!r}, by which qwen-vl-utils cannot read clips here ({reasons[name]}).\n"
            f"Remedy: unset {CHOICE}, and clips that no reader of qwen-vl-utils can read are read by PyAV; or choose "
            f"another: {', '.join(reader for reader in readers if not reasons.get(reader))}."
        )
    elif reasons[name]:
        return QwenReader(FALLBACK)
    reader = readers[name]
    return QwenReader(PYAV, name, reader.reason) if isinstance(reader, StandIn) and reader.reason else QwenReader(name)


def _find_fault(readers: Mapping[str, Any], name: str, clip: Path) -> str | None:
    """Why a reader cannot be used; None where it can decode a clip."""
    if name not in readers:
        return "there is no such reader"
    try:
        readers[name]({"video": str(clip), "nframes": 2})
    except Exception as error:  # whatever a library raises that is installed, but not whole
        return f"{type(error).__name__}: {first_line(error).partition('. ')[0].rstrip('.')}"
    return None
