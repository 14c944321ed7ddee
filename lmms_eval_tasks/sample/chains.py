"""Slow scenes on a table in which one thing leads to another, with the seconds in which each part of it is seen.

Slow enough that a box per second tells the motion, and timed so that no event lies near the turn of a second.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from lmms_eval_tasks.sample.physics import Body, Laws, Trajectory, Vec, World, gap_between
from lmms_eval_tasks.sample.scenes import COLOURS, HEIGHT, WIDTH, Scene, draw_look, draw_skin, search
from lmms_eval_tasks.sample.table import INNER, NUDGES, first_touch, rims

SLOW_TABLE = Laws(gravity=0.0, table_friction=1.0, rolling_friction=0.0, bounce=0.9, wall_bounce=0.85)
LONGEST = 15.0
"""Seconds after which anything on a slow table has met what it will meet."""
LEAST_SPAN = 3
_SHAPES = ("ball", "block")
_CLEAR = 5.0
_EARLY, _LATE = 0.2, 0.7


@dataclass(frozen=True)
class Shown:
    """Something that the answer rests on: a body, the whole seconds in which to look at it (both included), and why."""

    body: str
    start: int
    end: int
    why: str


@dataclass(frozen=True)
class Case:
    """A question about a scene, what proves its answer, and what else is wrong but likely.

    `say` words an option that names an object, as in `red ball`; `named` are the objects that the question names.
    """

    question: str
    answer: str
    evidence: tuple[Shown, ...]
    named: tuple[str, ...]
    say: Callable[[str], str]


@dataclass(frozen=True)
class Chain:
    """A scene and the questions about it, one after the other."""

    scene: Scene
    cases: tuple[tuple[str, Case], ...]


@dataclass(frozen=True)
class _Played:
    """A scene as it unfolds, with the time of the first contact of each two bodies that touch."""

    scene: Scene
    trajectory: Trajectory
    touches: Mapping[tuple[str, str], float]

    @property
    def last(self) -> int:
        """The last second of which the clip shows a frame."""
        return math.ceil(self.scene.duration) - 1

    def second(self, one: str, other: str) -> int:
        """The second in which two bodies touch for the first time."""
        return int(self.touches[one, other])


def why_asked(called: str) -> str:
    """The question for what sets an object in motion."""
    return f"Why does the {called} start to move?"


def how_asked(first: str, last: str) -> str:
    """The question for the object between two that never touch."""
    return f"By way of which object does the {first} set the {last} in motion?"


def without_asked(mover: str, removed: str) -> str:
    """The question for what would have been hit without an object."""
    return f"What would the {mover} have run into first if the {removed} had not been on the table?"


def next_asked(mover: str) -> str:
    """The question for what is hit after the clip's end."""
    return f"The clip stops early. What will the {mover} run into next?"


def fixed_asked(one: str, other: str) -> str:
    """The question for the object that does not give way."""
    return f"Judging by how the {one} and the {other} move: which object must be fastened to the table?"


def say_cause(name: str) -> str:
    """An option that names the object which runs into another."""
    return f"Because the {name} runs into it."


def say_thing(name: str) -> str:
    """An option that names an object."""
    return f"The {name}."


def draw_why(rng: random.Random) -> Chain:
    """One object runs into another, a third one passes by."""

    def attempt(rng: random.Random) -> Chain | None:
        way, speed = _heading(rng), rng.uniform(18.0, 26.0)
        cause = _thing(rng, "cause", _anywhere(rng), _along(way, speed))
        effect = _ahead(rng, "effect", cause, way, speed * rng.uniform(2.3, 4.6))
        passer = _thing(rng, "passer", _anywhere(rng), _along(_heading(rng), rng.uniform(15.0, 24.0)))
        played = _play(rng, [cause, effect, passer, *_strangers(rng, 2)], 8.0, [("cause", "effect")])
        return None if played is None else Chain(played.scene, (_why(played, "cause", "effect", 0),))

    return search(rng, attempt)


def draw_how(rng: random.Random) -> Chain:
    """One object runs into a second and that into a third; two questions."""

    def attempt(rng: random.Random) -> Chain | None:
        way = _along(rng.choice(((1.0, 0.0), (-1.0, 0.0))), 1.0)
        way = (way[0], rng.uniform(-0.45, 0.45))
        way = _along(way, 1.0 / math.sqrt(way[0] * way[0] + way[1] * way[1]))
        speed = rng.uniform(18.0, 22.0)
        first = _thing(rng, "first", _anywhere(rng), _along(way, speed))
        middle = _ahead(rng, "middle", first, way, speed * rng.uniform(2.3, 2.8))
        last = _ahead(rng, "last", middle, way, speed * rng.uniform(2.0, 2.6))
        expected = [("first", "middle"), ("middle", "last")]
        played = _play(rng, [first, middle, last, *_strangers(rng, 2)], 8.0, expected)
        if played is None:
            return None
        one, two, three = (played.scene.called(name) for name in ("first", "middle", "last"))
        hit, passed = played.second("first", "middle"), played.second("middle", "last")
        shown = (
            Shown("first", 0, hit, f"The {one} moves up to the {two} and hits it."),
            Shown("middle", hit, passed, f"Hit by the {one}, the {two} moves on until it hits the {three}."),
            Shown("last", passed, played.last, f"Hit by the {two}, the {three} starts to move."),
        )
        how = Case(how_asked(one, three), two, shown, (one, three), say_thing)
        why = _why(played, "middle", "last", hit)
        return Chain(played.scene, (("How Questions (Mechanisms)", how), why)) if _long_enough(how) else None

    return search(rng, attempt)


