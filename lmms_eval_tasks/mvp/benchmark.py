"""MVP (Minimal Video Pairs): one question, with two options, about two minimally different clips.

Krojer et al., 2025, https://arxiv.org/abs/2506.09987; official code: facebookresearch/minimal_video_pairs@149e336.

    lmms-eval-tasks prepare mvp --split mini --videos videos
    lmms-eval --model qwen2_5_vl --tasks mvp_mini --output_path out --log_samples
"""

from __future__ import annotations

import ast
import hashlib
import json
import logging
import random
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import AfterValidator, BeforeValidator, ValidationInfo

from lmms_eval_tasks.api import (
    COMMON_METRICS,
    OFFICIAL_ACCURACIES,
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    Benchmark,
    Card,
    ChoiceForm,
    Human,
    InputError,
    Origin,
    Preparation,
    Problems,
    Record,
    Row,
    RowForm,
    SplitFacts,
    SplitManifest,
    TaskKind,
    building,
    choice_grader,
    read_prompt,
)
from lmms_eval_tasks.api.forms import Cell, ClipName, Key, RawText, ReleaseRow, mismatch, read_json_form
from lmms_eval_tasks.api.page import Layout, LayoutPlace, ReferencedMetric, published_models
from lmms_eval_tasks.api.prompts import Prompt, read_closing
from lmms_eval_tasks.api.release import ClipOptions, PublishedStatistics, describe, download_dataset, summarize_names
from lmms_eval_tasks.api.runs import ChoiceLine
from lmms_eval_tasks.mvp.raw_downloads import CLIP_SOURCES, find_raw_clips, read_folders
from lmms_eval_tasks.mvp.sample import SAMPLE

# ---- what paper and release say ------------------------------------------------------------------------------------

SUBSETS = ("human_object_interactions", "robot_object_interactions", "intuitive_physics", "temporal_reasoning")
SOURCES = tuple(CLIP_SOURCES)
# Pairs of the mini split: the only sizes that the four-decimal scores of the official reproducibility.md allow.
_MINI_PAIRS = (2862, 1000, 4340, 1006)

CARD = Card(
    name="mvp",
    title="MVP",
    paper="https://arxiv.org/abs/2506.09987",
    licence="see the dataset page; clips under the licences of their nine sources, which are not redistributed",
    homepage="https://github.com/facebookresearch/minimal_video_pairs",
    main_metric="pair_accuracy",
    splits={
        "mini": SplitFacts(
            items=18416,
            groups=9208,
            clips=None,
            strata={(subset,): pairs for subset, pairs in zip(SUBSETS, _MINI_PAIRS, strict=True)},
        ),
        # The other three subsets of the full split are published rounded to 0.1K pairs only.
        "full": SplitFacts(
            items=54828,
            groups=27414,
            clips=None,
            strata={("temporal_reasoning",): 1383},
            # The length of the candidates, and the words of questions and answers: in a pair each candidate is one.
            statistics=PublishedStatistics(mean_seconds=8.8, option_words=8.1, vocabulary=2355),
        ),
    },
    strata_columns=("subset",),
    chance={"single_accuracy": 50.0, "pair_accuracy": 25.0},
    human=(
        Human(
            metric="pair_accuracy",
            split="full",
            percent=92.9,
            source="paper, Table 4",
            caveat="measured on a representative subset that the paper does not tie to the mini or the full split",
        ),
    ),
    prompt_sha256={"post_prompt": "6e5efe9e4ed0239dfce20078862a1311c2f6010a8de1ca1f4afcf944b6298cb9"},
    hub_id="facebook/minimal_video_pairs",
    prepare_command="lmms-eval-tasks prepare mvp --videos DIR",
    clip_sources=CLIP_SOURCES,
    leaderboards={"physical-reasoning": {"mini": "mvp_mini", "full": "mvp"}},
)

# ---- the annotations -----------------------------------------------------------------------------------------------

ANNOTATIONS = ("*.md", "*.parquet", "*.json", "*.jsonl", "*.csv")
"""Files of the dataset on the hub that hold annotations or say where they are."""
VIDEOS = "videos"
"""Folder with the clips in a set that `build` made; the official one has none, as its clips are not redistributed."""
UNKNOWN = "unknown"
"""Source of a row that names none."""
LETTERS = ("A", "B")
COLUMNS = {"subset": "string", "source": "string"}
"""The benchmark's own columns of the prepared table, and their types."""
LONGEST = 10_000


