"""The five kinds of causal question about balls and blocks on a table."""

import math
import random
from collections.abc import Callable, Mapping, Sequence

from lmms_eval_tasks.sample.scenes.options import DIRECTIONS, Draft, other_objects, word_object
from lmms_eval_tasks.sample.scenes.table import (
    DURATION,
    HAND,
    PUSHED,
    Piece,
    comes_to_rest,
    draw_place,
    first_touch,
    gaps_to,
    lay_out,
    nudged,
    paint,
    pushed_by_hand,
    sure_touch,
    turned,
)
from lmms_eval_tasks.sample.world.bodies import SHAPES, FlatWorld, Vec
from lmms_eval_tasks.sample.world.physics import Trajectory, simulate
from lmms_eval_tasks.sample.world.scene import DrawnScene, require, required, until_accepted

MOVER, LINK, TARGET, BLOCKER = "mover", "link", "target", "blocker"
LEVELS = ("easy", "med", "hard")
_OBJECTS = {"easy": 5, "med": 6, "hard": 6}
_OBJECTS_BESIDE_A_TARGET = {"easy": 3, "med": 4, "hard": 5}
_SPEEDS = (72.0, 98.0)


def _objects(rng: random.Random, count: int) -> list[Piece]:
    return [Piece(f"object {i}", rng.choice(SHAPES)) for i in range(count)]


def _velocity(rng: random.Random, *speeds: float) -> Vec:
    """A velocity in a random direction, its speed between two bounds (px/s)."""
    speed, angle = rng.uniform(*speeds), rng.uniform(0, 2 * math.pi)
    return speed * math.cos(angle), speed * math.sin(angle)


def _scaled(way: Vec, length: float) -> Vec:
    """A vector of the given length in a direction."""
    scale = length / math.hypot(*way)
    return scale * way[0], scale * way[1]


def _ahead(rng: random.Random, start: Vec, way: Vec, near: float, far: float, aside: float) -> Vec:
    """A place `near` to `far` px from `start` along a direction, and up to `aside` px to either side of it."""
    along, across = _scaled(way, rng.uniform(near, far)), _scaled(turned(way, 1), rng.uniform(-aside, aside))
    return start[0] + along[0] + across[0], start[1] + along[1] + across[1]


def _rim_before(trajectory: Trajectory, time: float) -> float | None:
    """Return the time at which the mover last touched the rim before `time`."""
    hits = [c.time for c in trajectory.contacts if c.time < time and (c.partner(MOVER) or "").endswith(" rim")]
    return hits[-1] if hits else None


def _require_rim(trajectory: Trajectory, touched: str, level: str) -> None:
    """Reject the scene unless the mover reaches `touched`, and bounces off the rim before just where that is hard."""
    contact = required(trajectory.first_contact(MOVER, {touched}))
    require((_rim_before(trajectory, contact.time) is not None) == (level == "hard"))


def _require_clear(trajectory: Trajectory) -> None:
    """Reject the scene unless the mover begins with a third of a second undisturbed and comes to rest."""
    contact = trajectory.first_contact(MOVER)
    require(comes_to_rest(trajectory, MOVER) and (contact is None or contact.time > 0.33))


def _ask(
    rng: random.Random, scene: DrawnScene, question: str, named: Sequence[str], answer: str, lures: Sequence[str] = ()
) -> Draft:
    """A question whose options are objects; bodies are given by name, those named stand for `{}` in the question."""
    objects, alluring = ([scene.called(name) for name in names] for names in (named, lures))
    right = scene.called(answer)
    others = other_objects(rng, scene, (*objects, right, *alluring))
    return Draft(question.format(*objects), scene, right, tuple(alluring), others, word_object)


