"""Every family's adapter against diffusers' own schedulers, on the same latents and noise."""

from pathlib import Path
from typing import Any

import pytest
import torch
from by_day import first_by_day
from diffusers import (
    DDIMScheduler,
    FlowMatchEulerDiscreteScheduler,
    StableDiffusionPipeline,
    UNet2DConditionModel,
    UniPCMultistepScheduler,
)
from tiny_models import tiny_engine

from lmms_eval_tasks.models.video_diffusion.adapters import ADAPTERS
from lmms_eval_tasks.models.video_diffusion.denoising import AskedClips, ClipFile, Engine, to_pixels
from lmms_eval_tasks.models.video_diffusion.protocol import centred_positions
from lmms_eval_tasks.models.video_diffusion.settings import check_geometry, known_families, read_settings

FAMILIES = list(known_families())
Clips = dict[str, tuple[Path, Path]]


def scheduler_noise(pipe: Any, clean: torch.Tensor, noise: torch.Tensor, timestep: float) -> torch.Tensor:
    """Noisy latents from the checkpoint's own scheduler class at a timestep, by `scale_noise` or `add_noise`."""
    own = pipe.scheduler
    if hasattr(own, "alphas_cumprod") and not isinstance(own, UniPCMultistepScheduler):
        return own.add_noise(clean, noise, torch.tensor([int(timestep)]))
    changes = {"shift": 1.0, "use_dynamic_shifting": False, "shift_terminal": None, "invert_sigmas": False}
    straight = FlowMatchEulerDiscreteScheduler.from_config(FlowMatchEulerDiscreteScheduler().config, **changes)
    straight.set_timesteps(sigmas=[1.0, timestep / 1000])
    return straight.scale_noise(clean, straight.timesteps[1:2], noise)


def scheduler_target(pipe: Any, clean: torch.Tensor, noise: torch.Tensor, timestep: float) -> torch.Tensor:
    """The training target: the noise, the scheduler's `get_velocity`, or the flow's velocity."""
    own = pipe.scheduler
    if hasattr(own, "alphas_cumprod") and not isinstance(own, UniPCMultistepScheduler):
        if own.config.prediction_type == "epsilon":
            return noise
        return own.get_velocity(clean, noise, torch.tensor([int(timestep)]))
    return clean - noise if "Mochi" in type(pipe).__name__ else noise - clean


