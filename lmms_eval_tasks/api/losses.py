"""Losses in place of answers.

A task says by ``TaskKind(…, answer_form=AnswerForm.CLIP_LOSSES)`` that it takes a loss for each clip that it shows, and
by ``AnswerForm.LOSSES`` that it takes the denoising losses of a clip and its reversal. A model says by its class
attribute ``answer_forms = ("clip losses",)`` that it gives them; one that does not fit is refused before it is loaded.

Examples:
    A loss for each clip is any number that is lower for what the model finds more likely: the error with which it
    predicts or denoises the clip, or the loss of its language model. The answer is JSON text, at its least this:

    >>> from lmms_eval_tasks.api import Metric, TaskKind, UnscoredReason
    >>> from lmms_eval_tasks.api.losses import AnswerForm, guess_losses, lowest_clip, read_clip_losses
    >>> answer = read_clip_losses('{"losses": [0.31, 0.29]}', clips=2)
    >>> lowest_clip(answer.losses)
    'B'

    Where several clips have the lowest loss, or one is not finite, no clip wins:

    >>> lowest_clip([0.31, 0.31]), lowest_clip([0.31, float("nan")])
    ('tie', 'non-finite')

    No text raises an error. Anything but a number for each clip is no answer, and a model that cannot measure says why:

    >>> [read_clip_losses(text, clips=2) for text in ("The second.", '{"losses": [0.31]}', '{"losses": [true, 1]}')]
    [None, None, None]
    >>> why = '{"error": {"kind": "out_of_memory", "message": "The clips are too long."}}'
    >>> read_clip_losses(why, clips=2).error.kind
    'out_of_memory'
    >>> UnscoredReason.of_error("out_of_memory").value
    'out of memory'

    A model may say more: with ``timesteps`` and ``curves`` its losses at several timesteps, in ``settings`` what fixes
    the numbers and what the model is called, in ``settings_digest`` a text that is another one where they may be, and
    in ``details`` what else is worth keeping. Any other key makes the text no answer.

    >>> text = '''{"losses": [0.4, 0.5], "timesteps": [250, 750], "curves": [[0.2, 0.6], [0.1, 0.9]],
    ...     "settings": {"model": "Small"}}'''
    >>> answer = read_clip_losses(text, clips=2)
    >>> [lowest_clip(losses) for losses in zip(*answer.curves)]
    ['B', 'A']

    A kind of task takes them by its form, and names in its guesses what `random_answer` chooses from:

    >>> guess_losses(2)
    ('{"losses": [0, 1]}', '{"losses": [1, 0]}')
    >>> won = Metric("won", "won", lambda record: 100.0 * bool(record.correct))
    >>> kind = TaskKind((won,), answer_form=AnswerForm.CLIP_LOSSES, guesses=lambda row: guess_losses(2), views=())
    >>> kind.answer_form.value
    'clip losses'

    A diffusion model denoises a clip and its reversal, each in windows of frames and at several timesteps from 0
    (clean) to 1000 (noise). The losses of all windows and timesteps become one loss of the clip. Here are two windows,
    with 6 and 2 latent frames that count, and three timesteps.

    >>> from lmms_eval_tasks.api.losses import DenoisingResponse, combine_by_timestep, read_denoising
    >>> losses = {
    ...     "forward": [[0.25, 0.5, 0.75], [1.0, 1.0, 1.0]],
    ...     "backward": [[0.5, 0.75, 1.0], [1.0, 1.0, 1.0]],
    ... }
    >>> latents = [6, 2]

    The protocol names the rule: every latent frame weighs the same, every window does, or windows are added up. The
    mean over timesteps is the loss of the clip.

    >>> for rule in ("latents", "windows", "sum"):
    ...     print(rule, combine_by_timestep(losses["forward"], latents, rule))
    latents [0.4375, 0.625, 0.8125]
    windows [0.625, 0.75, 0.875]
    sum [1.25, 1.5, 1.75]

    About a clip and its reversal, the answer is JSON text too, which the task gets as any other response.

    >>> answer = DenoisingResponse(
    ...     item_id="pair1",
    ...     loss={"forward": 0.625, "backward": 0.8125},
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

    The table is kept in the answer, so that it can be combined otherwise.

    >>> read = read_denoising(response)
    >>> counted = [window.latents for window in read.windows]
    >>> combine_by_timestep(read.losses.forward, counted, read.settings["combine"])
    [0.4375, 0.625, 0.8125]
"""

from __future__ import annotations

from lmms_eval_tasks.utils.answers.losses import (
    DenoisingResponse,
    guess_losses,
    lowest_clip,
    read_clip_losses,
    read_denoising,
)
from lmms_eval_tasks.utils.answers.losses_protocol import combine_by_timestep
from lmms_eval_tasks.utils.benchmark.benchmark import AnswerForm

__all__ = [
    "AnswerForm",
    "DenoisingResponse",
    "combine_by_timestep",
    "guess_losses",
    "lowest_clip",
    "read_clip_losses",
    "read_denoising",
]
