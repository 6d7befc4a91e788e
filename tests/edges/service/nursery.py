"""Makes services and commands without their imports: one process that has everything loaded, and forks.

Reads lines of JSON on stdin. `["serve"]` makes a service of this environment's home, `["remember", TEXT]` a
command that remembers a text. Each child's number is written to the log, and how it ended.
"""

from __future__ import annotations

import json
import os
import sys
import threading

from foreword.edges.cli.main import run
from foreword.edges.service import process
from foreword.edges.service.responder import HookResponder
from foreword.edges.shared import spool_files

RESERVE = {16_384: 100}


def serve():
    process.HOUSEKEEPING_SECONDS = 0.2
    spool_files.RESERVE = RESERVE
    return process.run_service(process.ServiceOptions(), HookResponder, None)


def watch(child, what, log):
    _, status = os.waitpid(child, 0)
    os.write(log, (json.dumps(["end", child, os.waitstatus_to_exitcode(status), *what]) + "\n").encode())


def main():
    log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for line in sys.stdin:
        what = json.loads(line)
        child = os.fork()
        if not child:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            code = 1
            try:
                code = serve() if what[0] == "serve" else run([*what, "--workspace", "shop"])
            finally:
                os._exit(code)
        os.write(log, (json.dumps(["begin", child, *what]) + "\n").encode())
        threading.Thread(target=watch, args=(child, what, log), daemon=True).start()


if __name__ == "__main__":
    main()
