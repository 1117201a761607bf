"""`python -m switchboard.sandbox`."""

import sys

from switchboard.sandbox.making import module_main

if __name__ == "__main__":
    sys.exit(module_main(sys.argv[1:]))
