"""Chains of collisions on a table, beside a collision that has nothing to do with them: scenes with a known graph."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from lmms_eval_tasks.sample.scenes.chains import SLOW_TABLE
from lmms_eval_tasks.sample.scenes.table import rims
from lmms_eval_tasks.sample.world.bodies import FlatBody, FlatWorld, Shape, Vec
from lmms_eval_tasks.sample.world.physics import FPS, simulate
from lmms_eval_tasks.sample.world.scene import (
    WIDTH,
    DrawnScene,
    draw_look,
    draw_skins,
    mirrored,
    require,
    until_accepted,
)

DURATION = 6.0
CHAIN = ("first", "second", "third", "fourth")
ASIDE = ("pusher", "pushed")
_APART = 0.3
_LATEST = 5.0


@dataclass(frozen=True)
class Hit:
    """An object runs into another, which lies still, for the first time; `time` is in seconds."""

    time: float
    hitter: str
    struck: str

    @property
    def pair(self) -> tuple[str, str]:
        """Its two objects."""
        return self.hitter, self.struck


@dataclass(frozen=True)
class Collisions:
    """A scene and its hits in order of time; a hit is named by its place among them."""

    scene: DrawnScene
    hits: tuple[Hit, ...]

    @property
    def links(self) -> tuple[tuple[int, int], ...]:
        """Pairs of hits of which the first leads to the second: the object that is hit is the one that hits next."""
        return tuple(
            (one, other)
            for one, other in combinations(range(len(self.hits)), 2)
            if self.hits[one].struck == self.hits[other].hitter
        )

    def leads_to(self, cause: int, effect: int) -> bool:
        """Whether a path of links leads from a hit to a later one."""
        return cause == effect or any(self.leads_to(then, effect) for one, then in self.links if one == cause)


@until_accepted
def draw_collisions(rng: random.Random, with_blocks: bool) -> Collisions:
    """A chain of three hits and a hit aside, in any order of time that this leaves."""
    row, other_row = rng.sample((rng.uniform(30, 46), rng.uniform(98, 114)), 2)
    bodies = [
        *_line(rng, CHAIN, row, rng.uniform(19.0, 26.0), with_blocks),
        *_line(rng, ASIDE, other_row, rng.uniform(14.0, 24.0), with_blocks),
    ]
    skins = draw_skins(rng, [body.name for body in bodies])
    scene = DrawnScene(FlatWorld(SLOW_TABLE, tuple(bodies), rims()), draw_look(rng), skins, DURATION)
    if rng.random() < 0.5:
        scene = mirrored(scene)
    hits = _hits(scene.world)
    require(sorted(hit.pair for hit in hits) == sorted((*pairwise(CHAIN), ASIDE)))
    require(all(later.time - earlier.time > _APART for earlier, later in pairwise(hits)))
    require(hits[0].time > _APART and hits[-1].time < _LATEST)
    collisions = Collisions(scene, hits)
    for one, other in combinations(range(len(hits)), 2):
        require(happens_without(scene.world, hits[one], hits[other]) != collisions.leads_to(one, other))
    return collisions


def happens_without(world: FlatWorld, left_out: Hit, outcome: Hit) -> bool:
    """Whether a hit still happens where what makes an earlier one is held fast before it touches."""
    seen = simulate(world, DURATION)
    frame = int(left_out.time * FPS)
    velocities = dict(zip(seen.names, seen.velocities[frame].tolist(), strict=True))
    for body in world.bodies:
        vx, vy = velocities[body.name]
        world = world.changing(body.name, position=seen.place(body.name, frame), velocity=(vx, vy))
    held = world.changing(left_out.hitter, velocity=(0.0, 0.0), kinematic=True)
    return outcome.pair in {hit.pair for hit in _hits(held)}


def _line(rng: random.Random, names: Sequence[str], row: float, speed: float, with_blocks: bool) -> list[FlatBody]:
    """Objects in a row from left to right, of which the first moves towards the others."""
    bodies: list[FlatBody] = []
    at = rng.uniform(20.0, 24.0)
    for number, name in enumerate(names):
        shape: Shape = "block" if with_blocks and number % 2 else "ball"
        size = rng.uniform(8.0, 9.5) if shape == "ball" else rng.uniform(7.5, 8.5)
        place: Vec = (at, row + rng.uniform(-0.6, 0.6))
        bodies.append(FlatBody(name, shape, size, place, (speed, 0.0) if number == 0 else (0.0, 0.0)))
        # The chain fills its row; the two objects aside have room to lie anywhere in theirs.
        at += rng.uniform(34.0, 41.0) if len(names) > 2 else rng.uniform(34.0, WIDTH - 60.0)
    return bodies


def _hits(world: FlatWorld) -> tuple[Hit, ...]:
    """The first time that each two objects touch, in order of time, the moving one first."""
    names = {body.name for body in world.bodies}
    hits: dict[tuple[str, str], Hit] = {}
    for contact in simulate(world, DURATION).contacts:
        if contact.first in names and contact.second in names:
            hits.setdefault((contact.first, contact.second), Hit(contact.time, contact.first, contact.second))
    return tuple(sorted(hits.values(), key=lambda hit: hit.time))


def absent_hits(collisions: Collisions) -> list[tuple[str, str]]:
    """Pairs of objects that never touch and of which the first moves, those of one shape only where all are."""
    world = collisions.scene.world
    moving = {name for hit in collisions.hits for name in hit.pair}
    met = {frozenset(hit.pair) for hit in collisions.hits}
    mixed = {body.shape for body in world.bodies} == {"ball", "block"}
    return [
        (one.name, other.name)
        for one in world.bodies
        for other in world.bodies
        if one is not other
        and one.name in moving
        and frozenset((one.name, other.name)) not in met
        and (one.shape != other.shape) == mixed
    ]
