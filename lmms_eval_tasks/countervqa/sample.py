"""Sample data in the form of the release: chains of collisions, their graphs, and questions of all three levels."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

from lmms_eval_tasks.api import Progress, SampleWriter
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_tasks.sample.drawn_clips import DrawnScene, write_clips
from lmms_eval_tasks.sample.files import BUILD, BUILT_FROM, Rows, write_json
from lmms_eval_tasks.sample.scripts import draw

_BUILD = """\
annotations: [annotations.json]
clips: ../clips
# The longest chain of these clips has two links, and there are so few pairs of actions that all are judged.
min_depth: 2
pair_share: 1.0
# Whoever listens at $LLM_JUDGE_URL, or at http://localhost:8000/v1, is asked for links and answers.
model: {model: stub, provider: local}
verify_with: [{model: stub, provider: local}]
"""
_SUPPOSE = "Suppose that the {} had not hit the {}. Would the {} still have hit the {}?"
# The rule that makes a question, to its level, the rule of its partner, whose verdict is the other, and why it is so.
_RULES: Mapping[str, tuple[int, str, str]] = {
    "adjacent_unlinked": (1, "adjacent_linked", "Yes. Neither the {0} nor the {1} ever touches the {2}."),
    "adjacent_linked": (1, "adjacent_unlinked", "No. Only because the {0} hits it does the {1} move on into the {3}."),
    "path": (2, "disconnected", "No. The {0} starts the chain of hits that ends with the {2} running into the {3}."),
    "disconnected": (2, "path", "Yes. No chain of hits leads from the {0} and the {1} to the {2}."),
    "absent": (3, "", "Yes. The {0} never hits the {1}, so nothing changes."),
}


def _draw_clip(seed: int, number: int) -> tuple[DrawnScene, dict[str, Any], Rows]:
    """A scene, the line of its graph, and the lines of its questions; every other clip has balls alone."""
    (scene,) = draw("collisions of balls" if number % 2 else "collisions", f"{seed}/{number}")
    rng, clip = random.Random(f"{seed}/countervqa/{number}"), f"collisions_{number:04d}.mp4"
    pairs = [(one, other) for _, one, other in scene.hits]
    by_rule: dict[str, list[tuple[int, int]]] = {rule: [] for rule in _RULES}
    links = list[tuple[int, int]]()
    # The objects of one hit take part in no other.
    aside = next(
        place for place, pair in enumerate(pairs) if sum(not {*pair}.isdisjoint(other) for other in pairs) == 1
    )
    for one, other in combinations(range(len(pairs)), 2):
        # The chain's hits are linked one to the next; the hit aside has nothing to do with them.
        if is_link := pairs[one][1] == pairs[other][0]:
            links.append((one, other))
        if other - one == 1:
            by_rule["adjacent_linked" if is_link else "adjacent_unlinked"].append((one, other))
        elif not is_link:
            by_rule["disconnected" if aside in (one, other) else "path"].append((one, other))
    graph = {
        "clip": clip,
        "task": "knocking things about",
        "actions": [
            {"id": f"a{place}", "start": round(time, 2), "text": f"The {one} hits the {other}.", "subject": one}
            for place, (time, one, other) in enumerate(scene.hits, 1)
        ],
        "links": [{"cause": f"a{one + 1}", "effect": f"a{other + 1}"} for one, other in links],
    }
    questions = []
    for rule in rng.sample(list(_RULES), len(_RULES)):
        level, partner, why = _RULES[rule]
        place, outcome = rng.choice(by_rule[rule] or [(None, rng.randrange(len(pairs)))])
        if place is not None:
            names = [*pairs[place], *pairs[outcome]]
        else:  # Like a linked pair, it names one object twice: that alone must not tell the verdict.
            struck = pairs[outcome][0]
            met = {name for pair in pairs if struck in pair for name in pair}
            names = [rng.choice([body.name for body in scene.bodies if body.name not in met]), struck, *pairs[outcome]]
        questions.append(
            {
                "id": f"{number:04d}_{rule}",
                "clip": clip,
                "level": level,
                "interaction": "H2H" if number % 2 else "H2O",
                "question": _SUPPOSE.format(*names),
                "verdict": why.partition(".")[0].lower(),
                "explanation": why.format(*names),
                "action": None if place is None else f"a{place + 1}",
                "absent_action": "The {} hits the {}.".format(*names) if place is None else None,
                "outcome": f"a{outcome + 1}",
                "partner": f"{number:04d}_{partner}" if partner else None,
                "rule": rule,
            }
        )
    return scene, graph, questions


def write_release(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    drawn = [_draw_clip(seed, number) for number in range(1, sizes["clips"] + 1)]
    write_file(folder / "graphs.jsonl", as_lines(graph for _, graph, _ in drawn))
    write_file(folder / "questions.jsonl", as_lines(question for _, _, asked in drawn for question in asked))
    takes = [
        {
            "take_uid": Path(graph["clip"]).stem,
            "task": graph["task"],
            "interaction": asked[0]["interaction"],
            "atomic_descriptions": [{"timestamp": action["start"], **action} for action in graph["actions"]],
        }
        for _, graph, asked in drawn
    ]
    write_json(folder / BUILD / "annotations.json", takes)
    write_file(folder / BUILD / "build.yaml", _BUILD)
    write_clips({folder / "clips" / graph["clip"]: scene for scene, graph, _ in drawn}, progress)


SAMPLE = SampleWriter(
    contents=f"`questions.jsonl`, `graphs.jsonl`, `clips/`, and {BUILT_FROM}",
    sizes={"clips": 6},
    write=write_release,
)
