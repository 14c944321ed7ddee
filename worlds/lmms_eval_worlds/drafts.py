"""Drafts: scenes that families draw, tried and kept, a line each; and their facts and clips, computed and kept."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from pydantic import Field, ValidationError, model_validator

from lmms_eval_tasks.api import InputError, Problems, Progress, RowForm, no_progress, read_rows
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_worlds.physics.filming import LOOK, SceneClip, film, see
from lmms_eval_worlds.physics.mechanics import problems_of
from lmms_eval_worlds.physics.other_worlds import (
    Settled,
    begin,
    changed_field,
    finish,
    intervene,
    make_twin,
    settle,
    twin_scene,
    why_not,
    why_not_begin,
)
from lmms_eval_worlds.physics.pictures import events_of_view
from lmms_eval_worlds.physics.processes import Workers
from lmms_eval_worlds.physics.rollout import roll_out
from lmms_eval_worlds.physics.violations import choose_violations, suitable_violations
from lmms_eval_worlds.scenes.families import families
from lmms_eval_worlds.scenes.scene import ChangedBody, Event, Facts, Scene, Violation, World

Keys = list[list[str]]
_DERIVED = re.compile(r"(.+)_(?:twin|backwards|breaks_[a-z]+)")
"""What other clips of a scene are called after it."""


class SceneDraft(RowForm):
    """A scene, and what was found out by many runs and is not found out again."""

    scene: Scene
    unsure: Keys | None = None
    order: Keys = Field(default_factory=list)
    worlds: list[World] = Field(default_factory=list)
    twin: ChangedBody | None = None
    violations: list[Violation] = Field(default_factory=list)
    digest: str = ""

    @model_validator(mode="before")
    @classmethod
    def _from_scene(cls, value: object) -> object:
        """A line that is only a scene is a draft of which nothing was drawn."""
        return {"scene": value} if isinstance(value, Mapping) and "bodies" in value else value

    @model_validator(mode="after")
    def _of_one_scene(self) -> SceneDraft:
        names = {body.name for body in self.scene.bodies}
        used = {name for world in self.worlds for name in world.intervention.bodies}
        used |= {violation.body for violation in self.violations} | ({self.twin.body.name} if self.twin else set())
        if used - names:
            raise ValueError("Expected worlds, twin and violations to be of the scene's bodies")
        if self.twin and changed_field(self.scene.body(self.twin.body.name), self.twin.body) is None:
            raise ValueError("Expected the twin to differ in one field of one body")
        return self

    @property
    def clips(self) -> list[SceneClip]:
        twins = [SceneClip(twin_scene(self.scene, self.twin.body))] if self.twin else []
        broken = [SceneClip(self.scene, violation=violation) for violation in self.violations]
        return [SceneClip(self.scene), SceneClip(self.scene, backwards=True), *broken, *twins]


def draft_of(scene: Scene, settled: Settled, violations: list[Violation]) -> SceneDraft:
    """The draft of a scene of which all was drawn."""
    order = [list(key) for key in settled.order]
    twin, bare = settled.twin, dict[str, Any](events=[])
    return SceneDraft(
        scene=scene,
        unsure=settled.unsure,
        order=order,
        worlds=[world.model_copy(update=bare) for world in settled.worlds],
        twin=twin.model_copy(update=bare) if twin else None,
        violations=violations,
        digest=digest_events(settled.rollout.events, settled.unsure, order, settled.worlds, twin),
    )


def digest_events(
    events: Iterable[Event], unsure: Keys, order: Keys, worlds: Iterable[World], twin: ChangedBody | None
) -> str:
    """SHA-256 of what surely happens, without times: of a scene in order, where all nearly equal scenes agree on it."""
    events = list(events)
    wanted = {tuple(key) for key in order}
    found = [list(key) for key in dict.fromkeys(event.key for event in events) if key in wanted]

    def sure(events: Iterable[Event], unsure: Keys) -> Keys:
        loose = {tuple(key) for key in unsure}
        return [list(key) for key in sorted({event.key for event in events}) if key not in loose]

    whole = {
        "order": found,
        "scene": sure(events, unsure),
        "worlds": [
            [world.intervention.kind, world.intervention.bodies, sure(world.events, world.unsure)] for world in worlds
        ],
        "twin": sure(twin.events, twin.unsure) if twin else None,
    }
    return sha256(json.dumps(whole, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def write_drafts(drafts: Iterable[SceneDraft], path: Path) -> None:
    write_file(path, as_lines(draft.model_dump(mode="json", exclude_defaults=True) for draft in drafts))


def read_drafts(path: Path, progress: Progress = no_progress, processes: int | None = None) -> list[SceneDraft]:
    issues = Problems()
    drafts: list[SceneDraft] = []
    places: dict[str, str] = {}
    for place, draft in read_rows(path, SceneDraft, issues):
        drafts.append(draft)
        first = places.setdefault(draft.scene.id, place)
        if first != place:
            issues.add("id", "Expected an id that no other scene has, but got", f"{draft.scene.id} ({first}, {place})")
        for problem in problems_of(draft.scene):
            issues.add("scene", "Expected one that can be run, but", f"{problem} ({place})")
    for name, place in places.items():
        derived = _DERIVED.fullmatch(name)
        if derived and derived[1] in places:
            clause = "Expected an id that gives no clip the name of another scene's, but got"
            issues.add("id", clause, f"{name} ({places[derived[1]]}, {place})")
    issues.raise_if_any(f"{path} cannot be used")
    own = [draft.scene for draft in drafts if draft.unsure is None]
    made: dict[str, SceneDraft] = {}
    with Workers(processes if own else 1) as workers:
        for scene, draft in zip(own, workers.map(_settled, own), strict=True):
            made[scene.id] = draft
            progress("scenes of one's own", len(made), len(own))
    return [made.get(draft.scene.id, draft) for draft in drafts]


def _settled(scene: Scene) -> SceneDraft:
    settled = settle(scene)
    return draft_of(scene, settled, choose_violations([suitable_violations(scene, settled.rollout)])[0])


# ---- new scenes, drawn one after the other, tried, and kept or thrown away -----------------------------------------

REFUSED = "it cannot be run"
MOST_DRAWN = 40
"""How many scenes are drawn for one that is kept, at most."""


class TriedScene(RowForm):
    """Outcome of a drawn scene: a draft and the violations that suit it, or the reason why it is rejected."""

    draft: SceneDraft | None = None
    violations: list[Violation] = Field(default_factory=list)
    why: str = ""


def make_drafts(
    per_family: int,
    seed: int,
    progress: Progress = no_progress,
    names: Sequence[str] | None = None,
    processes: int | None = None,
    folder: Path | None = None,
) -> list[SceneDraft]:
    """Draw scenes until there are enough of each family."""
    known = families()
    names = list(known) if names is None else list(names)
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"There is no family {', '.join(unknown)}; there are {', '.join(known)}.")
    most = MOST_DRAWN * (per_family + 1)
    found: list[TriedScene] = []
    with Workers(processes) as workers:
        for name in names:
            kept, thrown = list[TriedScene](), Counter[str]()
            for tried in _try_scenes(workers, name, seed, most, folder):
                if tried.draft is None:
                    thrown[tried.why] += 1
                    continue
                kept.append(tried)
                progress(f"{name}: scenes", len(kept), per_family)
                if len(kept) == per_family:
                    break
            else:
                raise InputError(
                    f"Of {most} drawn scenes of the family {name} only {len(kept)} can be used, but {per_family} are "
                    f"wanted: {dict(thrown)}."
                )
            found += kept
    chosen = choose_violations([tried.violations for tried in found])
    return [
        tried.draft.model_copy(update={"violations": some})
        for tried, some in zip(found, chosen, strict=True)
        if tried.draft is not None
    ]


def draw_scene(family: str, seed: int, number: int) -> Scene:
    """The scene of a number that a family draws with a seed."""
    digest = sha256(f"{seed}/{family}/{number}".encode()).digest()
    own = int.from_bytes(digest[:4], "big") >> 1
    return families()[family].draw(f"{family}_{seed}_{number:04d}", own, np.random.default_rng(own))


def _try_scenes(workers: Workers, family: str, seed: int, most: int, folder: Path | None) -> Iterator[TriedScene]:
    """Yield the outcomes of the scenes that a family draws, in order; those a folder has are not tried again."""
    path, known = None, list[TriedScene]()
    if folder is not None:
        path = folder / f"tried_{family}_{seed}.jsonl"
        known = _read_tried(path)
    yield from known
    for tried in workers.map(_try, ((family, seed, number) for number in range(len(known), most))):
        line = tried.model_dump_json(exclude_defaults=True)
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        # As the file gives it back, which does not tell -0 from a default of 0.
        yield TriedScene.model_validate_json(line)


def _read_tried(path: Path) -> list[TriedScene]:
    """The tried scenes of a file, which is cut where a line is half written or of another version."""
    found = []
    with suppress(ValidationError):
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            found.append(TriedScene.model_validate_json(line))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, as_lines(one.model_dump(mode="json", exclude_defaults=True) for one in found))
    return found


def _try(asked: tuple[str, int, int]) -> TriedScene:
    """Draw a scene and see whether it can be used."""
    try:
        scene = draw_scene(*asked)
    except ValueError:
        return TriedScene(why=REFUSED)
    if problems_of(scene):
        return TriedScene(why=REFUSED)
    settled = begin(scene)
    if why := why_not_begin(settled):
        return TriedScene(why=why)
    settled = finish(scene, settled)
    if why := why_not(settled):
        return TriedScene(why=why)
    return TriedScene(draft=draft_of(scene, settled, []), violations=suitable_violations(scene, settled.rollout))


# ---- facts and clips, computed from drafts, so that interrupted work goes on ---------------------------------------


def all_facts(
    drafts: Iterable[SceneDraft], progress: Progress = no_progress, processes: int | None = None
) -> list[Facts]:
    """Run scenes, their other worlds and their twins, several at once."""
    drafts = list(drafts)
    found, differing = [], []
    with Workers(processes) as workers:
        for draft, (facts, differs) in zip(drafts, workers.map(_facts, drafts), strict=True):
            found.append(facts)
            differing += [draft.scene.id] if differs else []
            progress("scenes", len(found), len(drafts))
    if differing:
        named = ", ".join(differing[:5]) + (f" and {len(differing) - 5} more" if len(differing) > 5 else "")
        raise InputError(
            f"On this machine something else happens in {named} than where the scenes were drawn, so that answers "
            "would not be the same.\nRemedy: install the version of MuJoCo that constraints.txt has; or draw "
            "scenes of your own with --seed, whose scores are not compared with others'."
        )
    return found


def _facts(draft: SceneDraft) -> tuple[Facts, bool]:
    """Return the facts of a draft, and whether they differ from what the draft says."""
    scene, rollout = draft.scene, roll_out(draft.scene)
    runs = [intervene(scene, world.intervention) for world in draft.worlds]
    worlds = [world.model_copy(update={"events": run.events}) for world, run in zip(draft.worlds, runs, strict=True)]
    unsure = _joined(draft.unsure or [], rollout.unclear)
    changed = twin = None
    if draft.twin:
        run = roll_out(twin_scene(scene, draft.twin.body))
        changed = draft.twin.model_copy(update={"events": run.events})
        not_asked = [*unsure, *_joined(changed.unsure, run.unclear)]
        twin = make_twin(scene, changed.body, rollout.events, run.events, not_asked)
    facts = Facts(
        scene=scene,
        events=rollout.events,
        unsure=unsure,
        worlds=[
            world.model_copy(update={"unsure": _joined(world.unsure, run.unclear)})
            for world, run in zip(worlds, runs, strict=True)
        ],
        again=[list(key) for key in rollout.again],
        twin=twin,
        violations=draft.violations,
        lost_energy=rollout.lost_energy,
    )
    return facts, digest_events(rollout.events, draft.unsure or [], draft.order, worlds, changed) != draft.digest


def _joined(unsure: Iterable[Sequence[str]], unclear: Iterable[Sequence[str]]) -> list[list[str]]:
    """Join the events that differ between nearly equal scenes with those that are unclear in the scene itself."""
    return [list(key) for key in sorted({tuple(one) for one in (*unsure, *unclear)})]


AT_ONCE = 64
"""Scenes whose facts are written together: as many as are computed again after an interruption."""
FACTS = 2
"""Grows when other things are known of the same scene, so that those of an earlier version are computed again."""
CLIP_BYTES = 90_000
"""About what a clip takes."""


def known_facts(drafts: Sequence[SceneDraft], folder: Path, progress: Progress) -> list[Facts]:
    """Return the facts of each scene with its sights; those a folder has from an earlier call are not computed
    again."""
    found = []
    for start in range(0, len(drafts), AT_ONCE):
        part = drafts[start : start + AT_ONCE]
        path = folder / f"facts_{_digest(part)}.jsonl"
        facts = _read_facts(path, len(part))
        if facts is None:
            facts = list(_seen(part, progress))
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, as_lines(one.model_dump(mode="json") for one in facts))
        found += facts
        progress("scenes that are known", len(found), len(drafts))
    return found


def _seen(drafts: Sequence[SceneDraft], progress: Progress) -> Iterator[Facts]:
    facts = all_facts(drafts, progress)
    for one, sights in zip(facts, see([one.scene for one in facts], progress), strict=True):
        events = sorted([*one.events, *events_of_view(sights)], key=lambda event: event.time)
        yield one.model_copy(update={"sights": sights, "events": events})


def _read_facts(path: Path, number: int) -> list[Facts] | None:
    """The facts of a file; None where it is not there, or of another version."""
    if not path.is_file():
        return None
    issues = Problems()
    facts = [one for _, one in read_rows(path, Facts, issues)]
    return facts if not issues and len(facts) == number else None


def _digest(drafts: Sequence[SceneDraft]) -> str:
    content = as_lines([{"look": LOOK, "facts": FACTS}, *(draft.model_dump(mode="json") for draft in drafts)])
    return sha256(content.encode()).hexdigest()[:16]


class Shooting:
    """The clips of a build, all rendered together when the first of them is to be made."""

    def __init__(self, clips: Sequence[SceneClip], folder: Path, places: Sequence[Path], progress: Progress) -> None:
        self._clips, self._folder, self._places, self._progress = clips, folder, places, progress
        self._lock, self._done = Lock(), False

    def path_of(self, clip: SceneClip) -> Path:
        with self._lock:
            if not self._done:
                lacking = [
                    clip for clip in self._clips if not any(clip.is_made(place / clip.name) for place in self._places)
                ]
                film(lacking, self._folder, self._progress)
                self._done = True
        return self._folder / clip.name


@dataclass(frozen=True)
class RenderedClip:
    """A clip of a scene as a build takes it."""

    clip: SceneClip
    shooting: Shooting
    size: int = CLIP_BYTES

    def is_made(self, path: Path) -> bool:
        return self.clip.is_made(path)

    def make(self, path: Path) -> None:
        """Write it; the first one has all others of the build rendered too."""
        path.write_bytes(self.shooting.path_of(self.clip).read_bytes())
