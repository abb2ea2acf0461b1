"""Describes the origin of a figure: the machine and the tree that it was measured on."""

import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def machine():
    names = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").open()
             if line.startswith("model name")]
    return {"cpu": names[0] if names else platform.machine(),
            "cores": len(os.sched_getaffinity(0)), "load_average": os.getloadavg()[0]}


def commit():
    def git(*arguments):
        return subprocess.run(["git", "-C", ROOT, *arguments], text=True, capture_output=True,
                              check=False).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + (" with changes" if changed else "")
