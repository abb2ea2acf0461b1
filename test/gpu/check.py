#!/usr/bin/env python3
"""Runs the programs of prepare.py on this machine's GPUs and compares with one CPU; needs a GPU and no dtc.

Usage: check.py FOLDER [--out RESULTS.json] [--only PART]... [--budget-seconds 540] [--sanitizer N]

The parts run in this order; one that cannot run here is skipped with a reason:
kernels    each kind of generated kernel on edge sizes, results poisoned first (kernels.py)
plans      random plans, and models whose attention fits tensor cores: losses, gradients and parameters of five steps
memory     the memory that each plan's ranks report, beside the arena in the file
curve      the loss of each step of a longer run, in f32 and bf16
sanitizer  compute-sanitizer's memcheck, racecheck, initcheck and synccheck of a step of the first N cases of one
           rank (2)

RESULTS.json is written after each. The exit status is 0 if all match, 1 if some do not, 3 if time ran out before all
had run, 77 if there is no GPU. Programs are those of FOLDER, or else looked up as in test/run.
"""
import argparse
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[1:1] = [str(ROOT / "test" / "run"), str(ROOT / "tools"), str(ROOT / "bench" / "gpu")]
import device
from pack_dtrun import extract, unpack

SKIPPED, UNFINISHED = 77, 3
CURVE_TOLERANCE = {"f32": 1e-4, "bf16": 1e-2}  # relative tolerance of each loss
SANITIZERS = ("memcheck", "racecheck", "initcheck", "synccheck")
FOUND = 99  # exit status of compute-sanitizer for an error


class Skip(Exception):
    """The reason why a part cannot run here."""


def read_case(folder):
    import any_plan

    class Unpickler(pickle.Unpickler):
        """Maps prepare.py's classes to those of any_plan."""

        def find_class(self, module, name):
            return super().find_class(any_plan.__name__ if module in ("any_plan", "__main__") else module, name)

    with open(folder / "case.pickle", "rb") as file:
        return Unpickler(file).load()


