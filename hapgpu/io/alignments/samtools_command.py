"""Script that runs samtools: `python samtools_command.py COMMAND ARGUMENTS`.

pysam holds the interpreter lock while samtools runs: in the same process, a pipe to samtools would
deadlock, and a signal would have to wait.
"""

from __future__ import annotations

import sys

from pysam import SamtoolsError, samtools


def main() -> None:
    """Run a command; a failure goes to standard error and into the exit status."""
    command, *arguments = sys.argv[1:]
    try:
        getattr(samtools, command)(*arguments, catch_stdout=False)
    except SamtoolsError as error:
        sys.exit(str(error.args[0]).partition("stderr=")[2])


if __name__ == "__main__":
    main()
