"""The models that this package adds to lmms-eval."""

MODELS = {
    "constant_answer": "ConstantAnswer",
    "random_answer": "RandomAnswer",
    "replay": "Replay",
    "sample_solver": "SampleSolver",
    "video_diffusion": "VideoDiffusion",
}
"""Name to class, in the module of that name in `lmms_eval_tasks.models`."""

CLIPLESS = frozenset({"constant_answer", "random_answer", "replay"})
"""Those that look at no clip and so need none."""