class Checks:
    def __init__(self, folder, options, work):
        self.folder, self.options, self.work = folder, options, work
        self.deadline = time.monotonic() + options.budget_seconds
        if (folder / "cases.tar.xz").exists():
            extract(folder / "cases.tar.xz", work / "cases")
        self.cases = sorted(path.parent for path in (work / "cases").glob("*/case.pickle"))
        self.peaks = {}  # memory that the ranks of a case report

    def has_time(self, seconds=15):
        return time.monotonic() + seconds < self.deadline

    def kernels(self):
        archive = self.folder / "kernels.tar.xz"
        if not archive.exists():
            raise Skip("the folder has no kernels")
        import kernels
        extract(archive, self.work)
        if (device.is_emulated() and not os.environ.get("DTC_FAKE_DRIVER")
            and not (ROOT / "build/test/dtc_fake_driver.so").exists()):
            raise Skip("the emulated driver, DTC_FAKE_DRIVER, is not there")
        about = kernels.run_all(self.work / "kernels", self.has_time)
        worst = ", ".join(f"{kind} {value:.2g}" for kind, value in about["worst"].items())
        about["says"] = (f"{about['matched']} of {about['of']} kernels match one CPU, largest difference over the "
                         f"tolerance: {worst}"
                         + (f"; {about['of'] - about['ran']} not run" if about["ran"] < about["of"] else ""))
        about["left"] = 0 if about["failed"] else about["of"] - about["ran"]
        return about

    def plans(self):
        if not self.cases:
            raise Skip("the folder has no cases")
        launcher = shutil.which(os.environ.get("DTC_MPIRUN", "mpirun"))
        runnable = [folder for folder in self.cases if read_case(folder)[0].ranks == 1 or launcher]
        results, failed, left = [], {}, 0
        for folder in runnable:
            if not self.has_time():
                left += 1
                continue
            try:
                results.append(self.plan(folder))
            except SystemExit as failure:
                print(failure, flush=True)
                failed[folder.name] = str(failure)
        without = len(self.cases) - len(runnable)
        says = (f"{len(results)} of {len(runnable)} cases match one CPU, largest difference "
                f"{max(results, default=0):.2e}; "
                f"{without} skipped for want of mpirun" + (f"; {left} not run" if left else "")
                + (f"; failed: {list(failed)}" if failed else ""))
        return {"of": len(runnable), "matched": len(results), "largest": max(results, default=None),
                "without_mpirun": without, "left": left, "failed": failed, "says": says}

    def plan(self, folder):
        from any_plan import RATES, compare_rounded, compare_runs, run_steps
        from dtc_tools import as_bytes
        case, wanted, draws = read_case(folder)
        what = f"case {folder.name}: {case}"
        log = self.work / f"log-{folder.name}"
        found = run_steps(self.work, folder / "program.dte", case.ranks, as_bytes(folder / "text.txt"), case.seed,
                          RATES[case.optimizer], "--log-dir", log)
        logged = [json.loads(file.read_text().splitlines()[-1]) for file in sorted(log.glob("rank-*.jsonl"))]
        self.peaks[folder] = max((line["peak_memory_bytes"] for line in logged), default=None)
        if draws:
            return compare_rounded(found, wanted, draws, case.fix["precision"], what)
        return compare_runs(found, wanted, what)

    def memory(self):
        if not self.peaks:
            raise Skip("no plan has run")
        failed = {}
        for folder, peak in self.peaks.items():
            planned = json.loads((folder / "arena.json").read_text())
            if peak != planned:
                failed[folder.name] = f"took {peak} bytes, the plan has {planned}"
        return {"of": len(self.peaks), "failed": failed,
                "says": f"{len(self.peaks) - len(failed)} of {len(self.peaks)} programs take the arena of their plan"}

    def curve(self):
        folder = self.folder / "curve"
        if not folder.exists():
            raise Skip("the folder has no curve")
        from dtc_tools import as_bytes, train
        wanted = json.loads((folder / "curves.json").read_text())
        about = {"worst": {}, "losses": {}, "failed": {}}
        for precision, losses in wanted["losses"].items():
            try:
                lines = train(folder / f"{precision}.dte", 1, as_bytes(folder / "text.txt"), len(losses), "--seed",
                              wanted["seed"], "--lr", wanted["rate"])
            except SystemExit as failure:
                about["failed"][precision] = str(failure)
                continue
            found = [line["loss"] for line in lines]
            worst = max((abs(a - b) / abs(b) if a == a else float("inf") for a, b in zip(found, losses)),
                        default=float("inf"))
            about["losses"][precision], about["worst"][precision] = {"gpu": found, "cpu": losses}, worst
            if len(found) != len(losses) or worst > CURVE_TOLERANCE[precision]:
                about["failed"][
                    precision] = f"losses differ by {worst:.2e}, wanted at most {CURVE_TOLERANCE[precision]:g}"
        about["says"] = "; ".join(f"{precision}: {len(wanted['losses'][precision])} losses within {worst:.1e} of one "
                                  f"CPU"
                                  for precision, worst in about["worst"].items()) or "no curve"
        return about

    def sanitizer(self):
        if device.is_emulated():
            raise Skip("the emulated GPU checks every access by itself")
        program = shutil.which("compute-sanitizer") or shutil.which("/usr/local/cuda/bin/compute-sanitizer")
        if not program:
            raise Skip("there is no compute-sanitizer on PATH or in /usr/local/cuda")
        from dtc_tools import BIN, as_bytes
        cases = [folder for folder in self.cases if read_case(folder)[0].ranks == 1][:self.options.sanitizer]
        about = {"ran": 0, "left": 0, "failed": {}}
        for tool in SANITIZERS:
            for folder in cases:
                if not self.has_time(30):
                    about["left"] += 1
                    continue
                command = [program, "--tool", tool, "--error-exitcode", str(FOUND), str(BIN / "dtrun"),
                           str(folder / "program.dte"), "--data", as_bytes(folder / "text.txt"), "--steps", "1"]
                try:
                    done = subprocess.run(command, capture_output=True, text=True, check=False,
                                          timeout=max(1, self.deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    about["failed"][f"{tool} {folder.name}"] = "ran out of time"
                    continue
                if "Device not supported" in done.stdout + done.stderr:
                    raise Skip("compute-sanitizer does not support the device here")
                about["ran"] += 1
                if done.returncode != 0:
                    about["failed"][f"{tool} {folder.name}"] = (done.stdout + done.stderr)[-2000:]
        about["says"] = f"{about['ran']} runs of {', '.join(SANITIZERS)}"
        return about


PARTS = ("kernels", "plans", "memory", "curve", "sanitizer")


def run_part(checks, part):
    """Returns the results of a part: with "failed" if something did, or "skipped" with the reason."""
    began = time.monotonic()
    try:
        found = getattr(checks, part)() if checks.has_time(5) else {"left": 1, "says": "no time was left"}
    except Skip as reason:
        found = {"skipped": str(reason)}
    except Exception as error:  # a part that breaks does not stop the others
        found = {"failed": {part: f"{type(error).__name__}: {error}"}, "says": "broke off"}
    found["seconds"] = round(time.monotonic() - began, 1)
    return found


def has_run(parts):
    return any("skipped" not in found and not found.get("failed") and not found.get("left") for found in parts.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, help="results, as JSON")
    parser.add_argument("--only", action="append", choices=PARTS, metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--budget-seconds", type=float, default=540, help="no part is begun when they are over (540)")
    parser.add_argument("--sanitizer", type=int, default=2, help="cases that compute-sanitizer runs (2)")
    options = parser.parse_args()
    if not any((options.folder / name).exists() for name in ("kernels.tar.xz", "cases.tar.xz", "curve")):
        sys.exit("check.py: no case is there; make some with prepare.py")
    if why := device.why_no_gpu():
        print(f"skipped: {why}")
        sys.exit(SKIPPED)
    about = json.loads((options.folder / "about.json").read_text())
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        if (options.folder / "dtrun.tar.xz").exists():
            os.environ.update(unpack(options.folder / "dtrun.tar.xz", work / "dtrun"))  # before dtc_tools looks for it
        os.environ.setdefault("DTC_TIMEOUT", "120")
        result = {"schema": "dtc.test-gpu/1", **about, "date": time.strftime("%Y-%m-%d"), "device": device.about(),
                  "parts": {}}
        checks = Checks(options.folder, options, work)
        for part in options.only or PARTS:
            found = result["parts"][part] = run_part(checks, part)
            for case, why in found.get("failed", {}).items():
                print(f"{part}: {case}: {why}", flush=True)
            print(f"{part}: " + (f"skipped: {found['skipped']}" if "skipped" in found else found["says"]), flush=True)
            if options.out:
                options.out.write_text(json.dumps(result, indent=1))
    failed = [part for part, found in result["parts"].items() if found.get("failed")]
    left = [part for part, found in result["parts"].items() if found.get("left")]
    print(f"failed: {', '.join(failed)}" if failed else f"not finished: {', '.join(left)}" if left else "all match")
    sys.exit(1 if failed else UNFINISHED if left else 0 if has_run(result["parts"]) else 1)


if __name__ == "__main__":
    main()
