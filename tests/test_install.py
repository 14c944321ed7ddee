"""How tools/install.py installs: by uv with what pip is configured with, or by pip where there is no uv."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import install
import pytest

LISTED = """:env:.cert='/certs/own.pem'
global.extra-index-url='https://second.example/simple file:///wheels/simple'
global.find-links='/wheels /more'
global.index-url='https://first.example/simple'
freeze.timeout='3'
"""


def calls(monkeypatch: pytest.MonkeyPatch, uv_works: bool) -> list[tuple[list[str], Mapping[str, str]]]:
    """What `main` runs from here on, each with its environment; nothing is run."""
    ran: list[tuple[list[str], Mapping[str, str]]] = []

    def run(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        words = command[2:]
        ran.append((words, options.get("env") or {}))
        failed = words[0] == "uv" and not uv_works
        return subprocess.CompletedProcess(command, int(failed), stdout=LISTED if "list" in words else "")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(sys, "argv", ["install.py", "--constraint", "constraints.txt", ".[dev]"])
    return ran


def test_uv_is_given_what_pip_is_configured_with(monkeypatch: pytest.MonkeyPatch) -> None:
    assert install.uv_variables(LISTED) == {
        "SSL_CERT_FILE": "/certs/own.pem",
        "UV_INDEX": "https://second.example/simple file:///wheels/simple",
        "UV_FIND_LINKS": "/wheels,/more",
        "UV_DEFAULT_INDEX": "https://first.example/simple",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }
    monkeypatch.delenv("UV", raising=False)
    monkeypatch.setenv("UV_FIND_LINKS", "/chosen")
    ran = calls(monkeypatch, uv_works=True)
    assert install.main() == 0
    (words, environment) = ran[-1]
    assert words[:3] == ["uv", "pip", "install"] and words[-3:] == ["--constraint", "constraints.txt", ".[dev]"]
    # What somebody chose for uv goes before what pip has.
    assert environment["UV_FIND_LINKS"] == "/chosen"
    assert environment["UV_DEFAULT_INDEX"] == "https://first.example/simple"


@pytest.mark.parametrize("variable", ["", None])
def test_without_uv_pip_installs_the_same(variable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV", raising=False) if variable is None else monkeypatch.setenv("UV", variable)
    ran = calls(monkeypatch, uv_works=False)
    assert install.main() == 0
    assert ran[-1][0] == ["pip", "install", "--quiet", "--constraint", "constraints.txt", ".[dev]"]
    assert any(words[0] == "uv" for words, _ in ran) is (variable is None)
