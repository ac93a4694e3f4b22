"""Plays outages on one machine, under load, and looks for every acknowledged write afterwards.

Each scenario starts its own PostgreSQL, two production servers and a development server. Clients remember every answer.
At the end, SQL looks for every acknowledged write and for halves of writes, and `concord audit run` must find nothing
that the same load does not make without a fault.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import time

import scenarios
from programs import DrillError


def parsed():
    parser = argparse.ArgumentParser(prog="make drill", description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=list(scenarios.ALL), help="play this scenario; repeatable")
    parser.add_argument("--kills", type=int, default=100, help="kills of servers and PostgreSQL (default: 100)")
    parser.add_argument("--seconds", type=float, default=10, help="length of the load without a fault (default: 10)")
    parser.add_argument("--seed", default="1", help="of the clients' choices (default: 1)")
    parser.add_argument("--workers", type=int, default=4, help="clients of each server (default: 4)")
    parser.add_argument("--pace", type=float, default=0.01, help="seconds between a client's requests (default: 0.01)")
    parser.add_argument(
        "--interruption-max", type=float, default=3, help="seconds of refusals after a promotion (default: 3)")
    parser.add_argument("--keep", action="store_true", help="keep the directory with all logs")
    options = parser.parse_args()
    binary = pathlib.Path(os.environ.get("CONCORD", ".build/release/concord")).resolve()
    if not os.access(binary, os.X_OK):
        sys.exit(f"drill: {binary} is missing. Build it: make build")
    options.binary = binary
    options.allowed_findings = frozenset()
    return options


COLUMNS = ["Scenario", "Faults", "Acknowledged", "Unknown", "Lost", "Wrong", "Refusals s", "Slowest s", ""]


def row(figures):
    if figures.skipped:
        return [figures.name, "–", "–", "–", "–", "–", "–", "–", f"not played: {figures.skipped}"]
    note = figures.note
    if figures.lost_within_lag:
        note = f"{figures.lost_within_lag} accounts lost a write within the standby's lag"
    return [
        figures.name, f"{figures.faults:,}", f"{figures.acknowledged:,}", f"{figures.unknown:,}",
        f"{len(figures.lost):,}", f"{len(figures.wrong):,}", f"{figures.interruption:.1f}", f"{figures.slowest:.1f}",
        note,
    ]


def print_table(rows):
    widths = [max(len(line[column]) for line in [COLUMNS, *rows]) for column in range(len(COLUMNS))]
    for line in [COLUMNS, *rows]:
        cells = [cell.ljust(width) if index in (0, 8) else cell.rjust(width)
                 for index, (cell, width) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())


def main():
    options = parsed()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="concord-drill-"))
    # PostgreSQL runs as another user, who must be able to enter.
    directory.chmod(0o711)
    options.directory = directory
    # The findings of the load without a fault are needed by every other scenario.
    chosen = [name for name in scenarios.ALL if not options.only or name in options.only or name == "quiet"]
    rows, has_failed, began = [], False, time.monotonic()
    try:
        for name in chosen:
            print(f"drill: {name} …", file=sys.stderr, flush=True)
            start = time.monotonic()
            try:
                figures = scenarios.ALL[name](options)
            except DrillError as error:
                has_failed = True
                print(f"drill: {name} could not be played: {error}", file=sys.stderr, flush=True)
                continue
            rows.append(row(figures))
            for problem in (figures.lost + figures.wrong)[:10]:
                print(f"  {problem}", file=sys.stderr)
            has_failed = has_failed or not figures.has_passed
            print(f"  {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        print_table(rows)
        print(f"{time.monotonic() - began:.0f} s in all")
    finally:
        if options.keep or has_failed:
            print(f"drill: logs and data are in {directory}", file=sys.stderr)
        else:
            shutil.rmtree(directory, ignore_errors=True)
    sys.exit(1 if has_failed else 0)


if __name__ == "__main__":
    main()
