"""Denoising losses of clip pairs: our schedule beside the official one, on the same model, clips, noise and protocol.

The official interface asks for one loss per timestep and direction, so that each call decodes the file and encodes its
windows again, and denoises one noisy clip; captions are kept, as its text encourages. Each schedule runs in a process
of its own, so that its peak of memory is its own.

Measured on two cores, 2026-11-26: 0.12 of its time on a tiny Wan; in the shape of Wan 2.1 1.3B with random weights,
on one H200 (`--cuda --pairs 4`), 0.26: 7.7 s a pair against 29.7 s, 11.8 GiB with 20 noisy clips at once against 9.8
GiB with one, losses equal to 1.6e-5 of themselves.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import SUPPORT, Options, in_own_process, print_ratio

sys.path.append(str(SUPPORT))

SCHEDULES = ("official", "ours")
SECONDS = 3


def write_clips(folder: Path, pairs: int, size: tuple[int, int], fps: int) -> list[tuple[Path, Path]]:
    """Write pairs of clips of a bright square that speeds up over a textured ground."""
    from lmms_eval_tasks.sample.drawn_clips import write_clip

    height, width = size
    files = []
    for index in range(pairs):
        rng = np.random.default_rng(index)
        ground = np.kron(rng.integers(40, 120, (height // 8, width // 8, 3)), np.ones((8, 8, 1))).astype(np.uint8)
        film = np.repeat(ground[None], SECONDS * fps, axis=0)
        for frame, image in enumerate(film):
            top = int((frame / len(film)) ** 2 * (height * 3 // 4))
            image[top : top + height // 5, width // 3 : width // 2] = 240
        forward, backward = folder / f"{index}_forward.mp4", folder / f"{index}_backward.mp4"
        write_clip(forward, film, fps)
        write_clip(backward, film[::-1], fps)
        files.append((forward, backward))
    return files


def wan_1_3b(device: Any) -> Any:
    """A pipeline with the shapes of Wan 2.1 1.3B and random weights; its text encoder is small but as wide."""
    import torch
    from diffusers import AutoencoderKLWan, UniPCMultistepScheduler, WanPipeline, WanTransformer3DModel
    from tiny_models import tiny_tokenizer
    from transformers import UMT5Config, UMT5EncoderModel

    torch.manual_seed(0)
    text = UMT5Config(vocab_size=320, d_model=4096, d_kv=64, d_ff=1024, num_layers=2, num_heads=8, pad_token_id=0)
    with torch.device(device):
        network = WanTransformer3DModel(num_attention_heads=12, ffn_dim=8960, num_layers=30, attention_head_dim=128).to(
            torch.bfloat16
        )
        vae = AutoencoderKLWan()
        encoder = UMT5EncoderModel(text).to(torch.bfloat16)
    return WanPipeline(
        tokenizer=tiny_tokenizer(),
        text_encoder=encoder,
        vae=vae,
        transformer=network,
        scheduler=UniPCMultistepScheduler(prediction_type="flow_prediction", use_flow_sigmas=True),
    )


def build_engine(arguments: argparse.Namespace, folder: Path, schedule: str, batch: int | None) -> Any:
    """The engine of either schedule."""
    import torch
    from tiny_models import BUILDERS, write_tiny_model

    from lmms_eval_tasks.models.video_diffusion.adapters import ADAPTERS
    from lmms_eval_tasks.models.video_diffusion.denoising import Engine, Placement
    from lmms_eval_tasks.models.video_diffusion.model import load_adapter
    from lmms_eval_tasks.models.video_diffusion.settings import read_settings

    device = torch.device("cuda" if arguments.cuda else "cpu")
    family = "wan2.1-1.3b" if arguments.cuda else arguments.family
    choices: dict[str, Any] = {"protocol": "official_example"}
    if arguments.cuda:
        settings = read_settings(family, choices)
        adapter = ADAPTERS[settings.family.adapter](wan_1_3b(device), settings.family, settings.fps)
        for module in (adapter.pipe.vae, *adapter.denoisers.values(), *adapter.text_encoders):
            module.eval().requires_grad_(False)
    else:
        weights = write_tiny_model(family, folder / schedule / f"tiny-{family}")
        settings = read_settings(
            family, {**choices, **BUILDERS[family][1], "pretrained": str(weights), "dtype": "float32"}
        )
        adapter = load_adapter(settings)
    return Engine(adapter, settings, Placement(device), batch)


def measured(engine: Any, pair: Any) -> Any:
    """Losses of a pair; ends the measurement where there are none."""
    answer = engine.measure(pair)
    if answer.loss is None:
        raise SystemExit(f"{pair.item_id}: {answer.error.message}")
    return answer.loss


def official_loss(engine: Any, pair: Any) -> tuple[float, float]:
    """Losses of a pair by the official schedule: one timestep after the other, everything read and encoded anew."""
    timesteps, losses = engine.timesteps, []
    for timestep in timesteps:
        engine.timesteps = (timestep,)
        losses.append(measured(engine, pair))
    engine.timesteps = timesteps
    return float(np.mean([loss.forward for loss in losses])), float(np.mean([loss.backward for loss in losses]))


def run(schedule: str, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Time one schedule over all pairs but the first, which warms up."""
    import torch

    from lmms_eval_tasks.models.video_diffusion.denoising import AskedClips

    ours = schedule == "ours"
    batch = None if arguments.batch == "auto" else int(arguments.batch)
    engine = build_engine(arguments, folder, schedule, batch if ours else 1)
    engine.timesteps = engine.timesteps[: arguments.timesteps]
    files = sorted(folder.glob("*_forward.mp4"))
    pairs = [
        AskedClips.pair(file.name, file, file.with_name(file.name.replace("forward", "backward")), "a square falls")
        for file in files
    ]
    losses, spent = [], []
    for pair in pairs:
        started = time.perf_counter()
        if ours:
            loss = measured(engine, pair)
            losses.append((loss.forward, loss.backward))
        else:
            losses.append(official_loss(engine, pair))
        spent.append(time.perf_counter() - started)
    peak = (
        torch.cuda.max_memory_allocated()
        if arguments.cuda
        else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    )
    return {"losses": losses, "seconds": float(np.median(spent[1:])), "peak_gib": peak / 2**30, "batch": engine.batch}


