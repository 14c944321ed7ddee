"""A denoiser of whole clips, small enough to be trained within a test, behind the same adapter as the real ones."""

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import torch
from numpy.typing import NDArray

from lmms_eval_tasks.models.video_diffusion.adapters import Adapter, Flow, Text
from lmms_eval_tasks.models.video_diffusion.denoising import Engine
from lmms_eval_tasks.models.video_diffusion.latents import Placement
from lmms_eval_tasks.models.video_diffusion.protocol import PROTOCOLS
from lmms_eval_tasks.models.video_diffusion.settings import DenoisingSettings, Family

FRAMES = 12
SIDE = 8
FPS = 4.0
PIXELS = 32


class ToyNetwork(torch.nn.Module):
    """Velocity of a clip of (1, 12, 8, 8) from all its values and the time at once."""

    def __init__(self, hidden: int = 256) -> None:
        super().__init__()
        values = FRAMES * SIDE * SIDE
        self.enter = torch.nn.Linear(values + 16, hidden)
        self.middle = torch.nn.ModuleList(torch.nn.Linear(hidden + 16, hidden) for _ in range(2))
        self.leave = torch.nn.Linear(hidden, values)

    def forward(self, noisy: torch.Tensor, timesteps: torch.Tensor) -> torch.Tensor:
        waves = torch.outer(timesteps / 1000, torch.arange(1, 9) * torch.pi)
        time = torch.cat([waves.sin(), waves.cos()], dim=1)
        inside = torch.nn.functional.silu(self.enter(torch.cat([noisy.flatten(1), time], dim=1)))
        for layer in self.middle:
            inside = inside + torch.nn.functional.silu(layer(torch.cat([inside, time], dim=1)))
        return self.leave(inside).view_as(noisy)


class ToyAdapter(Adapter):
    """Latents are grey frames of 8 by 8; there is no text."""

    flow = Flow()

    def __init__(self, network: ToyNetwork) -> None:
        family = Family(
            name="toy",
            title="Toy",
            adapter="toy",
            pretrained="toy",
            height=PIXELS,
            width=PIXELS,
            frames=FRAMES,
            fps=FPS,
            text_tokens=1,
            source="tests",
        )
        super().__init__(SimpleNamespace(transformer=network, vae=torch.nn.Identity()), family, FPS)

    @property
    def temporal_compression(self) -> int:
        return 1

    @property
    def size_multiple(self) -> int:
        return SIDE

    def encode_text(self, caption: str, device: torch.device) -> dict[str, torch.Tensor]:
        return {}

    def encode_frames(self, frames: torch.Tensor) -> torch.Tensor:
        grey = frames.mean(dim=1, keepdim=True)
        return torch.nn.functional.avg_pool3d(grey, (1, PIXELS // SIDE, PIXELS // SIDE))

    def predict(self, noisy: torch.Tensor, timesteps: torch.Tensor, text: Text) -> torch.Tensor:
        answer: torch.Tensor = self.pipe.transformer(noisy, timesteps)
        return answer


def toy_engine(network: ToyNetwork) -> Engine:
    """An engine on a toy network, under the paper's protocol."""
    adapter = ToyAdapter(network)
    settings = DenoisingSettings(
        family=adapter.family,
        pretrained="toy",
        revision=None,
        name="Toy",
        protocol=PROTOCOLS["paper"],
        target="training",
        prompt="forward",
        dtype="float32",
        seed=0,
        height=PIXELS,
        width=PIXELS,
        frames=FRAMES,
        fps=FPS,
        tiling=False,
    )
    return Engine(adapter, settings, Placement(torch.device("cpu")))


def train(
    make_film: Callable[[np.random.Generator], NDArray[np.uint8]],
    backwards: bool,
    films: int = 512,
    steps: int = 1500,
    seed: int = 0,
) -> ToyNetwork:
    """Train a toy network on films (24, 32, 32, 3) at 8 frames per second, played forwards or backwards."""
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    network = ToyNetwork()
    adapter = ToyAdapter(network)
    # The frames that the protocol shows of 24 at half their rate.
    shown = [make_film(rng)[:: -1 if backwards else 1][::2] for _ in range(films)]
    pixels = torch.from_numpy(np.stack(shown)).float().div(127.5).sub(1).permute(0, 4, 1, 2, 3)
    clips = adapter.encode_frames(pixels)
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in range(steps):
        clean = clips[torch.randint(len(clips), (64,))]
        noise, timesteps = torch.randn_like(clean), torch.rand(len(clean)) * 1000
        predicted = network(adapter.noising.add_noise(clean, noise, timesteps), timesteps)
        loss = (predicted - adapter.noising.target(clean, noise, timesteps)).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return network.eval()
