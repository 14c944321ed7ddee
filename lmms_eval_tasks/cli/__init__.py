"""The command `lmms-eval-tasks`: `app.py` joins its parts, one module each."""
