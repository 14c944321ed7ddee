"""Works on the parts of a launch as `lmms-eval-tasks launch` does, without the merge.

launch_parts.py COUNT JOBS "SLURM-PARAMETERS" COMMAND…
"""

from __future__ import annotations

import sys

from lmms_eval_tasks.launch.executors import connect_local, connect_slurm
from lmms_eval_tasks.launch.plan import make_plan
from lmms_eval_tasks.launch.run import describe_failure, run_parts, show_parts
from lmms_eval_tasks.utils.core.errors import InputError


def main(count: str, jobs: str, slurm: str, *command: str) -> int:
    plan = make_plan(command, int(count))
    wanted = slurm.split()
    place = connect_slurm(plan, int(jobs), None, wanted) if wanted else connect_local(plan, int(jobs), None)
    place.pause = min(place.pause, 0.5)
    with plan.kept(), show_parts(int(count)) as show:
        failed = run_parts(plan, place, 2, show)
    for part, reason in failed.items():
        print(describe_failure(part, reason))
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except InputError as error:
        sys.exit(str(error))
