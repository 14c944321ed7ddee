"""`video_diffusion`: the registered model."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_eval_tasks import __version__
from lmms_eval_tasks.host.environment import installed_version
from lmms_eval_tasks.host.ranks import stop_if_any
from lmms_eval_tasks.models.base import Request, RequestModel
from lmms_eval_tasks.models.video_diffusion.families import adapter_class
from lmms_eval_tasks.models.video_diffusion.settings import Settings, check_geometry, read_batch, read_settings
from lmms_eval_tasks.models.video_diffusion.store import AnswerStore
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.data.home import home

if TYPE_CHECKING:
    from lmms_eval_tasks.models.video_diffusion.adapter import Adapter
    from lmms_eval_tasks.models.video_diffusion.engine import Engine, Pair

PACKAGES = ("torch", "diffusers", "transformers")
OFFLOAD = {"false": "none", "true": "parts", "layers": "layers"}

logger = logging.getLogger(__name__)


class VideoDiffusion(RequestModel):
    """Answers each pair of clips with its denoising losses, as JSON text (`utils.denoising` says what is in it).

    Args:
        family: Name of a row of the table, as ``wan2.1-1.3b``.
        pretrained: Hub id or folder in diffusers' layout; the family's by default.
        revision: Branch, tag or commit of a hub id.
        protocol: ``paper``, ``official_example`` or ``wan_scripts``.
        target: ``training`` or ``noise``.
        prompt: ``forward`` or ``null``.
        dtype: ``bfloat16``, ``float32`` or ``float16``.
        batch: How many noisy clips at once: a number, or ``auto``.
        seed: Seed of all noise.
        offload: ``false``; ``true`` keeps only the part in use on the device; ``layers`` only the layer.
        compile: Whether the networks are compiled by torch.
        tiling: Whether the VAE works tile by tile.
        cache: Folder of the answers; in the data home by default, ``none`` keeps none.
        height: Of the frames shown; the family's by default, as are the next three.
        width: Of the frames shown.
        frames: Frames per window.
        fps: Frames per second.
        **host: ``batch_size`` and ``device``, as lmms-eval passes them.
    """

    shows_clips = True

    def __init__(
        self,
        family: str = "",
        pretrained: str | None = None,
        revision: str | None = None,
        protocol: str = "paper",
        target: str = "training",
        prompt: str = "forward",
        dtype: str = "bfloat16",
        batch: int | str = "auto",
        seed: int = 0,
        offload: bool | str = False,
        compile: bool = False,
        tiling: bool = False,
        cache: str | None = None,
        height: int | None = None,
        width: int | None = None,
        frames: int | None = None,
        fps: float | None = None,
        **host: Any,
    ) -> None:
        super().__init__(**host)
        message = None
        try:
            settings = read_settings(
                family,
                {
                    "pretrained": pretrained,
                    "revision": revision,
                    "protocol": protocol,
                    "target": target,
                    "prompt": prompt,
                    "dtype": dtype,
                    "seed": seed,
                    "height": height,
                    "width": width,
                    "frames": frames,
                    "fps": fps,
                    "tiling": tiling,
                },
            )
            self.engine = self._load(settings, read_batch(batch), str(offload).lower(), compile)
        except InputError as error:
            message = str(error)
        stop_if_any(message)
        chosen = home() / "cache" / "video_diffusion" if cache is None else Path(str(cache)).expanduser()
        self.store = AnswerStore(None if str(cache).lower() == "none" else chosen, self.engine.digest)

    def _load(self, settings: Settings, batch: int | None, offload: str, compiled: bool) -> Engine:
        """Load the model on this rank's device.

        Raises:
            InputError: diffusers is missing, the weights cannot be loaded, or they do not take the chosen frames.
        """
        try:
            import diffusers  # noqa: F401
        except ImportError as error:
            raise InputError(
                'video_diffusion needs diffusers.\nRun:  pip install "lmms-eval-tasks[diffusion]"'
            ) from error
        from lmms_eval_tasks.models.video_diffusion.engine import Engine
        from lmms_eval_tasks.models.video_diffusion.placement import Placement

        if offload not in OFFLOAD:
            raise InputError(f"Expected offload to be {', '.join(OFFLOAD)}, but got {offload!r}.")
        adapter = load_adapter(settings)
        settings = check_geometry(settings, adapter.temporal_compression, adapter.size_multiple)
        placement = Placement(self.device, OFFLOAD[offload])  # type: ignore[arg-type]
        if compiled:
            for network in adapter.denoisers.values():
                network.compile()
        return Engine(adapter, settings, placement, batch, package_versions())

    def prepare(self, requests: list[Request]) -> None:
        """Encode the captions of all pairs that have no kept answer, so that the text encoders are needed once."""
        waiting = [pair for pair in map(read_pair, requests) if self._kept(pair) is None]
        if len(waiting) < len(requests):
            logger.info(f"{len(requests) - len(waiting)} of {len(requests)} pairs were measured before")
        try:
            self.engine.encode_captions(pair.caption for pair in waiting)
        except Exception as error:
            # Each pair tries again by itself and then says so in its own answer.
            logger.warning(f"the captions could not be encoded ahead ({type(error).__name__}: {error})")

    def _kept(self, pair: Pair) -> str | None:
        return self.store.get(pair.item_id, self.engine.shown_caption(pair.caption), (pair.forward, pair.backward))

    def answer(self, request: Request) -> str:
        """Losses of a pair, or why there are none."""
        pair = read_pair(request)
        if not request.doc.get("asked", True):
            return self.engine.refuse(pair.item_id, "no_clip", "The prepared data has no clip for it.").to_json()
        if kept := self._kept(pair):
            return kept
        response = self.engine.measure(pair)
        text = response.to_json()
        if response.error is None:
            self.store.put(pair.item_id, self.engine.shown_caption(pair.caption), (pair.forward, pair.backward), text)
        return text


def load_adapter(settings: Settings) -> Adapter:
    """Load a model's weights into main memory.

    Raises:
        InputError: they cannot be loaded, or are not a checkpoint of the family.
    """
    import torch

    from lmms_eval_tasks.models.video_diffusion.adapter import Source

    source = Source(
        pretrained=settings.pretrained,
        dtype=getattr(torch, settings.dtype),
        vae_dtype=getattr(torch, settings.vae_dtype),
        revision=settings.revision,
        own_weights=settings.own_weights,
    )
    try:
        adapter = adapter_class(settings.family).load(settings.family, source, settings.fps)
        missing = {"vae", *adapter.denoiser_names[:1], *adapter.text_encoder_names[:1]}
        missing = {name for name in missing if getattr(adapter.pipe, name, None) is None}
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise InputError(
            f"Expected {settings.pretrained} to hold {settings.family.title} in diffusers' layout, "
            f"but it cannot be loaded:\n  {type(error).__name__}: {error}"
        ) from error
    if missing:
        raise InputError(
            f"Expected {settings.pretrained} to hold {settings.family.title} in diffusers' layout, "
            f"but it has no {', '.join(sorted(missing))}."
        )
    for module in (adapter.vae, *adapter.denoisers.values(), *adapter.text_encoders):
        module.eval().requires_grad_(False)
    if settings.tiling:
        adapter.pipe.vae.enable_tiling()
    if settings.protocol.boundary is not None and adapter.boundary is not None:
        adapter.boundary = settings.protocol.boundary
    return adapter


def read_pair(request: Request) -> Pair:
    """The pair that a request asks about."""
    from lmms_eval_tasks.models.video_diffusion.engine import Pair

    forward, backward = request.clips
    return Pair(
        item_id=str(request.doc["item_id"]),
        forward=forward,
        backward=backward,
        caption=str(request.doc.get("caption") or "").strip(),
    )


def package_versions() -> dict[str, str]:
    """Versions that an answer names."""
    return {"lmms_eval_tasks": __version__, **{name: installed_version(name) or "none" for name in PACKAGES}}
