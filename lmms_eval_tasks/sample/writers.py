"""Writers of the sample: of each benchmark a few drawn clips in the form of its release.

Where a set can be built, the folder also has what it is built from."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from string import ascii_uppercase
from typing import Any
from zipfile import ZipFile, ZipInfo

import numpy as np

from lmms_eval_tasks.sample.drawn_clips import (
    FPS,
    HEIGHT,
    WIDTH,
    DrawnQuestion,
    DrawnScene,
    Frames,
    Span,
    write_clip,
    write_clips,
)
from lmms_eval_tasks.sample.scripts import (
    CHAINS,
    CONDITIONS,
    IT_COULD,
    LEVELS,
    TABLE_QUESTIONS,
    draw,
    draw_options,
    reworded,
)
from lmms_eval_tasks.utils.benchmark.benchmark import SampleWriter
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import as_lines, csv_text, read_numbered_options
from lmms_eval_tasks.utils.core.text import clock
from lmms_eval_tasks.utils.core.work import Progress

Rows = list[dict[str, Any]]
Scenes = dict[str, DrawnScene]
"""A clip's file to what is drawn in it."""
BUILD, BUILT_FROM = "build", "`build/`, from which a set can be built"
_ROLES = """\
# Whoever listens at $LLM_JUDGE_URL, or at http://localhost:8000/v1, plays all roles.
roles:
  default: {model: stub, provider: local}
"""
"""The end of a build's configuration."""


