"""What a page says before its first question and after its last one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from lmms_eval_tasks.build.engine.config import read_config
from lmms_eval_tasks.utils.people.inquiries import Inquiry, InquiryForm

TASKS: Mapping[InquiryForm, str] = {
    "choice": "Watch the clip, then answer the question about it. If you are not sure, give the answer that you think "
    "most likely.",
    "ratings": "Look at what is shown, then choose on every scale. There is no right or wrong: we want your opinion.",
    "review": "Watch the clip and answer the question. Then you see the answer that is taken for right, and say what "
    "is wrong with the question, if anything is.",
    "descriptions": "The text beside the clip says what happens in it, and when. Correct what is wrong, then tick that "
    "all of it is right.",
    "revision": "Read the question, its options and its evidence beside the clip. Correct what is wrong, or discard "
    "the question, then tick that you are done.",
}
KEPT = (
    "You can go back and change an answer, and you can close the page and go on later in the same browser. Your "
    "answers are on this computer alone until you hand in the file."
)
CLOSING = "Thank you. Download your answers, and send the file to whoever gave you this page."


class PageTexts(BaseModel):
    """The texts of a page that a study may word itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    instructions: str = ""
    consent: str = ""
    closing: str = ""

    @property
    def consent_digest(self) -> str:
        """Digest that identifies the consent text in answer files: 16 hexadecimal digits, or empty if there is no
        text."""
        return hashlib.sha256(self.consent.encode()).hexdigest()[:16] if self.consent else ""

    def instructions_for(self, inquiry: Inquiry) -> str:
        """The instructions, in paragraphs."""
        if self.instructions:
            return self.instructions
        task = TASKS[inquiry.form]
        if inquiry.last_frame:
            task = task.replace("Watch the clip, then", "Look at the picture, which is the last of a clip, then")
        return f"{task}\n\n{KEPT}"


def read_texts(path: Path) -> PageTexts:
    """The texts of a YAML file."""
    return read_config(path, PageTexts)[0]
