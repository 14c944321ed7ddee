"""What holds of every build: from the sample's own sources models that know the truth make a set that is prepared."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import printed
from expected import Expected
from played import BuildSample
from releases import contents
from typer.testing import CliRunner
from written import requested, written

from lmms_eval_tasks.cli.app import app
from lmms_eval_tasks.construct.cli.build import BUILDERS
from lmms_eval_tasks.registry import read_card
from lmms_eval_tasks.utils.data.home import read_manifest


@pytest.mark.slow  # the sample is filmed first
@pytest.mark.usefixtures("hundred_columns")
@pytest.mark.parametrize("benchmark", BUILDERS.found)
def test_a_set_is_built_as_its_tables_say_and_prepared_and_built_again_nothing_is_asked(
    benchmark: str, built: BuildSample, home: Path, tmp_path: Path, expected: Expected
) -> None:
    one = built(benchmark)
    tables = ["\n".join(map(" | ".join, table.rows)) for table in one.made.tables]
    said = "\n".join([one.made.summary, *one.made.warnings]).replace(str(one.out), "OUT")
    expected("\n\n".join([*tables, said]))
    out, before = tmp_path / "out", contents(one.out)
    shutil.copytree(one.out, out)
    expected(printed("build", benchmark, "--config", one.sources / "build.yaml", "--out", out))
    after = contents(out)
    # The command says of the set that it was built, and what became of its rows.
    assert sorted(after.keys() - before) == ["release/BUILT.json", "release/attrition.json"]
    assert {name: after[name] for name in before} == before
    prepared = CliRunner().invoke(app, ["prepare", benchmark, "--source", str(one.made.folder)])
    assert prepared.exit_code == 0, prepared.output
    (split,) = read_manifest(read_card(benchmark)).splits.values()
    assert split.rows > 0


@pytest.mark.slow  # the sample is filmed first
@pytest.mark.usefixtures("hundred_columns")
@pytest.mark.parametrize("benchmark", BUILDERS.found)
def test_what_a_build_expects_to_ask_is_what_it_expected(
    benchmark: str, sources: Path, tmp_path: Path, expected: Expected
) -> None:
    config = sources / benchmark / "build" / "build.yaml"
    expected(printed("build", benchmark, "--config", config, "--out", tmp_path / "out", "--dry-run"))
    assert not (tmp_path / "out").exists()


@pytest.mark.slow  # the sample is filmed first
@pytest.mark.parametrize("benchmark", BUILDERS.found)
def test_what_a_build_writes_and_shows_to_models_is_what_it_was(
    benchmark: str, built: BuildSample, expected: Expected
) -> None:
    one = built(benchmark)
    expected(f"{written(one.out)}\n\n{requested(one.played.asked)}")
