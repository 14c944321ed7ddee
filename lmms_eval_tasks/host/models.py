"""The models that this package adds to lmms-eval."""

MODELS = {
    "constant_answer": "floors.ConstantAnswer",
    "random_answer": "floors.RandomAnswer",
    "replay": "replay.Replay",
    "sample_solver": "sample_solver.SampleSolver",
    "video_diffusion": "video_diffusion.VideoDiffusion",
}
"""Name to class, with its module in `lmms_eval_tasks.models`."""

CHAT_MODELS = {"shared_prefix": "shared_prefix.SharedPrefix", "shared_vllm": "shared_vllm.SharedVLLM"}
"""The same for models that take lmms-eval's chat messages."""

CLIPLESS = frozenset({"constant_answer", "random_answer", "replay"})
"""Those that look at no clip and so need none."""


def is_ours(kind: type) -> bool:
    """Whether a class of models is, or is made from, one of this package."""
    return any(base.__module__.startswith(f"{__package__.partition('.')[0]}.") for base in kind.__mro__)


def model_name(kind: type) -> str:
    """The name by which lmms-eval knows one of our classes; the class's own where it is none of them."""
    return next(
        (name for name, path in {**MODELS, **CHAT_MODELS}.items() if path.endswith(f".{kind.__name__}")), kind.__name__
    )
