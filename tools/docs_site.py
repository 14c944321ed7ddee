"""Build the documentation site, of the pages that the repository has.

`make docs` runs it. Pages stay where people find them in the repository, and none is written twice: they are copied
into a folder in which the site's generator finds them, with their links changed accordingly. The references of the
commands and of the API, and the published tables, are made on the way.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from api_page import load_door, modules_of, page_of, reference
from commands_page import commands_page
from published_tables import published_tables

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
CONFIG = DOCS / "zensical.toml"
PAGES = {
    "index.md": ROOT / "README.md",
    "contributing.md": ROOT / "CONTRIBUTING.md",
    "changelog.md": ROOT / "CHANGELOG.md",
    "security.md": ROOT / "SECURITY.md",
    "measurements.md": ROOT / "benchmarks/README.md",
    **{path.relative_to(DOCS).as_posix(): path for path in sorted(DOCS.rglob("*.md"))},
    **{f"benchmarks/{path.parent.name}.md": path for path in sorted(ROOT.glob("lmms_eval_tasks/*/README.md"))},
    "benchmarks/worlds.md": ROOT / "worlds/README.md",
}
"""Place of a page in the site to the page."""
PLACES = {path: place for place, path in PAGES.items()}
FILES = re.compile(r"^## Files\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
"""The section of a benchmark's page that leads through its modules."""
FENCE = re.compile(r"^(```.*?^```)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")


def write_pages(folder: Path) -> None:
    """Write the pages, what they show and the configuration, as the generator takes them.

    Args:
        folder: A new one.
    """
    pages = folder / "docs"
    references = {page_of(module): reference(module) for module in modules_of(load_door())}
    for place, path in PAGES.items():
        text = relink(path.read_text(encoding="utf-8"), path)
        if place.startswith("benchmarks/"):
            (published,) = (*path.parent.glob("published.json"), *path.parent.glob("*/published.json"))
            tables = published_tables(published.parent)
            text = FILES.sub("", text).replace("\n## Changelog\n", f"{tables}\n## Changelog\n")
        text += f"\n{references[place]}" if place in references else ""
        (pages / place).parent.mkdir(parents=True, exist_ok=True)
        (pages / place).write_text(text, encoding="utf-8")
    (pages / "commands.md").write_text(commands_page(), encoding="utf-8")
    for path in sorted(DOCS.rglob("*")):
        if path.is_file() and path not in PLACES and path != CONFIG:
            target = pages / path.relative_to(DOCS)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    shutil.copyfile(CONFIG, folder / CONFIG.name)


def relink(text: str, page: Path) -> str:
    """A page's text with links that hold in the site; its code stays as it is.

    Of links to files that are no pages, such as modules, only the text stays: the site is not the repository.

    Args:
        text: Markdown.
        page: Where its links begin from.
    """

    def changed(found: re.Match[str]) -> str:
        target, _, anchor = found["target"].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return found[0]
        path = Path(os.path.normpath(page.parent / target))
        place = PLACES.get(path)
        if place is None and path.is_relative_to(DOCS):
            place = path.relative_to(DOCS).as_posix()
        if place is None:
            return found["text"]
        link = os.path.relpath(place, Path(PLACES[page]).parent)
        return f"{found['picture']}[{found['text']}]({link}{f'#{anchor}' if anchor else ''})"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(changed, part) for part in parts)


def build_site(folder: Path) -> Path:
    """Write the site into a folder, and return the folder of its HTML.

    Raises:
        subprocess.CalledProcessError: the generator warns of anything, such as a link that leads nowhere.
    """
    shutil.rmtree(folder, ignore_errors=True)
    write_pages(folder)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", CONFIG.name]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "html"


def main() -> None:
    """Build the site into `site`, or the folder that is named."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    sys.stdout.write(f"{build_site(folder) / 'index.html'} is written.\n")


if __name__ == "__main__":
    main()
