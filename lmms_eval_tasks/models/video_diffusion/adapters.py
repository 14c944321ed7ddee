"""Families of video diffusion models, each after its own diffusers pipeline, and their noising: DDPM or flow
matching."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import diffusers
import torch
from diffusers import DiffusionPipeline

from lmms_eval_tasks.models.video_diffusion.protocol import TRAIN_STEPS, Process
from lmms_eval_tasks.models.video_diffusion.settings import DenoisingSettings, Family


def _spread(values: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return values.to(like.device, torch.float32).view(-1, *[1] * (like.ndim - 1))


@dataclass(frozen=True)
class Noising:
    """``x_t = a x + s e``, from the clean ``x`` and the noise ``e``.

    Without `alphas_cumprod` this is flow matching: ``s = t / 1000`` and ``a = 1 - s``, for any t in between. Else it is
    DDPM with whole timesteps 0 to 999: ``a² = alphas_cumprod[t]`` and ``a² + s² = 1``.
    """

    predicts: Literal["epsilon", "v", "sample", "velocity"] = "velocity"
    alphas_cumprod: torch.Tensor | None = None
    reverses_time: bool = False
    """Whether a network's time runs from noise to data, as its velocity then does."""

    @property
    def process(self) -> Process:
        return "flow" if self.alphas_cumprod is None else "ddpm"

    def _scales(self, timesteps: torch.Tensor, like: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self.alphas_cumprod is None:
            level = _spread(timesteps / TRAIN_STEPS, like)
            return 1 - level, level
        signal = self.alphas_cumprod.to(timesteps.device, torch.float32)[timesteps.long()]
        return _spread(signal.sqrt(), like), _spread((1 - signal).sqrt(), like)

    def add_noise(self, clean: torch.Tensor, noise: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        scale, spread = self._scales(timesteps, clean)
        return scale * clean + spread * noise

    def target(self, clean: torch.Tensor, noise: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        """Return the target that the network is trained to predict; the velocity is the same at all timesteps."""
        if self.predicts == "velocity":
            return clean - noise if self.reverses_time else noise - clean
        if self.predicts != "v":
            return noise if self.predicts == "epsilon" else clean
        scale, spread = self._scales(timesteps, clean)
        return scale * noise - spread * clean

    def as_noise(self, prediction: torch.Tensor, noisy: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        """The noise that a prediction implies: ``e = a v + s x_t``, and for a velocity ``e = x_t + a (e - x)``."""
        scale, spread = self._scales(timesteps, noisy)
        if self.predicts == "velocity":
            return noisy + scale * (-prediction if self.reverses_time else prediction)
        if self.predicts == "epsilon":
            return prediction
        if self.predicts == "v":
            return scale * prediction + spread * noisy
        return (noisy - scale * prediction) / spread


def scheduler_noising(scheduler: Any) -> Noising:
    predicts = {"epsilon": "epsilon", "v_prediction": "v", "sample": "sample"}[scheduler.config.prediction_type]
    return Noising(predicts, scheduler.alphas_cumprod.float())  # type: ignore[arg-type]


Text = Mapping[str, torch.Tensor]
"""Encoded captions: named tensors whose first dimension is the batch."""


class Adapter:
    """One family: how it encodes captions and frames, how noise enters, and how its network is called."""

    denoiser_names: tuple[str, ...] = ("transformer",)
    text_encoder_names: tuple[str, ...] = ("text_encoder",)
    text_outputs: tuple[str, ...] = ("embeds",)
    guidance_flags: tuple[str, ...] = ("do_classifier_free_guidance",)
    compression_names: tuple[str, str] = ("vae_scale_factor_temporal", "vae_scale_factor_spatial")
    flow: Noising | None = None

    def __init__(self, pipe: Any, family: Family, fps: float) -> None:
        self.pipe, self.family, self.fps = pipe, family, fps
        self.noising = self.flow or scheduler_noising(pipe.scheduler)
        self.boundary: float | None = None
        self.denoisers, text_encoders = (
            {name: module for name in names if (module := getattr(pipe, name, None)) is not None}
            for names in (self.denoiser_names, self.text_encoder_names)
        )
        self.text_encoders: list[torch.nn.Module] = [*text_encoders.values()]

    @classmethod
    def load(cls, settings: DenoisingSettings) -> Adapter:
        return cls(load_pipeline(settings), settings.family, settings.fps)

    @property
    def temporal_compression(self) -> int:
        """Frames per latent frame after the first."""
        name = self.compression_names[0]
        return int(getattr(self.pipe, name)) if name else 1

    @property
    def spatial_compression(self) -> int:
        return int(getattr(self.pipe, self.compression_names[1]))

    @property
    def size_multiple(self) -> int:
        patch = self.pipe.transformer.config.patch_size
        return self.spatial_compression * int(patch if isinstance(patch, int) else patch[-1])

    def expert(self, timestep: float) -> str:
        """Name of the network that denoises at a timestep of 0 to 1000."""
        low = self.boundary is not None and timestep < self.boundary * TRAIN_STEPS
        return self.denoiser_names[1 if low else 0]

    def padded_latents(self, latent_frames: int) -> int:
        """Return the number of latent frames `encode_frames` puts before a window's own; they never enter the loss."""
        return 0

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption by the pipeline's `encode_prompt`: tensors named by `text_outputs`, for a batch of one."""
        flags = dict.fromkeys(self.guidance_flags, False)
        encoded = self.pipe.encode_prompt(caption, max_sequence_length=self.family.text_tokens, device=device, **flags)
        return dict(zip(self.text_outputs, encoded, strict=False))

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        """Encode a window of shape (1, 3, frames, height, width), values -1 to 1, to its normalised posterior mean."""
        mean = posterior_mean(self.pipe.vae, frames)
        # A VAE keeps its statistics in its configuration or, as LTX-Video's does, beside its weights.
        statistics = {**self.pipe.vae.config, **dict(self.pipe.vae.named_buffers())}
        centre, spread = statistics.get("latents_mean"), statistics.get("latents_std")
        if centre is not None and spread is not None:
            mean = (mean - _per_channel(centre, mean)) / _per_channel(spread, mean)
        return mean * statistics.get("scaling_factor", 1.0)

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        """Return the network's prediction from noisy latents, float32 of the same shape."""
        network: Any = self.denoisers[self.expert(float(timesteps[0]))]
        batch = {name: expand(tensor, len(noisy)) for name, tensor in text.items()}
        batch = {
            name: tensor.to(network.dtype) if tensor.is_floating_point() else tensor for name, tensor in batch.items()
        }
        inputs = self.network_inputs(noisy.to(network.dtype), timesteps, batch)
        prediction: torch.Tensor = network(**inputs, return_dict=False)[0]
        return prediction.float()

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        time = TRAIN_STEPS - timesteps if self.noising.reverses_time else timesteps
        inputs = {"hidden_states": noisy, "timestep": time, "encoder_hidden_states": text["embeds"]}
        return {**inputs, "encoder_attention_mask": text["mask"]} if "mask" in text else inputs


def load_pipeline(settings: DenoisingSettings, pipeline: Any = DiffusionPipeline, **components: Any) -> Any:
    dtypes = {"default": getattr(torch, settings.dtype), "vae": getattr(torch, settings.vae_dtype)}
    return pipeline.from_pretrained(settings.pretrained, dtype=dtypes, revision=settings.revision, **components)


def posterior_mean(vae: Any, frames: torch.Tensor) -> torch.Tensor:
    mean: torch.Tensor = vae.encode(frames.to(vae.dtype)).latent_dist.mean
    return mean.float()


def expand(tensor: torch.Tensor, batch: int) -> torch.Tensor:
    """A tensor for a batch of one, repeated for a larger one without a copy."""
    return tensor.expand(batch, *tensor.shape[1:])


def _per_channel(values: Any, like: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float32, device=like.device).view(1, -1, 1, 1, 1)


IMAGES_AT_ONCE = 8


class Wan(Adapter):
    """Wan 2.1 and 2.2 (``WanPipeline``): flow matching."""

    denoiser_names = ("transformer", "transformer_2")
    flow = Noising()

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        if "transformer_2" in self.denoisers:
            self.boundary = self.pipe.config.boundary_ratio

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        inputs = super().network_inputs(noisy, timesteps, text)
        if self.pipe.config.expand_timesteps:
            tokens = noisy[0, 0].numel() // math.prod(self.pipe.transformer.config.patch_size)
            inputs["timestep"] = timesteps[:, None].expand(-1, tokens)
        return inputs


class CogVideoX(Adapter):
    """CogVideoX 2B, 5B and 1.5-5B (``CogVideoXPipeline``): DDPM with v-prediction, ending in pure noise."""

    def padded_latents(self, latent_frames: int) -> int:
        """Return the number of copies of the first latent frame that go before it."""
        return -latent_frames % (self.pipe.transformer.config.patch_size_t or 1)

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        latents = super().encode_frames(frames)
        copies = latents[:, :, :1].expand(-1, -1, self.padded_latents(latents.shape[2]), -1, -1)
        return torch.cat([copies, latents], dim=2)

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        rotary = None
        if self.pipe.transformer.config.use_rotary_positional_embeddings:
            frames, height, width = noisy.shape[2:]
            scale = self.spatial_compression
            rotary = self.pipe._prepare_rotary_positional_embeddings(
                height * scale, width * scale, frames, noisy.device
            )
        inputs = super().network_inputs(noisy.transpose(1, 2), timesteps.long(), text)
        return {**inputs, "image_rotary_emb": rotary}

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        return super().predict(noisy, timesteps, text).transpose(1, 2)


class Ltx(Adapter):
    """LTX-Video 2B and 13B: flow matching on packed latents; the network takes the frame rate."""

    text_outputs = ("embeds", "mask")
    compression_names = ("vae_temporal_compression_ratio", "vae_spatial_compression_ratio")
    flow = Noising()

    @classmethod
    def load(cls, settings: DenoisingSettings) -> Adapter:
        """Load a checkpoint; denoiser and VAE come from the family's single file where its row names one."""
        file = settings.family.single_file
        if not file or settings.own_weights:
            return super().load(settings)
        transformer = diffusers.LTXVideoTransformer3DModel.from_single_file(file, dtype=getattr(torch, settings.dtype))
        vae = diffusers.AutoencoderKLLTXVideo.from_single_file(file, dtype=getattr(torch, settings.vae_dtype))
        return cls(load_pipeline(settings, transformer=transformer, vae=vae), settings.family, settings.fps)

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments; each place of a latent frame is a token, with its position in seconds and pixels."""
        frames, height, width = noisy.shape[2:]
        temporal, spatial = self.temporal_compression, self.spatial_compression
        inputs = super().network_inputs(noisy.flatten(2).transpose(1, 2), timesteps, text)
        inputs |= {"num_frames": frames, "height": height, "width": width}
        if not hasattr(self.pipe, "_scale_video_ids"):
            return {**inputs, "rope_interpolation_scale": (temporal / self.fps, spatial, spatial)}
        axes = [torch.arange(size, device=noisy.device, dtype=torch.float32) for size in (frames, height, width)]
        time, row, column = torch.meshgrid(*axes, indexing="ij")
        seconds = (time * temporal + 1 - temporal).clamp(min=0) / self.fps
        positions = torch.stack([seconds, row * spatial, column * spatial]).flatten(1)[None]
        return {**inputs, "video_coords": expand(positions, len(noisy))}

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        return super().predict(noisy, timesteps, text).transpose(1, 2).reshape(noisy.shape)


class Mochi(Adapter):
    """Mochi 1 (``MochiPipeline``): flow matching whose time runs from noise to data, as its velocity does."""

    text_outputs = ("embeds", "mask")
    compression_names = ("vae_temporal_scale_factor", "vae_spatial_scale_factor")
    flow = Noising(reverses_time=True)


class HunyuanVideo(Adapter):
    """HunyuanVideo (``HunyuanVideoPipeline``): flow matching."""

    text_encoder_names = ("text_encoder", "text_encoder_2")
    text_outputs = ("embeds", "pooled", "mask")
    guidance_flags = ()
    flow = Noising()

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        guidance = None
        if self.pipe.transformer.config.guidance_embeds:
            strength = float(self.family.options.get("embedded_guidance", 1.0)) * TRAIN_STEPS
            guidance = torch.full((len(noisy),), strength, dtype=noisy.dtype, device=noisy.device)
        text = {**text, "mask": text["mask"].to(noisy.dtype)}
        inputs = super().network_inputs(noisy, timesteps, text)
        return {**inputs, "pooled_projections": text["pooled"], "guidance": guidance}


class HunyuanVideo15(Adapter):
    """HunyuanVideo 1.5 (``HunyuanVideo15Pipeline``): flow matching."""

    text_encoder_names = ("text_encoder", "text_encoder_2")
    text_outputs = ("embeds", "mask", "quoted_embeds", "quoted_mask")
    flow = Noising()

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption; how long it may be is the pipeline's."""
        return dict(zip(self.text_outputs, self.pipe.encode_prompt(caption, device=device), strict=True))

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        config = self.pipe.transformer.config
        picture = noisy.new_zeros(len(noisy), config.in_channels - noisy.shape[1], *noisy.shape[2:])
        features = noisy.new_zeros(len(noisy), self.pipe.vision_num_semantic_tokens, config.image_embed_dim)
        return {
            **super().network_inputs(torch.cat([noisy, picture], dim=1), timesteps, text),
            "encoder_hidden_states_2": text["quoted_embeds"],
            "encoder_attention_mask_2": text["quoted_mask"],
            "image_embeds": features,
        }


class AnimateDiff(Adapter):
    """AnimateDiff on Stable Diffusion 1.5 and XL: DDPM on the latents of single images, joined by a motion module."""

    denoiser_names = ("unet",)
    text_encoder_names = ("text_encoder", "text_encoder_2")
    compression_names = ("", "vae_scale_factor")

    @classmethod
    def load(cls, settings: DenoisingSettings) -> Adapter:
        """Load a whole pipeline, or an image model with the family's motion module and noise schedule."""
        checkpoint = {"pretrained_model_name_or_path": settings.pretrained, "revision": settings.revision}
        index = diffusers.DiffusionPipeline.load_config(**checkpoint)
        if str(index["_class_name"]).startswith("AnimateDiff"):
            return super().load(settings)
        options = settings.family.options
        scheduler = diffusers.DDIMScheduler.from_pretrained(
            **checkpoint, subfolder="scheduler", beta_schedule=options["beta_schedule"]
        )
        motion = diffusers.MotionAdapter.from_pretrained(
            options["motion_adapter"], dtype=getattr(torch, settings.dtype)
        )
        large = "text_encoder_2" in index
        pipeline = diffusers.AnimateDiffSDXLPipeline if large else diffusers.AnimateDiffPipeline
        pipe = load_pipeline(settings, pipeline, motion_adapter=motion, scheduler=scheduler)
        return cls(pipe, settings.family, settings.fps)

    @property
    def size_multiple(self) -> int:
        """Number of which height and width must be multiples: the VAE's scale times the network's own halvings."""
        halvings = len(self.pipe.unet.config.block_out_channels) - 1
        return self.spatial_compression << halvings

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        """Encode one caption; XL's second encoder also gives one vector for all of it."""
        once = {} if len(self.text_encoders) > 1 else {"num_images_per_prompt": 1}
        embeds, _, *pooled = self.pipe.encode_prompt(caption, device=device, do_classifier_free_guidance=False, **once)
        return {"embeds": embeds, "pooled": pooled[0]} if pooled else {"embeds": embeds}

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        pictures = frames[0].transpose(0, 1)
        mean = torch.cat([posterior_mean(self.pipe.vae, part) for part in pictures.split(IMAGES_AT_ONCE)])
        return (mean * self.pipe.vae.config.scaling_factor).transpose(0, 1)[None]

    def network_inputs(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> dict[str, Any]:
        """The network's arguments; XL takes the size of a clip that was neither resized nor cropped."""
        added = None
        if "pooled" in text:
            height, width = (size * self.spatial_compression for size in noisy.shape[3:])
            ids = torch.tensor([[height, width, 0, 0, height, width]], device=noisy.device, dtype=noisy.dtype)
            added = {"text_embeds": text["pooled"], "time_ids": expand(ids, len(noisy))}
        return {
            "sample": noisy,
            "timestep": timesteps.long(),
            "encoder_hidden_states": text["embeds"].repeat_interleave(noisy.shape[2], dim=0),
            "added_cond_kwargs": added,
        }


ADAPTERS: dict[str, type[Adapter]] = {
    "wan": Wan,
    "cogvideox": CogVideoX,
    "ltx": Ltx,
    "mochi": Mochi,
    "hunyuan": HunyuanVideo,
    "hunyuan1.5": HunyuanVideo15,
    "animatediff": AnimateDiff,
}
"""By the name that a row of `families.json` gives."""