def _stem(video_id: object) -> str:
    return str(video_id or "").rpartition("_")[0]


def _with_stem(video_id: str) -> str:
    if not _stem(video_id):
        raise mismatch("{field} in the form <pair>_<member>", video_id)
    return video_id


def read_candidates(value: object) -> list[str]:
    """The two candidates of a question, from the Python literal that the release holds; nothing is evaluated."""
    candidates = value
    if isinstance(value, str):
        if len(value) > LONGEST:
            raise mismatch(f"{{field}} of at most {LONGEST} characters", len(value))
        try:
            candidates = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            candidates = None
    texts = candidates if isinstance(candidates, list) else []
    if len(texts) != 2 or not all(isinstance(text, str) and text.strip() for text in texts):
        raise mismatch("a list of two texts", value)
    if texts[0].strip() == texts[1].strip():
        raise mismatch("{field} that differ", candidates)
    return texts


def _is_candidate(answer: str, info: ValidationInfo) -> str:
    options = [option.strip() for option in info.data.get("candidates", ())]
    if options and answer.strip() not in options:
        raise mismatch("one of the candidates", answer)
    return answer.strip()


class ReleasedMember(ReleaseRow):
    """A row of a subset's annotations; texts are kept as released, as models are shown them."""

    video_id: Annotated[RawText, AfterValidator(_with_stem), Key]
    question: RawText
    candidates: Annotated[list[str], BeforeValidator(read_candidates)]
    answer: Annotated[RawText, AfterValidator(_is_candidate)]
    video_path: Annotated[ClipName, BeforeValidator(lambda path: path.lstrip("/") if isinstance(path, str) else path)]
    source: Cell = ""


def read_items(
    subset: str, split: str, released: Sequence[Mapping[str, Any]], problems: Problems
) -> list[dict[str, Any]]:
    """The items of a subset, members of a pair adjacent, pairs in the order in which their first member was
    released."""
    file = f"{subset}/{split}"
    rows = read_json_form(ReleasedMember, released, file, problems)
    pairs: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if not row.source:
            problems.warn(f"{file}: rows without a source, which are counted under {UNKNOWN}", row.video_id)
        item: dict[str, Any] = {
            "item_id": row.video_id,
            "group_id": _stem(row.video_id),
            "question": row.question,
            "options": row.candidates,
            "answer": LETTERS[[option.strip() for option in row.candidates].index(row.answer)],
            "clip": f"{split}/{row.video_path}",
            "subset": subset,
            "source": row.source or UNKNOWN,
        }
        pairs.setdefault(item["group_id"], []).append(item)
    broken = {_stem(values.get("video_id")) for values in rows.refused}
    for stem, members in pairs.items():
        if stem in broken:
            continue
        if len(members) != 2:
            names = summarize_names(member["item_id"] for member in members)
            problems.add(f"{file}, pair {stem}", f"Expected two rows, but got {len(members)} (video_id {names}).")
            continue
        for what, is_found in (
            ("pairs with two questions", len({one["question"].strip() for one in members}) > 1),
            ("pairs whose videos have different candidates", len({frozenset(_texts(one)) for one in members}) > 1),
            ("pairs with the same answer to both videos", len(set(map(_answer, members))) == 1),
        ):
            if is_found:
                problems.warn(f"{file}: {what}", stem)
    return [member for members in pairs.values() for member in members]


def _texts(item: Mapping[str, Any]) -> list[str]:
    return [text.strip() for text in item["options"]]


def _answer(item: Mapping[str, Any]) -> str:
    return _texts(item)[LETTERS.index(item["answer"])]


RANDOM = "random_"
"""How the ids of groups begin that are drawn at random."""
RowPair = tuple[Row, Row]


def pair_at_random(rows: Sequence[Row], seed: int) -> tuple[list[dict[str, Any]], list[Row]]:
    """Pairs of clips of one subset and source that have a question in common, have other answers to it, and are no
    pair of the release, as Table 5 of the paper compares with its own; and the rows for which no partner is left."""
    by_question: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        by_question.setdefault((row["subset"], row["source"], row["question"].strip()), []).append(row)
    made, taken = list[dict[str, Any]](), set[int]()
    for question, asked in by_question.items():
        draws = random.Random(f"{seed} {question}")
        for pair in _draw_pairs(draws.sample(asked, len(asked))):
            taken.update(map(id, pair))
            answers = [_answer(row) for row in pair]
            options = draws.sample(answers, 2)
            group = f"{RANDOM}{seed}_{len(made) // 2 + 1:06d}"
            for member, (row, answer) in enumerate(zip(pair, answers, strict=True), 1):
                own = {"options": options, "answer": LETTERS[options.index(answer)]}
                made.append({**row, "item_id": f"{group}_{member}", "group_id": group, **own})
    return made, [row for row in rows if id(row) not in taken]


