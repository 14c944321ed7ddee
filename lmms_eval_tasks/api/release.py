r"""Reading raw releases: files of any origin, each problem noted with its place and all reported at once.

Examples:
    A release comes as a folder or as a zip archive, which `open_release` reads alike, wherever in it the release's root
    is. This one has questions in JSON, as Python reads it, in which NaN is no error:

    >>> from pathlib import Path
    >>> from lmms_eval_tasks.api.release import (
    ...     CsvTable, DamagedSource, Problems, PublishedStatistics, UnreadableClip, WholeText, as_lines, clip_path,
    ...     describe, download_dataset, is_safe, load_table, open_release, quote, read_csv, read_metadata, read_object,
    ...     read_released_json, summarize_names, write_file,
    ... )
    >>> source = Path("download")
    >>> content = (
    ...     '[{"id": 1, "clip": "a.mp4", "answer": "B", "weight": NaN},'
    ...     ' {"id": 2, "clip": "../b.mp4", "answer": "E\\u0007 ", "weight": 0.5}]'
    ... )
    >>> write_file(source / "Doors" / "items.json", content)
    >>> write_file(source / "Doors" / "clips" / "a.mp4", b"no video")
    >>> with open_release(source, "Doors", markers=["items.json"], roots=["", "Doors"]) as release:
    ...     items = read_released_json(release.read("items.json"))
    ...     clips = {"debug/a.mp4": release.clip("clips/a.mp4"), "debug/b.mp4": release.clip("clips/b.mp4")}

    What is wrong is collected, with its place, so that one message has all of it. A name that leads out of the folder
    is never joined to a path. Values are quoted so that a terminal shows them and does not obey them: `quote` leaves
    out the white space around a text, `describe` keeps it:

    >>> problems = Problems()
    >>> for item in items:
    ...     where = f"items.json, item {item['id']}"
    ...     if not is_safe(item["clip"]):
    ...         problems.add(where, f"Expected a file in clips, but got {quote(item['clip'])}.", "rename it.")
    ...     if item["answer"] not in ("A", "B"):
    ...         problems.add(where, f"Expected answer to be A or B, but got {describe(item['answer'])}.")
    >>> problems.raise_if_any("download cannot be prepared", "nothing was written")
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: download cannot be prepared: 2 problems, nothing was written.
      items.json, item 2: Expected a file in clips, but got `../b.mp4`. Remedy: rename it.
      items.json, item 2: Expected answer to be A or B, but got `E\x07 `.

    What is merely unusual is a warning for the manifest, and stops nothing:

    >>> problems = Problems()
    >>> for item in items:
    ...     problems.warn("items.json: items without a difficulty", str(item["id"]))
    >>> problems.warnings()
    ('items.json: items without a difficulty: 2 (1, 2).',)
    >>> summarize_names((f"clip {number}" for number in range(100)), limit=2)
    'clip 0, clip 1, … and 98 more'

    Users' own files are read more strictly. Rows of CSV come with their places; a cell that a row lacks is empty:

    >>> file = Path("captions.csv")
    >>> write_file(file, "clip,caption\na.mp4,A door opens.\nb.mp4\n")
    >>> list(read_csv(file, ["caption", "clip"]))
    [('captions.csv, line 2', {'clip': 'a.mp4', 'caption': 'A door opens.'}),
     ('captions.csv, line 3', {'clip': 'b.mp4', 'caption': ''})]
    >>> list(read_csv(file, ["clip", "subset"]))
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: captions.csv cannot be used: Expected the columns clip, subset, but got clip, caption:
    subset is missing.

    `CsvTable` is below it, for content that is no file, such as a member of an archive, and rules of one's own:

    >>> table = CsvTable(b"clip, caption ,clip\na.mp4,A door opens.,\n")
    >>> table.columns, table.repeated, list(table)
    (['clip', 'caption', 'clip'], 'clip', [(2, ['a.mp4', 'A door opens.', ''])])

    A file that is one JSON object has a form, in which `WholeText` is a text that a table can hold. Bounds and types
    are checked, and each issue is noted:

    >>> from pydantic import Field
    >>> from lmms_eval_tasks.api import GroupedIssues, RowForm
    >>> class Settings(RowForm):
    ...     name: WholeText
    ...     seconds: float = Field(ge=0)
    >>> write_file(Path("settings.json"), '{"name": "\\ud800", "seconds": -1}')
    >>> issues = GroupedIssues()
    >>> read_object(Path("settings.json"), Settings, issues)
    >>> issues.raise_if_any("settings.json cannot be used")
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: settings.json cannot be used: 2 problems.
      name: Expected a text of whole Unicode characters, but got `\ud800`.
      seconds: Expected at least 0, but got `-1`.

    A model may write such a text all the same, and `as_lines` can keep it:

    >>> print(as_lines([{"id": 1, "said": "A\ud800"}, {"id": 2, "said": "Tür"}]), end="")
    {"id": 1, "said": "A\ud800"}
    {"id": 2, "said": "Tür"}

    Metadata is read whole, but no more than 16 MiB of it, whatever an archive declares:

    >>> len(read_metadata(file))
    39
    >>> with Path("huge.json").open("wb") as huge:
    ...     _ = huge.truncate(1 << 25)
    >>> read_metadata(Path("huge.json"))
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: huge.json cannot be used: Expected at most 16,777,216 bytes, but got 33,554,432. ...

    A dataset on the hub is a folder, too, once it is in the hub's cache. The revision goes to the manifest:

    >>> def fetch(source: str) -> tuple[Path, str]:
    ...     return download_dataset(source, "Doors", ["items.json", "clips/*.mp4"], instead="the unpacked folder")
    >>> fetch("doors/is/no/dataset")
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: Doors cannot be loaded from doors/is/no/dataset: Repo id must be in the form ...
    Remedy: check the name and the connection (`hf auth login` where access is gated), or give --source the unpacked
    folder.

    The tables are made by `building`. The benchmark's card says what the paper says of a split, in seconds and words,
    so that the prepared data can be compared with it:

    >>> from lmms_eval_tasks.api import Origin, SplitFacts, building, no_progress
    >>> facts = SplitFacts(items=2, groups=1, clips=2, statistics=PublishedStatistics(mean_seconds=8.8))
    >>> facts.statistics.mean_seconds, facts.statistics.option_words
    (8.8, None)

    A clip that is no file of its own is an object that makes it, whose ``size`` is in bytes. Where its source is there
    and damaged, the whole of `prepare` stops and says so (`DamagedSource`). Where the clip is only not to be had whole,
    it counts as missing (`UnreadableClip`):

    >>> class Slides:
    ...     size = 1_000_000
    ...     def __init__(self, error):
    ...         self.error = error
    ...     def is_made(self, path):
    ...         return False
    ...     def make(self, path):
    ...         raise self.error
    >>> def prepare(clips):
    ...     rows = [
    ...         {"item_id": clip, "group_id": "1", "question": "Who opens it?", "options": ["He.", "She."],
    ...          "answer": "A", "clip": clip, "version": 1, "type": "planning", "difficulty": "easy"}
    ...         for clip in clips
    ...     ]
    ...     own = {"version": "int64", "type": "string", "difficulty": "string"}
    ...     with building("causalvqa") as build:
    ...         build.add_split("debug", rows, own, clips, Origin("download"), no_progress)
    >>> import os
    >>> os.environ["LMMS_EVAL_TASKS_HOME"] = "home"
    >>> damage = DamagedSource("slides/07.png", "Expected a picture, but got no bytes.", "get it again.")
    >>> prepare({"debug/a.mp4": Slides(damage)})
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: CausalVQA, split debug, cannot be prepared: 1 problem, ...
      slides/07.png: Expected a picture, but got no bytes. Remedy: get it again.
    >>> prepare({**clips, "debug/c.mp4": Slides(UnreadableClip("Expected 8 pictures, but got 7."))})

    A run then reads the table. Of its clips one is no video, one is not there, and one was not to be had whole: a run
    that shows clips is refused, and a report may do without:

    >>> load_table("causalvqa", "debug")
    Traceback (most recent call last):
        ...
    lmms_eval_tasks...InputError: CausalVQA, split debug: 3 of 3 clips are missing (debug 3).
      debug/a.mp4, debug/b.mp4, debug/c.mp4
    Either get the clips and run:  lmms-eval-tasks prepare causalvqa --source CausalVQA.zip
    or score without them, every score then saying how many items were asked:  LMMS_EVAL_TASKS_MISSING=skip lmms-eval …
    >>> table = load_table("causalvqa", "debug", require_clips=False)
    >>> table[0]["options"], table["clip_present"][:]
    (['He.', 'She.'], [False, False, False])
    >>> clip_path("causalvqa", table[0]["clip"]).relative_to(Path.cwd()).as_posix()
    'home/causalvqa/videos/debug/a.mp4'
    >>> del os.environ["LMMS_EVAL_TASKS_HOME"]
"""

from __future__ import annotations

from lmms_eval_tasks.registry import load_table
from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import CsvTable, WholeText, as_lines, read_csv, read_object, read_released_json
from lmms_eval_tasks.utils.core.text import describe, quote, summarize_names
from lmms_eval_tasks.utils.data.card import PublishedStatistics
from lmms_eval_tasks.utils.data.home import clip_path
from lmms_eval_tasks.utils.data.release import (
    DamagedSource,
    UnreadableClip,
    download_dataset,
    is_safe,
    open_release,
    read_metadata,
)

__all__ = [
    "CsvTable",
    "DamagedSource",
    "Problems",
    "PublishedStatistics",
    "UnreadableClip",
    "WholeText",
    "as_lines",
    "clip_path",
    "describe",
    "download_dataset",
    "is_safe",
    "load_table",
    "open_release",
    "quote",
    "read_csv",
    "read_metadata",
    "read_object",
    "read_released_json",
    "summarize_names",
    "write_file",
]
