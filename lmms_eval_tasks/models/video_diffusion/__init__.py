"""`video_diffusion`: measures how well a video diffusion model denoises a clip and its reversal.

One file per family (`wan`, `cogvideox`, `ltx`, `mochi`, `hunyuan`, `animatediff`) holds what is particular to it; the
table `families.json` lists checkpoints with their size, frames and rate; everything else is shared. A new family is one
such file with a subclass of `adapter.Adapter` named `ADAPTER`, and one row of the table.
"""

from lmms_eval_tasks.models.video_diffusion.model import VideoDiffusion

__all__ = ["VideoDiffusion"]
