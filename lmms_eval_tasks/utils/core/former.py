"""Former places of modules, which work for one version more."""

import warnings


def warn_of_former_place(new: str) -> None:
    """Say that whoever imports the calling module should import another one."""
    warnings.warn(f"Import {new}: its former place goes in the next version.", FutureWarning, stacklevel=3)
