"""Former place of `lmms_eval_tasks.train.rewards`; goes in the next version."""
