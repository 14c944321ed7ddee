"""An environment whose `swift` trains nothing: it notes how it is called and writes what a training leaves behind."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PROGRAM = """#!{python}
import json, os, sys
from pathlib import Path

home = Path(__file__).resolve().parents[1]
plan = json.loads((home / "plan.json").read_text())
words = sys.argv[1:]
asked = ("FPS_MAX_FRAMES", "PYTHONPATH")
call = {{"words": words, "folder": os.getcwd(), "variables": {{name: os.environ.get(name) for name in asked}}}}
with (home / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps(call) + "\\n")
if words[0] == "export":
    out = Path(words[words.index("--output_dir") + 1])
    out.mkdir(parents=True)
    (out / "config.json").write_text("{{}}")
else:
    checkpoints = Path("checkpoints")
    folder = checkpoints / f"checkpoint-{{plan['step']}}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / plan["weights"]).write_text("{{}}")
    (folder / "optimizer.pt").write_text("")
    state = {{"global_step": plan["step"], "max_steps": plan["steps"]}}
    (folder / "trainer_state.json").write_text(json.dumps(state))
    with (checkpoints / "logging.jsonl").open("a") as log:
        log.writelines(json.dumps(line) + "\\n" for line in plan["log"])
sys.exit(plan["status"])
"""


class FakeSwift:
    """The environment; `folder` is what `--env` names.

    Args:
        folder: Where it is made.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        program = folder / "bin" / "swift"
        program.write_text(PROGRAM.format(python=sys.executable), encoding="utf-8")
        program.chmod(0o755)
        self.plan()

    def plan(
        self,
        step: int = 3,
        steps: int = 3,
        status: int = 0,
        weights: str = "adapter_config.json",
        log: list[dict[str, Any]] | None = None,
    ) -> None:
        """What the next training does: the step that it reaches, of how many, what it writes, and how it ends."""
        plan = {"step": step, "steps": steps, "status": status, "weights": weights, "log": log or []}
        (self.folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Every call so far."""
        path = self.folder / "calls.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    @property
    def words(self) -> list[list[str]]:
        """The arguments of every call."""
        return [call["words"] for call in self.calls]