def _draw_pairs(asked: Sequence[Row]) -> list[RowPair]:
    """Pair rows of one question in their order: as many as can be, or a few less."""
    clips: dict[str, set[str]] = {}
    for row in asked:
        clips.setdefault(row["group_id"], set()).add(row["clip"])
    released = set(map(frozenset, clips.values()))

    def fit(one: Row, other: Row) -> bool:
        both = frozenset((one["clip"], other["clip"]))
        return _answer(one) != _answer(other) and len(both) == 2 and both not in released

    # The answer that most have is given away first, for at the end nobody else could be left for it.
    by_answer: dict[str, list[Row]] = {}
    for row in asked:
        by_answer.setdefault(_answer(row), []).append(row)
    ranks = {id(row): place - len(same) for same in by_answer.values() for place, row in enumerate(same)}
    waiting = {id(row): row for row in sorted(asked, key=lambda row: ranks[id(row)])}
    pairs, left = list[RowPair](), list[Row]()
    while waiting:
        row = waiting.pop(next(iter(waiting)))
        partner = next((other for other in waiting.values() if fit(row, other)), None)
        if partner is None:
            left.append(row)
        else:
            pairs.append((row, waiting.pop(id(partner))))
    while len(left) > 1:
        # Two for which nobody is left take a pair apart that fits both.
        row, other = left.pop(), left.pop()
        turned = ((place, pair) for place, both in enumerate(pairs) for pair in (both, both[::-1]))
        split = ((place, pair) for place, pair in turned if fit(row, pair[0]) and fit(other, pair[1]))
        for place, (first, second) in islice(split, 1):
            pairs[place : place + 1] = [(row, first), (other, second)]
    return pairs


# ---- annotations and clips, prepared -------------------------------------------------------------------------------


def prepare(
    preparation: Preparation,
    videos: Annotated[
        Path | None, typer.Option(help="Folder that holds one folder per source of videos.", show_default=False)
    ] = None,
    source: Annotated[str, typer.Option(help="Dataset on the hub, or a folder with a snapshot of it.")] = CARD.hub_id,
    split: Annotated[str, typer.Option(help="Split to prepare: mini or full.")] = "mini",
    raw: Annotated[
        list[str] | None,
        typer.Option(help="Unpacked downloads of sources: ssv2=DIR,intphys=DIR,…", show_default=False),
    ] = None,
    random_pairs: Annotated[
        int | None,
        typer.Option(help="Pair clips of one question at random, with this seed, in place of the released pairs."),
    ] = None,
) -> dict[str, SplitManifest]:
    """Prepare one split of MVP; videos are linked, or made of the sources' own downloads.

    A source that is given with `raw` is taken from there, others from `videos`; a set that `build` made has its own. Of
    a download only the wanted clips are taken; what is not MP4 there is converted, several at a time, and every clip is
    decoded to its end.

    Clips that are absent or unreadable are listed in the manifest, for few have all nine sources, and a run refuses
    them unless it is to skip them. Annotations that cannot be scored stop this, and nothing is written then; what is
    merely unusual in them is a warning. Downloads that are damaged stop it too; what can be seen without decoding is
    checked first.

    Examples:
        lmms-eval-tasks prepare mvp --split mini --videos videos
        lmms-eval-tasks prepare mvp --split full --raw ssv2=downloads/ssv2 --videos videos
        lmms-eval-tasks prepare mvp --videos videos --random-pairs 0
    """
    if split not in CARD.splits:
        raise InputError(f"Expected split to be one of {', '.join(CARD.splits)}, but got {split!r}.")
    root, revision = Path(source), None
    if videos is None and not raw:
        videos = root / VIDEOS
        if not videos.is_dir():
            raise InputError(
                "MVP cannot be prepared: Expected a folder of videos (--videos DIR), unpacked downloads of their "
                "sources (--raw ssv2=DIR,intphys=DIR,…), or both."
            )
    if videos is not None and not videos.is_dir():
        raise InputError(f"MVP cannot be prepared: there is no folder {videos} to take the videos from.")
    problems = Problems()
    folders = read_folders(raw or (), problems)
    problems.raise_if_any("MVP cannot be prepared", "nothing was written")
    rows: list[dict[str, Any]] = []
    read: dict[str, bytes] = {}
    if not root.is_dir():
        root, revision = download_dataset(source, CARD.title, ANNOTATIONS)
    subsets = released_subsets(root)
    for done, subset in enumerate(subsets, 1):
        released = load_subset(root, subset, split)
        # Columns that are not ours may have values that JSON does not know.
        read[f"{subset}/{split}"] = json.dumps(released, sort_keys=True, default=repr).encode()
        rows += read_items(subset, split, released, problems)
        preparation.progress(f"{split}: reading annotations", done, len(subsets))
    if random_pairs is not None and not problems:
        rows, left = pair_at_random(rows, random_pairs)
        for row in left:
            problems.warn(f"{split}/{row['subset']}: items for which no random partner is left", row["item_id"])
        if not rows:
            raise InputError(
                f"MVP, split {split}, cannot be paired at random: no question has two clips of one source with other "
                "answers that are no pair of the release."
            )
    paths = {row["clip"]: row["clip"].removeprefix(f"{split}/") for row in rows}
    downloaded = find_raw_clips(folders, paths.values(), problems, preparation.progress)
    problems.raise_if_any(f"MVP, split {split}, cannot be prepared", "nothing was written")
    files = {clip: downloaded[path].file for clip, path in paths.items() if path in downloaded}
    clips = {
        clip: downloaded[path].clip if path in downloaded else videos.absolute() / path if videos else None
        for clip, path in paths.items()
    }
    made = {clip for clip, kind in clips.items() if not isinstance(kind, Path | None)}
    origin = Origin(source, read, revision, problems.warnings(), own=random_pairs is not None)
    with building(CARD.name, preparation) as build:
        options = ClipOptions(bool(raw), made, files, videos)
        build.add_split(split, rows, COLUMNS, clips, origin, options)
    return {split: build.splits[split]}


