"""Video causal-reasoning benchmarks for lmms-eval."""

from pathlib import Path

__version__ = "0.1.0"

# In a checkout `utils` and `prompts` lie beside this folder, installed they lie inside it. `python -m lmms_eval` puts
# the current folder first on the path, so a run started in the checkout must find them too.
_CHECKOUT = Path(__file__).resolve().parent.parent
if (_CHECKOUT / "setup.cfg").is_file():
    __path__.append(str(_CHECKOUT))