def network_prediction(
    engine: Engine, noisy: torch.Tensor, timestep: float, text: dict[str, torch.Tensor]
) -> torch.Tensor:
    """The network called by hand, as its pipeline's loop calls it."""
    pipe, kind = engine.adapter.pipe, type(engine.adapter.pipe).__name__
    time = torch.tensor([timestep])
    if kind == "WanPipeline":
        second = pipe.transformer_2 is not None and timestep < pipe.config.boundary_ratio * 1000
        network = pipe.transformer_2 if second else pipe.transformer
        if pipe.config.expand_timesteps:
            mask = torch.ones_like(noisy)
            time = (mask[0][0][:, ::2, ::2] * timestep).flatten()[None]
        return network(hidden_states=noisy, timestep=time, encoder_hidden_states=text["embeds"]).sample
    if kind == "CogVideoXPipeline":
        frames, height, width = noisy.shape[2:]
        rotary = None
        if pipe.transformer.config.use_rotary_positional_embeddings:
            rotary = pipe._prepare_rotary_positional_embeddings(height * 8, width * 8, frames, noisy.device)
        predicted = pipe.transformer(
            hidden_states=noisy.permute(0, 2, 1, 3, 4),
            encoder_hidden_states=text["embeds"],
            timestep=time.long(),
            image_rotary_emb=rotary,
        ).sample
        return predicted.permute(0, 2, 1, 3, 4)
    if kind in ("LTXPipeline", "LTXConditionPipeline"):
        frames, height, width = noisy.shape[2:]
        if kind == "LTXPipeline":
            place: dict[str, Any] = {"rope_interpolation_scale": (8 / 8, 32, 32)}
        else:
            ids = pipe._scale_video_ids(pipe._prepare_video_ids(1, frames, height, width), 32, 8).float()
            ids[:, 0] = ids[:, 0] / 8
            place = {"video_coords": ids}
        predicted = pipe.transformer(
            hidden_states=pipe._pack_latents(noisy),
            encoder_hidden_states=text["embeds"],
            timestep=time,
            encoder_attention_mask=text["mask"],
            num_frames=frames,
            height=height,
            width=width,
            **place,
        ).sample
        return pipe._unpack_latents(predicted, frames, height, width)
    if kind == "MochiPipeline":
        return pipe.transformer(
            hidden_states=noisy,
            encoder_hidden_states=text["embeds"],
            timestep=1000 - time,
            encoder_attention_mask=text["mask"],
        ).sample
    if kind == "HunyuanVideoPipeline":
        return pipe.transformer(
            hidden_states=noisy,
            timestep=time,
            encoder_hidden_states=text["embeds"],
            encoder_attention_mask=text["mask"].float(),
            pooled_projections=text["pooled"],
            guidance=torch.tensor([1000.0]),
        ).sample
    if kind == "HunyuanVideo15Pipeline":
        condition, mask = pipe.prepare_cond_latents_and_mask(noisy, noisy.dtype, noisy.device)
        return pipe.transformer(
            hidden_states=torch.cat([noisy, condition, mask], dim=1),
            image_embeds=torch.zeros(1, pipe.vision_num_semantic_tokens, pipe.vision_states_dim),
            timestep=time,
            encoder_hidden_states=text["embeds"],
            encoder_attention_mask=text["mask"],
            encoder_hidden_states_2=text["quoted_embeds"],
            encoder_attention_mask_2=text["quoted_mask"],
        ).sample
    added = None
    if "pooled" in text:
        size = [noisy.shape[3] * 8, noisy.shape[4] * 8]
        added = {"text_embeds": text["pooled"], "time_ids": torch.tensor([[*size, 0, 0, *size]]).float()}
    embeds = text["embeds"].repeat_interleave(noisy.shape[2], dim=0)
    return pipe.unet(noisy, time.long(), encoder_hidden_states=embeds, added_cond_kwargs=added).sample


ONE_OF_EACH = ("wan2.1-1.3b", "cogvideox-5b", "ltx-13b", "mochi-1", "animatediff-sd1.5")
"""A family of each kind of noising and of prediction."""


@pytest.mark.parametrize(
    ("family", "target"),
    [
        *first_by_day(((family, "training") for family in FAMILIES), 5),
        *first_by_day((family, "noise") for family in ONE_OF_EACH),
    ],
)
def test_losses_are_those_of_diffusers_schedulers(checkpoints: Path, clips: Clips, family: str, target: str) -> None:
    engine = tiny_engine(checkpoints, family, target=target)
    forward, backward = clips["long"]
    answer = engine.measure(AskedClips.pair("pair", forward, backward, "a ball falls"))
    assert answer.error is None and answer.losses is not None and answer.frames is not None
    adapter = engine.adapter
    text = engine._texts["a ball falls"]
    window, last = answer.windows[0], answer.windows[-1]
    for part, index in ((window, 0), (last, len(answer.windows) - 1)):
        file = ClipFile(forward)
        positions = centred_positions(file.frames, file.fps / engine.settings.fps, answer.frames.used)
        frames = file.read(positions, engine.settings.height, engine.settings.width)
        with torch.no_grad():
            clean = adapter.encode_frames(to_pixels(frames[part.start : part.stop], torch.device("cpu")))
        left_out = clean.shape[2] - part.latents
        for step in (0, 4, 9):
            timestep = answer.timesteps[step]
            generator = torch.Generator().manual_seed(answer.seeds[index][step][0])
            noise = torch.randn(clean.shape, generator=generator)
            with torch.no_grad():
                noisy = scheduler_noise(adapter.pipe, clean, noise, timestep)
                predicted = network_prediction(engine, noisy, timestep, text)
            if target == "training":
                wanted = scheduler_target(adapter.pipe, clean, noise, timestep)
            else:
                predicted, wanted = implied_noise(adapter.pipe, predicted, noisy, timestep), noise
            loss = torch.nn.functional.mse_loss(predicted[:, :, left_out:], wanted[:, :, left_out:]).item()
            assert answer.losses.forward[index][step] == pytest.approx(loss, rel=1e-4), (part, timestep)