def released_subsets(root: Path) -> tuple[str, ...]:
    """The configurations that a snapshot's card names: all of them, but for a set that `build` made of some."""
    import datasets

    try:
        named = set(datasets.get_dataset_config_names(str(root)))
    except Exception:  # loading them says what is wrong
        named = set()
    return tuple(subset for subset in SUBSETS if subset in named) or SUBSETS


def load_subset(root: Path, subset: str, split: str) -> list[dict[str, Any]]:
    import datasets

    quiet = not datasets.are_progress_bars_disabled()
    if quiet:
        datasets.disable_progress_bars()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            # The snapshot is read afresh each time: the library would otherwise keep a copy of it for ever.
            table = datasets.load_dataset(str(root), subset, split=split, cache_dir=scratch, keep_in_memory=True)
            return [dict(row) for row in table]
    except Exception as error:
        reason = str(error).strip() or type(error).__name__
        raise InputError(
            f"MVP, {subset}, split {split}, cannot be loaded from {root}: {reason.splitlines()[0]}\n"
            "Remedy: give --source a folder with a whole snapshot of the dataset."
        ) from error
    finally:
        if quiet:
            datasets.enable_progress_bars()


# ---- answers -------------------------------------------------------------------------------------------------------

INTPHYS = {"O1": "Object Permanence", "O2": "Shape Constancy", "O3": "Spatio-Temporal Continuity"}
"""The concepts of IntPhys, by how the names of its clips begin, such as ``_O1_01_2.mp4``."""
TWO_WORDS = ("Object-Permanence", "Location-Memory", "Directional-Inertia")
"""Concepts of GRASP whose name has two words; in other names each word is a concept, as in Gravity-Continuity."""
_WORD_END = re.compile(r"[ab]\b")


def official_choice(text: str) -> str | None:
    """Extract a candidate the way the official `extract_pred` does, so that scores compare with published tables.

    What it does, quirks included:

    - The text is lower-cased, and every "a" or "b" that *ends a word* is a match: the article "a", "camera", "grab".
      The official pattern may take in a preceding "answer:" or "assistant:", but requires none and looks for no word
      start, so those prefixes change nothing.
    - With two or more matches the *second* one is the answer, otherwise the only one.
    - An underscore, digit or letter after the letter hides it (``_B_`` has no match).
    - The official fallback for one-character responses is unreachable, because the pattern has matched them before.

    Args:
        text: The model's response; any string.

    Returns:
        A for the first candidate, B for the second, None where the official function returns False (scored as wrong
        there, but written to the leaderboard file as the first candidate).

    Source: facebookresearch/minimal_video_pairs@149e336, tasks/mvp/utils.py, `extract_pred`.
    """
    matches = [match.group() for match in islice(_WORD_END.finditer(text.lower()), 2)]
    return matches[-1].upper() if matches else None


