"""From a response to a record: readers and graders of choices, verdicts, evidence and losses; hooks of tasks."""
