"""The pipeline of a CausalVQA build, and its set in the form of the official release: a table, and clips cut to size.

Source: CausalVQA (arXiv 2506.09943), section 2.2 and appendix B. The wording of all prompts is ours.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from lmms_eval_tasks.causalvqa.benchmark import CARD, metadata_name
from lmms_eval_tasks.construct.causalvqa import steps
from lmms_eval_tasks.construct.causalvqa.rows import LETTERS, VERSIONS, PairBuildConfig, QuestionPair, read_questions
from lmms_eval_tasks.construct.engine.running import Pipeline
from lmms_eval_tasks.construct.engine.steps import Step
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import csv_text, read_csv
from lmms_eval_tasks.utils.core.work import in_parallel, no_progress
from lmms_eval_tasks.utils.data.identity import carry_sample_mark
from lmms_eval_tasks.utils.data.made import cut_part
from lmms_eval_tasks.utils.data.release import UnreadableClip
from lmms_eval_tasks.utils.people.responses import COLUMNS

SPLIT = "debug"
"""The split with answers."""
HEADER = ("qid", "type", "question", "choices1", "correct1", "choices2", "correct2", "difficulty", "renamed_video")

ClipPart = tuple[str, float, float]
"""A video and two of its seconds."""


def write_release(rows: Sequence[QuestionPair], folder: Path, config: PairBuildConfig) -> list[str]:
    """Write the table and the clips into an empty folder; questions about the same part of a video share its clip."""
    # A clip's name says nothing of its video.
    parts: dict[ClipPart, str] = {
        part: f"{hashlib.sha256(json.dumps(part).encode('ascii')).hexdigest()[:12]}.mp4"
        for part in ((row.clip, row.start, row.end) for row in rows)
    }
    videos = folder / SPLIT / "videos"
    videos.mkdir(parents=True)

    def cut(part: ClipPart) -> str | None:
        clip, start, end = part
        try:
            cut_part(config.clips / clip, start, end, videos / parts[part])
        except UnreadableClip as error:
            return str(error)
        return None

    problems = Problems()
    for (clip, start, end), fault in in_parallel(parts, cut, no_progress, "cutting clips"):
        if fault:
            problems.add(f"{clip}, {start:g} to {end:g} s", fault, remedy="take its questions out of the annotations.")
    problems.raise_if_any("The clips cannot be cut", "no set was written; every reply is kept")
    table = []
    for row in rows:
        cells = {name: getattr(row, name) for name in ("qid", "type", "question", "difficulty")}
        for number, version in enumerate(VERSIONS, start=1):
            options = enumerate(row.options(version), start=1)
            cells[f"choices{number}"] = "|".join(f"{place}. {option}" for place, option in options)
            cells[f"correct{number}"] = LETTERS.index(row.key(version)) + 1
        table.append({**cells, "renamed_video": parts[row.clip, row.start, row.end]})
    write_file(folder / metadata_name(SPLIT), csv_text(HEADER, table))
    carry_sample_mark(config.clips, folder)
    warnings = []
    if not config.reviews:
        warnings.append("Nobody reviewed these questions: the configuration names no reviews.")
    elif repaired := sum(row.repaired for row in rows):
        warnings.append(f"{repaired:,} questions were repaired after their review.")
    if config.responses is None:
        warnings.append(
            f"No people were asked: every question is {config.difficulty} because the configuration says so, and none "
            "was removed for its modal answer."
        )
    return warnings


def steps_of(config: PairBuildConfig) -> Sequence[Step]:
    tries = config.tries
    reviewing = [steps.review_nothing]
    if config.reviews:
        reviews = steps.read_reviews(config.reviews)
        reviewing = [
            steps.apply_reviews.given(reviews, config.clips),
            steps.repair.given(tries),
            steps.refuse_flagged_again.given(reviews),
        ]
    people = steps.ask_nobody.given(config.difficulty)
    if config.responses:
        # A table without its columns is refused before anything is asked.
        next(read_csv(config.responses, COLUMNS), None)
        people = steps.apply_answers.given(config.responses)
    return [
        steps.describe.given(config),
        steps.answer_first.given(config),
        steps.seed_distractors.given(config),
        steps.put_plainly.given(tries),
        steps.refine_distractors.given(tries),
        steps.write_second_version.given(tries, config.seed),
        steps.refuse_leaked_keys,
        steps.blind_filter,
        *reviewing,
        people,
    ]


PIPELINE = Pipeline(
    benchmark=CARD.name,
    config=PairBuildConfig,
    read=read_questions,
    # The videos are not among them.
    source_files=lambda config: [config.annotations, *config.reviews, *filter(None, [config.responses])],
    steps=steps_of,
    write=write_release,
    first="questions by annotators",
    paper="3,764",
)
