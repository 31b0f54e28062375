"""Prints the lines of a file at a steady pace; in each, `@now@` becomes the time at which it is written."""

import sys
import time

PER_SECOND = 200


def main() -> None:
    with open(sys.argv[1], "rb") as file:
        lines = file.readlines()
    out, begin = sys.stdout.buffer, time.monotonic()
    for at, line in enumerate(lines):
        time.sleep(max(0.0, begin + at / PER_SECOND - time.monotonic()))
        out.write(line.replace(b"@now@", b"@%d@" % time.monotonic_ns()))
        out.flush()


if __name__ == "__main__":
    main()
