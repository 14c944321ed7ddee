"""The other scene of a minimal pair: one field of one body differs, and so does what happens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lmms_eval_tasks.worlds.engine.facts import Event, EventKey, Twin
from lmms_eval_tasks.worlds.engine.scene import Body, Scene

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
