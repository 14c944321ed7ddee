"""The five kinds of causal question about balls and blocks on a table."""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace

from lmms_eval_tasks.sample.drafts import Draft, other_objects
from lmms_eval_tasks.sample.physics import Trajectory, Vec, World, simulate
from lmms_eval_tasks.sample.scenes import search
from lmms_eval_tasks.sample.table import (
    DURATION,
    HAND,
    NUDGES,
    PUSHED,
    Piece,
    comes_to_rest,
    draw_place,
    dress,
    first_touch,
    gaps_to,
    lay,
    pushed_by_hand,
    set_off,
    sure_touch,
    turned,
)
from lmms_eval_tasks.sample.wording import DIRECTIONS, say_direction, say_object

MOVER, LINK, TARGET, BLOCKER = "mover", "link", "target", "blocker"
_OBJECTS = {"easy": 5, "med": 6, "hard": 6}
_SPEEDS = (72.0, 98.0)
_TURNS = {1: "a quarter turn clockwise from its real direction", 2: "in the opposite direction"}


def _objects(rng: random.Random, count: int) -> list[Piece]:
    return [Piece(f"object {i}", rng.choice(["ball", "block"])) for i in range(count)]


def _polar(length: float, angle: float) -> Vec:
    return length * math.cos(angle), length * math.sin(angle)


def _towards(start: Vec, end: Vec, length: float) -> Vec:
    dx, dy = end[0] - start[0], end[1] - start[1]
    distance = math.sqrt(dx * dx + dy * dy)
    return length * dx / distance, length * dy / distance


def _rim_before(trajectory: Trajectory, name: str, time: float) -> float | None:
    """When `name` last touched the rim before `time`."""
    hits = [c.time for c in trajectory.contacts if c.time < time and (c.partner(name) or "").endswith(" rim")]
    return hits[-1] if hits else None


def _clearly_shown(trajectory: Trajectory) -> bool:
    """Whether the mover begins with a third of a second of undisturbed motion and comes to rest."""
    contact = trajectory.first_contact(MOVER)
    return comes_to_rest(trajectory, MOVER) and (contact is None or contact.time > 0.33)


def anticipation(rng: random.Random, level: str) -> Draft:
    """The clip stops early: what will the moving ball touch first?"""

    def attempt(rng: random.Random) -> Draft | None:
        pieces = [Piece(MOVER, "ball"), *_objects(rng, _OBJECTS[level])]
        world = lay(rng, pieces)
        if world is None:
            return None
        start = world.body(MOVER).position
        speed = rng.uniform(*_SPEEDS)
        aim = _polar(speed, rng.uniform(0, 2 * math.pi))
        touched = first_touch(world, MOVER, aim)
        if touched is None:
            return None
        moving = set_off(world, MOVER, aim)
        trajectory = simulate(moving, DURATION, stop_at_contact_of=MOVER)
        contact = trajectory.first_contact(MOVER, {touched})
        bounce = _rim_before(trajectory, MOVER, contact.time) if contact else None
        if contact is None or (bounce is not None) != (level == "hard"):
            return None
        stop = contact.time - rng.uniform(0.25, 0.35) * (1 if level == "easy" else 1.6)
        if not 0.7 < stop < DURATION or (bounce is not None and bounce - 0.1 < stop < bounce + 0.45):
            return None
        if sure_touch(world, MOVER, aim) != touched:
            return None
        back = (-aim[0], -aim[1])
        if any(first_touch(world, MOVER, _nudged(back, nudge), start) == touched for nudge in NUDGES):
            return None
        scene = dress(rng, moving, stop)
        if scene is None:
            return None
        mover, answer = scene.called(MOVER), scene.called(touched)
        question = f"The clip stops early. Which object will the {mover} touch first?"
        return Draft(question, scene, answer, (), other_objects(rng, scene, (mover, answer)), say_object)

    return search(rng, attempt)


def _nudged(velocity: Vec, nudge: Vec) -> Vec:
    scale, turn = nudge
    return scale * (velocity[0] - turn * velocity[1]), scale * (velocity[1] + turn * velocity[0])


