"""`video_diffusion`: measures how well a video diffusion model denoises a clip and its reversal."""

from lmms_eval_tasks.models.video_diffusion.model import VideoDiffusion

__all__ = ["VideoDiffusion"]
