"""`samtools view` as a process of its own: `python samtools_command.py ARGUMENTS`.

pysam holds the interpreter's lock for as long as samtools runs, so that a pipe between it and
this interpreter would never move.
"""

from __future__ import annotations

import sys

from pysam import SamtoolsError
from pysam.samtools import view


def main() -> None:
    """Run `samtools view`; a failure goes to standard error and into the exit status."""
    try:
        view(*sys.argv[1:], catch_stdout=False)
    except SamtoolsError as error:
        sys.exit(str(error.args[0]).partition("stderr=")[2])


if __name__ == "__main__":
    main()
