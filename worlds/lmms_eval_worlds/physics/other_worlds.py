"""Other worlds of a scene: interventions on bodies, the twin of a minimal pair, and events that are unsure there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import mujoco

from lmms_eval_worlds.physics.mechanics import STEP
from lmms_eval_worlds.physics.nearly_equal import agreed_order, nearly_equal, numbers, unsure_keys
from lmms_eval_worlds.physics.rollout import Change, Rollout, roll_out
from lmms_eval_worlds.scenes.families import families
from lmms_eval_worlds.scenes.scene import (
    Body,
    ChangedBody,
    Event,
    EventKey,
    Intervention,
    Scene,
    Twin,
    World,
    last_to_hit,
)

HELD = 0.6
"""Seconds for which a delayed body is held."""
_HEAVY = 1e6
"""Kilograms that a held body weighs more, so that what hits it bounces off as off a wall."""


def intervene(scene: Scene, intervention: Intervention) -> Rollout:
    """Run a scene in which something is otherwise."""
    names = frozenset(intervention.bodies)
    missing = names - {body.name for body in scene.bodies}
    if missing:
        raise ValueError(f"Expected bodies of the scene {scene.id}, but got {', '.join(sorted(missing))}.")
    if intervention.kind == "remove":
        return roll_out(without(scene, names))
    if intervention.kind == "freeze":
        return roll_out(_frozen(scene, names))
    return roll_out(scene, _hold(scene, names))


def without(scene: Scene, names: Iterable[str]) -> Scene:
    gone = frozenset(names)
    left = [body for body in scene.bodies if body.name not in gone]
    if not left:
        raise ValueError(f"Expected a body of the scene {scene.id} to be left, but all are removed.")
    return scene.model_copy(update={"bodies": left})


def _frozen(scene: Scene, names: frozenset[str]) -> Scene:
    """The scene with some bodies as immovable as a wall, where they are at the start."""
    still = {"moves": "not at all", "velocity": [0.0, 0.0, 0.0]}
    return scene.model_copy(
        update={"bodies": [body.model_copy(update=still) if body.name in names else body for body in scene.bodies]}
    )


def _hold(scene: Scene, names: frozenset[str]) -> Change:
    """Keep bodies where they are until `HELD`, then give each the velocity that it has at the start."""
    bodies = [body for body in scene.bodies if body.name in names and body.moves != "not at all"]

    def change(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        if data.time > HELD + STEP / 2:
            return
        release = data.time > HELD - STEP / 2
        for body in bodies:
            joint = model.joint(body.name)
            places, speeds = joint.qposadr[0], joint.dofadr[0]
            sizes = (7, 6) if body.moves == "freely" else (1, 1)
            data.qpos[places : places + sizes[0]] = model.qpos0[places : places + sizes[0]]
            data.qvel[speeds : speeds + sizes[1]] = 0.0
            model.dof_armature[speeds : speeds + sizes[1]] = 0.0 if release else _HEAVY
            if release and body.moves == "freely":
                data.qvel[speeds : speeds + 3] = body.velocity

    return change


MOST_REMOVED = 8
MOST_PAIRS = 2
MOST_HELD = 2
_LINKS = ("starts", "falls", "enters")


def singles(scene: Scene, events: Sequence[Event]) -> tuple[list[Intervention], list[Intervention]]:
    """Each body removed, those with a part in an event first; and each of the first movers held."""
    taking_part = [name for event in events for name in (event.body, event.other)]
    actors = [name for name in dict.fromkeys([*taking_part, *scene.actors]) if name in scene.actors]
    if len(scene.bodies) == 1:
        actors = []
    movers = first_movers(scene, events)[:MOST_HELD]
    return (
        [Intervention(kind="remove", bodies=[name]) for name in actors[:MOST_REMOVED]],
        [
            *(Intervention(kind="freeze", bodies=[name]) for name in movers),
            *(Intervention(kind="delay", bodies=[name]) for name in movers if any(scene.body(name).velocity)),
        ],
    )


def first_movers(scene: Scene, events: Sequence[Event]) -> list[str]:
    """The bodies that move without another's doing: from the start, or before anything that moves touches them."""
    actors = set(scene.actors)
    movers = [body.name for body in scene.bodies if any(body.velocity) and body.name in actors]
    touched: set[str] = set()
    for event in events:
        if event.kind == "hits":
            touched |= {event.body, event.other}
        elif event.kind in ("starts", "falls") and event.body in actors - touched - set(movers):
            movers.append(event.body)
    return movers


