"""Pictures as the files that are sent to models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

JPEG_QUALITY = 90


def as_jpeg(picture: NDArray[np.uint8], longest_side: int) -> bytes:
    """A picture as the bytes of a JPEG file of quality 90; the same bytes each time.

    Args:
        picture: (H, W, 3), RGB, from 0 to 255.
        longest_side: Pixels of its longer side; a larger picture is made smaller.
    """
    import cv2

    scale = min(1.0, longest_side / max(picture.shape[:2]))
    if scale < 1.0:
        picture = np.asarray(cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)
    coded = cv2.imencode(".jpg", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1]
    return coded.tobytes()
