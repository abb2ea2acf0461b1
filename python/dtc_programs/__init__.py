"""The programs of the wheel as commands of a Python environment: each replaces the interpreter by the program."""
import os
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "bin"


def become(name):
    """Replaces this process by the program `name`, with this process's arguments."""
    program = FOLDER / name
    try:
        os.execv(program, [str(program), *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: starting {program}: {error.strerror}; install the wheel of dtc for this machine")


def dtc():
    """Runs dtc, whose `dtc data` uses this environment's interpreter."""
    os.environ.setdefault("DTC_PYTHON", sys.executable)
    become("dtc")


def dtrun():
    """Runs dtrun."""
    become("dtrun")


def dtc_solve():
    """Runs dtc-solve."""
    become("dtc-solve")
