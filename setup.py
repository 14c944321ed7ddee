"""Which packages the distribution has; everything else is in setup.cfg.

`utils` and `prompts` are top-level folders here and sub-packages once installed: no setting in setup.cfg finds such.
"""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["lmms_eval_tasks", "lmms_eval_tasks.*"]),
        *(f"lmms_eval_tasks.{name}" for name in find_packages(include=["utils", "utils.*", "prompts"])),
    ]
)
