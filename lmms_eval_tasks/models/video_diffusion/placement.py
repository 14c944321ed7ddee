"""Where a model's parts are kept."""

from __future__ import annotations

from typing import Literal

import torch

from lmms_eval_tasks.models.failures import free_memory

Offload = Literal["none", "parts", "layers"]


class Placement:
    """Brings the part that is needed to the device."""

    def __init__(self, device: torch.device, offload: Offload = "none") -> None:
        self.device, self.offload = device, offload
        self._here: list[torch.nn.Module] = []
        self._hooked: list[torch.nn.Module] = []

    def bring(self, *modules: torch.nn.Module) -> None:
        """Make some modules ready to be called; with ``parts``, all others leave the device first."""
        if self.offload == "layers":
            from accelerate import cpu_offload

            for module in modules:
                if module not in self._hooked:
                    cpu_offload(module, execution_device=self.device)
                    self._hooked.append(module)
            return
        if self.offload == "parts":
            self.send_away(*(module for module in self._here if module not in modules))
        for module in modules:
            if module not in self._here:
                module.to(self.device)
                self._here.append(module)

    def send_away(self, *modules: torch.nn.Module) -> None:
        """Move modules that are no longer needed to main memory; layers that come one by one are there already."""
        for module in modules:
            if module in self._here:
                module.to("cpu")
                self._here.remove(module)
        free_memory()
