"""Works on the parts of a launch as `lmms-eval-tasks launch` does, without the merge.

launch_parts.py COUNT JOBS "SLURM-PARAMETERS" COMMAND…
"""

import sys

from lmms_eval_tasks.launch.executors import connect
from lmms_eval_tasks.launch.plan import make_plan
from lmms_eval_tasks.launch.run import Show, describe_failure, run_parts
from lmms_eval_tasks.utils.core.errors import InputError

if __name__ == "__main__":
    count, jobs, slurm, *command = sys.argv[1:]
    try:
        plan = make_plan(command, int(count))
        place = connect(plan, int(jobs), None, slurm.split())
        place.pause = min(place.pause, 0.5)
        show = Show(int(count))
        with plan.kept(), show.bar:
            failed = run_parts(plan, place, 2, show)
    except InputError as error:
        sys.exit(str(error))
    for part, reason in failed.items():
        print(describe_failure(part, reason))
    sys.exit(bool(failed))
