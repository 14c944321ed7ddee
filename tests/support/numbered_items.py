"""A command as lmms-eval is one to a launch: answers the items of its part, keeps each answer at once, writes results.

Each answer is a line of one file, so that an item that was answered twice is there twice.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--output_path", type=Path, required=True)
parser.add_argument("--items", type=int, default=12)
parser.add_argument("--pause", type=float, default=0.0)
parser.add_argument("--fail", type=int, default=0, help="the part that fails as long as a file `mended` is missing")
parser.add_argument("--silent", type=int, default=0, help="one that fails with status 0, as lmms-eval may")
parser.add_argument("--wait", action="store_true", help="wait after the first answer until there is a file `go`")
parser.add_argument("--child", action="store_true", help="the work is done in a session of its own, as torchrun's")
options = parser.parse_args()
if options.child:
    words = [word for word in sys.argv if word != "--child"]
    sys.exit(subprocess.run([sys.executable, *words], start_new_session=True).returncode)
number, count = map(int, os.environ["LMMS_EVAL_TASKS_SHARD"].split("/"))
out = options.output_path
kept, shared = out / "answers", out.parents[1]
print(f"part {number} on {os.environ.get('CUDA_VISIBLE_DEVICES', 'any')}", flush=True)
if number in (options.fail, options.silent) and not (shared / "mended").exists():
    print("Something is wrong with this part.", flush=True)
    sys.exit(3 if number == options.fail else 0)
with kept.open("a+", encoding="utf-8", buffering=1) as file:
    file.seek(0)
    answered = set(map(int, file.read().split()))
    for item in range(number, options.items + 1, count):
        if item not in answered:
            time.sleep(options.pause)
            file.write(f"{item}\n")
            while options.wait and not (shared / "go").exists():
                time.sleep(0.05)
time.sleep(options.pause)
results = {"part": number, "items": sorted(map(int, kept.read_text(encoding="utf-8").split()))}
(out / f"{time.strftime('%Y%m%d_%H%M%S')}_results.json").write_text(json.dumps(results), encoding="utf-8")
