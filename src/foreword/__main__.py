"""`python -m foreword` is `foreword`."""

from __future__ import annotations

from foreword.edges.cli.main import main

if __name__ == "__main__":
    main()
