#!/usr/bin/env python3
"""Orders the launcher of the demo to replace a rank by its standby, and waits until that is done.

    python3 ops/demo/replace_rank.py SOCKET RANK

SOCKET: that of launch.py --standby. Prints the launcher's answer; exit code 1 where it refuses.
"""

import json
import socket
import sys

PATIENCE_S = 60.0


def main(path, rank):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(path)
        connection.sendall(f"replace {int(rank)}\n".encode())
        with connection.makefile("r") as reader:
            line = reader.readline()
    answer = json.loads(line) if line else {"refused": "the launcher has ended"}
    print(json.dumps(answer))
    return 0 if "replaced" in answer else 1


if __name__ == "__main__":
    if len(sys.argv) != 3 or not sys.argv[2].isdigit():
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
