"""`lmms-eval-tasks mine …`: parts of a benchmark found in candidates."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.cli.help import BUILD
from lmms_eval_tasks.cli.options import FormatOption, clips_folder
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import as_lines, csv_text
from lmms_eval_tasks.utils.core.output import make_console, open_output, show_progress, text_table
from lmms_eval_tasks.utils.data.home import table_file

if TYPE_CHECKING:
    from lmms_eval_tasks.construct.curation.mining import Mining
    from lmms_eval_tasks.utils.core.output import FittingTable


CANDIDATES_HELP = (
    "Candidates: CSV or JSON lines (item_id, clip, question, answer[, options, skill]), a prepared table (.parquet), "
    "or a prepared split as BENCHMARK:SPLIT."
)

mine_app = typer.Typer(no_args_is_help=True, help="Find minimal pairs among candidate clips.", rich_help_panel=BUILD)


@mine_app.command()
def pairs(
    candidates: Annotated[str, typer.Argument(help=CANDIDATES_HELP)],
    embeddings: Annotated[
        Path, typer.Option(help="Vectors of the clips: .npy, or .parquet (clip, embedding).", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Where to write the pairs: .jsonl or .csv.", show_default=False)],
    ids: Annotated[
        Path | None, typer.Option(help="The clips of an .npy file's rows: one a line, or a JSON list (.json).")
    ] = None,
    skill: Annotated[str, typer.Option(help="Column with the skill; without it the column skill, if any.")] = "",
    rule: Annotated[
        str, typer.Option(help="Which answers exclude each other: not-entailed, differ, or package.module:function.")
    ] = "not-entailed",
    question_encoder: Annotated[
        str, typer.Option(help="Join questions of one meaning: tfidf, or a model of sentence-transformers.")
    ] = "",
    question_cosine: Annotated[float, typer.Option(min=0.0, max=1.0, help="From which two questions are one.")] = 0.9,
    per_skill: Annotated[int | None, typer.Option(min=1, help="The most pairs of a skill.")] = None,
    total: Annotated[int | None, typer.Option(min=1, help="The most pairs in all, in equal shares.")] = None,
    form: FormatOption = None,
) -> None:
    """Mine minimal pairs: one question, answers that exclude each other, and clips that look most alike.

    Examples:
        lmms-eval-tasks mine pairs candidates.csv --embeddings clips.parquet --out pairs.jsonl
        lmms-eval-tasks mine pairs candidates.csv --embeddings clips.npy --ids clips.txt --out pairs.csv
    """
    from lmms_eval_tasks.construct.curation.candidates import find_rule, read_candidates
    from lmms_eval_tasks.construct.curation.meaning import join_questions
    from lmms_eval_tasks.construct.curation.mining import REASONS, distinct_clips, mine_pairs
    from lmms_eval_tasks.construct.curation.vectors import read_vectors
    from lmms_eval_tasks.construct.engine.encoders import encode_texts, find_encoder

    if out.suffix not in (".jsonl", ".csv"):
        raise InputError(f"Expected --out to end in .jsonl or .csv, but got {out}.")
    chosen = find_rule(rule)
    items = read_candidates(table_file(candidates), skill)
    joined = ""
    if question_encoder:
        encoder = find_encoder(question_encoder)
        texts = encode_texts([item.question for item in items], encoder)
        asked = [(item.skill, item.question) for item in items]
        wordings = join_questions(asked, texts.similarities, question_cosine, encoder.synonyms)
        items = tuple(replace(item, question=wordings[item.skill, item.question]) for item in items)
        joined = f"; questions joined by {encoder.name} from {question_cosine:g}"
    mining = mine_pairs(items, read_vectors(embeddings, ids, distinct_clips(items)), chosen, per_skill, total)
    with open_output("mine pairs", form) as output:
        table = _table(mining)
        limits = f"at most {per_skill or 'any'} of a skill, {total or 'any'} in all"
        table.signature = f"{candidates}; rule {rule}; {limits}{joined}"
        output.table(table)
        if mining.dropped:
            output.note(f"In no pair: {', '.join(f'{reason} ({why})' for reason, why in REASONS.items())}.")
        rows = [pair.to_json() for pair in mining.pairs]
        if out.suffix == ".jsonl":
            write_file(out, as_lines(rows))
        else:
            write_file(out, csv_text(list(rows[0]), rows) if rows else "")
        output.note(f"{len(mining.pairs):,} pairs by the rule {rule}: {out}", whole=True)


@mine_app.command()
def embed(
    candidates: Annotated[str, typer.Argument(help=f"{CANDIDATES_HELP} Or a folder of clips.")],
    model: Annotated[str, typer.Option(help="A vision model of transformers, by name or folder.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Where to write the vectors: .parquet.", show_default=False)],
    clips: Annotated[
        Path | None, typer.Option(help="Folder of the candidates' clips; not needed for BENCHMARK:SPLIT.")
    ] = None,
) -> None:
    """Give each clip of the candidates, or of a folder, a vector: the mean of eight frames' vectors.

    Examples:
        lmms-eval-tasks mine embed videos --model facebook/dinov2-base --out clips.parquet
        lmms-eval-tasks mine embed mvp:mini --model facebook/dinov2-base --out clips.parquet
    """
    from lmms_eval_tasks.construct.curation.candidates import read_candidates
    from lmms_eval_tasks.construct.curation.mining import distinct_clips
    from lmms_eval_tasks.construct.curation.vectors import VisionModel, as_parquet, embed_clips
    from lmms_eval_tasks.utils.data.clips import videos_below

    if out.suffix != ".parquet":
        raise InputError(f"Expected --out to end in .parquet, but got {out}.")
    if Path(candidates).is_dir():
        if clips is not None:
            raise InputError(f"Expected no --clips with {candidates}, which is a folder of clips itself.")
        folder = Path(candidates)
        names = [path.relative_to(folder).as_posix() for path in videos_below(folder)]
    else:
        source = table_file(candidates)
        named = clips or clips_folder(candidates)
        if named is None:
            raise InputError(f"Expected --clips to name the folder of the clips of {candidates}, but it is not given.")
        folder, names = named, distinct_clips(read_candidates(source))
    with show_progress() as progress:
        vectors = embed_clips(VisionModel(model), {name: folder / name for name in names}, progress)
    write_file(out, as_parquet(vectors))
    size = len(next(iter(vectors.values())))
    make_console().print(f"{len(vectors):,} clips, {size:,} dimensions: {out}", soft_wrap=True)


def _table(mining: Mining) -> FittingTable:
    from lmms_eval_tasks.construct.curation.mining import REASONS

    reasons = [reason for reason in REASONS if any(counts.get(reason) for counts in mining.dropped.values())]
    headings = ("skill", "candidates", "pairs", "cosines", *reasons)
    table = text_table("minimal pairs by skill", *headings, numbers=True)
    for skill, number in mining.candidates.items():
        cosines = [pair.cosine for pair in mining.pairs if pair.first.skill == skill]
        span = f"{min(cosines):.3f} to {max(cosines):.3f}" if cosines else ""
        dropped = mining.dropped.get(skill, Counter())
        table.add_row(skill, number, len(cosines), span, *(dropped.get(reason, 0) for reason in reasons))
    return table
