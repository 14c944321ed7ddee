"""Annotated takes with known causal links, in the forms that `build` reads."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

COLOURS = ("red", "blue", "green", "yellow", "white", "black", "orange", "purple")
VERBS = ("hits", "pushes", "stops", "passes")


def draw_takes(number: int, actions: int = 14, seed: int = 0, tasks: int = 3) -> dict[str, dict[str, Any]]:
    """Takes by uid, each with its task, its descriptions in order of time, and forward links between their places."""
    chance = random.Random(seed)
    takes = {}
    for take in range(number):
        descriptions, seconds = [], 0.0
        for _ in range(actions):
            seconds += chance.uniform(0.4, 3.0)
            first, second = chance.sample(COLOURS, 2)
            subject = chance.choice("CCCO")
            text = f"{subject} {chance.choice(VERBS)} the {first} ball with the {second} one."
            descriptions.append({"text": text, "timestamp": round(seconds, 2), "subject": subject})
        links = []
        # Few links make a graph shallow, many leave no adjacent pair without one.
        density = (0.5, 0.5, 0.5, 0.08, 0.98)[take % 5]
        for effect in range(1, actions):
            if chance.random() < density:
                links.append((effect - 1, effect))
            elif effect > 2 and chance.random() < density:
                links.append((chance.randrange(effect - 1), effect))
        takes[f"take-{take:03d}"] = {"task": f"task {take % tasks}", "descriptions": descriptions, "links": links}
    return takes


def write_takes(folder: Path, takes: dict[str, dict[str, Any]], ego_exo: bool = True) -> tuple[Path, Path, Path]:
    """Write annotations, links and `takes.json`; the annotations as Ego-Exo4D nests them, or as a list of takes."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "atomic_descriptions.json", folder / "links.json", folder / "takes.json"
    if ego_exo:
        nested = {
            uid: [{"annotator_id": "7", "rejected": False, "descriptions": take["descriptions"]}]
            for uid, take in takes.items()
        }
        annotations: Any = {"ds": "1", "take_cam_id_map": {}, "annotations": nested}
    else:
        annotations = [
            {"take_uid": uid, "task": take["task"], "atomic_descriptions": take["descriptions"]}
            for uid, take in takes.items()
        ]
    links = {uid: [{"from": f"A{a:02d}", "to": f"A{b:02d}"} for a, b in take["links"]] for uid, take in takes.items()}
    tasks = [{"take_uid": uid, "task_name": take["task"], "take_name": uid} for uid, take in takes.items()]
    for path, value in zip(paths, (annotations, links, tasks), strict=True):
        path.write_text(json.dumps(value), encoding="utf-8")
    return paths
