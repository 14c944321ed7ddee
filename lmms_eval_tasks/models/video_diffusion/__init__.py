"""`video_diffusion`: measures how well a video diffusion model denoises a clip and its reversal.

One class of `adapters` per family holds what is particular to it; the table `families.json` lists checkpoints with
their size, frames and rate; everything else is shared. A new family is a subclass of `adapters.Adapter`, listed in
`adapters.ADAPTERS`, and one row of the table.
"""

from lmms_eval_tasks.models.video_diffusion.model import VideoDiffusion

__all__ = ["VideoDiffusion"]
