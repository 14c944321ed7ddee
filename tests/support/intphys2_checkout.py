"""A checkout of IntPhys 2's official repository whose script holds texts of our own."""

from __future__ import annotations

from pathlib import Path

TEXTS = (
    "Watch this and think freely about whether what you see is plausible {here}. Then finish with the word Yes or No.",
    "Watch this and say whether what you see is plausible, and write nothing at all but the number 1 or 0.",
    "Watch this and say whether what you see is plausible, and write nothing at all but the word yes or no.",
)


def write_checkout(folder: Path) -> Path:
    """Write the script into a folder, which is given back."""
    text = '"""A script that is long and says that things are possible, yet this is no prompt."""\n'
    text += f'PROMPTS = {list(TEXTS)}\nSHORT = "plausible"\n'
    (folder / "IntPhys2_transformers.py").write_text(text, encoding="utf-8")
    return folder
