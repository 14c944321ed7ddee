"""Slow scenes on a table in which one thing leads to another, with the seconds in which each part of it is seen."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from lmms_eval_tasks.sample.scenes.table import INNER, draw_place, rims, sure_touch
from lmms_eval_tasks.sample.world.bodies import SHAPES, FlatBody, FlatWorld, Laws, Vec, gap_between
from lmms_eval_tasks.sample.world.physics import Trajectory
from lmms_eval_tasks.sample.world.scene import HEIGHT, WIDTH, DrawnScene, draw_look, draw_skins, require, until_accepted

SLOW_TABLE = Laws(gravity=0.0, table_friction=1.0, rolling_friction=0.0, bounce=0.9, wall_bounce=0.85)
LONGEST = 15.0
"""Seconds after which anything on a slow table has met what it will meet."""
LEAST_SPAN = 3
_CLEAR = 5.0
_EARLY, _LATE = 0.2, 0.7


@dataclass(frozen=True)
class EvidenceSpan:
    """Something that an answer rests on: an object, the whole seconds in which to look at it (both included), and
    why."""

    name: str
    start: int
    end: int
    rationale: str


@dataclass(frozen=True)
class ChainQuestion:
    """A question about a scene and what proves its answer.

    `kind` is the official type of question, `named` are the objects that the question names, and `wording` is an
    option with `{}` in place of an object.
    """

    kind: str
    question: str
    answer: str
    evidence: tuple[EvidenceSpan, ...]
    named: tuple[str, ...]
    wording: str = "The {}."


@dataclass(frozen=True)
class Chain:
    """A scene as it unfolds, when each two bodies that touch do so first, and the questions about it, in order."""

    scene: DrawnScene
    trajectory: Trajectory
    touches: Mapping[tuple[str, str], float]
    questions: tuple[ChainQuestion, ...] = ()

    @property
    def last(self) -> int:
        """The last second of which the clip shows a frame."""
        return math.ceil(self.scene.duration) - 1

    def second(self, one: str, other: str) -> int:
        """The second in which two bodies touch for the first time."""
        return int(self.touches[one, other])

    def asking(self, *questions: ChainQuestion) -> Chain:
        """The scene with its questions."""
        return replace(self, questions=questions)


@until_accepted
def draw_why(rng: random.Random) -> Chain:
    """One object runs into another, a third one passes by."""
    way, speed = _heading(rng), rng.uniform(18.0, 26.0)
    cause = _thing(rng, "cause", draw_place(rng), _along(way, speed))
    effect = _ahead(rng, "effect", cause, way, speed * rng.uniform(2.3, 4.6))
    passer = _thing(rng, "passer", draw_place(rng), _along(_heading(rng), rng.uniform(15.0, 24.0)))
    chain = _unfold(rng, [cause, effect, passer, *_strangers(rng, 2)], 8.0, [("cause", "effect")])
    return chain.asking(_why(chain, "cause", "effect", 0))


@until_accepted
def draw_how(rng: random.Random) -> Chain:
    """One object runs into a second and that into a third; two questions."""
    way = (rng.choice((1.0, -1.0)), rng.uniform(-0.45, 0.45))
    way = _along(way, 1.0 / math.sqrt(way[0] * way[0] + way[1] * way[1]))
    speed = rng.uniform(18.0, 22.0)
    first = _thing(rng, "first", draw_place(rng), _along(way, speed))
    middle = _ahead(rng, "middle", first, way, speed * rng.uniform(2.3, 2.8))
    last = _ahead(rng, "last", middle, way, speed * rng.uniform(2.0, 2.6))
    expected = [("first", "middle"), ("middle", "last")]
    chain = _unfold(rng, [first, middle, last, *_strangers(rng, 2)], 8.0, expected)
    one, two, three = map(chain.scene.called, ("first", "middle", "last"))
    hit, passed = chain.second("first", "middle"), chain.second("middle", "last")
    evidence = (
        EvidenceSpan("first", 0, hit, f"The {one} moves up to the {two} and hits it."),
        EvidenceSpan("middle", hit, passed, f"Hit by the {one}, the {two} moves on until it hits the {three}."),
        EvidenceSpan("last", passed, chain.last, f"Hit by the {two}, the {three} starts to move."),
    )
    require(all(span.end - span.start + 1 >= LEAST_SPAN for span in evidence))
    question = f"By way of which object does the {one} set the {three} in motion?"
    how = ChainQuestion("How Questions (Mechanisms)", question, two, evidence, (one, three))
    return chain.asking(how, _why(chain, "middle", "last", hit))


@until_accepted
def draw_without(rng: random.Random) -> Chain:
    """One object is kept by a second from reaching a third."""
    way, speed = _heading(rng), rng.uniform(18.0, 26.0)
    mover = _thing(rng, "mover", draw_place(rng), _along(way, speed))
    aside = rng.choice((-1.0, 1.0)) * rng.uniform(8.0, 13.0)
    guard = _ahead(rng, "guard", mover, way, speed * rng.uniform(2.3, 3.5), aside)
    goal = _ahead(rng, "goal", mover, way, speed * rng.uniform(4.5, 6.0))
    chain = _unfold(rng, [mover, guard, goal, *_strangers(rng, 2)], 7.0, [("mover", "guard")])
    _require_touch(chain.scene.world.without("guard"), "mover", "goal")
    one, two, three = map(chain.scene.called, ("mover", "guard", "goal"))
    hit = chain.second("mover", "guard")
    evidence = (
        EvidenceSpan("mover", 0, hit, f"The {one} moves towards the {three} until it hits the {two}."),
        EvidenceSpan("guard", hit, chain.last, f"The {two} takes the blow and moves."),
        EvidenceSpan("goal", 0, chain.last, f"The {three} lies in the way that the {one} was taking."),
    )
    question = f"What would the {one} have run into first if the {two} had not been on the table?"
    return chain.asking(ChainQuestion("Physical Counterfactual", question, three, evidence, (one, two)))


@until_accepted
def draw_next(rng: random.Random) -> Chain:
    """One object heads for another when the clip ends; a third one moves elsewhere."""
    way, speed = _heading(rng), rng.uniform(14.0, 20.0)
    mover = _thing(rng, "mover", draw_place(rng), _along(way, speed))
    goal = _ahead(rng, "goal", mover, way, speed * rng.uniform(5.6, 6.6))
    passer = _thing(rng, "passer", draw_place(rng), _along(_heading(rng), rng.uniform(10.0, 16.0)))
    chain = _unfold(rng, [mover, goal, passer, *_strangers(rng, 2)], 5.0, [])
    world = chain.scene.world
    _require_touch(world, "mover", "goal")
    stopped = world.changing("passer", velocity=(0.0, 0.0), position=chain.trajectory.place("passer"))
    _require_touch(stopped, "mover", "goal")
    one, two = map(chain.scene.called, ("mover", "goal"))
    evidence = (
        EvidenceSpan("mover", 0, chain.last, f"The {one} keeps moving towards the {two}."),
        EvidenceSpan("goal", 0, chain.last, f"The {two} lies in the way of the {one}."),
    )
    question = f"The clip stops early. What will the {one} run into next?"
    return chain.asking(ChainQuestion("Physical Prediction", question, two, evidence, (one,)))


@until_accepted
def draw_fixed(rng: random.Random) -> Chain:
    """One object bounces off something that does not give way, another pushes something that does."""
    way, speed = _heading(rng), rng.uniform(18.0, 26.0)
    bouncer = _thing(rng, "bouncer", draw_place(rng), _along(way, speed))
    fixed = replace(_ahead(rng, "fixed", bouncer, way, speed * rng.uniform(2.3, 3.6)), kinematic=True)
    way, speed = _heading(rng), rng.uniform(18.0, 26.0)
    pusher = _thing(rng, "pusher", draw_place(rng), _along(way, speed))
    pushed = _ahead(rng, "pushed", pusher, way, speed * rng.uniform(2.3, 3.6))
    things = [bouncer, fixed, pusher, pushed, *_strangers(rng, 1)]
    chain = _unfold(rng, things, 7.0, [("bouncer", "fixed"), ("pusher", "pushed")])
    one, two, three = map(chain.scene.called, ("bouncer", "fixed", "pusher"))
    hit = chain.second("bouncer", "fixed")
    evidence = (
        EvidenceSpan("bouncer", 0, chain.last, f"The {one} hits the {two} and bounces back."),
        EvidenceSpan("fixed", hit, chain.last, f"Hit by the {one}, the {two} does not move at all."),
    )
    movers = " and the ".join(sorted((one, three)))
    question = f"Judging by how the {movers} move: which object must be fastened to the table?"
    kind = "Environmental Condition Inference"
    return chain.asking(ChainQuestion(kind, question, two, evidence, (one, three)))


CHAINS: tuple[Callable[[random.Random], Chain], ...] = (draw_why, draw_how, draw_without, draw_next, draw_fixed)


def clock(second: int) -> str:
    """A time of a clip as `MM:SS`."""
    return f"{second // 60:02d}:{second % 60:02d}"


def _why(chain: Chain, cause: str, effect: str, since: int) -> ChainQuestion:
    one, two = map(chain.scene.called, (cause, effect))
    hit = chain.second(cause, effect)
    evidence = (
        EvidenceSpan(cause, since, hit, f"The {one} moves up to the {two} and hits it."),
        EvidenceSpan(effect, hit, chain.last, f"Hit by the {one}, the {two} starts to move."),
    )
    question = f"Why does the {two} start to move?"
    kind = "Why Questions (Causal Reasons)"
    return ChainQuestion(kind, question, one, evidence, (two,), "Because the {} runs into it.")


def _unfold(
    rng: random.Random, things: Sequence[FlatBody], duration: float, expected: Sequence[tuple[str, str]]
) -> Chain:
    """The scene of the things; Rejected unless they fit and just the expected pairs touch, at good times."""
    require(_fits(things))
    skins = draw_skins(rng, [body.name for body in things])
    scene = DrawnScene(FlatWorld(SLOW_TABLE, tuple(things), rims()), draw_look(rng), skins, duration)
    trajectory = scene.simulate()
    touches: dict[tuple[str, str], float] = {}
    for contact in trajectory.contacts:
        if contact.first in skins and contact.second in skins:
            touches.setdefault((contact.first, contact.second), contact.time)
    require(sorted(touches) == sorted(expected))
    require(all(_EARLY < time % 1 < _LATE and 2 <= time < math.ceil(duration) - 2 for time in touches.values()))
    for one, other in combinations(things, 2):
        if (one.name, other.name) not in touches:
            paths = zip(trajectory.path(one.name), trajectory.path(other.name), strict=True)
            require(all(gap_between(one, a, other, b)[0] >= _CLEAR for a, b in paths))
    return Chain(scene, trajectory, touches)


def _fits(bodies: Sequence[FlatBody]) -> bool:
    """Whether all bodies lie on the table, clear of its rim and of each other."""
    margins = [(body.position, INNER + body.size + 3.0) for body in bodies]
    return all(m < x < WIDTH - m and m < y < HEIGHT - m for (x, y), m in margins) and all(
        gap_between(one, one.position, other, other.position)[0] >= _CLEAR for one, other in combinations(bodies, 2)
    )


def _require_touch(world: FlatWorld, mover: str, goal: str) -> None:
    """Rejected unless the mover runs into the goal first, also with a little more or less speed or direction."""
    require(sure_touch(world, mover, world.body(mover).velocity, duration=LONGEST) == goal)


def _thing(rng: random.Random, name: str, at: Vec, velocity: Vec = (0.0, 0.0)) -> FlatBody:
    shape = rng.choice(SHAPES)
    size = rng.uniform(9.0, 11.0) if shape == "ball" else rng.uniform(8.0, 10.0)
    return FlatBody(name, shape, size, at, velocity)


def _ahead(rng: random.Random, name: str, of: FlatBody, way: Vec, gap: float, aside: float = 0.0) -> FlatBody:
    """A thing that lies `gap` px before another one's edge on its way, and `aside` px to the right of that."""
    thing = _thing(rng, name, (0.0, 0.0))
    reach = gap + of.size + thing.size
    x, y = of.position
    return replace(thing, position=(x + reach * way[0] - aside * way[1], y + reach * way[1] + aside * way[0]))


def _strangers(rng: random.Random, count: int) -> list[FlatBody]:
    return [_thing(rng, f"stranger {number}", draw_place(rng)) for number in range(count)]


def _heading(rng: random.Random) -> Vec:
    """A random direction as a unit vector, from square roots alone so that every machine has the same bits."""
    while True:
        x, y = rng.uniform(-1, 1), rng.uniform(-1, 1)
        length = math.sqrt(x * x + y * y)
        if 0.1 < length <= 1.0:
            return x / length, y / length


def _along(way: Vec, length: float) -> Vec:
    return length * way[0], length * way[1]
