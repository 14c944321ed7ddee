from __future__ import annotations

from collections.abc import Iterator

import pytest
from fork_server import ForkServer
from hostile_bases import Base, write_bases


@pytest.fixture(scope="session")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Base]:
    """The good releases and files."""
    return write_bases(tmp_path_factory.mktemp("bases"))


@pytest.fixture(scope="session")
def server() -> Iterator[ForkServer]:
    with ForkServer() as running:
        yield running
