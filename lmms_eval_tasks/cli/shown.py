"""How `check` shows what a model would be shown."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_eval_tasks.utils.core.console import text_table
from lmms_eval_tasks.utils.data.contact_sheet import SheetClip, write_contact_sheet

if TYPE_CHECKING:
    from rich.console import Console

    from lmms_eval_tasks.shown import ShownClip, ShownItem, ShownTask

RELEASED_WITH = "transformers 4.57"


def print_shown(console: Console, model: str, shown: ShownTask) -> None:
    """Show what a model is shown of a task: clips in a table, then frames, positions and the prompt of each item."""
    console.print(f"\n{model} on {shown.task}: {_describe_batch(shown)}", style="bold")
    if shown.stands_in:
        console.print(
            f"warning: the configuration of {shown.stands_in} is not at hand, and that of a tiny random model of the "
            "same family stands in. Frames, sizes and tokens a frame are the same; the tokens and the template of the "
            "text are not.",
            style="yellow",
            soft_wrap=True,
        )
    if any(item.clips for item in shown.items):
        table = text_table(None, "clip", "frames", "asked for", "shown", "size", "tokens", "a frame", "a second")
        for clip in (clip for item in shown.items for clip in item.clips):
            table.add_row(clip.name, *_describe_clip(clip))
        console.print(table)
    for item in shown.items:
        _print_item(console, item)


def write_sheet(path: Path, shown: ShownTask) -> bool:
    """Write the contact sheet of what is shown of a task; False, and no file, where that is no clip."""
    clips = [SheetClip(_title(item, clip), clip.pictures, list(_labels(clip))) for item, clip in _pairs(shown)]
    if clips:
        write_contact_sheet(path, clips)
    return bool(clips)


def _pairs(shown: ShownTask) -> Iterator[tuple[ShownItem, ShownClip]]:
    return ((item, clip) for item in shown.items for clip in item.clips)


def _title(item: ShownItem, clip: ShownClip) -> str:
    return f"{item.item_id}: {clip.name}, {len(clip.indices)} of {clip.count} frames"


def _labels(clip: ShownClip) -> Iterator[str]:
    return (f"{index}: {time:.2f} s" for index, time in zip(clip.indices, clip.times, strict=True))


def _describe_batch(shown: ShownTask) -> str:
    if len(shown.items) == 1:
        return f"the item {shown.items[0].item_id}"
    return f"{len(shown.items)} items, {'in one batch' if shown.together > 1 else 'each alone'}"


def _describe_clip(clip: ShownClip) -> tuple[str, ...]:
    width, height = clip.size
    return (
        str(clip.count),
        clip.asked,
        str(len(clip.indices)),
        f"{width}x{height}",
        str(clip.tokens),
        f"{clip.tokens / len(clip.indices):g}",
        "-" if clip.stated is None else f"{clip.stated:.2f}",
    )


def _print_item(console: Console, item: ShownItem) -> None:
    console.print(f"\n{item.item_id}: {item.tokens} tokens", style="bold")
    for clip in item.clips:
        console.print(f"Frames of {clip.name}, decoded by {clip.library}: {', '.join(map(str, clip.indices))}")
        console.print(f"At seconds: {', '.join(f'{time:.2f}' for time in clip.times)}")
        for fault in clip.faults:
            console.print(f"warning: {clip.name}: {fault}.", style="yellow", soft_wrap=True)
    if item.first_text is not None:
        here = f"transformers {metadata.version('transformers')}"
        console.print(f"Position of the first text token after what is shown: {item.first_text} by {here}.")
        if item.reference is not None:
            same = "the same" if item.reference == item.first_text else str(item.reference)
            console.print(f"By {RELEASED_WITH}, which the weights were released with: {same}.")
        else:
            console.print("No version of transformers is known that gives these weights another position.")
    console.print("Prompt:")
    console.print(item.prompt, soft_wrap=True, style="dim")