@until_accepted
def anticipation(rng: random.Random, level: str) -> Draft:
    """The clip stops early: what will the moving ball touch first?"""
    world = lay_out(rng, [Piece(MOVER, "ball"), *_objects(rng, _OBJECTS[level])])
    aim = _velocity(rng, *_SPEEDS)
    touched = required(first_touch(world, MOVER, aim))
    moving = world.changing(MOVER, velocity=aim)
    trajectory = simulate(moving, DURATION, stop_at_contact_of=MOVER)
    _require_rim(trajectory, touched, level)
    time = required(trajectory.first_contact(MOVER, {touched})).time
    stop = time - rng.uniform(0.25, 0.35) * (1 if level == "easy" else 1.6)
    bounce = _rim_before(trajectory, time)
    require(0.7 < stop < DURATION and (bounce is None or not bounce - 0.1 < stop < bounce + 0.45))
    require(sure_touch(world, MOVER, aim) == touched)
    require(all(first_touch(world, MOVER, back) != touched for back in nudged((-aim[0], -aim[1]))))
    question = "The clip stops early. Which object will the {} touch first?"
    return _ask(rng, paint(rng, moving, stop), question, [MOVER], touched)


@until_accepted
def counterfactual(rng: random.Random, level: str) -> Draft:
    """Without the object that got in its way, what would the moving ball have touched first?"""
    start, aim = draw_place(rng), _velocity(rng, *_SPEEDS)
    blocker = _ahead(rng, start, aim, 42, 58, 9)
    require(20 < blocker[0] < 172 and 20 < blocker[1] < 124)
    pieces = [Piece(MOVER, "ball", start, aim), Piece(BLOCKER, rng.choice(SHAPES), blocker)]
    world = lay_out(rng, [*pieces, *_objects(rng, _OBJECTS[level] - 1)])
    require(first_touch(world, MOVER, aim) == BLOCKER)
    free = world.without(BLOCKER)
    would = required(sure_touch(free, MOVER, aim))
    _require_rim(simulate(free, DURATION), would, level)
    trajectory = simulate(world, DURATION)
    require(trajectory.first_contact(MOVER, {would}) is None)
    _require_clear(trajectory)
    question = "If the {} had not been on the table, which object would the {} have touched first?"
    return _ask(rng, paint(rng, world), question, [BLOCKER, MOVER], would)


@until_accepted
def descriptive(rng: random.Random, level: str) -> Draft:
    """Draft a question about the cause that sets an object in motion."""
    start, aim = draw_place(rng), _velocity(rng, 66, 90)
    chain = [MOVER, TARGET] if level == "easy" else [MOVER, LINK, TARGET]
    pieces, place = [Piece(MOVER, "ball", start, aim)], start
    for name in chain[1:]:
        place = _ahead(rng, place, aim, 34, 46, 3)
        require(24 < place[0] < 168 and 24 < place[1] < 120)
        pieces.append(Piece(name, rng.choice(SHAPES), place))
    if level == "hard":
        pieces.append(Piece("passer-by", "ball", None, _velocity(rng, 50, 80)))
    world = lay_out(rng, [*pieces, *_objects(rng, 6 - len(pieces))], apart=8.0)
    trajectory = simulate(world, DURATION)
    cause = chain[-2]
    contact = required(trajectory.first_contact(TARGET))
    require(contact.partner(TARGET) == cause and 0.28 < contact.time < 2.0)
    frame = math.ceil(contact.time * 12)
    path = trajectory.path(TARGET)
    require(math.dist(path[frame], path[min(frame + 6, len(path) - 1)]) >= 9)
    require(trajectory.speed(TARGET)[frame] >= 25 and comes_to_rest(trajectory, TARGET))
    for near in range(frame - 3, frame + 2):
        gaps = gaps_to(world, trajectory, TARGET, near)
        require(min(gap for other, gap in gaps.items() if other != cause) >= 14)
    require(min(gaps_to(world, trajectory, TARGET, -1).values()) >= 16)
    lures = [MOVER] if cause != MOVER else []
    return _ask(rng, paint(rng, world), "Which object sets the {} in motion?", [TARGET], cause, lures)