def strata(row: Row) -> dict[str, str]:
    """Subset and source of a row, and the concept of physics that its clip's path names, as the paper writes it."""
    *folders, name = row["clip"].split("/")
    concept = ""
    if row["source"] in ("grasp", "inflevel"):
        # Below split and source; GRASP has a folder for its level, InfLevel further ones below the concept's.
        concept = next((_concept(folder) for folder in folders[2:] if not folder.startswith("level")), "")
    elif row["source"] == "intphys":
        concept = INTPHYS.get(name.lstrip("_").partition("_")[0], "")
    return {"subset": row["subset"], "source": row["source"], **({"concept": concept} if concept else {})}


def _concept(folder: str) -> str:
    """The concept that ``P_GravityContinuity`` (possible), ``IP_GravityContinuity2`` (not; another scene of it) or
    ``gravity`` stands for."""
    words = re.findall(r"[A-Z]?[a-z]+", re.sub(r"^I?P_", "", folder))
    concept = "-".join(map(str.capitalize, words))
    return concept.replace("-", " ") if concept in TWO_WORDS else concept


grade = choice_grader(official_choice, stratum=strata)

# ---- the official prompt, in lmms-eval -----------------------------------------------------------------------------

OURS = "mcq_letter"
logger = logging.getLogger(__name__)


def find_prompt(name: str) -> Prompt:
    """The official prompt by its name, or one of ours; InputError where there is no prompt of that name."""
    return official_prompt() if name == "official" else read_prompt(name)


@cache
def official_prompt(template: Path | None = None) -> Prompt:
    """The official prompt: question and options as the official task lays them out, then its template's instruction.

    Ours, with a warning, where lmms-eval's own `mvp` has no template any more, or another instruction than that whose
    SHA-256 is in the card.
    """
    host = find_spec("lmms_eval")
    assert host is not None and host.origin is not None
    try:
        closing = read_closing(template or Path(host.origin).parent / "tasks" / "mvp" / "_default_template_yaml")
        digest = hashlib.sha256(closing.encode()).hexdigest()
        if digest not in CARD.prompt_sha256.values():
            known = ", ".join(CARD.prompt_sha256.values())
            raise LookupError(f"expected the instruction with SHA-256 {known}, got {digest}")
    except (OSError, LookupError, TypeError, ValueError) as error:
        logger.warning("MVP's official prompt is not in this lmms-eval (%s); asking with %s instead.", error, OURS)
        return read_prompt(OURS)
    return Prompt("official", "Question: {question}\nOption:\n{options}" + Prompt.literal(closing))


# ---- references: published scores, and the tables of the paper ------------------------------------

FOLDER = Path(__file__).parent
CATEGORIES = ("macro_avg", *SUBSETS)


def references(task: str, items: int) -> tuple[ReferencedMetric, ...]:
    """Its scores beside the paper's Table 4, of a subset's task that subset's, and the leaderboard's figures."""
    split = "mini" if task.startswith("mvp_mini") else "full"
    category = next((name for name in SUBSETS if task.endswith(f"_{name}")), "macro_avg")
    table = partial(published_models, FOLDER, source="MVP paper Table 4", category=category)
    people = tuple(
        Human("pair_accuracy", split, human.value, human.source, CARD.human[0].caveat)
        for human in table(split="human subset")
    )
    models = table(metric="pair_accuracy", split=split, setting="video")
    models += published_models(FOLDER, source="leaderboard", metric="pair_accuracy", split=split, category=category)
    return (
        ReferencedMetric(PAIR_ACCURACY, CARD.chance["pair_accuracy"], people, models),
        ReferencedMetric(SINGLE_ACCURACY, CARD.chance["single_accuracy"]),
    )


def _place(group: str, category: str, heading: str, **where: object) -> LayoutPlace:
    task = group if category == "macro_avg" else f"{group}_{category}"
    return LayoutPlace(heading + category.replace("_", " "), task, PAIR_ACCURACY, {"category": category, **where})


