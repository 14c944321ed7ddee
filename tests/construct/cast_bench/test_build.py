"""`build cast_bench` on the sample world: what a planted fault becomes, and what the set that is left is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cast_bench_player import NOBODY, cast_bench_player, picture_at, pixels_of, role_of
from cast_bench_world import CUE, FAULTS, GHOSTS, BuildWorld, planted_world
from expected import Expected
from judge_server import JudgeServer
from refusals import refusal
from scipy import ndimage
from shared import made_once
from stub_server import material_of, read_request

from lmms_eval_tasks.cast_bench.benchmark import prepare, read_descriptions
from lmms_eval_tasks.cast_bench.card import OPTION_KINDS
from lmms_eval_tasks.cast_bench.masked import UNABLE, timed_boxes
from lmms_eval_tasks.cast_bench.release import read_items
from lmms_eval_tasks.construct.cast_bench import build
from lmms_eval_tasks.construct.engine.attrition import BuiltSet
from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.data.made import boxes_at
from lmms_eval_tasks.utils.data.pictures import as_jpeg

pytestmark = pytest.mark.slow  # a whole build comes first

BY_FAULT = {
    "unseen": ("boxes", "evidence without a box"),
    "thing": ("schema", "a subject that is no person"),
    "verbose": ("schema", "answer of more than 15 words"),
    "seven": ("schema", "more than five pieces of evidence"),
    "late": ("schema", "evidence outside the clip"),
    "typeless": ("schema", "unknown type of question"),
    "stranger": ("schema", "unknown subject"),
    "beyond": ("schema", "question outside the clip"),
    "leaked": ("schema", "the question holds its answer"),
    "again": ("distinct questions", "asked before"),
    "bare": ("schema", "no evidence"),
    "marked": ("schema", "an option says which it is"),
    "numbered": ("schema", "an instance is called by its id"),
    "synonym": ("distractors", "text distractor does not exclude the answer"),
    "lengthy": ("distractors", "text distractor of more than 15 words"),
    "naming": ("distractors", "text distractor names what the question does not"),
    "equal": ("distractors", "video distractor equals the answer"),
    "malformed": ("distractors", "no usable reply: malformed JSON"),
    "refused": ("distractors", "no usable reply: refusal"),
    "held": ("distractors", "no usable reply: timed out"),
    "longer": ("near-misses", "near-miss: length not within 10%"),
    "apart": ("near-misses", "near-miss: more than one attribute changed"),
    "both": ("near-misses", "near-miss: more than one attribute changed"),
    "reworded": ("near-misses", "near-miss: means the same as another option"),
    "labelled": ("near-misses", "near-miss: says which option it is"),
    "twin": ("near-misses", "near-miss: equals another option"),
    "guessable": ("text filter", "answered right without the clip"),
    "cue": ("video-mask filter", "answered right with its evidence masked"),
}


@dataclass(frozen=True)
class Built:
    world: BuildWorld
    out: Path
    built: BuiltSet
    requests: list[tuple[str, tuple[bytes, ...]]]
    """The prompt and the pictures of each."""

    def rows(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.out / name).read_text(encoding="utf-8").splitlines()]

    @property
    def items(self) -> list[dict[str, Any]]:
        return self.rows("release/castbench_hf.jsonl")

    @property
    def roles(self) -> list[dict[str, Any]]:
        return self.rows("release/roles.jsonl")

    @property
    def truth(self) -> dict[str, dict[str, Any]]:
        return {row["question"]: row for rows in self.world.truth.values() for row in rows}

    def of_role(self, name: str) -> list[tuple[dict[str, Any], tuple[bytes, ...]]]:
        """The material and the pictures of what a role was asked."""
        return [(material_of(prompt), pictures) for prompt, pictures in self.requests if role_of(prompt) == name]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    root = made_once(tmp_path_factory, "cast_bench_world", lambda root: planted_world(root / "world"))
    world, folder = BuildWorld.load(root / "world"), tmp_path_factory.mktemp("built")
    with JudgeServer(picture_script=cast_bench_player(world)) as server:
        made = build(world.config(server.url, folder, silence=1.0), folder / "out")
    return Built(world, folder / "out", made, list(map(read_request, server.bodies)))


def removed(built: Built) -> dict[str, tuple[str, str]]:
    """Row to the step that removed it and the reason."""
    names = [step["step"] for step in json.loads((built.out / "attrition.json").read_text())["steps"]]
    audits = zip(names, sorted((built.out / "steps").iterdir()), strict=True)
    lines = [(name, line) for name, path in audits for line in built.rows(f"steps/{path.name}")]
    return {line["row"]: (name, line["removed"]) for name, line in lines if line["removed"]}


def test_every_planted_fault_is_caught_where_it_should_be(built: Built, expected: Expected) -> None:
    expected("\n".join([*map(" | ".join, built.built.tables[0].rows), *built.built.warnings]))
    reasons = removed(built)
    planted = {
        fault: reasons.pop(f"{stem}#{number}")
        for stem, faults in built.world.faults.items()
        for number, fault in enumerate(faults, len(built.world.truth[stem]) + 1)
    }
    assert planted == BY_FAULT and set(planted) == set(FAULTS)
    others = {}
    for row, (_, reason) in reasons.items():
        stem, _, instance = row.partition("/")
        others[built.world.names[stem][instance] if instance else stem] = reason
    expected("\n".join(f"{name}: {reason}" for name, reason in sorted(others.items())))


def test_what_is_left_is_the_truth_in_the_released_form(built: Built, home: Path) -> None:
    assert {item["question"] for item in built.items} == set(built.truth) and len(built.items) == 6
    for item, beside in zip(built.items, built.roles, strict=True):
        row = built.truth[item["question"]]
        assert list(item) == list(row) and item["evidence"] == row["evidence"]
        assert item["options"][item["answer"]] == row["options"][row["answer"]]
        assert (item["video"], item["question_type"]) == (row["video"], row["question_type"])
        clip = built.out / "release" / "videos" / item["video"]
        assert clip.read_bytes() == (built.world.folder / "clips" / item["video"]).read_bytes()
        # The file beside it has subjects and the role of every option.
        assert (beside["question"], beside["video"]) == (item["question"], item["video"])
        assert list(beside["option_roles"]) == list(item["options"]) == list("ABCDEF")
        roles = {role: letter for letter, role in beside["option_roles"].items()}
        assert set(roles) == {"answer", *OPTION_KINDS} - {"near-miss"} and roles["answer"] == item["answer"]
        first = json.loads(item["evidence"])[0]
        named = (first["evidence_instance_id"], first["evidence_start_time"])
        subject = (None, None) if item["video"] == NOBODY else named
        assert (beside["subject"], beside["question_start_time"]) == subject
    assert NOBODY in {item["video"] for item in built.items} and len({item["answer"] for item in built.items}) > 1
    rows, problems, warnings = read_items((built.out / "release" / "castbench_hf.jsonl").read_bytes())
    assert (len(rows), len(problems), warnings) == (6, 0, [])
    (split,) = prepare(str(built.out / "release")).values()
    assert split.data_set.is_sample and set(split.source_sha256) == {"castbench_hf.jsonl", "roles.jsonl"}
    # Nothing but that it is not the published set.
    assert all(re.fullmatch(r"Expected \d+ \w+, but got \d+\.", warning) for warning in split.warnings)
    for row, beside in zip(load_table("cast_bench", "test"), built.roles, strict=True):
        assert row["option_kinds"] == [None if role == "answer" else role for role in beside["option_roles"].values()]


def test_what_breaks_a_rule_is_shown_to_its_writer_and_written_again(built: Built) -> None:
    kept = {beside["id"] for beside in built.roles}
    for name, role, times in (("11_distractors", "text_distractor", 2), ("12_near-misses", "near_miss", 6)):
        for line in built.rows(f"steps/{name}.jsonl"):
            asked = [one["reply"] for one in line["asked"] if one["role"] == role]
            assert line["row"] not in kept or len(asked) == times
    described = built.rows("steps/05_dynamic_description.jsonl")
    assert sum(len(line["asked"]) == 2 and not line["removed"] for line in described) >= 3


def test_a_near_miss_changes_one_attribute_and_keeps_its_length(built: Built) -> None:
    pairs = []
    for item, beside in zip(built.items, built.roles, strict=True):
        texts = {role: item["options"][letter] for letter, role in beside["option_roles"].items()}
        assert len(set(texts.values())) == 6 and len(texts["text-based"].split()) <= 15
        pairs += [(texts[role], texts[f"near-miss-of-{role}"]) for role in ("answer", "text-based", "video-based")]
    for original, near_miss in pairs:
        before, after = original.split(), near_miss.split()
        changes = [one for one in SequenceMatcher(None, before, after).get_opcodes() if one[0] != "equal"]
        assert len(changes) == 1 and changes[0][2] - changes[0][1] == changes[0][4] - changes[0][3] == 1
        assert abs(len(near_miss) - len(original)) <= 0.1 * len(original)


def seconds_of(given: dict[str, Any]) -> list[int]:
    return [int(time.removeprefix("00:")) for time in given["seconds"]]


def test_who_sees_what(built: Built) -> None:
    """A writer of wrong answers and who is asked blind see no picture; a describer sees one outlined, one blurred."""
    assert all(not pictures for _, pictures in [*built.of_role("text"), *built.of_role("blind")])
    assert all(set(given) == {"question", "options"} for given, _ in built.of_role("blind"))
    for _, (outlined, blurred) in built.of_role("static"):
        assert pixels_of(blurred).std() < pixels_of(outlined).std()
    for given, pictures in built.of_role("dynamic"):
        assert len(pictures) == len(given["seconds"]) and len({pixels_of(one).shape for one in pictures}) == 1


def test_the_masked_clip_is_black_where_subject_and_evidence_are_and_nowhere_else(built: Built) -> None:
    asked = [one for one in built.of_role("masked") if one[0]["question"] in built.truth]
    assert len(asked) == 6
    masked_seconds = 0
    for given, pictures in asked:
        options = list(given["options"].values())
        assert set(given) == {"question", "options", "seconds"} and options[-1] == UNABLE and len(options) == 7
        row = built.truth[given["question"]]
        # The subject is the first piece of evidence's, in the same seconds, where one is named.
        boxes = timed_boxes({"evidence": row["evidence"]})
        for second, picture in zip(seconds_of(given), pictures, strict=True):
            hidden = np.zeros((144, 192), dtype=bool)
            for box in boxes_at(second, boxes):
                x1, y1, x2, y2 = map(int, box)
                hidden[y1:y2, x1:x2] = True
            source = picture_at(built.world.folder / "clips" / row["video"], second)
            shown, whole = pixels_of(picture).astype(int), pixels_of(as_jpeg(source, 768)).astype(int)
            masked_seconds += bool(hidden.any())
            assert not hidden.any() or shown[hidden].mean() < 12
            # JPEG blends the colours of blocks of 16 pixels.
            assert np.abs(shown - whole)[ndimage.maximum_filter(hidden, 37) == 0].max() <= 2
    assert masked_seconds >= 30


def test_the_cue_stays_in_sight_and_gives_its_question_away(built: Built) -> None:
    ((given, pictures),) = [one for one in built.of_role("masked") if "(cue)" in one[0]["question"]]
    assert all(np.ptp(pixels_of(picture)[:CUE, :CUE].mean(axis=(0, 1))) > 60 for picture in pictures)
    tracks = json.loads((built.world.folder / "tracks" / "cued.json").read_text())["instances"]
    seconds = seconds_of(given)
    for second, picture in zip(seconds, pictures, strict=True):
        # The second instance is the subject all the time, the first one evidence up to second 2.
        for instance, last in ((tracks[1], seconds[-1]), (tracks[0], 2)):
            x1, y1, x2, y2 = instance["boxes"][str(second)]
            assert (pixels_of(picture)[y1:y2, x1:x2].mean() < 12) == (second <= last)


def test_roles_that_are_not_of_the_release_are_refused(
    built: Built, home: Path, tmp_path: Path, expected: Expected
) -> None:
    first, second, *others = built.roles
    (tmp_path / "castbench_hf.jsonl").write_bytes((built.out / "release" / "castbench_hf.jsonl").read_bytes())
    said = []
    for lines in (
        [first, second, *others[:-1]],
        [second, first, *others],
        [{**first, "option_roles": {"A": "answer"}}, second, *others],
        [{**first, "option_roles": dict.fromkeys("ABCDEF", "answer")}, second, *others],
        [{**first, "more": 1}, second, *others],
    ):
        (tmp_path / "roles.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        said.append(refusal(prepare, str(tmp_path)))
    expected("\n\n".join(said))
    assert not (home / "cast_bench").exists()


def test_people_can_edit_what_the_instances_do(built: Built, home: Path) -> None:
    folder = built.out / "release" / "descriptions"
    prepare(str(folder), videos=built.out / "release" / "videos")
    rows = load_table("cast_bench", "test").to_list()
    assert [row["item_id"] for row in rows] == [f"sav_00000{number}_1" for number in range(5)]
    for row in rows:
        stem = row["item_id"][:-2]
        described = read_descriptions(row)
        names = [name.replace(" ", "_") for name in built.world.names[stem].values()]
        assert {one.name for one in described} == set(names) - {
            f"{ghost}_thing" for ghost in GHOSTS if ghost != "brief"
        }
        assert {(one.start, one.end) for one in described} == {(0, built.world.last[stem])}
        assert all(len(one.boxes) == one.end + 1 for one in described if one.name != "brief_thing")