def draw_without(rng: random.Random) -> Chain:
    """One object is kept by a second from reaching a third."""

    def attempt(rng: random.Random) -> Chain | None:
        way, speed = _heading(rng), rng.uniform(18.0, 26.0)
        mover = _thing(rng, "mover", _anywhere(rng), _along(way, speed))
        aside = rng.choice((-1.0, 1.0)) * rng.uniform(8.0, 13.0)
        guard = _ahead(rng, "guard", mover, way, speed * rng.uniform(2.3, 3.5), aside)
        goal = _ahead(rng, "goal", mover, way, speed * rng.uniform(4.5, 6.0))
        played = _play(rng, [mover, guard, goal, *_strangers(rng, 2)], 7.0, [("mover", "guard")])
        if played is None or not _sure(played.scene.world.without("guard"), "mover", "goal"):
            return None
        one, two, three = (played.scene.called(name) for name in ("mover", "guard", "goal"))
        hit = played.second("mover", "guard")
        shown = (
            Shown("mover", 0, hit, f"The {one} moves towards the {three} until it hits the {two}."),
            Shown("guard", hit, played.last, f"The {two} takes the blow and moves."),
            Shown("goal", 0, played.last, f"The {three} lies in the way that the {one} was taking."),
        )
        case = Case(without_asked(one, two), three, shown, (one, two), say_thing)
        return Chain(played.scene, (("Physical Counterfactual", case),))

    return search(rng, attempt)


def draw_next(rng: random.Random) -> Chain:
    """One object heads for another when the clip ends; a third one moves elsewhere."""

    def attempt(rng: random.Random) -> Chain | None:
        way, speed = _heading(rng), rng.uniform(14.0, 20.0)
        mover = _thing(rng, "mover", _anywhere(rng), _along(way, speed))
        goal = _ahead(rng, "goal", mover, way, speed * rng.uniform(5.6, 6.6))
        passer = _thing(rng, "passer", _anywhere(rng), _along(_heading(rng), rng.uniform(10.0, 16.0)))
        played = _play(rng, [mover, goal, passer, *_strangers(rng, 2)], 5.0, [])
        if played is None or not _sure(played.scene.world, "mover", "goal"):
            return None
        still = replace(played.scene.world.body("passer"), velocity=(0.0, 0.0))
        still = replace(still, position=_place(played.trajectory, "passer"))
        if not _sure(played.scene.world.replacing(still), "mover", "goal"):
            return None
        one, two = played.scene.called("mover"), played.scene.called("goal")
        shown = (
            Shown("mover", 0, played.last, f"The {one} keeps moving towards the {two}."),
            Shown("goal", 0, played.last, f"The {two} lies in the way of the {one}."),
        )
        return Chain(played.scene, (("Physical Prediction", Case(next_asked(one), two, shown, (one,), say_thing)),))

    return search(rng, attempt)


def draw_fixed(rng: random.Random) -> Chain:
    """One object bounces off something that does not give way, another pushes something that does."""

    def attempt(rng: random.Random) -> Chain | None:
        way, speed = _heading(rng), rng.uniform(18.0, 26.0)
        bouncer = _thing(rng, "bouncer", _anywhere(rng), _along(way, speed))
        fixed = replace(_ahead(rng, "fixed", bouncer, way, speed * rng.uniform(2.3, 3.6)), kinematic=True)
        way, speed = _heading(rng), rng.uniform(18.0, 26.0)
        pusher = _thing(rng, "pusher", _anywhere(rng), _along(way, speed))
        pushed = _ahead(rng, "pushed", pusher, way, speed * rng.uniform(2.3, 3.6))
        things = [bouncer, fixed, pusher, pushed, *_strangers(rng, 1)]
        played = _play(rng, things, 7.0, [("bouncer", "fixed"), ("pusher", "pushed")])
        if played is None:
            return None
        one, two, three = (played.scene.called(name) for name in ("bouncer", "fixed", "pusher"))
        hit = played.second("bouncer", "fixed")
        shown = (
            Shown("bouncer", 0, played.last, f"The {one} hits the {two} and bounces back."),
            Shown("fixed", hit, played.last, f"Hit by the {one}, the {two} does not move at all."),
        )
        case = Case(fixed_asked(*sorted((one, three))), two, shown, (one, three), say_thing)
        return Chain(played.scene, (("Environmental Condition Inference", case),))

    return search(rng, attempt)


