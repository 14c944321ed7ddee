"""What is drawn once for a scene and then kept: its other worlds, its twin, and what is unsure in each of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lmms_eval_tasks.worlds.engine.facts import Event, EventKey, Intervention, World
from lmms_eval_tasks.worlds.engine.families import families
from lmms_eval_tasks.worlds.engine.interventions import intervene
from lmms_eval_tasks.worlds.engine.rollout import Rollout, roll_out
from lmms_eval_tasks.worlds.engine.scene import Body, Scene
from lmms_eval_tasks.worlds.engine.ties import agreed_order, nearly_equal, numbers, unsure_keys
from lmms_eval_tasks.worlds.engine.twins import changed_field, differing, twin_scene
from lmms_eval_tasks.worlds.engine.which_worlds import pairs_to_remove, singles

MAIN = ("hits", "starts", "falls", "enters")
"""Events that a scene is about. When a body stops for good is often unsure, and no reason against a scene."""
DECISIVE = ("starts", "enters")
"""Of these none may be unsure: whether a body has any part in what happens hangs on them."""
MOST_UNSURE = 2
"""How many of a scene's main events may be unsure."""
MOST_WORLDS = 12
NEAR_A_TIE = "near a tie"
NOTHING_HAPPENS = "nothing happens"
NO_CAUSES = "no body's removal changes what happens to the others"
TWINS_TRIED = 4


@dataclass(frozen=True)
class SettledTwin:
    """A twin: the body as it is there, what happens, and what is unsure there."""

    body: Body
    events: list[Event]
    unsure: list[list[str]]


@dataclass(frozen=True)
class Settled:
    """Facts of a scene that are known once its nearly equal scenes were run."""

    near: list[Scene]
    rollout: Rollout
    unsure: list[list[str]]
    order: list[EventKey]
    worlds: list[World]
    twin: SettledTwin | None


def settle(scene: Scene) -> Settled:
    """Run a scene, its other worlds and its twin, each with `ties.DRAWS` nearly equal ones; some seconds."""
    settled = begin(scene)
    return finish(scene, settled)


def begin(scene: Scene) -> Settled:
    """Run a scene and its nearly equal scenes, and return the facts known before other worlds are run."""
    rollout = roll_out(scene)
    near = nearly_equal(scene)
    others = [roll_out(one).events for one in near]
    unsure, order = unsure_keys(rollout.events, others), agreed_order(rollout.events, others)
    return Settled(near, rollout, unsure, order, worlds=[], twin=None)


def finish(scene: Scene, settled: Settled) -> Settled:
    """The same with other worlds and a twin."""
    first, later = singles(scene, settled.rollout.events)
    worlds = [settle_world(scene, settled.near, one) for one in first]
    pairs = pairs_to_remove(settled.rollout.events, settled.unsure, worlds)
    for one in [*pairs, *later][: MOST_WORLDS - len(worlds)]:
        worlds.append(settle_world(scene, settled.near, one))
    return replace(settled, worlds=worlds, twin=_twin(scene, settled))


def why_not_begin(settled: Settled) -> str | None:
    """Return the reason why a drawn scene is rejected before its other worlds are run, or None."""
    unsure = [key for key in settled.unsure if key[0] in MAIN]
    main = [event for event in settled.rollout.events if event.kind in MAIN]
    loose = {tuple(key) for key in unsure}
    links = [event.key for event in main if event.kind != "hits"]
    undecided = any(key[0] in DECISIVE for key in unsure)
    if undecided or len(unsure) > MOST_UNSURE or (links and links[-1] in loose):
        return NEAR_A_TIE
    return None if links else NOTHING_HAPPENS


def why_not(settled: Settled) -> str | None:
    """Return the reason why a drawn scene is rejected once all is known, or None."""
    return None if any(_changes(settled, world) for world in settled.worlds) else NO_CAUSES


def _changes(settled: Settled, world: World) -> bool:
    """Whether a removal surely keeps something from happening to bodies that are still there."""
    gone = set(world.intervention.bodies)
    loose = {tuple(key) for key in settled.unsure}
    return world.intervention.kind == "remove" and any(
        world.says(event.key) is False
        for event in settled.rollout.events
        if event.kind in MAIN and event.key not in loose and not gone & {event.body, event.other}
    )


def settle_world(scene: Scene, near: Iterable[Scene], intervention: Intervention) -> World:
    """A scene's world with an intervention, and what is unsure there."""
    events = intervene(scene, intervention).events
    others = [intervene(one, intervention).events for one in near]
    return World(intervention=intervention, events=events, unsure=unsure_keys(events, others))


def _twin(scene: Scene, settled: Settled) -> SettledTwin | None:
    """The first of the family's candidates in which surely something else happens."""
    for body in _candidates(scene)[:TWINS_TRIED]:
        if changed_field(scene.body(body.name), body) is None:
            continue
        other = twin_scene(scene, body)
        try:
            events = roll_out(other).events
        except ValueError:
            continue
        if not _main_differ(scene, settled, events, settled.unsure):
            continue
        unsure = unsure_keys(events, [roll_out(near).events for near in nearly_equal(other)])
        if _main_differ(scene, settled, events, [*settled.unsure, *unsure]):
            return SettledTwin(body, events, unsure)
    return None


def _candidates(scene: Scene) -> Sequence[Body]:
    """Bodies as they may be in a twin; none where the scene is of no family."""
    family = families().get(scene.family)
    if family is None:
        return ()
    try:
        return family.vary(scene, numbers("vary", scene.id, scene.seed))
    except (LookupError, ValueError, StopIteration):
        # A scene of one's own may have a family's name and not the bodies that the family would draw.
        return ()


def _main_differ(scene: Scene, settled: Settled, events: Sequence[Event], unsure: Iterable[Sequence[str]]) -> bool:
    return any(key.kind in MAIN for key in differing(scene, settled.rollout.events, events, unsure))
