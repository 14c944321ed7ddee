"""What the HTML templates of pages share."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from jinja2 import Environment

ASSETS = Path(__file__).parent / "assets"


def template_environment(folder: Path) -> Environment:
    """Jinja's environment for the HTML templates of a folder and those that all pages share."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader([folder, ASSETS]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def run_badge(tag: str) -> Markup:
    """A run's number in the run's hue; nothing without one."""
    return Markup('<span class="run-badge" data-run="{0}">{0}</span>').format(tag) if tag else Markup("")


def script_digest(script: str) -> str:
    """The digest by which a page's content security policy names its script, so that no other one runs."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