def main() -> None:
    """Run both schedules and print what they cost."""
    parser = Options(__doc__)
    parser.add_size("--pairs", 6, 2, "pairs of clips, the first of which only warms up")
    parser.add_size("--timesteps", 1000, 2, "the first of the protocol's timesteps, all where it has fewer")
    parser.add_argument("--family", default="wan2.1-1.3b", help="family of the tiny model")
    parser.add_argument("--cuda", action="store_true", help="a model shaped as Wan 2.1 1.3B, in bfloat16 on a GPU")
    parser.add_argument("--batch", default="auto", help="noisy clips at once, for ours")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size, fps = ((360, 640), 30) if arguments.cuda else ((96, 96), 8)
        write_clips(folder, arguments.pairs, size, fps)
        results = {
            schedule: in_own_process(run, schedule, arguments, folder, cuda=arguments.cuda) for schedule in SCHEDULES
        }
    theirs, ours = results["official"], results["ours"]
    off = np.max(np.abs(np.array(ours["losses"]) / np.array(theirs["losses"]) - 1))
    memory = "GPU memory" if arguments.cuda else "process memory"
    for name, result in results.items():
        print(
            f"{name:9} {result['seconds']:8.3f} s per pair, {3600 / result['seconds']:9,.0f} pairs per hour, "
            f"peak {memory} {result['peak_gib']:.2f} GiB, batch {result['batch']}"
        )
    print(f"losses differ by at most {off:.1e} of themselves")
    print_ratio(
        ours["seconds"] / theirs["seconds"],
        f"ours {ours['seconds']:.3f} s a pair, the official schedule {theirs['seconds']:.3f} s",
    )


if __name__ == "__main__":
    main()
