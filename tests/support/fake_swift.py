"""An environment whose `swift` trains nothing: it notes how it is called and writes what a training leaves behind."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROGRAM = """#!{python}
import json, os, sys
from pathlib import Path

home = Path(__file__).resolve().parents[1]
plan = json.loads((home / "plan.json").read_text())
words = sys.argv[1:]
with (home / "calls.jsonl").open("a") as calls:
    calls.write(json.dumps({{"words": words, "folder": os.getcwd()}}) + "\\n")
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
    """The environment; `folder`, in which it is made, is what `--env` names."""

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
        log: Sequence[dict[str, Any]] = (),
    ) -> None:
        """What the next training does: the step that it reaches, of how many, what it writes, and how it ends."""
        plan = {"step": step, "steps": steps, "status": status, "weights": weights, "log": log}
        (self.folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The words and the folder of every call so far."""
        path = self.folder / "calls.jsonl"
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
