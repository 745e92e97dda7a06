"""The one shim: `python -m holdfast` and the `holdfast` command."""

import sys

from holdfast.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
