"""Files of a page: its clips, inside it or linked, and the HTML templates that all pages share."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import Markup

import lmms_eval_tasks
from lmms_eval_tasks.utils.core.output import cell_text
from lmms_eval_tasks.utils.core.text import escape_surrogates
from lmms_eval_tasks.utils.data.home import benchmark_dir, clip_path
from lmms_eval_tasks.utils.reporting.palette import ink_styles

EMBEDDED_AT_MOST = 30_000_000
"""Bytes of clips that a page holds by default; base64 makes a third more of them."""


class Clips(str, Enum):
    auto = "auto"
    """Inside the page where all of them are `EMBEDDED_AT_MOST` bytes or less, else links."""
    embed = "embed"
    link = "link"


@dataclass
class ClipShelf:
    """The clips of a page, each named once, in the order in which they were asked for."""

    places: dict[tuple[str, str], int] = field(default_factory=dict)

    def place(self, benchmark: str, clip: str) -> int:
        return self.places.setdefault((benchmark, clip), len(self.places))

    @cached_property
    def sizes(self) -> list[int | None]:
        """The bytes of each clip, once all are placed; None where it is missing."""
        paths = [clip_path(benchmark, clip) for benchmark, clip in self.places]
        return [path.stat().st_size if path.is_file() else None for path in paths]

    def embeds(self, clips: Clips) -> bool:
        return clips is Clips.embed or (clips is Clips.auto and sum(filter(None, self.sizes)) <= EMBEDDED_AT_MOST)

    def listing(self, embed: bool) -> dict[str, Any]:
        """The data by which the page's script finds each clip: folders of benchmarks, and a line per clip."""
        names = sorted({benchmark for benchmark, _ in self.places})
        return {
            "folders": [(benchmark_dir(name) / "videos").as_uri() if not embed else "" for name in names],
            "clips": [
                [names.index(benchmark), clip, "m" if size is None else "e" if embed else "l"]
                for (benchmark, clip), size in zip(self.places, self.sizes, strict=True)
            ],
        }

    def encoded(self) -> Iterator[tuple[int, str]]:
        for (benchmark, clip), place in self.places.items():
            if self.sizes[place] is not None:
                yield place, base64.b64encode(clip_path(benchmark, clip).read_bytes()).decode("ascii")


ASSETS = Path(__file__).parent / "assets"


def render_page(
    template: Path,
    styles: Iterable[Path],
    scripts: Iterable[Path],
    filters: Mapping[str, Callable[..., Any]] | None = None,
    /,
    **values: Any,
) -> str:
    """The HTML of a page, from a template that may take macros of those that all pages share."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([template.parent, ASSETS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cell_text": cell_text, **(filters or {})}
    style, script = (
        "\n".join(path.read_text(encoding="utf-8").strip() for path in paths) for paths in (styles, scripts)
    )
    page = environment.get_template(template.name).render(
        version=lmms_eval_tasks.__version__,
        style=Markup(f"{ink_styles()}\n{style}"),
        script=Markup(script),
        # By it the page's content security policy names its script, so that no other one runs.
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        badge=_badge,
        **values,
    )
    return escape_surrogates(page)


def _badge(tag: str) -> Markup:
    return Markup('<span class="run-badge" data-run="{0}">{0}</span>').format(tag) if tag else Markup("")