def pairs_to_remove(
    events: Sequence[Event], unsure: Sequence[Sequence[str]], worlds: Sequence[World]
) -> list[Intervention]:
    """Pairs of bodies either of which may be enough for an event that no single removal prevents."""
    loose = {tuple(key) for key in unsure}
    removed = {world.intervention.bodies[0]: world for world in worlds}
    pairs: list[list[str]] = []
    for event in events:
        if event.kind not in _LINKS or event.key in loose:
            continue
        if any(world.says(event.key) is False for name, world in removed.items() if name != event.body):
            continue
        one = last_to_hit(events, event.key)
        other = last_to_hit(removed[one].events, event.key) if one in removed else None
        if one and other and other in removed and one != other and sorted((one, other)) not in pairs:
            pairs.append(sorted((one, other)))
    return [Intervention(kind="remove", bodies=pair) for pair in pairs[:MOST_PAIRS]]


UNSEEN = ("velocity", "mass", "friction", "bounce")
"""Fields of a body that cannot be seen at the start."""


def twin_scene(scene: Scene, body: Body) -> Scene:
    """The scene with one body in place of the one of its name."""
    scene.body(body.name)
    bodies = [body if other.name == body.name else other for other in scene.bodies]
    return scene.model_copy(update={"id": f"{scene.id}_twin", "bodies": bodies})


def changed_field(before: Body, after: Body) -> str | None:
    """The one field that differs; None where none does, or several."""
    changed = [name for name in Body.model_fields if getattr(before, name) != getattr(after, name)]
    return changed[0] if len(changed) == 1 else None


def differing(
    scene: Scene,
    events: Sequence[Event],
    others: Sequence[Event],
    unsure: Iterable[Sequence[str]],
) -> list[EventKey]:
    """Return the events that surely happen in just one of two scenes, of bodies that questions may be about, sorted."""
    loose = {EventKey(*key) for key in unsure}  # type: ignore[arg-type]
    one, two = ({event.key for event in run} for run in (events, others))
    return sorted(key for key in (one ^ two) - loose if key.body in scene.actors)


def make_twin(
    scene: Scene, body: Body, events: Sequence[Event], others: list[Event], unsure: Iterable[Sequence[str]]
) -> Twin:
    """Return the facts of the other scene of a pair; the arguments are those of `twin_scene` and `differing`."""
    field = changed_field(scene.body(body.name), body)
    if field is None:
        raise ValueError(f"Expected one field of {body.name} to differ in the twin of {scene.id}.")
    return Twin(
        scene=twin_scene(scene, body),
        body=body.name,
        parameter=field,
        events=others,
        differs=[list(key) for key in differing(scene, events, others, unsure)],
        same_start=field in UNSEEN,
    )


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
class Settled:
    """Facts of a scene that are known once its nearly equal scenes were run."""

    near: list[Scene]
    rollout: Rollout
    unsure: list[list[str]]
    order: list[EventKey]
    worlds: list[World]
    twin: ChangedBody | None


def settle(scene: Scene) -> Settled:
    """Run a scene, its other worlds and its twin, each with `nearly_equal.DRAWS` nearly equal ones; some seconds."""
    return finish(scene, begin(scene))


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


def _twin(scene: Scene, settled: Settled) -> ChangedBody | None:
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
            return ChangedBody(body=body, events=events, unsure=unsure)
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
