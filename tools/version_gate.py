"""Keep digests of what the versions of this package's tasks stand for.

`make versions` runs it; docs/versions.md says when.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing.examples import read_examples
from lmms_eval_tasks.testing.version_gate import Entries, measure, renew
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import summarize_names

TESTS = Path(__file__).resolve().parents[1] / "tests"
EXAMPLES, DIGESTS = TESTS / "version_examples", TESTS / "version_digests.json"
COMMAND = "make versions"


def measure_all() -> tuple[Entries, dict[str, str]]:
    """Entries of every benchmark of the package that is imported, and example keys to what messages call them."""
    entries: Entries = {}
    labels: dict[str, str] = {}
    for benchmark in registry().benchmarks:
        rows, examples = read_examples(EXAMPLES / f"{benchmark}.json")
        entries |= measure(benchmark, rows, examples, every_row=True)
        labels |= {example.key: example.label for example in examples}
    return dict(sorted(entries.items())), labels


def main(arguments: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description="Keep digests of what the versions of tasks stand for.")
    parser.add_argument("--digests", type=Path, default=DIGESTS, help="the file that keeps them")
    path = parser.parse_args(arguments).digests
    try:
        names = renew(path, *measure_all(), COMMAND)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write(f"{path}: {summarize_names(names) if names else 'unchanged'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
