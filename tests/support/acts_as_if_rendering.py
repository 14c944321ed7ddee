"""The program of a process that renders, which needs no renderer: what it is asked to do draws nothing."""

from __future__ import annotations

from lmms_eval_tasks.worlds.physics import rendering as rendering_module

if __name__ == "__main__":
    rendering_module._why_not = lambda: ""
    rendering_module.main()
