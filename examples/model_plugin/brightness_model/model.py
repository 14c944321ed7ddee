"""Two models, each of which looks at one thing: replace `look` of the one that answers as yours does."""

import json
from itertools import pairwise

import av
import numpy as np
from accelerate import Accelerator
from lmms_eval.api.model import lmms
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

    def look(self, prompt: str, clips: list[str]) -> str:
        """The response to a prompt about some clips; most tasks show one."""
        shades = [frame.mean() for frame in read_frames(clips[0])]
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

    def look(self, prompt: str, clips: list[str]) -> str:
        """The losses, one number for each clip in its order; there is no prompt."""
        return json.dumps({"losses": [self.prediction_error(clip) for clip in clips]})

    def prediction_error(self, clip: str) -> float:
        """Mean squared difference between a frame and the one before it."""
        errors = [np.square(later - frame).mean() for frame, later in pairwise(read_frames(clip))]
        return float(np.mean(errors))


def read_frames(clip: str) -> list[np.ndarray]:
    """The frames of a clip, (height, width, 3) each, 0 to 255."""
    with av.open(clip) as container:
        return [frame.to_ndarray(format="rgb24").astype(np.float32) for frame in container.decode(video=0)]
