"""Models that this package adds to lmms-eval: the name of each, and its class in a module of this package."""

MODELS = {
    "constant_answer": "stand_ins.ConstantAnswer",
    "random_answer": "stand_ins.RandomAnswer",
    "replay": "stand_ins.Replay",
    "sample_solver": "stand_ins.SampleSolver",
    "video_diffusion": "video_diffusion.model.VideoDiffusion",
}
CHAT_MODELS = {"shared_prefix": "shared_prefix.model.SharedPrefix", "shared_vllm": "shared_vllm.SharedVLLM"}
"""Those that take lmms-eval's chat messages."""