def counterfactual(rng: random.Random, level: str) -> Draft:
    """Without the object that got in its way, what would the moving ball have touched first?"""

    def attempt(rng: random.Random) -> Draft | None:
        start = draw_place(rng)
        aim = _polar(rng.uniform(*_SPEEDS), rng.uniform(0, 2 * math.pi))
        way = _towards((0.0, 0.0), aim, rng.uniform(42, 58))
        side = _towards((0.0, 0.0), turned(aim, 1), rng.uniform(-9, 9))
        blocker = (start[0] + way[0] + side[0], start[1] + way[1] + side[1])
        if not (20 < blocker[0] < 172 and 20 < blocker[1] < 124):
            return None
        pieces = [
            Piece(MOVER, "ball", start, aim),
            Piece(BLOCKER, rng.choice(["ball", "block"]), blocker),
            *_objects(rng, _OBJECTS[level] - 1),
        ]
        world = lay(rng, pieces)
        if world is None or first_touch(world, MOVER, aim) != BLOCKER:
            return None
        would = sure_touch(world.without(BLOCKER), MOVER, aim)
        if would is None:
            return None
        free = simulate(world.without(BLOCKER), DURATION)
        first = free.first_contact(MOVER, {would})
        if first is None or (_rim_before(free, MOVER, first.time) is not None) != (level == "hard"):
            return None
        trajectory = simulate(world, DURATION)
        if trajectory.first_contact(MOVER, {would}) or not _clearly_shown(trajectory):
            return None
        scene = dress(rng, world)
        if scene is None:
            return None
        mover, removed, answer = scene.called(MOVER), scene.called(BLOCKER), scene.called(would)
        question = f"If the {removed} had not been on the table, which object would the {mover} have touched first?"
        return Draft(question, scene, answer, (), other_objects(rng, scene, (mover, removed, answer)), say_object)

    return search(rng, attempt)


def descriptive(rng: random.Random, level: str) -> Draft:
    """What sets an object in motion? From `med` on by way of a link, when `hard` with another ball on the move."""

    def attempt(rng: random.Random) -> Draft | None:
        start = draw_place(rng)
        aim = _polar(rng.uniform(66, 90), rng.uniform(0, 2 * math.pi))
        steps = [TARGET] if level == "easy" else [LINK, TARGET]
        pieces, place = [Piece(MOVER, "ball", start, aim)], start
        for name in steps:
            way = _towards((0.0, 0.0), aim, rng.uniform(34, 46))
            side = _towards((0.0, 0.0), turned(aim, 1), rng.uniform(-3, 3))
            place = (place[0] + way[0] + side[0], place[1] + way[1] + side[1])
            if not (24 < place[0] < 168 and 24 < place[1] < 120):
                return None
            pieces.append(Piece(name, rng.choice(["ball", "block"]), place))
        if level == "hard":
            pieces.append(Piece("passer-by", "ball", None, _polar(rng.uniform(50, 80), rng.uniform(0, 2 * math.pi))))
        world = lay(rng, [*pieces, *_objects(rng, 6 - len(pieces))], apart=8.0)
        if world is None:
            return None
        trajectory = simulate(world, DURATION)
        cause = [MOVER, *steps][-2]
        contact = trajectory.first_contact(TARGET)
        if contact is None or contact.partner(TARGET) != cause or not 0.28 < contact.time < 2.0:
            return None
        frame = math.ceil(contact.time * 12)
        path = trajectory.path(TARGET)
        if math.dist(path[frame], path[min(frame + 6, len(path) - 1)]) < 9 or trajectory.speed(TARGET)[frame] < 25:
            return None
        near = [
            gap
            for f in range(frame - 3, frame + 2)
            for o, gap in gaps_to(world, trajectory, TARGET, f).items()
            if o != cause
        ]
        alone = gaps_to(world, trajectory, TARGET, -1).values()
        if min(near) < 14 or min(alone) < 16 or not comes_to_rest(trajectory, TARGET):
            return None
        scene = dress(rng, world)
        if scene is None:
            return None
        target, answer = scene.called(TARGET), scene.called(cause)
        lures = (scene.called(MOVER),) if cause != MOVER else ()
        others = other_objects(rng, scene, (target, answer, *lures))
        return Draft(f"Which object sets the {target} in motion?", scene, answer, lures, others, say_object)

    return search(rng, attempt)