CHAINS: tuple[Callable[[random.Random], Chain], ...] = (draw_why, draw_how, draw_without, draw_next, draw_fixed)


def _why(played: _Played, cause: str, effect: str, since: int) -> tuple[str, Case]:
    one, two = played.scene.called(cause), played.scene.called(effect)
    hit = played.second(cause, effect)
    shown = (
        Shown(cause, since, hit, f"The {one} moves up to the {two} and hits it."),
        Shown(effect, hit, played.last, f"Hit by the {one}, the {two} starts to move."),
    )
    return "Why Questions (Causal Reasons)", Case(why_asked(two), one, shown, (two,), say_cause)


def _long_enough(case: Case) -> bool:
    return all(shown.end - shown.start + 1 >= LEAST_SPAN for shown in case.evidence)


def _play(
    rng: random.Random, things: Sequence[Body | None], duration: float, expected: Sequence[tuple[str, str]]
) -> _Played | None:
    """The scene of the things, None unless they fit and just the expected pairs touch, at good times."""
    bodies = [body for body in things if body is not None]
    if len(bodies) < len(things) or not _fits(bodies):
        return None
    world = World(SLOW_TABLE, tuple(bodies), rims())
    colours = rng.sample(COLOURS, len(bodies))
    skins = {body.name: draw_skin(rng, colour) for body, colour in zip(bodies, colours, strict=True)}
    scene = Scene(world, draw_look(rng), skins, duration)
    trajectory = scene.simulate()
    touches: dict[tuple[str, str], float] = {}
    for contact in trajectory.contacts:
        if contact.first in skins and contact.second in skins:
            touches.setdefault((contact.first, contact.second), contact.time)
    if list(touches) != list(expected) and sorted(touches) != sorted(expected):
        return None
    good = all(_EARLY < time % 1 < _LATE and 2 <= time < math.ceil(duration) - 2 for time in touches.values())
    return _Played(scene, trajectory, touches) if good and _keep_apart(world, trajectory, touches) else None


def _keep_apart(world: World, trajectory: Trajectory, touches: Mapping[tuple[str, str], float]) -> bool:
    """Whether all that do not touch stay well clear of each other."""
    for number, one in enumerate(world.bodies):
        for other in world.bodies[number + 1 :]:
            if (one.name, other.name) in touches:
                continue
            for at_one, at_other in zip(trajectory.path(one.name), trajectory.path(other.name), strict=True):
                if gap_between(one, (at_one[0], at_one[1]), other, (at_other[0], at_other[1]))[0] < _CLEAR:
                    return False
    return True


def _fits(bodies: Sequence[Body]) -> bool:
    for number, body in enumerate(bodies):
        margin = INNER + body.size + 3.0
        if not (margin < body.position[0] < WIDTH - margin and margin < body.position[1] < HEIGHT - margin):
            return False
        for other in bodies[number + 1 :]:
            if gap_between(body, body.position, other, other.position)[0] < _CLEAR:
                return False
    return True


def _sure(world: World, mover: str, goal: str) -> bool:
    """Whether the mover runs into the goal first, also with a little more or less speed or direction."""
    vx, vy = world.body(mover).velocity
    return all(
        first_touch(world, mover, (scale * (vx - turn * vy), scale * (vy + turn * vx)), duration=LONGEST) == goal
        for scale, turn in NUDGES
    )


def _place(trajectory: Trajectory, name: str) -> Vec:
    x, y = trajectory.path(name)[-1]
    return float(x), float(y)


def _thing(rng: random.Random, name: str, at: Vec, velocity: Vec = (0.0, 0.0)) -> Body:
    shape = rng.choice(_SHAPES)
    size = rng.uniform(9.0, 11.0) if shape == "ball" else rng.uniform(8.0, 10.0)
    return Body(name, "ball" if shape == "ball" else "block", size, at, velocity)


def _ahead(rng: random.Random, name: str, of: Body, way: Vec, gap: float, aside: float = 0.0) -> Body:
    """A thing that lies `gap` px before another one's edge on its way, and `aside` px to the right of that."""
    thing = _thing(rng, name, (0.0, 0.0))
    reach = gap + of.size + thing.size
    x, y = of.position
    return replace(thing, position=(x + reach * way[0] - aside * way[1], y + reach * way[1] + aside * way[0]))


def _strangers(rng: random.Random, count: int) -> list[Body]:
    return [_thing(rng, f"stranger {number}", _anywhere(rng)) for number in range(count)]


def _anywhere(rng: random.Random) -> Vec:
    return rng.uniform(20.0, WIDTH - 20.0), rng.uniform(20.0, HEIGHT - 20.0)


def _heading(rng: random.Random) -> Vec:
    """A random direction as a unit vector, from square roots alone so that every machine has the same bits."""
    while True:
        x, y = rng.uniform(-1, 1), rng.uniform(-1, 1)
        length = math.sqrt(x * x + y * y)
        if 0.1 < length <= 1.0:
            return x / length, y / length


def _along(way: Vec, length: float) -> Vec:
    return length * way[0], length * way[1]
