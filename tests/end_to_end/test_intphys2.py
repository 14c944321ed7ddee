"""IntPhys 2 on the sample, through the real command: its three official prompts."""

from __future__ import annotations

from pathlib import Path

import pytest
from host_run import SampleWorld, own_command, run_host
from intphys2_checkout import TEXTS, write_checkout

from lmms_eval_tasks.utils.scoring.record import Record

pytestmark = pytest.mark.host


def test_the_three_official_prompts(sample_world: SampleWorld, tmp_path: Path) -> None:
    """Without them a run ends before the model is loaded; with them three tasks run, and a report names the best."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "intphys2").symlink_to(sample_world.home / "intphys2")
    tasks = [f"intphys2_main_official_{number}" for number in range(3)]
    absent = run_host(
        "--model", "a-model-that-is-not-there", "--tasks", "intphys2_main_official",
        home=home, out=tmp_path / "absent",
    )  # fmt: skip
    assert absent.status != 0 and "Traceback" not in absent.output, absent.output
    assert absent.output.count("prompts import intphys2 --from CHECKOUT --accept-other") == 1, absent.output
    imported = own_command(home, "prompts", "import", "intphys2", "--from", write_checkout(tmp_path), "--accept-other")
    assert imported.returncode == 0, imported.stderr
    runs = [
        run_host(
            "--model", "random_answer", "--model_args", f"seed={seed}", "--tasks", "intphys2_main_official",
            home=home, out=tmp_path / f"seed{seed}", ranks=ranks,
        )
        for seed, ranks in ((0, 1), (1, 2))
    ]  # fmt: skip
    for task, text in zip(tasks, TEXTS, strict=True):
        samples = runs[0].samples(task)
        assert {sample["input"] for sample in samples} == {text}
        said = {"1", "0"} if "1 or 0" in text else {"Yes", "No"}
        assert {sample["filtered_resps"] for sample in samples} == said
        assert runs[0].score(task, "unparsed_rate") == 0
        records = [Record.from_json(sample["record"]) for sample in samples]
        assert {(one.answered, one.fields["official_answered"]) for one in records} == {("A", "A"), ("B", "B")}
    best = max(run.score(task, "single_accuracy_official") for run in runs for task in tasks)
    shown = own_command(home, "report", *(run.out for run in runs))
    assert f"random_answer 6 {best:.1f} [" in " ".join(shown.stdout.split()), shown.stderr
    assert "scores equal" in own_command(home, "rescore", runs[0].out).stdout
