"""Two models, each of which looks at one thing: replace `look` of the one that answers as yours does.

What is shown depends on the view of a task: clips, pictures or nothing (docs/checkpoint.md has the table).
"""

import json
from itertools import pairwise

import av
import numpy as np
from accelerate import Accelerator
from lmms_eval.api.model import lmms
from PIL.Image import Image
from tqdm import tqdm


class Brightness(lmms):
    """Answers A where the clip's last frame is brighter than its first, else B."""

    is_simple = True

    def __init__(self, threshold: float = 0.0, batch_size: int = 1, device: str | None = None) -> None:
        super().__init__()
        self.threshold = threshold  # from --model_args threshold=…
        self.accelerator = Accelerator()  # lmms-eval asks for it when there are several ranks
        self.device = self.accelerator.device
        self._rank, self._world_size = self.accelerator.process_index, self.accelerator.num_processes

    def look(self, prompt: str, seen: list[str | Image]) -> str:
        """The response to a prompt about what is seen; most tasks show one clip."""
        shades = [frame.mean() for frame in read_frames(seen[0])] if seen else [0.0]
        return "A" if shades[-1] - shades[0] > self.threshold else "B"

    def generate_until(self, requests: list) -> list[str]:
        """One response per request, in order; this rank's share of the items."""
        responses = []
        for request in tqdm(requests, disable=self.rank != 0):
            prompt, _, doc_to_visual, doc_id, task, split = request.args
            responses.append(self.look(prompt, doc_to_visual(self.task_dict[task][split][doc_id])))
        return responses

    def loglikelihood(self, requests: list) -> list:
        """Our tasks never ask for likelihoods."""
        raise NotImplementedError

    def generate_until_multi_round(self, requests: list) -> list[str]:
        """Our tasks have one round."""
        raise NotImplementedError


class Motion(Brightness):
    """Gives a loss for each clip: the error of predicting each frame by the one before it."""

    answer_forms = ("clip losses",)

    def __init__(self, batch_size: int = 1, device: str | None = None) -> None:
        super().__init__(batch_size=batch_size, device=device)

    def look(self, prompt: str, seen: list[str | Image]) -> str:
        """The losses, one number for each clip or picture in its order; there is no prompt."""
        return json.dumps({"losses": [self.prediction_error(one) for one in seen]})

    def prediction_error(self, seen: str | Image) -> float:
        """Mean squared difference between a frame and the one before it; 0 of a single one."""
        errors = [np.square(later - frame).mean() for frame, later in pairwise(read_frames(seen))]
        return float(np.mean(errors)) if errors else 0.0


def read_frames(seen: str | Image) -> list[np.ndarray]:
    """The frames of a clip, or the one of a picture, (height, width, 3) each, 0 to 255."""
    if isinstance(seen, Image):
        return [np.asarray(seen.convert("RGB"), dtype=np.float32)]
    with av.open(seen) as container:
        return [frame.to_ndarray(format="rgb24").astype(np.float32) for frame in container.decode(video=0)]
