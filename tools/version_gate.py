"""Keep digests of what the versions of this package's tasks stand for, or those of another package.

`make versions` runs it; docs/versions.md says when. Another package's are beside its YAML files, in its sources:
`python tools/version_gate.py worlds/lmms_eval_worlds`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import lmms_eval_tasks
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.testing import thorough
from lmms_eval_tasks.testing.examples import make_examples, read_examples, read_file
from lmms_eval_tasks.testing.version_gate import Entries, describe_new, measure, read_kept, renew
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.text import summarize_names

TESTS = Path(__file__).resolve().parents[1] / "tests"
EXAMPLES, DIGESTS = TESTS / "version_examples", TESTS / "version_digests.json"
COMMAND = "make versions"


def own_benchmarks() -> list[str]:
    """Names of the benchmarks of this package; one that another package announces keeps its digests itself."""
    folder = Path(lmms_eval_tasks.__file__).parent
    return [name for name, one in registry().benchmarks.items() if one.folder.is_relative_to(folder)]


def examples_of(benchmark: str) -> Path:
    """The file of a benchmark's examples; another package's is beside its YAML files."""
    own = EXAMPLES / f"{benchmark}.json"
    return own if own.is_file() else registry().benchmarks[benchmark].folder / thorough.EXAMPLES


def measure_all() -> tuple[Entries, dict[str, str]]:
    """Entries of every benchmark of the package that is imported, and example keys to what messages call them."""
    entries: Entries = {}
    labels: dict[str, str] = {}
    for benchmark in own_benchmarks():
        rows, examples = read_examples(examples_of(benchmark))
        entries |= measure(benchmark, rows, examples, every_row=True)
        labels |= {example.key: example.label for example in examples}
    return dict(sorted(entries.items())), labels


def measure_sources(sources: Path) -> tuple[Entries, dict[str, str]]:
    """The same of another package's benchmark, as `lmms-eval-tasks check NAME --thorough` measures it."""
    (name,) = (name for name, one in registry().benchmarks.items() if one.folder.name == sources.name)
    content = read_file(sources / thorough.EXAMPLES)
    rows, examples = make_examples(content, sources, registry().tasks_of(name).values())
    return measure(name, rows, examples), {example.key: example.label for example in examples}


def main(arguments: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(description="Keep digests of what the versions of tasks stand for.")
    parser.add_argument("--digests", type=Path, default=DIGESTS, help="the file that keeps them")
    parser.add_argument("sources", type=Path, nargs="?", help="folder of another package's benchmark")
    given = parser.parse_args(arguments)
    path = given.sources / thorough.DIGESTS if given.sources else given.digests
    try:
        measured, labels = measure_sources(given.sources) if given.sources else measure_all()
        new = describe_new(measured, read_kept(path, COMMAND))
        names = renew(path, measured, labels, COMMAND)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.write("".join(f"{line}\n" for line in (f"{path}: {summarize_names(names) or 'unchanged'}", *new)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
