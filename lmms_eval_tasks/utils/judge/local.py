"""A judge or teacher in this process: a vision-language model of transformers, where no server is to be set up."""

from __future__ import annotations

import io
import threading
from functools import cached_property
from typing import Any

from lmms_eval_tasks.utils.core.text import first_line
from lmms_eval_tasks.utils.judge.replies import Case, Reply, Sampling
from lmms_eval_tasks.utils.servers.errors import ServerError


class LocalModel:
    """A model that is loaded for the first case, on the GPU where there is one; threads may share it."""

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._lock = threading.Lock()

    def reply(self, case: Case) -> Reply:
        """Return the model's reply to a case."""
        with self._lock:
            try:
                return Reply(self._generate(case), self._sampling.model)
            except Exception as error:  # whatever loading, a processor or a GPU raises
                reason = f"the model failed: {type(error).__name__}: {first_line(error)}"
                raise ServerError(reason, again=False) from error

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        import torch
        from transformers import AutoModelForImageTextToText, AutoProcessor

        model = AutoModelForImageTextToText.from_pretrained(self._sampling.model, dtype="auto")
        device = "cuda" if torch.cuda.is_available() else "cpu"
        return AutoProcessor.from_pretrained(self._sampling.model), model.to(device).eval()

    def _generate(self, case: Case) -> str:
        from PIL import Image

        processor, model = self._loaded
        images = [{"type": "image", "image": Image.open(io.BytesIO(image)).convert("RGB")} for image in case.images]
        messages = [{"role": "user", "content": [*images, {"type": "text", "text": case.text}]}]
        inputs = processor.apply_chat_template(
            messages, tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
        ).to(model.device)
        sampling: dict[str, Any] = {"do_sample": False}
        if self._sampling.temperature > 0:
            sampling = {"do_sample": True, "temperature": self._sampling.temperature, "top_p": self._sampling.top_p}
        given = model.generate(**inputs, max_new_tokens=self._sampling.max_tokens, **sampling)
        new = given[:, inputs["input_ids"].shape[1] :]
        return str(processor.batch_decode(new, skip_special_tokens=True)[0])