STAGES = ("random pairs", "minimal pairs", "filtered")


def _stage(records: Sequence[Record], is_filtered: bool) -> str:
    return STAGES[0] if any(one.group_id.startswith(RANDOM) for one in records) else STAGES[1 + is_filtered]


LAYOUTS = (
    Layout(
        "Table 4: models by subset",
        ("MVP paper Table 4",),
        [
            *(_place("mvp", category, "full, ", split="full") for category in CATEGORIES),
            # The paper does not say of which split people's subset is.
            *(_place("mvp_mini", category, "mini, ", split=("mini", "human subset")) for category in CATEGORIES),
        ],
        views=("", "blind", "single_frame"),
        name=lambda entry: f"{entry['model']}{', single frame' if entry['setting'] == 'single-frame' else ''}",
        note=f"People: {CARD.human[0].caveat}.",
    ),
    Layout(
        "Table 5: what pairing and the single-frame filter change",
        ("MVP paper Table 5",),
        [_place("mvp_mini", category, "") for category in CATEGORIES],
        name=lambda entry: f"{entry['stage']}{', change' if 'change' in entry['metric'] else ''}",
        stages=STAGES,
        stage=_stage,
        note="The paper's rows are means of five models, and its last one is the released set. A change (points) is of "
        "the models that have runs of both stages.",
    ),
)

# ---- the leaderboard's files: one per subset, and the four joined --------------------------------------------------

DATA_NAME = CARD.leaderboards["physical-reasoning"]
SPLIT = {name: split for split, name in DATA_NAME.items()}
JOINT = "joint"


class SubmittedCandidate(RowForm):
    """One row of a file.

    Source: facebookresearch/minimal_video_pairs@149e336, tasks/mvp/utils.py, `mvp_pair_accuracy` (fields, names of
    files) and README (the four are joined for the leaderboard). The official writer submits candidate A for unparsed
    answers; this one an empty text.
    """

    data_name: Literal["mvp_mini", "mvp"]
    row_id: str
    model_answer: str
    task: str


def file_path(split: str, part: str) -> str:
    """Return the path of a file below a run's output path; a subset's has its official name."""
    name = DATA_NAME[split]
    return f"{name}_submission.jsonl" if part == JOINT else f"submissions/{name}_{part}_valid.jsonl"


def _compare(row: SubmittedCandidate, item: Row | None, split: str) -> Iterator[tuple[str, str, str]]:
    if item is not None:
        return
    if SPLIT[row.data_name] != split:
        expected = f"Expected one split, {DATA_NAME[split]} as in the first row, but got"
        yield "data_name", expected, describe(row.data_name)
    if row.task not in SUBSETS:
        yield "task", f"Expected one of {', '.join(SUBSETS)}, but got", describe(row.task)
    if not _stem(row.row_id):
        yield "row_id", "Expected <pair>_<member>, but got", describe(row.row_id)


FORM = ChoiceForm(
    card=CARD,
    row_type=SubmittedCandidate,
    values=lambda row, split: {"data_name": DATA_NAME[split], "row_id": row["item_id"], "task": row["subset"]},
    answers=lambda row: row["options"] if row else None,
    answer="the text of a candidate",
    compare=_compare,
    split_of=lambda row: SPLIT[row.data_name],
    path=file_path,
    parts=(JOINT, *SUBSETS),
)

# ---- all of it -----------------------------------------------------------------------------------------------------

BENCHMARK = Benchmark(
    card=CARD,
    folder=FOLDER,
    kinds={
        "pairs": TaskKind(
            metrics=(
                PAIR_ACCURACY,
                SINGLE_ACCURACY,
                *PAIR_ACCURACY.by("source", SOURCES),
                *OFFICIAL_ACCURACIES,
                PAIRS_SCORED,
                *COMMON_METRICS,
            ),
            grade=grade,
            references=references,
            members="clips",
            log_form=ChoiceLine,
            # Appendix C.3: the filter's models are asked for their best guess by common sense.
            guess_prompt="mvp_best_guess",
        )
    },
    layouts=LAYOUTS,
    prepare=prepare,
    schema=lambda: COLUMNS,
    submission=FORM,
    find_prompt=find_prompt,
    clip_names_are_ids=True,
    # lmms-eval's own write no submission file.
    replaces=frozenset({"mvp_mini", *(f"mvp_mini_{subset}" for subset in SUBSETS)}),
    sample=SAMPLE,
)
