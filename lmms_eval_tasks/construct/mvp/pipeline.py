"""The pipeline of an MVP build, from sources' annotations to minimal pairs in the official release's format.

Source: MVP paper (arXiv 2506.09987), section 3 (questions from the sources' annotations, pairs mined by the look of
their clips, pairs that single frames solve removed, skills balanced). How a question is written where a source has
none is ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from lmms_eval_tasks.construct.curation.candidates import find_rule
from lmms_eval_tasks.construct.curation.vectors import read_vectors
from lmms_eval_tasks.construct.engine.running import Pipeline
from lmms_eval_tasks.construct.mvp.rows import AnnotatedClip, MinimalPair, MvpBuildConfig, read_annotations
from lmms_eval_tasks.construct.mvp.steps import (
    balance_skills,
    check_candidates,
    choose_contrasts,
    find_neighbours,
    find_pairs,
    meet_contrasts,
    single_frame_step,
    write_pair_questions,
)
from lmms_eval_tasks.mvp.benchmark import CARD, SUBSETS, VIDEOS
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.data.identity import carry_sample_mark
from lmms_eval_tasks.utils.data.prepare import link


def write_release(pairs: Sequence[MinimalPair], folder: Path, config: MvpBuildConfig) -> Sequence[str]:
    """Write pairs as `prepare` reads them; those of sample clips are marked as such."""
    import pyarrow
    import pyarrow.parquet

    tables: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for number, pair in enumerate(pairs, start=1):
        for place, clip in enumerate(pair.clips, start=1):
            tables[pair.category].append(
                {
                    "video_id": f"{clip.source}_{number:06d}_{place}",
                    "video_path": clip.clip,
                    "question": pair.question,
                    "answer": clip.answer,
                    "candidates": str(list(pair.candidates)),
                    "source": clip.source,
                }
            )
            linked = folder / VIDEOS / clip.clip
            linked.parent.mkdir(parents=True, exist_ok=True)
            link((config.videos / clip.clip).absolute(), linked)
    card = ["---", "configs:"]
    for category in (name for name in SUBSETS if name in tables):
        path = folder / category / f"{config.split}-00000-of-00001.parquet"
        path.parent.mkdir()
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(tables[category]), path)
        files = f"{category}/{config.split}-*.parquet"
        card += [f"- config_name: {category}", "  data_files:", f"  - split: {config.split}", f"    path: {files}"]
    form = f"Minimal pairs in the form of `{CARD.hub_id}`, made with lmms-eval-tasks; not the benchmark."
    card += ["---", "", form, ""]
    write_file(folder / "README.md", "\n".join(card))
    carry_sample_mark(config.videos, folder)
    missing = [name for name in SUBSETS if name not in tables]
    return [f"There are no pairs of {' and '.join(missing)}: their tasks have no items."] if missing else []


def read_sources(config: MvpBuildConfig) -> tuple[AnnotatedClip, ...]:
    clips = read_annotations(config.annotations, config.videos)
    read_vectors(config.embeddings, config.ids, list(dict.fromkeys(clip.clip for clip in clips)))
    return clips


PIPELINE = Pipeline(
    benchmark=CARD.name,
    config=MvpBuildConfig,
    read=read_sources,
    source_files=lambda config: [*config.annotations, config.embeddings, *filter(None, [config.ids])],
    steps=lambda config: [
        find_neighbours.given(config),
        choose_contrasts.given(config.contrasts),
        meet_contrasts,
        write_pair_questions.given(config.tries),
        check_candidates,
        find_pairs.given(config, find_rule(config.rule)),
        single_frame_step(config),
        balance_skills.given(config),
    ],
    write=write_release,
    first="annotated clips",
)