def hypothetical(rng: random.Random, level: str) -> Draft:
    """Started in another direction, what would the ball have touched first?"""

    def attempt(rng: random.Random) -> Draft | None:
        world = lay(rng, [Piece(MOVER, "ball"), *_objects(rng, _OBJECTS[level])])
        if world is None:
            return None
        aim = _polar(rng.uniform(*_SPEEDS), rng.uniform(0, 2 * math.pi))
        quarter_turns = 2 if level == "easy" else 1
        other_way = turned(aim, quarter_turns)
        would = sure_touch(world, MOVER, other_way)
        if would is None:
            return None
        elsewhere = simulate(set_off(world, MOVER, other_way), 4.0, stop_at_contact_of=MOVER)
        first = elsewhere.first_contact(MOVER, {would})
        if first is None or (_rim_before(elsewhere, MOVER, first.time) is not None) != (level == "hard"):
            return None
        moving = set_off(world, MOVER, aim)
        trajectory = simulate(moving, DURATION)
        happened = first_touch(world, MOVER, aim)
        if happened == would or not _clearly_shown(trajectory):
            return None
        scene = dress(rng, moving)
        if scene is None:
            return None
        mover, answer = scene.called(MOVER), scene.called(would)
        lures = (scene.called(happened),) if happened else ()
        question = (
            f"If the {mover} had started with the same speed, but {_TURNS[quarter_turns]}, "
            "which object would it have touched first?"
        )
        return Draft(question, scene, answer, lures, other_objects(rng, scene, (mover, answer, *lures)), say_object)

    return search(rng, attempt)


def planning(rng: random.Random, level: str) -> Draft:
    """In which direction must the arm push the ball from where it lies, so that it hits a given object first?"""
    wanted = rng.choice(list(DIRECTIONS))

    def attempt(rng: random.Random) -> Draft | None:
        start = draw_place(rng, 22.0)
        heading = _polar(1.0, rng.uniform(0, 2 * math.pi))
        alone = lay(rng, [Piece(MOVER, "ball", start)])
        if alone is None:
            return None
        ball, stroke = alone.body(MOVER), rng.uniform(26, 34)
        rest = simulate(pushed_by_hand(alone, MOVER, heading, stroke), 4.0).path(MOVER)[-1]
        way = _towards((0.0, 0.0), (float(wanted[0]), float(wanted[1])), rng.uniform(30, 48))
        goal = (float(rest[0]) + way[0], float(rest[1]) + way[1])
        if not (18 < goal[0] < 174 and 18 < goal[1] < 126):
            return None
        pieces = [Piece(TARGET, rng.choice(["ball", "block"]), goal), *_objects(rng, _OBJECTS[level] - 2)]
        around = lay(rng, [Piece(MOVER, "ball", start), *pieces])
        if around is None:
            return None
        around = World(around.laws, (ball, *around.bodies[1:]), around.walls)
        push = _towards((0.0, 0.0), wanted, PUSHED)
        if first_touch(around, MOVER, push, (float(rest[0]), float(rest[1]))) != TARGET:
            return None
        pushed = pushed_by_hand(around, MOVER, heading, stroke)
        trajectory = simulate(pushed, 4.0)
        touched = {c.first for c in trajectory.contacts} | {c.second for c in trajectory.contacts}
        if touched != {MOVER, HAND} or not comes_to_rest(trajectory, MOVER):
            return None
        at = (float(trajectory.path(MOVER)[-1][0]), float(trajectory.path(MOVER)[-1][1]))
        if gaps_to(pushed, trajectory, MOVER, -1)[HAND] < 15 or not _only_way(around, wanted, at):
            return None
        if first_touch(around, MOVER, push, start) == TARGET:
            return None
        bare = dress(rng, pushed, 4.0)
        if bare is None:
            return None
        scene = replace(bare, arms={HAND: (-heading[0], -heading[1])})
        question = (
            f"The {scene.called(MOVER)} is to hit the {scene.called(TARGET)} first. In which direction must the arm "
            "push it from where it lies at the end of the clip?"
        )
        wrong = [direction for direction in DIRECTIONS if direction != wanted]
        rng.shuffle(wrong)
        return Draft(question, scene, wanted, (), tuple(wrong), say_direction)

    return search(rng, attempt)


def _only_way(world: World, wanted: tuple[int, int], at: Vec) -> bool:
    """Whether of the eight directions only `wanted` makes the ball, pushed from `at`, hit the target first."""
    if sure_touch(world, MOVER, _towards((0.0, 0.0), wanted, PUSHED), at) != TARGET:
        return False
    wrong = [direction for direction in DIRECTIONS if direction != wanted]
    return all(
        first_touch(world, MOVER, _nudged(_towards((0.0, 0.0), way, PUSHED), nudge), at) != TARGET
        for way in wrong
        for nudge in NUDGES[:3]
    )


TABLE_QUESTIONS: Mapping[str, Callable[[random.Random, str], Draft]] = {
    "anticipation": anticipation,
    "counterfactual": counterfactual,
    "descriptive": descriptive,
    "hypothetical": hypothetical,
    "planning": planning,
}
