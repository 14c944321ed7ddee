"""Options of lmms-eval's command line that do not work with our tasks."""

from __future__ import annotations

from lmms_eval_tasks.host.ranks import command_options

_ITEMS = "sends what licences do not let you pass on, or fails on scores that only some items enter."
REFUSED = {
    "baseline": "compares nothing here. Run both models, then: lmms-eval-tasks compare OUT OTHER_OUT",
    "num_fewshot": "has no effect: our tasks are asked without examples.",
    "apply_chat_template": "is not needed, and few models have what it asks for: they apply their template anyway.",
    "cache_requests": "keeps requests by the names of tasks alone, so another prompt or data is not seen.",
    "check_integrity": "runs tests that lmms-eval's package lacks. Try: lmms-eval-tasks check",
    "launcher_args": "starts a judge that our tasks do not ask: LMMS_EVAL_TASKS_JUDGE names theirs.",
    "wandb_log_samples": _ITEMS,
    "swanlab_log_samples": _ITEMS,
}
"""Option to why it is refused, in the words that follow its name."""
FROM_LOG = "--model from_log reads no logs of our tasks. Instead: --model replay --model_args predictions=OUT"
SYSTEM = "--system_instruction does not reach chat models. Try the model's own argument, or --force_simple."


def describe_refused() -> str | None:
    """Return the refused options of the running command and the reasons, or None if it has none of them."""
    options = command_options()
    reasons = [f"--{name} {reason}" for name, reason in REFUSED.items() if options.get(name)]
    if options.get("model") == "from_log":
        reasons.append(FROM_LOG)
    if options.get("system_instruction") and _takes_messages(options["model"], options["force_simple"]):
        reasons.append(SYSTEM)
    return "\n".join(reasons) or None


def _takes_messages(model: str, force_simple: bool) -> bool:
    from lmms_eval.models import MODEL_REGISTRY_V2

    try:
        return bool(MODEL_REGISTRY_V2.resolve(model, force_simple).model_type == "chat")
    except ValueError:  # there is no such model, as lmms-eval says next
        return False