def write_csv(path: Path, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a table; what rows have beyond its columns is left out."""
    write_file(path, csv_text(columns, ({column: row[column] for column in columns} for row in rows)))


def _write_json(path: Path, value: object) -> None:
    write_file(path, json.dumps(value, indent=1) + "\n")


# ---- CausalVQA: a CSV file a split, clips beside it, and the truth of the test split apart from it -----------------

CAUSALVQA, TEST_TRUTH = "CausalVQA", "test_truth.csv"
_CAUSALVQA_COLUMNS = (
    "qid", "type", "question", "choices1", "correct1", "choices2", "correct2", "difficulty", "renamed_video",
)  # fmt: skip
_WITHHELD = ("correct1", "correct2")
_CAUSALVQA_BUILD = f"""\
annotations: annotations.csv
clips: ../{CAUSALVQA}/debug/videos
difficulty: easy
frames: 3
{_ROLES}"""


def draw_causalvqa(seed: int, name: str, levels: Sequence[str], per_stratum: int) -> tuple[Rows, Scenes]:
    """Draw `per_stratum` questions of a split for each type and level."""
    rng, count = random.Random(f"{seed}/causalvqa/{name}"), 5
    drawn = [
        (kind, level, draw(f"{kind} {level}", f"{seed}/{name}/{number}")[0])
        for kind in TABLE_QUESTIONS
        for level in levels
        for number in range(per_stratum)
    ]
    rng.shuffle(drawn)
    # The right option is at each place as often as at the others.
    places = [rng.sample([number % count for number in range(len(drawn))], len(drawn)) for _ in _WITHHELD]
    rows, scenes = [], Scenes()
    for number, (kind, level, scene) in enumerate(drawn):
        video, asked = f"{name}_{number:04d}.mp4", scene.questions[-1]
        scenes[video] = scene
        row = {"qid": str(number + (1001 if name == "test" else 1)), "type": kind, "question": asked.text}
        for version, in_order in enumerate(places, 1):
            options = draw_options(rng, scene, asked, count, in_order[number])
            worded = options if version == 1 else map(reworded, options)
            row[f"choices{version}"] = "|".join(f"{place}. {text}" for place, text in enumerate(worded, 1))
            row[f"correct{version}"] = str(in_order[number] + 1)
        rows.append({**row, "difficulty": level, "renamed_video": video})
    return rows, scenes


def _write_causalvqa(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    release, clips = folder / CAUSALVQA, dict[Path, DrawnScene]()
    # The debug split has easy questions only, as in the release.
    for name, levels, size in (("debug", LEVELS[:1], "debug_per_type"), ("test", LEVELS, "test_per_stratum")):
        rows, scenes = draw_causalvqa(seed, name, levels, sizes[size])
        clips |= {release / name / "videos" / video: scene for video, scene in scenes.items()}
        withheld = _WITHHELD if name == "test" else ()
        columns = [column for column in _CAUSALVQA_COLUMNS if column not in withheld]
        write_csv(release / name / f"{name}_metadata.csv", columns, rows)
        if withheld:
            write_csv(folder / TEST_TRUTH, ["qid", *withheld], rows)
            continue
        # Questions as an annotator in a hurry puts them, with a word that hints at something.
        annotations = [
            {
                "clip": row["renamed_video"],
                "start": 0,
                "end": scenes[row["renamed_video"]].seconds,
                "type": row["type"],
                "question": f"so obviously {row['question'][0].lower()}{row['question'][1:-1]}",
                "answer": f"its {read_numbered_options(row['choices1'])[row['correct1']].lower()}",
            }
            for row in {row["question"]: row for row in reversed(rows)}.values()
        ]
        write_csv(folder / BUILD / "annotations.csv", list(annotations[0]), annotations)
        write_file(folder / BUILD / "build.yaml", _CAUSALVQA_BUILD)
    write_clips(clips, progress)
    with ZipFile(folder / f"{CAUSALVQA}.zip", "w") as archive:
        for file in sorted(path for path in release.rglob("*") if path.is_file()):
            info = ZipInfo(f"{CAUSALVQA}/{file.relative_to(release).as_posix()}")
            info.external_attr = 0o644 << 16
            archive.writestr(info, file.read_bytes())


# ---- CaST-Bench: one file of questions, clips beside it ------------------------------------------------------------

_CAST_BENCH_FILE = "castbench_hf.jsonl"
_CAST_BENCH_BUILD = f"""\
clips: ../videos
tracks: tracks
frames: 4
questions: 2
{_ROLES}"""
_INSTANCE = "drawn_instance_{:03d}"


def draw_cast_bench(seed: int, per_kind: int) -> tuple[Rows, Scenes]:
    """Draw `per_kind` clips of each kind of scene, each with its questions; no two ask the same."""
    asked, scenes, used = list[tuple[str, DrawnQuestion]](), Scenes(), set[str]()
    for kind in CHAINS:
        for number in range(per_kind):
            tries = (draw(kind, f"{seed}/{number}/{again}")[0] for again in range(1000))
            scene = next(one for one in tries if used.isdisjoint(asked.text for asked in one.questions))
            video = f"sav_{len(scenes):06d}.mp4"
            scenes[video] = scene
            asked += [(video, one) for one in scene.questions]
            used |= {one.text for one in scene.questions}
    rng = random.Random(f"{seed}/cast_bench")
    rng.shuffle(asked)
    # Of questions with so many options, the right one is at each place as often as at the others.
    places, rows = [rng.sample(range(count), count) for count in (4, 5, 6)], []
    for number, (video, one) in enumerate(asked):
        order = places[number % 3]
        place = order[number // 3 % len(order)]
        options = draw_options(rng, scenes[video], one, len(order), place)
        rows.append(
            {
                "video": video,
                "question": one.text,
                "question_type": one.kind,
                "scene_category": "Drawn table",
                "options": {letter: f"{text}." for letter, text in zip(ascii_uppercase, options, strict=False)},
                "answer": ascii_uppercase[place],
                "evidence": json.dumps([_evidence(scenes[video], span) for span in one.evidence]),
            }
        )
    return rows, scenes


def _evidence(scene: DrawnScene, span: Span) -> dict[str, Any]:
    body, seconds = scene.bodies[span.body], range(span.start, span.end + 1)
    return {
        "evidence_start_time": clock(span.start),
        "evidence_end_time": clock(span.end),
        "evidence_instance_id": body.name.replace(" ", "_"),
        "evidence_rationale": span.rationale,
        "SAV_instance_id": _INSTANCE.format(span.body),
        "bboxes_in_range": {str(second): str(list(scene.box(body, FPS * second))) for second in seconds},
    }


def _write_cast_bench(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    rows, scenes = draw_cast_bench(seed, sizes["clips_per_family"])
    write_file(folder / _CAST_BENCH_FILE, as_lines(rows))
    write_file(folder / BUILD / "build.yaml", _CAST_BENCH_BUILD)
    for video, scene in scenes.items():
        seconds = range(math.ceil(scene.seconds))
        instances = [
            {
                "id": _INSTANCE.format(number),
                "name": body.name,
                "boxes": {str(second): scene.box(body, second * FPS) for second in seconds},
            }
            for number, body in enumerate(scene.bodies)
        ]
        _write_json(folder / BUILD / "tracks" / f"{Path(video).stem}.json", {"instances": instances})
    write_clips({folder / "videos" / name: scene for name, scene in scenes.items()}, progress)


# ---- CounterVQA: chains of collisions, their graphs, and questions of all three levels -----------------------------

_COUNTERVQA_BUILD = """\
annotations: [annotations.json]
clips: ../clips
# The longest chain of these clips has two links, and there are so few pairs of actions that all are judged.
min_depth: 2
pair_share: 1.0
# Whoever listens at $LLM_JUDGE_URL, or at http://localhost:8000/v1, is asked for links and answers.
model: {model: stub, provider: local}
verify_with: [{model: stub, provider: local}]
"""
_SUPPOSE = "Suppose that the {} had not hit the {}. Would the {} still have hit the {}?"
# The rule that makes a question, to its level, the rule of its partner, whose verdict is the other, and why it is so.
_RULES: Mapping[str, tuple[int, str, str]] = {
    "adjacent_unlinked": (1, "adjacent_linked", "Yes. Neither the {0} nor the {1} ever touches the {2}."),
    "adjacent_linked": (1, "adjacent_unlinked", "No. Only because the {0} hits it does the {1} move on into the {3}."),
    "path": (2, "disconnected", "No. The {0} starts the chain of hits that ends with the {2} running into the {3}."),
    "disconnected": (2, "path", "Yes. No chain of hits leads from the {0} and the {1} to the {2}."),
    "absent": (3, "", "Yes. The {0} never hits the {1}, so nothing changes."),
}


def _draw_countervqa(seed: int, number: int) -> tuple[DrawnScene, dict[str, Any], Rows]:
    """A scene, the line of its graph, and the lines of its questions; every other clip has balls alone."""
    (scene,) = draw("collisions of balls" if number % 2 else "collisions", f"{seed}/{number}")
    rng, clip = random.Random(f"{seed}/countervqa/{number}"), f"collisions_{number:04d}.mp4"
    pairs = [(one, other) for _, one, other in scene.hits]
    by_rule: dict[str, list[tuple[int, int]]] = {rule: [] for rule in _RULES}
    links = list[tuple[int, int]]()
    # The objects of one hit take part in no other.
    aside = next(
        place for place, pair in enumerate(pairs) if sum(not {*pair}.isdisjoint(other) for other in pairs) == 1
    )
    for one, other in combinations(range(len(pairs)), 2):
        # The chain's hits are linked one to the next; the hit aside has nothing to do with them.
        if is_link := pairs[one][1] == pairs[other][0]:
            links.append((one, other))
        if other - one == 1:
            by_rule["adjacent_linked" if is_link else "adjacent_unlinked"].append((one, other))
        elif not is_link:
            by_rule["disconnected" if aside in (one, other) else "path"].append((one, other))
    graph = {
        "clip": clip,
        "task": "knocking things about",
        "actions": [
            {"id": f"a{place}", "start": round(time, 2), "text": f"The {one} hits the {other}.", "subject": one}
            for place, (time, one, other) in enumerate(scene.hits, 1)
        ],
        "links": [{"cause": f"a{one + 1}", "effect": f"a{other + 1}"} for one, other in links],
    }
    questions = []
    for rule in rng.sample(list(_RULES), len(_RULES)):
        level, partner, why = _RULES[rule]
        place, outcome = rng.choice(by_rule[rule] or [(None, rng.randrange(len(pairs)))])
        if place is not None:
            names = [*pairs[place], *pairs[outcome]]
        else:  # Like a linked pair, it names one object twice: that alone must not tell the verdict.
            struck = pairs[outcome][0]
            met = {name for pair in pairs if struck in pair for name in pair}
            names = [rng.choice([body.name for body in scene.bodies if body.name not in met]), struck, *pairs[outcome]]
        questions.append(
            {
                "id": f"{number:04d}_{rule}",
                "clip": clip,
                "level": level,
                "interaction": "H2H" if number % 2 else "H2O",
                "question": _SUPPOSE.format(*names),
                "verdict": why.partition(".")[0].lower(),
                "explanation": why.format(*names),
                "action": None if place is None else f"a{place + 1}",
                "absent_action": "The {} hits the {}.".format(*names) if place is None else None,
                "outcome": f"a{outcome + 1}",
                "partner": f"{number:04d}_{partner}" if partner else None,
                "rule": rule,
            }
        )
    return scene, graph, questions


def _write_countervqa(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    drawn = [_draw_countervqa(seed, number) for number in range(1, sizes["clips"] + 1)]
    write_file(folder / "graphs.jsonl", as_lines(graph for _, graph, _ in drawn))
    write_file(folder / "questions.jsonl", as_lines(question for _, _, asked in drawn for question in asked))
    takes = [
        {
            "take_uid": Path(graph["clip"]).stem,
            "task": graph["task"],
            "interaction": asked[0]["interaction"],
            "atomic_descriptions": [{"timestamp": action["start"], **action} for action in graph["actions"]],
        }
        for _, graph, asked in drawn
    ]
    _write_json(folder / BUILD / "annotations.json", takes)
    write_file(folder / BUILD / "build.yaml", _COUNTERVQA_BUILD)
    write_clips({folder / "clips" / graph["clip"]: scene for scene, graph, _ in drawn}, progress)


# ---- IntPhys 2: a folder of clips a split, with metadata unless the truth is withheld ------------------------------

INTPHYS2, HELD_OUT_TRUTH = "IntPhys2", "heldout_truth.csv"
_INTPHYS2_COLUMNS = ("SceneIndex", "filename", "type", "condition", "env", "game_name", "Camera", "Difficulty")
QUARTET = ("1_Possible", "1_Impossible", "2_Possible", "2_Impossible")
# Difficulty to the place in whose stead it stands; each has a ball more that rolls by at the back.
_PLACES = {"Easy": "BasicLevel_0", "Medium": "SaltFlats_0", "Hard": "Egypt_0"}
# Camera to the game in whose stead it stands.
_GAMES = {"Fixed": "FixedMarryPoppins", "Moving": "MovingAroundOccluder"}


def join(scenes: Sequence[DrawnScene]) -> dict[str, Frames]:
    """Four clips by their names in `QUARTET`: what is impossible is one scene up to a moment, then the other."""
    one, other = (scene.film() for scene in scenes)
    ends = [0, *(round(moment * FPS) for moment in scenes[0].moments), len(one)]

    def joined(*films: Frames) -> Frames:
        return np.concatenate([films[part % 2][ends[part] : ends[part + 1]] for part in range(len(ends) - 1)])

    return dict(zip(QUARTET, (one, joined(one, other), other, joined(other, one)), strict=True))


def _write_intphys2(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    splits = {"Debug": sizes["debug_scenes"], "Main": sizes["main_scenes"], "HeldOut": sizes["held_out_scenes"]}
    done, clips = 0, len(QUARTET) * sum(splits.values())
    for split, scenes in splits.items():
        place, rows = folder / INTPHYS2 / split, Rows()
        place.mkdir()
        for number in range(1, scenes + 1):
            # Each time that a condition comes round again, its difficulty and its camera are others.
            turn = number + (number - 1) // len(CONDITIONS)
            condition, level = CONDITIONS[(number - 1) % len(CONDITIONS)], turn % len(_PLACES)
            difficulty, camera = list(_PLACES)[level], list(_GAMES)[turn % len(_GAMES)]
            facts = condition, _PLACES[difficulty], _GAMES[camera], camera, difficulty
            for shown, film in join(draw(f"{condition} {level} {camera}", f"{seed}/{split}/{number}")).items():
                name = hashlib.sha256(f"{seed}/{split}/{number}/{shown}".encode()).hexdigest()
                rows.append(dict(zip(_INTPHYS2_COLUMNS, (str(number), name, shown, *facts), strict=True)))
                write_clip(place / f"{name}.mp4", film)
                done += 1
                progress("filming clips", done, clips)
        write_csv(folder / HELD_OUT_TRUTH if split == "HeldOut" else place / "metadata.csv", _INTPHYS2_COLUMNS, rows)


# ---- MVP: a local snapshot of the hub dataset, and a folder of videos a source -------------------------------------

# Subset to the kinds of scenes that take turns in it, each with the official source in whose place it stands.
MVP_SUBSETS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "human_object_interactions": (("pt", "in_or_out"), ("ssv2", "in_or_out")),
    "robot_object_interactions": (("language_table", "in_or_out"),),
    "intuitive_physics": (
        ("intphys", "vanishes_or_not"),
        ("inflevel", "vanishes_or_not"),
        ("grasp", "falls_or_hovers"),
        ("clevrer", "who_hits_whom"),
    ),
    "temporal_reasoning": (("star", "who_hits_whom"), ("vinoground", "who_hits_whom")),
}
# Names of clips by which these sources tell what a clip is of; all others are named after the pair.
_MVP_CLIPS = {
    "intphys": "_O1_{index:02}_{place}",
    "inflevel": "continuity/{stem}_{place}",
    "grasp": "level2/{possible}_GravitySupport/{stem}_{place}",
}
_MVP_BUILD = f"""\
annotations: [annotations.jsonl]
videos: ../videos
# Drawn, so that the clips of a pair lie near each other; `mine embed` makes them from what is seen.
embeddings: clips.parquet
{_ROLES}"""


def draw_mvp(seed: int, name: str, mini_pairs: int, full_pairs: int) -> tuple[dict[str, Rows], Scenes]:
    """Draw `full_pairs` pairs of a subset, of which the first `mini_pairs` are the mini split.

    A split has the first members of its pairs, then the second ones, so that no pair's members are neighbours.
    """
    rng, drawn, scenes = random.Random(f"{seed}/mvp/{name}"), list[Rows](), Scenes()
    # Either answer is the first candidate as often as the other.
    turns = rng.sample([1 - 2 * (number % 2) for number in range(full_pairs)], full_pairs)
    for index in range(full_pairs):
        source, kind = MVP_SUBSETS[name][index % len(MVP_SUBSETS[name])]
        both, stem = draw(kind, f"{seed}/{name}/{index}"), f"{source}_{index:04d}"
        candidates = str([scene.questions[0].answer for scene in both[:: turns[index]]])
        drawn.append([])
        for place, scene in enumerate(rng.sample(both, 2), 1):
            (asked,) = scene.questions
            possible = "P" if asked.answer == IT_COULD[0] else "IP"
            named = _MVP_CLIPS.get(source, "{stem}_{place}")
            clip = f"{source}/{named.format(index=index, place=place, possible=possible, stem=stem)}.mp4"
            scenes[clip] = scene
            row = {"video_id": f"{stem}_{place}", "video_path": clip, "question": asked.text, "answer": asked.answer}
            drawn[-1].append({**row, "candidates": candidates, "source": source})
    splits = {}
    for split, size in (("mini", mini_pairs), ("full", full_pairs)):
        pairs = rng.sample(drawn[:size], size)
        splits[split] = [pair[member] for member in range(2) for pair in pairs]
    return splits, scenes


def _write_mvp(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    import pyarrow
    import pyarrow.parquet

    snapshot, configs, clips = folder / "snapshot", Rows(), dict[Path, DrawnScene]()
    lines, vectors, chance = Rows(), Rows(), np.random.default_rng(0)
    for name in MVP_SUBSETS:
        splits, scenes = draw_mvp(seed, name, sizes["mini_pairs"], sizes["full_pairs"])
        clips |= {folder / "videos" / clip: scene for clip, scene in scenes.items()}
        (snapshot / name).mkdir(parents=True)
        for split, rows in splits.items():
            file = snapshot / name / f"{split}-00000-of-00001.parquet"
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), file)
        files = [{"split": split, "path": f"{name}/{split}-*.parquet"} for split in splits]
        configs.append({"config_name": name, "data_files": files})
        # What a set can be built from: what sources say of each clip, and a vector for it.
        mini = splits["mini"]
        for both in zip(mini[: len(mini) // 2], mini[len(mini) // 2 :], strict=True):
            number, centre, options = len(lines) // 2, chance.normal(size=16), sorted(row["answer"] for row in both)
            for place, row in zip("ab", both, strict=True):
                clip, source = row["video_path"], row["source"]
                line: dict[str, Any] = {"id": f"{number:02}{place}", "clip": clip, "source": source, "category": name}
                if name == "intuitive_physics":  # whose clips are annotated with a question of their source
                    line |= {"question": row["question"], "answer": row["answer"]}
                    line |= {"options": options} if number % 2 else {}
                else:
                    # What a source would note of a clip, where it has no question.
                    note = f"{row['answer']}. Asked for, of take {number}: {row['question'].removesuffix('?')}"
                    line["caption" if number % 2 else "label"] = note
                lines.append(line)
                vectors.append({"clip": clip, "embedding": centre + 0.01 * chance.normal(size=16)})
    note = "Drawn sample data in the form of `facebook/minimal_video_pairs`; not the benchmark."
    write_file(snapshot / "README.md", f"---\nconfigs: {json.dumps(configs)}\n---\n\n{note}\n")
    write_file(folder / BUILD / "build.yaml", _MVP_BUILD)
    write_file(folder / BUILD / "annotations.jsonl", as_lines(lines))
    schema = pyarrow.schema({"clip": pyarrow.string(), "embedding": pyarrow.list_(pyarrow.float32())})
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(vectors, schema), folder / BUILD / "clips.parquet")
    write_clips(clips, progress)


# ---- YoCausal: clips with a cause in them and clips without, each with its reversal --------------------------------

# Category to whether it is causal, the kind of scene, and what it shows.
_CATEGORIES = {
    "hit": (True, "who_hits_whom", "The {} and the {} are on a table, and one pushes the other away."),
    "fall": (True, "falls_or_hovers", "The {} rolls off a ledge and falls."),
    "roll": (False, "vanishes_or_not", "The {} rolls past a board."),
    "pass": (False, "vanishes_or_not", "A board hides the {} for a while."),
}
# Subset to the source in whose place it stands and the categories that take turns in it.
_YOCAUSAL_SUBSETS = {
    "animal": ("Animal Kingdom", ("fall", "roll")),
    "general": ("Moments in Time", ("hit", "pass", "fall", "roll")),
    "human": ("Kinetics-400", ("hit", "pass")),
    "physics": ("Physics-IQ", ("hit", "roll", "fall", "pass")),
}


def write_yocausal(folder: Path, seed: int, sizes: Mapping[str, int], progress: Progress) -> None:
    pairs = sizes["pairs"]
    for subset, (name, (source, categories)) in enumerate(_YOCAUSAL_SUBSETS.items()):
        place, entries = folder / "subset" / name, Rows()
        for number in range(1, pairs + 1):
            category, file = categories[(number - 1) % len(categories)], f"{name}_{number:04d}.mp4"
            causal, kind, caption = _CATEGORIES[category]
            scene = draw(kind, f"{seed}/{name}/{number}")[0]
            film = scene.film()
            write_clip(place / "fwd" / file, film)
            write_clip(place / "bwd" / file, film[::-1])
            progress("filming clips and their reversals", subset * pairs + number, len(_YOCAUSAL_SUBSETS) * pairs)
            entries.append(
                {
                    "id": number,
                    "video_path_forward": f"{name}/fwd/{file}",
                    "video_path_backward": f"{name}/bwd/{file}",
                    "prompt": caption.format(*(body.name for body in scene.bodies)),
                    "dataset_source": source,
                    "category": category,
                    "meta": {"fps": FPS, "resolution": [WIDTH, HEIGHT], "total_frames": scene.frames},
                    "vlm_causality": causal,
                    "human_discriminable": causal,
                }
            )
        _write_json(place / "dataset_metadata.json", entries)


WRITERS: Mapping[str, SampleWriter] = {
    "cast_bench": SampleWriter(
        contents=f"`{_CAST_BENCH_FILE}`, `videos/`, and {BUILT_FROM}",
        # One of the three kinds of scenes has two questions to a clip.
        sizes={"clips_per_family": 3},
        write=_write_cast_bench,
    ),
    "causalvqa": SampleWriter(
        contents=f"`{CAUSALVQA}/`, the same as `{CAUSALVQA}.zip`, `{TEST_TRUTH}`, the withheld answers, which no "
        f"command reads, and {BUILT_FROM}",
        sizes={"debug_per_type": 4, "test_per_stratum": 2},
        write=_write_causalvqa,
        prepare=(("--source", f"{{folder}}/{CAUSALVQA}"),),
        release=CAUSALVQA,
    ),
    "countervqa": SampleWriter(
        contents=f"`questions.jsonl`, `graphs.jsonl`, `clips/`, and {BUILT_FROM}",
        sizes={"clips": 6},
        write=_write_countervqa,
    ),
    "intphys2": SampleWriter(
        contents=f"`{INTPHYS2}/`, and `{HELD_OUT_TRUTH}`, the withheld rows, which no command reads",
        # Every condition occurs from six scenes on.
        sizes={"debug_scenes": 2, "main_scenes": 6, "held_out_scenes": 2},
        write=_write_intphys2,
        prepare=(("--source", f"{{folder}}/{INTPHYS2}"),),
        release=INTPHYS2,
    ),
    "mvp": SampleWriter(
        contents=f"`snapshot/` (annotations), `videos/`, and {BUILT_FROM}",
        # All kinds of intuitive physics occur from four mini pairs on.
        sizes={"mini_pairs": 6, "full_pairs": 8},
        write=_write_mvp,
        prepare=tuple(
            ("--source", "{folder}/snapshot", "--videos", "{folder}/videos", "--split", split)
            for split in ("mini", "full")
        ),
        release="snapshot",
    ),
    "yocausal": SampleWriter(
        contents="metadata and clips of four subsets below `subset/`", sizes={"pairs": 4}, write=write_yocausal
    ),
}
