"""`python -m foreword.edges.service`: the service in a process of its own, as a hook starts it."""

from __future__ import annotations

import sys

from foreword.edges.service.process import main, read_plan

if __name__ == "__main__":
    sys.exit(main(read_plan(sys.argv[1:])))
