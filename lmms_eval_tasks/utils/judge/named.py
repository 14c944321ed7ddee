"""Judges as lmms-eval's users name them: by a text, or by lmms-eval's own variables."""

from __future__ import annotations

import io
import os
import threading
from functools import cached_property
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.text import JUDGE, first_line, hide_secrets, parse_arguments
from lmms_eval_tasks.utils.judge.client import Judge
from lmms_eval_tasks.utils.judge.replies import (
    LOCAL_MODEL,
    Case,
    JudgeSettings,
    Reply,
    ReplyCache,
    ReplyRecord,
    Sampling,
    Send,
    ServerError,
)

NO_JUDGE = "none"

R = TypeVar("R", bound=BaseModel)


def read_settings(text: str | None = None, optional: bool = False) -> JudgeSettings | None:
    """Return the judge that a user chose; None for none."""
    choice = (os.environ.get(JUDGE, "") if text is None else text).strip()
    if choice == NO_JUDGE or (optional and not choice):
        return None
    problems = Problems()
    values: dict[str, str] = {}
    if model := os.environ.get("MODEL_VERSION"):
        values["model"] = model
    if provider := os.environ.get("API_TYPE"):
        values["provider"] = provider.lower()
    if choice and "=" not in choice:
        choice = f"model={choice}"
    values |= parse_arguments(choice)
    if "model" not in values:
        problems.add(
            "model",
            "Expected the name of the judge's model but found none.",
            remedy=f"name it, for instance {JUDGE}=model=NAME,url=http://localhost:8000/v1,max_tokens=4096, or set "
            f"{JUDGE}={NO_JUDGE} to run without a judge and judge later.",
        )
    try:
        settings = JudgeSettings.model_validate({"model": "?", **values})
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            # The value of a setting that does not exist may be a key.
            got = "" if fault["type"] == "extra_forbidden" else f", but got {fault['input']!r}"
            problems.add(".".join(map(str, fault["loc"])), hide_secrets(f"{fault['msg']}{got}.", os.environ))
    problems.raise_if_any("The judge cannot be asked")
    return settings


def check_judge(optional: bool = False) -> None:
    """Refuse a choice of judge that could not be asked, before anything is."""
    settings = read_settings(optional=optional)
    if settings is not None:
        judge_sender(settings)


def open_judge(
    schema: type[R],
    settings: JudgeSettings,
    cache: ReplyCache | None = None,
    record: ReplyRecord | None = None,
) -> Judge[R]:
    """Open a judge whose replies are of a schema; threads may share it."""
    send = judge_sender(settings)
    if record is not None:
        return Judge(record.recording(send, settings.sampling), settings.sampling, schema, record, settings.limits)
    return Judge(send, settings.sampling, schema, cache or ReplyCache(), settings.limits)


def open_named_judge(
    schema: type[R], name: str, option: str = "--judge", record: ReplyRecord | None = None
) -> Judge[R]:
    """The judge that an option of a command names; nothing is sent to open it.

    Accepted replies are kept in ``judge_cache`` in the data home, so that no case is paid for twice.

    Args:
        schema: The form of a reply, a pydantic model.
        name: ``model=NAME,provider=openai,url=…,max_tokens=4096``, or a model's name alone. Providers are ``openai``,
            ``azure``, ``local`` (a server without a key) and ``transformers`` (a model loaded in this process).
        option: The option, for the message where it names no judge.
        record: Where every reply is kept, in place of the cache; of a build whose steps follow from each other.

    Raises:
        InputError: where it names no model, a setting is unknown or out of its range, or the server's address or key is
            missing or cannot be used.
    """
    settings = read_settings(name)
    if settings is None:
        raise InputError(f"Expected {option} to name a model, but got none.")
    return open_judge(schema, settings, record=record)


def judge_sender(settings: JudgeSettings) -> Send:
    """Return the sender of cases to a judge, a server or a model in this process; it repeats no request."""
    if settings.provider == LOCAL_MODEL:
        if given := [name for name in ("url", "json_mode") if getattr(settings, name)]:
            raise InputError(f"Expected no {given[0]} for the provider {LOCAL_MODEL}, which asks no server.")
        return LocalModel(settings.sampling).reply
    # With this import lmms-eval reads a .env file, which may hold the key.
    import lmms_eval.llm_judge  # noqa: F401
    from lmms_eval.models.model_utils.usage_metrics import log_usage

    from lmms_eval_tasks.utils.judge.server import open_sender

    # For lmms-eval's summary of tokens and its budget.
    return open_sender(settings, lambda model, asked, said: log_usage(model, None, asked, said, 0, "judge"))


class LocalModel:
    """A vision-language model of transformers, loaded in this process for the first case; threads may share it."""

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
