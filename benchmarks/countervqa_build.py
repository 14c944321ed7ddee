"""How long `build` takes from links, and how much memory: 712 clips with graphs of 500 actions each.

python benchmarks/countervqa_build.py
"""

from __future__ import annotations

import json
import random
import resource
import tempfile
import time
from pathlib import Path

from lmms_eval_tasks.build.countervqa.command import build

CLIPS, ACTIONS, QUESTIONS_A_LEVEL = 712, 500, 2
WORDS = ("ball", "cup", "pan", "knife", "rope", "wheel", "door", "box", "towel", "lamp", "hose", "bolt")


def write_sources(folder: Path) -> tuple[Path, Path]:
    chance = random.Random(0)
    takes, links = [], {}
    for clip in range(CLIPS):
        descriptions = [
            {"text": f"C {chance.choice('ABDEF')}{place % 97} the {chance.choice(WORDS)}.", "timestamp": place * 0.5}
            for place in range(ACTIONS)
        ]
        takes.append({"take_uid": f"t{clip}", "task": f"task {clip % 40}", "atomic_descriptions": descriptions})
        links[f"t{clip}"] = [
            {"from": cause, "to": effect}
            for effect in range(1, ACTIONS)
            for cause in {chance.randrange(max(0, effect - 6), effect) for _ in range(chance.randrange(3))}
        ]
    (folder / "annotations.json").write_text(json.dumps(takes))
    (folder / "links.json").write_text(json.dumps(links))
    return folder / "annotations.json", folder / "links.json"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        annotations, links = write_sources(Path(name))
        start = time.perf_counter()
        built = build(Path(name) / "set", [annotations], links, candidates=QUESTIONS_A_LEVEL)
        seconds = time.perf_counter() - start
    print(built.summary)
    print(f"{seconds:.1f} s, peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
