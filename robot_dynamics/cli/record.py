# Copyright 2026 robot_dynamics maintainers
# SPDX-License-Identifier: Apache-2.0
"""`robot_dynamics record`: what the nodes publish, into a bag, until Ctrl-C."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..ros.recorder import Recorder

HELP = "record every topic of the loop into a bag (MCAP) until Ctrl-C; what was lost is counted"
EVERY = 10
"""Reports between the lines that are printed where there is no terminal."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("output", type=Path, help="folder of the bag, which must not exist yet")
    parser.add_argument("--namespace", default="", help="record the topics of this namespace alone")
    parser.add_argument("--end-with-process", type=int, default=0, metavar="PID", help="end when this process does")


def run(args: argparse.Namespace) -> int:
    """Record: 0, also where messages were lost, which is said."""
    import rosbags  # noqa: F401 - say now that it is missing

    from ..ros.recorder import record

    recorder = record(args.output, args.namespace, args.end_with_process, reporter())
    print(summary(recorder, args.output), flush=True)
    return 0


def reporter() -> "Callable[[Recorder, float], None]":
    """Return what shows how far it is: a line that is written again on a terminal, one now and then elsewhere."""
    terminal, reports = sys.stderr.isatty(), 0

    def tell(recorder: "Recorder", seconds: float) -> None:
        nonlocal reports
        text = f"recording: {seconds:.0f} s, {len(recorder.tallies)} topics, {counts(recorder)}"
        if terminal:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif reports % EVERY == 0:
            print(text, file=sys.stderr, flush=True)
        reports += 1

    return tell


def counts(recorder: "Recorder") -> str:
    """Messages written and lost."""
    return f"{recorder.written} messages, {recorder.lost} lost"


def summary(recorder: "Recorder", path: Path) -> str:
    """One line, and one more for each topic that lost messages or was left out."""
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(clear, end="", file=sys.stderr, flush=True)
    lines = [f"{path}: {counts(recorder)} on {len(recorder.tallies)} topics"]
    of_topics: dict[str, Any] = recorder.tallies
    lines += [f"  lost on {topic}: {tally.lost}" for topic, tally in of_topics.items() if tally.lost]
    uncounted = [topic for topic, tally in of_topics.items() if tally.written and not tally.counted]
    lines += [f"  not numbered, so losses would not show: {', '.join(uncounted)}"] if uncounted else []
    lines += [f"  not recorded, its type {kind} is unknown: {topic}" for topic, kind in recorder.unknown.items()]
    return "\n".join(lines)
