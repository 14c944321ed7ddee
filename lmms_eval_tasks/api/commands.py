r"""What a benchmark's own subcommands print with.

Examples:
    A subcommand of a benchmark works through a run with a bar on stderr, which only a terminal shows. The bar is called
    with what is done, how many are done, and how many there are:

    >>> from lmms_eval_tasks.api.commands import make_console, show_progress, text_table
    >>> answers = {"push": (30, 21), "pull": (12, 3)}
    >>> shares = {}
    >>> with show_progress() as progress:
    ...     for done, (action, (asked, right)) in enumerate(answers.items(), 1):
    ...         shares[action] = f"{100 * right / asked:.1f}"
    ...         progress("counting answers", done, len(answers))

    The result is a table. With a title, what stands beside the names is text, and to the left:

    >>> console = make_console()
    >>> table = text_table("Answers by action", "action", "asked", "right, %")
    >>> for action, (asked, _) in answers.items():
    ...     table.add_row(action, f"{asked:,}", shares[action])
    >>> console.print(table)
    Answers by action
      action   asked   right, %
     ───────────────────────────
      push     30      70.0
      pull     12      25.0

    Without one, these are numbers, and stand to the right. Two columns hold names here:

    >>> table = text_table(None, "model", "view", "right, %", names=2)
    >>> table.add_row("replay", "blind", "8.3")
    >>> table.add_row("replay", "", "57.1")
    >>> console.print(table)
      model    view    right, %
     ───────────────────────────
      replay   blind        8.3
      replay               57.1

    What a model wrote cannot give a terminal orders, and brackets in it are no markup:

    >>> console.print("The model said: \x1b[2J[red]no[/red]")
    The model said: \x1b[2J[red]no[/red]
"""

from __future__ import annotations

from lmms_eval_tasks.utils.core.output import make_console, show_progress, text_table

__all__ = [
    "make_console",
    "show_progress",
    "text_table",
]
