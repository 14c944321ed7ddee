"""Clips whose frames carry their number as a row of black and white blocks, so that any reader tells their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

BITS = 10


def numbered_frame(number: int, width: int, height: int) -> NDArray[np.uint8]:
    """A picture, (H, W, 3), with smooth colours, and on top a row of blocks that are the number's binary digits."""
    rows, columns = np.mgrid[:height, :width]
    picture = np.stack([rows * 200 // height, columns * 200 // width, (rows + columns + 5 * number) % 200], axis=-1)
    side = width // BITS
    for bit in range(BITS):
        picture[: height // 3, bit * side : (bit + 1) * side] = 255 if number >> bit & 1 else 0
    return picture.astype(np.uint8)


def number_of(picture: NDArray[np.uint8]) -> int:
    """The number that a picture carries."""
    height, width = picture.shape[:2]
    side = width // BITS
    centres = [picture[height // 6, bit * side + side // 2].mean() for bit in range(BITS)]
    return sum(int(brightness > 128) << bit for bit, brightness in enumerate(centres))


def bars_of(picture: NDArray[np.uint8]) -> int:
    """The number that a picture of a clip in `tests/utils/data/clips` carries, as six bars of 20 pixels, the lowest
    digit on the left."""
    return sum(int(picture[20, 12 + 20 * bit].mean() > 128) << bit for bit in range(6))


def write_numbered(
    path: Path,
    count: int,
    size: tuple[int, int] = (80, 48),
    codec: str = "libx264",
    pixels: str = "yuv420p",
    times: list[int] | None = None,
    sound: bool = False,
    options: Mapping[str, str] | None = None,
    colours: tuple[int, int] | None = None,
    pixel: Fraction | None = None,
) -> Path:
    """A clip of `count` frames, 12.5 a second or at `times` in hundredths of a second.

    `colours` are the matrix and the range that its header states, as FFmpeg numbers them: (1, 1) is BT.709, limited;
    `pixel` is the width of a pixel to its height.

    Pictures of less than 64 pixels a line are too narrow for decord, which then counts four colours.
    """
    with av.open(str(path), "w") as container:
        quality = {"crf": "10"} if codec == "libx264" else {}
        stream = container.add_stream(codec, rate=Fraction(25, 2), options={**quality, **(options or {})})
        stream.width, stream.height, stream.pix_fmt = *size, pixels
        stream.codec_context.gop_size = 12
        if pixel:
            stream.codec_context.sample_aspect_ratio = pixel
        if colours:
            stream.codec_context.colorspace, stream.codec_context.color_range = colours
        if times:
            stream.codec_context.time_base = Fraction(1, 100)
        voice = container.add_stream("aac", rate=8000) if sound else None
        for number in range(count):
            frame = av.VideoFrame.from_ndarray(numbered_frame(number, *size), format="rgb24")
            if times:
                frame.pts, frame.time_base = times[number], Fraction(1, 100)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        if voice:
            silence = av.AudioFrame.from_ndarray(np.zeros((1, 8000), dtype=np.float32), format="fltp", layout="mono")
            silence.sample_rate = 8000
            container.mux([*voice.encode(silence), *voice.encode(None)])
    return path


def lay_on_its_side(path: Path, degrees: int = 90) -> Path:
    """Set in an mp4's header that its picture is to be turned, as a phone does; 90, 180 or 270 degrees clockwise."""
    content = path.read_bytes()
    start = content.index(b"tkhd") + 44
    one = 65536
    matrix = {90: (0, one, 0, -one, 0, 0), 180: (-one, 0, 0, 0, -one, 0), 270: (0, -one, 0, one, 0, 0)}[degrees]
    turned = b"".join(value.to_bytes(4, "big", signed=True) for value in (*matrix, 0, 0, 1 << 30))
    path.write_bytes(content[:start] + turned + content[start + 36 :])
    return path


def cut_off(path: Path, frames: int) -> Path:
    """Set in the header of an mp4 by `write_numbered` that its first frames are not shown, as cutting tools do."""
    content = bytearray(path.read_bytes())
    start = content.index(b"elst") + 12
    length, first = (int.from_bytes(content[at : at + 4], "big") for at in (start, start + 4))
    content[start : start + 4] = (length - 80 * frames).to_bytes(4, "big")  # in thousandths of a second
    content[start + 4 : start + 8] = (first + 1024 * frames).to_bytes(4, "big")  # in ticks, 12,800 a second
    path.write_bytes(content)
    return path


def pictures_by(reader: str, path: Path, numbers: Sequence[int] | None = None) -> NDArray[np.uint8]:
    """All frames, (T, H, W, 3) RGB, as ``decord``, ``av`` or ``cv2`` read them; decord also those of some numbers."""
    if reader == "decord":
        import decord

        video = decord.VideoReader(str(path), num_threads=1)
        batch = video.get_batch(list(range(len(video)) if numbers is None else numbers))
        return np.asarray(batch.asnumpy() if hasattr(batch, "asnumpy") else batch.numpy())
    if reader == "av":
        with av.open(str(path)) as container:
            return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])
    import cv2

    capture, read = cv2.VideoCapture(str(path)), []
    while (answer := capture.read())[0]:
        read.append(answer[1][..., ::-1])
    return np.stack(read)
