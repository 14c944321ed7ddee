"""Judges as lmms-eval's users name them: by a text, or by lmms-eval's own variables."""

from __future__ import annotations

import os
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.text import JUDGE, hide_secrets, parse_arguments
from lmms_eval_tasks.utils.judge.client import Judge
from lmms_eval_tasks.utils.judge.local import LocalModel
from lmms_eval_tasks.utils.judge.replies import ReplyCache, ReplyRecord, Send
from lmms_eval_tasks.utils.judge.server import LOCAL_MODEL, JudgeSettings, open_sender
from lmms_eval_tasks.utils.servers.chat import ChatReply

NO_JUDGE = "none"
EXAMPLE = f"{JUDGE}=model=NAME,url=http://localhost:8000/v1,max_tokens=4096"

R = TypeVar("R", bound=BaseModel)


def read_settings(text: str | None = None, optional: bool = False) -> JudgeSettings | None:
    """The judge that a user chose."""
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
            f"name it, for instance {EXAMPLE}, or set {JUDGE}={NO_JUDGE} to run without a judge and judge later.",
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
    """A judge whose replies are of a schema; threads may share it."""
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
    """Return the function that sends one case to a judge, a server or a model in this process, without retrying."""
    if settings.provider == LOCAL_MODEL:
        if given := [name for name in ("url", "json_mode") if getattr(settings, name)]:
            raise InputError(f"Expected no {given[0]} for the provider {LOCAL_MODEL}, which asks no server.")
        return LocalModel(settings.sampling).reply
    # With this import lmms-eval reads a .env file, which may hold the key.
    import lmms_eval.llm_judge  # noqa: F401
    from lmms_eval.models.model_utils.usage_metrics import log_usage

    def note(reply: ChatReply) -> None:
        """Count the tokens, for lmms-eval's summary and its budget."""
        tokens = (reply.usage.get(name) for name in ("prompt_tokens", "completion_tokens"))
        asked, said = (number if isinstance(number, int) else 0 for number in tokens)
        log_usage(reply.model or settings.model, None, asked, said, 0, "judge")

    return open_sender(settings, note)