@until_accepted
def hypothetical(rng: random.Random, level: str) -> Draft:
    """Started in another direction, what would the ball have touched first?"""
    world = lay_out(rng, [Piece(MOVER, "ball"), *_objects(rng, _OBJECTS[level])])
    aim = _velocity(rng, *_SPEEDS)
    easy = level == "easy"
    quarter_turns = 2 if easy else 1
    turn = "in the opposite direction" if easy else "a quarter turn clockwise from its real direction"
    other_way = turned(aim, quarter_turns)
    would = required(sure_touch(world, MOVER, other_way))
    _require_rim(simulate(world.changing(MOVER, velocity=other_way), 4.0, stop_at_contact_of=MOVER), would, level)
    happened = first_touch(world, MOVER, aim)
    require(happened != would)
    moving = world.changing(MOVER, velocity=aim)
    _require_clear(simulate(moving, DURATION))
    question = f"If the {{}} had started with the same speed, but {turn}, which object would it have touched first?"
    return _ask(rng, paint(rng, moving), question, [MOVER], would, [happened] if happened else [])


def planning(rng: random.Random, level: str) -> Draft:
    """Draft a question about the direction in which the arm must push the ball from its place so that it hits a given
    object first."""
    return _plan(rng, level, rng.choice(list(DIRECTIONS)))


@until_accepted
def _plan(rng: random.Random, level: str, wanted: tuple[int, int]) -> Draft:
    mover, heading = Piece(MOVER, "ball", draw_place(rng, 22.0)), _velocity(rng, 1.0, 1.0)
    alone, stroke = lay_out(rng, [mover]), rng.uniform(26, 34)
    start = alone.body(MOVER).position
    rest = simulate(pushed_by_hand(alone, MOVER, heading, stroke), 4.0).place(MOVER)
    goal = _ahead(rng, rest, wanted, 30, 48, 0)
    require(18 < goal[0] < 174 and 18 < goal[1] < 126)
    target = Piece(TARGET, rng.choice(SHAPES), goal)
    laid = lay_out(rng, [mover, target, *_objects(rng, _OBJECTS_BESIDE_A_TARGET[level])])
    world = laid.changing(MOVER, size=alone.body(MOVER).size)
    push = _scaled(wanted, PUSHED)
    require(first_touch(world, MOVER, push, rest) == TARGET)
    pushed = pushed_by_hand(world, MOVER, heading, stroke)
    trajectory = simulate(pushed, 4.0)
    require({name for contact in trajectory.contacts for name in (contact.first, contact.second)} == {MOVER, HAND})
    require(comes_to_rest(trajectory, MOVER) and gaps_to(pushed, trajectory, MOVER, -1)[HAND] >= 15)
    require(_is_the_only_way(world, wanted, trajectory.place(MOVER)))
    require(first_touch(world, MOVER, push, start) != TARGET)
    scene = paint(rng, pushed, 4.0)
    question = (
        f"The {scene.called(MOVER)} is to hit the {scene.called(TARGET)} first. In which direction must the arm "
        "push it from where it lies at the end of the clip?"
    )
    wrong = [direction for direction in DIRECTIONS if direction != wanted]
    rng.shuffle(wrong)
    return Draft(question, scene, wanted, (), tuple(wrong), lambda way, version: DIRECTIONS[way][version])


def _is_the_only_way(world: FlatWorld, wanted: tuple[int, int], at: Vec) -> bool:
    """Whether of the eight directions only `wanted` makes the ball, pushed from `at`, hit the target first."""
    return sure_touch(world, MOVER, _scaled(wanted, PUSHED), at) == TARGET and all(
        first_touch(world, MOVER, velocity, at) != TARGET
        for way in DIRECTIONS
        if way != wanted
        for velocity in nudged(_scaled(way, PUSHED))[:3]
    )


TABLE_QUESTIONS: Mapping[str, Callable[[random.Random, str], Draft]] = {
    "anticipation": anticipation,
    "counterfactual": counterfactual,
    "descriptive": descriptive,
    "hypothetical": hypothetical,
    "planning": planning,
}
