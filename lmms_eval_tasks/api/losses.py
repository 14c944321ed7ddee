"""Losses of a diffusion model in place of answers.

Examples:
    A model denoises a clip and its reversal, each in windows of frames and at several timesteps from 0 (clean) to 1000
    (noise). The losses of all windows and timesteps become one loss of the clip. Here are two windows, with 6 and 2
    latent frames that count, and three timesteps.

    >>> from lmms_eval_tasks.api.losses import DenoisingResponse, combine_losses, read_denoising
    >>> losses = {
    ...     "forward": [[0.25, 0.5, 0.75], [1.0, 1.0, 1.0]],
    ...     "backward": [[0.5, 0.75, 1.0], [1.0, 1.0, 1.0]],
    ... }
    >>> latents = [6, 2]
    >>> combined = {side: combine_losses(one, latents, "latents") for side, one in losses.items()}
    >>> combined
    {'forward': 0.625, 'backward': 0.8125}

    The protocol names the rule: every latent frame weighs the same, every window does, or windows are added up.

    >>> {rule: combine_losses(losses["forward"], latents, rule) for rule in ("latents", "windows", "sum")}
    {'latents': 0.625, 'windows': 0.75, 'sum': 1.5}

    The answer is JSON text, which a task that declares ``TaskKind(…, takes_losses=True)`` gets as any other response.

    >>> answer = DenoisingResponse(
    ...     item_id="pair1",
    ...     loss=combined,
    ...     losses=losses,
    ...     timesteps=[250.0, 500.0, 750.0],
    ...     windows=[
    ...         {"start": 0, "stop": 21, "borrowed": 0, "skipped": 0, "latents": 6},
    ...         {"start": 8, "stop": 29, "borrowed": 13, "skipped": 4, "latents": 2},
    ...     ],
    ...     settings={"model": "Small", "combine": "latents"},
    ... )
    >>> response = answer.to_json()

    What grades the answer reads the text. The model wins the pair where the clip as filmed has the lower loss.

    >>> def grade(response):
    ...     read = read_denoising(response)
    ...     if read is None:
    ...         return "no losses"
    ...     if read.loss is None:
    ...         return f"unscored, {read.error.kind}: {read.error.message}"
    ...     return "won" if read.loss.forward < read.loss.backward else "not won"
    >>> grade(response)
    'won'

    No text raises an error. Words are no losses, and neither is a table with more windows than the answer lists. A pair
    that could not be measured has an error in place of losses, which says why.

    >>> grade("Time runs forward.")
    'no losses'
    >>> grade(answer.model_copy(update={"windows": answer.windows[:1]}).to_json())
    'no losses'
    >>> why = {"kind": "short_clip", "message": "Expected at least 5 frames, but the clip has 3."}
    >>> grade(DenoisingResponse(item_id="pair2", error=why).to_json())
    'unscored, short_clip: Expected at least 5 frames, but the clip has 3.'

    The table is kept in the answer, so that it can be combined otherwise, for instance into a loss for each timestep.

    >>> read = read_denoising(response)
    >>> counted = [window.latents for window in read.windows]
    >>> [combine_losses([[row[step]] for row in read.losses.forward], counted, "latents") for step in range(3)]
    [0.4375, 0.625, 0.8125]
"""

from __future__ import annotations

from lmms_eval_tasks.utils.denoising.protocol import combine_losses
from lmms_eval_tasks.utils.denoising.response import DenoisingResponse, read_denoising

__all__ = [
    "DenoisingResponse",
    "combine_losses",
    "read_denoising",
]