def implied_noise(pipe: Any, predicted: torch.Tensor, noisy: torch.Tensor, timestep: float) -> torch.Tensor:
    """The noise in what the network predicted, by way of the clean clip that it implies."""
    own = pipe.scheduler
    if hasattr(own, "alphas_cumprod") and not isinstance(own, UniPCMultistepScheduler):
        signal = own.alphas_cumprod[int(timestep)]
        if own.config.prediction_type == "epsilon":
            return predicted
        clean = signal.sqrt() * noisy - (1 - signal).sqrt() * predicted
        return (noisy - signal.sqrt() * clean) / (1 - signal).sqrt()
    level = timestep / 1000
    velocity = -predicted if "Mochi" in type(pipe).__name__ else predicted
    clean = noisy - level * velocity
    return (noisy - (1 - level) * clean) / level


@pytest.mark.parametrize("family", [name for name in FAMILIES if known_families()[name].adapter not in ("wan",)])
def test_the_models_own_sampler_walks_along_our_noising(checkpoints: Path, family: str) -> None:
    """A sampler that is given our training target as the prediction goes from one of our noisy latents to the next."""
    adapter = tiny_engine(checkpoints, family).adapter
    scheduler = adapter.pipe.scheduler
    clean, noise = torch.randn(2, 1, 4, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    if isinstance(scheduler, FlowMatchEulerDiscreteScheduler):
        scheduler.set_timesteps(5, mu=1.0)
        levels = scheduler.sigmas if not scheduler.config.invert_sigmas else 1 - scheduler.sigmas
        now, then = 1000 * levels[1], 1000 * levels[2]
        stepped = scheduler.timesteps[1]
        assert float(1000 - stepped if scheduler.config.invert_sigmas else stepped) == pytest.approx(float(now))
    else:
        scheduler.set_timesteps(5)
        now, then = scheduler.timesteps[1].float(), scheduler.timesteps[1].float() - 200
        stepped = scheduler.timesteps[1]
    noisy = adapter.noising.add_noise(clean, noise, now[None])
    target = adapter.noising.target(clean, noise, now[None])
    reached = scheduler.step(target, stepped, noisy).prev_sample
    assert torch.allclose(reached, adapter.noising.add_noise(clean, noise, then[None]), atol=1e-4)
    assert torch.allclose(adapter.noising.as_noise(target, noisy, now[None]), noise, atol=1e-3)


def test_noise_and_velocity_are_those_of_the_familys_own_scheduler(checkpoints: Path) -> None:
    clean, noise = torch.randn(2, 2, 4, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    adapter = tiny_engine(checkpoints, "wan2.1-1.3b").adapter
    scheduler = UniPCMultistepScheduler.from_config(adapter.pipe.scheduler.config, flow_shift=1.0)
    scheduler.set_timesteps(1000)
    for timestep in (90.0, 500.0, 909.0):
        at = scheduler.timesteps[[int((scheduler.timesteps - timestep).abs().argmin())] * 2]
        level = scheduler.sigmas[: len(scheduler.timesteps)][scheduler.timesteps == at[0]].repeat(2)
        ours = adapter.noising.add_noise(clean, noise, 1000 * level)
        assert torch.allclose(scheduler.add_noise(clean, noise, at), ours, atol=1e-5)


def test_a14b_hands_low_noise_to_its_second_network(checkpoints: Path) -> None:
    engine = tiny_engine(checkpoints, "wan2.2-a14b")
    assert [engine.adapter.expert(timestep) for timestep in (100.0, 874.9, 875.0, 909.0)] == [
        "transformer_2",
        "transformer_2",
        "transformer",
        "transformer",
    ]
    scripts = tiny_engine(checkpoints, "wan2.2-a14b", protocol="wan_scripts")
    assert scripts.adapter.expert(499.0) == "transformer_2" and scripts.adapter.expert(500.0) == "transformer"


def test_cogvideox_1_5_leaves_its_copied_latent_out(checkpoints: Path, clips: Clips) -> None:
    engine = tiny_engine(checkpoints, "cogvideox1.5-5b")
    adapter = engine.adapter
    latents = adapter.encode_frames(torch.rand(1, 3, 9, 32, 32, generator=torch.Generator().manual_seed(0)))
    assert latents.shape[2] == 4 and torch.equal(latents[:, :, 0], latents[:, :, 1])
    answer = engine.measure(AskedClips.pair("pair", *clips["long"], "a ball falls"))
    assert [window.latents for window in answer.windows] == [3, 3, 1]


def test_an_image_model_gets_the_familys_motion(checkpoints: Path, tmp_path: Path) -> None:
    whole = tiny_engine(checkpoints, "animatediff-sd1.5").adapter.pipe
    images = UNet2DConditionModel(
        block_out_channels=(8, 16),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        attention_head_dim=4,
        norm_num_groups=2,
    )
    StableDiffusionPipeline(
        vae=whole.vae,
        text_encoder=whole.text_encoder,
        tokenizer=whole.tokenizer,
        unet=images,
        scheduler=DDIMScheduler(beta_schedule="scaled_linear", beta_start=0.00085, beta_end=0.012),
        safety_checker=None,
        feature_extractor=None,
    ).save_pretrained(tmp_path / "images")
    whole.motion_adapter.save_pretrained(tmp_path / "motion")
    row = known_families()["animatediff-sd1.5"]
    row = row.model_copy(update={"options": {**row.options, "motion_adapter": str(tmp_path / "motion")}})
    chosen = {"pretrained": str(tmp_path / "images"), "dtype": "float32"}
    adapter = ADAPTERS[row.adapter].load(read_settings(row.name, chosen).model_copy(update={"family": row}))
    assert type(adapter.pipe).__name__ == "AnimateDiffPipeline"
    linear = torch.linspace(0.00085, 0.012, 1000)
    assert torch.allclose(adapter.noising.alphas_cumprod, torch.cumprod(1 - linear, dim=0))
    assert "motion_modules" in "".join(adapter.pipe.unet.state_dict())


def test_wan_script_sizes_are_those_that_the_model_takes(checkpoints: Path) -> None:
    engine = tiny_engine(checkpoints, "wan2.2-ti2v-5b", protocol="wan_scripts", height=None, width=None)
    settings = engine.settings
    assert (704, 1248) in settings.buckets and (480, 720) in settings.buckets
    assert check_geometry(settings, 4, 32).buckets == (
        (480, 832),
        (832, 480),
        (544, 960),
        (960, 544),
        (704, 1248),
        (1248, 704),
    )


def as_decoded(pipe: Any, latents: torch.Tensor) -> torch.Tensor:
    """What the family's pipeline hands to its VAE's decoder for latents, as its code does it."""
    config, kind = pipe.vae.config, type(pipe).__name__

    def channels(values: Any) -> torch.Tensor:
        return torch.as_tensor(values).view(1, -1, 1, 1, 1)

    if kind == "WanPipeline":
        return latents / (1.0 / channels(config.latents_std)) + channels(config.latents_mean)
    if kind.startswith("LTX"):
        return pipe._denormalize_latents(latents, pipe.vae.latents_mean, pipe.vae.latents_std, config.scaling_factor)
    if kind == "MochiPipeline":
        return latents * channels(config.latents_std) / config.scaling_factor + channels(config.latents_mean)
    return latents / config.scaling_factor


@pytest.mark.parametrize("family", FAMILIES)
def test_latents_are_those_that_the_pipeline_would_decode(checkpoints: Path, family: str) -> None:
    engine = tiny_engine(checkpoints, family)
    adapter, settings = engine.adapter, engine.settings
    pipe = adapter.pipe
    chance = torch.Generator().manual_seed(0)
    if settings.family.adapter == "ltx":
        torch.nn.init.normal_(pipe.vae.latents_mean, generator=chance)
        torch.nn.init.uniform_(pipe.vae.latents_std, 0.5, 2, generator=chance)
    frames = torch.rand(1, 3, settings.frames, settings.height, settings.width, generator=chance) * 2 - 1
    with torch.no_grad():
        latents = adapter.encode_frames(frames)
        if settings.family.adapter == "animatediff":
            mean = pipe.vae.encode(frames[0].transpose(0, 1)).latent_dist.mean.transpose(0, 1)[None]
        else:
            mean = pipe.vae.encode(frames).latent_dist.mean
    own = 1 + (settings.frames - 1) // adapter.temporal_compression
    assert torch.allclose(as_decoded(pipe, latents)[:, :, -own:], mean, atol=1e-5)
    assert torch.equal(adapter.encode_frames(frames), latents)
