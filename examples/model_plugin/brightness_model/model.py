"""A model that looks at one thing, whether the clip gets brighter: replace `look` by your own."""

import av
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

    def look(self, prompt: str, clip: str) -> str:
        """The response to a prompt about a clip."""
        with av.open(clip) as container:
            shades = [frame.to_ndarray(format="rgb24").mean() for frame in container.decode(video=0)]
        return "A" if shades[-1] - shades[0] > self.threshold else "B"

    def generate_until(self, requests: list) -> list[str]:
        """One response per request, in order; this rank's share of the items."""
        responses = []
        for request in tqdm(requests, disable=self.rank != 0):
            prompt, _, doc_to_visual, doc_id, task, split = request.args
            (clip,) = doc_to_visual(self.task_dict[task][split][doc_id])
            responses.append(self.look(prompt, clip))
        return responses

    def loglikelihood(self, requests: list) -> list:
        """Our tasks never ask for likelihoods."""
        raise NotImplementedError

    def generate_until_multi_round(self, requests: list) -> list[str]:
        """Our tasks have one round."""
        raise NotImplementedError
