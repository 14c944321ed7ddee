"""The sample as a CounterVQA set: chains of collisions, their graphs, and questions at all three levels."""

import json
import random
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from lmms_eval_tasks.sample.scenes.collisions import Collisions, absent_hits, draw_collisions
from lmms_eval_tasks.sample.world.scene import DrawnScene
from lmms_eval_tasks.sample.world.video import film_scenes
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.work import Progress

CLIPS, BUILD = "clips", "build"
_CONFIG = f"""\
annotations: [annotations.json]
clips: ../{CLIPS}
# The longest chain of these clips has two links, and there are so few pairs of actions that all are judged.
min_depth: 2
pair_share: 1.0
# Whoever listens at $LLM_JUDGE_URL, or at http://localhost:8000/v1, is asked for links and answers.
model: {{model: stub, provider: local}}
verify_with: [{{model: stub, provider: local}}]
"""
LEVELS = {"adjacent_unlinked": 1, "adjacent_linked": 1, "path": 2, "disconnected": 2, "absent": 3}
PARTNERS = (("adjacent_linked", "adjacent_unlinked"), ("path", "disconnected"))
"""Rules whose questions have opposite verdicts: no, then yes."""


def draw_clip(seed: int, number: int) -> tuple[Collisions, dict[str, Any], list[dict[str, Any]]]:
    """A scene, the line of its graph, and the lines of its questions; every other clip has blocks."""
    rng = random.Random(f"{seed}/countervqa/{number}")
    collisions = draw_collisions(rng, with_blocks=number % 2 == 0)
    clip = f"collisions_{number:04d}.mp4"
    graph = {
        "clip": clip,
        "task": "knocking things about",
        "actions": [
            {
                "id": f"a{place}",
                "start": round(hit.time, 2),
                "text": f"The {_named(collisions, hit.hitter)} hits the {_named(collisions, hit.struck)}.",
                "subject": _named(collisions, hit.hitter),
            }
            for place, hit in enumerate(collisions.hits, 1)
        ],
        "links": [{"cause": f"a{one + 1}", "effect": f"a{other + 1}"} for one, other in collisions.links],
    }
    questions = [
        _question(rng, collisions, rule, number, clip)
        for rule in rng.sample([*(rule for pair in PARTNERS for rule in pair), "absent"], len(LEVELS))
    ]
    by_rule = {question["rule"]: question for question in questions}
    for one, other in PARTNERS:
        by_rule[one]["partner"], by_rule[other]["partner"] = by_rule[other]["id"], by_rule[one]["id"]
    return collisions, graph, questions


def _question(rng: random.Random, collisions: Collisions, rule: str, number: int, clip: str) -> dict[str, Any]:
    """A question that a rule makes of the scene's graph; its partner is filled in later."""
    hits = collisions.hits
    if rule == "absent":
        # Like a linked pair, it names one object twice: that alone must not tell the verdict.
        place, outcome = None, rng.randrange(len(hits))
        left_out = rng.choice([pair for pair in absent_hits(collisions) if pair[1] == hits[outcome].hitter])
    else:
        earlier_and_later = combinations(range(len(hits)), 2)
        place, outcome = rng.choice([pair for pair in earlier_and_later if _rule(collisions, *pair) == rule])
        left_out = hits[place].pair
    names = [_named(collisions, name) for name in (*left_out, *hits[outcome].pair)]
    needed = rule in ("adjacent_linked", "path")
    return {
        "id": f"{number:04d}_{rule}",
        "clip": clip,
        "level": LEVELS[rule],
        "interaction": "H2O" if number % 2 == 0 else "H2H",
        "question": "Suppose that the {} had not hit the {}. Would the {} still have hit the {}?".format(*names),
        "verdict": "no" if needed else "yes",
        "explanation": _explain(rule, names),
        "action": None if place is None else f"a{place + 1}",
        "absent_action": None if place is not None else "The {} hits the {}.".format(*names),
        "outcome": f"a{outcome + 1}",
        "partner": None,
        "rule": rule,
    }


def _rule(collisions: Collisions, one: int, other: int) -> str:
    """Return the rule that makes a question of two hits, with the earlier one left out."""
    linked = (one, other) in collisions.links
    if other - one == 1:
        return "adjacent_linked" if linked else "adjacent_unlinked"
    return "" if linked else "path" if collisions.leads_to(one, other) else "disconnected"


def _explain(rule: str, names: list[str]) -> str:
    one, two, three, four = names
    return {
        "adjacent_unlinked": f"Yes. The two hits follow each other, but neither the {one} nor the {two} ever touches "
        f"the {three}.",
        "adjacent_linked": f"No. Only because the {one} hits it does the {two} move on into the {four}.",
        "path": f"No. The {one} starts the chain of hits that ends with the {three} running into the {four}.",
        "disconnected": f"Yes. No chain of hits leads from the {one} and the {two} to the {three}.",
        "absent": f"Yes. The {one} never hits the {two}, so nothing changes.",
    }[rule]


def _named(collisions: Collisions, name: str) -> str:
    return collisions.scene.called(name)


def write(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    """Write the questions, the graphs and the clips."""
    scenes: dict[Path, DrawnScene] = {}
    graphs, questions = [], []
    for number in range(1, sizes["clips"] + 1):
        collisions, graph, asked = draw_clip(seed, number)
        scenes[folder / CLIPS / graph["clip"]] = collisions.scene
        graphs.append(graph)
        questions += asked
    (folder / "graphs.jsonl").write_text(as_lines(graphs), encoding="utf-8")
    (folder / "questions.jsonl").write_text(as_lines(questions), encoding="utf-8")
    write_build(folder / BUILD, graphs, {one["clip"]: one["interaction"] for one in questions})
    film_scenes(scenes, progress)


def write_build(folder: Path, graphs: Sequence[Mapping[str, Any]], interactions: Mapping[str, str]) -> None:
    """Write annotations, a configuration, and the truth by which a stand-in for models can answer."""
    folder.mkdir()
    takes = [
        {
            "take_uid": graph["clip"].removesuffix(".mp4"),
            "task": graph["task"],
            "interaction": interactions[graph["clip"]],
            "atomic_descriptions": [
                {"id": action["id"], "timestamp": action["start"], "text": action["text"], "subject": action["subject"]}
                for action in graph["actions"]
            ],
        }
        for graph in graphs
    ]
    truth = {
        "benchmark": "countervqa",
        "takes": [
            {
                "actions": [action["text"] for action in graph["actions"]],
                "links": [[link["cause"], link["effect"]] for link in graph["links"]],
            }
            for graph in graphs
        ],
    }
    (folder / "annotations.json").write_text(json.dumps(takes, indent=1) + "\n", encoding="utf-8")
    (folder / "build.yaml").write_text(_CONFIG, encoding="utf-8")
    (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")


WRITER = SampleWriter(
    contents=f"`questions.jsonl`, `graphs.jsonl`, `{CLIPS}/`, and `{BUILD}/`, from which a set can be built",
    sizes={"clips": 6},
    write=write,
)
