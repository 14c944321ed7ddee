"""Install packages into the environment that runs this: by uv, which pip fetches first, or by pip where there is no uv.

    python tools/install.py ".[dev]" --constraint constraints.txt

Arguments are those of `pip install` that uv knows too. uv reads nothing of pip's configuration, so it is given what
`pip config list` shows: indexes, certificates, find-links. UV= in the environment, an empty value, leaves uv out.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping

# Settings of pip, and the variables by which uv takes the same.
VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "constraint": "UV_CONSTRAINT",
    "cert": "SSL_CERT_FILE",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "proxy": "ALL_PROXY",
}
COMMA_SEPARATED = ("UV_FIND_LINKS",)


def uv_variables(listed: str) -> Mapping[str, str]:
    """Return variables for uv from the lines of `pip config list`, such as ``global.find-links='/wheels'``.

    A later section counts more: pip lists its files first, then the command's section, then its environment.
    """
    found: dict[str, str] = {}
    for line in listed.splitlines():
        name, equals, value = line.partition("=")
        section, _, setting = name.rpartition(".")
        if equals and section.strip(":") in ("global", "install", "env") and setting in VARIABLES:
            values = str(ast.literal_eval(value)).split()
            variable = VARIABLES[setting]
            found[variable] = ("," if variable in COMMA_SEPARATED else " ").join(values)
    if "UV_INDEX" in found:
        # pip takes the best version of all indexes; uv by default only those of the first that has the package.
        found["UV_INDEX_STRATEGY"] = "unsafe-best-match"
    return found


def has_uv() -> bool:
    if os.environ.get("UV", "uv") == "":
        return False
    if importlib.util.find_spec("uv") is None:
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "uv"], check=False)
    return subprocess.run([sys.executable, "-m", "uv", "--version"], capture_output=True, check=False).returncode == 0


def main() -> int:
    pip = [sys.executable, "-m", "pip"]
    if not has_uv():
        return subprocess.run([*pip, "install", "--quiet", *sys.argv[1:]], check=False).returncode
    listed = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=True).stdout
    # uv itself warns that the variable UV is not its own where it is set to a path.
    environment = {**uv_variables(listed), **os.environ}
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable, *sys.argv[1:]]
    return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
