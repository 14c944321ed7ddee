"""Reading and writing videos and pictures.

Examples:
    A release has numbered pictures in place of a clip: here eight, ever brighter, of which four are shown a second.
    `FrameCoder` makes an mp4 of them. What it is given as the source says how long they are shown:

    >>> from fractions import Fraction
    >>> from pathlib import Path
    >>> import av
    >>> import numpy as np
    >>> from lmms_eval_tasks.api.clips import FrameCoder, FrameStream, PyavFrames, as_jpeg, videos_below
    >>> from lmms_eval_tasks.api.clips import ClipMotion, measure_motion, most_symmetric, symmetry
    >>> from lmms_eval_tasks.api.release import UnreadableClip
    >>> class PictureTiming:
    ...     rate, aspect = Fraction(4), Fraction(1)
    ...     def durations(self):
    ...         return [1] * 8, 1 / self.rate
    >>> Path("clips").mkdir()
    >>> forward = Path("clips") / "forward.mp4"
    >>> with FrameCoder(forward, PictureTiming(), comment="made of pictures") as coder:
    ...     for number in range(8):
    ...         picture = np.full((48, 64, 3), 30 * number, np.uint8)
    ...         frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")
    ...         coder.add(number, frame, is_key=number == 0)
    ...     coder.write(range(8))

    `FrameStream` decodes a clip from its first frame to its last, however long it is, with a few frames in memory. The
    header says some of it at once, the rest is known at the end. Times are in seconds from the first frame on:

    >>> with FrameStream(forward) as stream:
    ...     print(stream.fps, stream.size, stream.stated_frames)
    ...     means = [float(stream.pixels(frame, "gray", (16, 12)).mean()) for frame in stream.frames()]
    ...     print(stream.seconds_of_last_frame(), stream.stated_seconds())
    4.0 (64, 48) 8
    1.75 2.0
    >>> means == sorted(means)
    True

    Both together give the clip backwards. Each frame is coded once, as one that can be shown without another, and only
    the codes are put in order; the stream itself is the source:

    >>> backward = Path("clips") / "backward.mp4"
    >>> with FrameStream(forward) as stream, FrameCoder(backward, stream, every_key=True) as coder:
    ...     count = 0
    ...     for count, frame in enumerate(stream.frames(), 1):
    ...         coder.add(count - 1, frame)
    ...     coder.write(range(count)[::-1])

    `PyavFrames` finds frames by their number from 0 on, or the one that is shown at a second:

    >>> clip = PyavFrames(backward)
    >>> clip.count, clip.fps, clip.seconds
    (8, 4.0, 2.0)
    >>> first, last = clip.read([clip.number_at(0.0), clip.number_at(99.0)])
    >>> first.shape, bool(first.mean() > last.mean())
    ((48, 64, 3), True)

    A judge is sent pictures as JPEG files, no larger than need be:

    >>> jpeg = as_jpeg(first, longest_side=32)
    >>> import io
    >>> from PIL import Image
    >>> Image.open(io.BytesIO(jpeg)).size
    (32, 24)

    How much moves in a clip, in grey levels per second or by another measure, and how like its mirror image that is:

    >>> motion = measure_motion(forward)
    >>> isinstance(motion, ClipMotion), motion.frames, round(motion.magnitude), motion.symmetry > 0.9
    (True, 8, 120, True)

    The same measure says how equal the motion of two clips is, and which of some are the most equal:

    >>> symmetry([120.0, 100.0]), most_symmetric({"a": 0.7, "b": 0.9, "c": None}, share=0.5)
    (0.909091, {'b'})

    A folder of a user's own videos is taken by their suffixes, and only opening one shows whether it is a video:

    >>> _ = (Path("clips") / "notes.MOV").write_text("no video")
    >>> _ = (Path("clips") / "notes.txt").write_text("no video")
    >>> for path in videos_below(Path("clips")):
    ...     try:
    ...         with FrameStream(path) as stream:
    ...             print(path.name, "opens")
    ...     except UnreadableClip as error:
    ...         print(error)
    backward.mp4 opens
    forward.mp4 opens
    Expected clips/notes.MOV to be a video, but it cannot be opened.
    >>> Path("empty").mkdir()
    >>> videos_below(Path("empty"))
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: empty holds no video (.avi, .m4v, .mkv, .mov, .mp4, .webm).
"""

from __future__ import annotations

from lmms_eval_tasks.utils.data.clips import FrameStream, videos_below
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.motion import ClipMotion, measure_motion, most_symmetric, symmetry
from lmms_eval_tasks.utils.data.pictures import FrameCoder, as_jpeg

__all__ = [
    "ClipMotion",
    "FrameCoder",
    "FrameStream",
    "PyavFrames",
    "as_jpeg",
    "measure_motion",
    "most_symmetric",
    "symmetry",
    "videos_below",
]
