"""A job that runs while a test does something to it, and its messages so far. Standard library only."""
import os
import signal
import subprocess
import sys
import threading
import time


def fail(message):
    sys.exit(f"FAILED: {message}")


class Job:
    """A process in a session of its own, for `with Job(command) as job`.

    Its steps and its lines on stderr are in `steps` and `errors`, each with the time (of time.time) at which it came;
    `printed` has all of stdout but dtrun's report on its data. Processes of the session that are left at the end are
    killed.
    """

    def __init__(self, command, name="the job", **options):
        self.name = name
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        start_new_session=True, **options)
        self.steps, self.printed, self.errors = [], [], []
        self.threads = [threading.Thread(target=target) for target in (self.take_output, self.take_errors)]
        for thread in self.threads:
            thread.daemon = True  # a test that has failed waits for no other job
            thread.start()

    def take_output(self):
        for line in self.process.stdout:
            if line.startswith(('{"step":', "step ")):
                self.steps.append((time.time(), line))
            if not line.startswith(('{"data":', '{"eval_data":')):
                self.printed.append(line)

    def take_errors(self):
        for line in self.process.stderr:
            self.errors.append((time.time(), line))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def pid(self):
        return self.process.pid

    @property
    def code(self):
        """Returns the exit code; None while it runs."""
        return self.process.poll()

    def text(self):
        """Returns its text on stderr."""
        return "".join(line for _, line in self.errors)

    def said(self):
        """Returns dtrun's own lines on stderr, with their times: mpirun has warnings of its own."""
        return [(when, line) for when, line in self.errors if line.startswith("dtrun: ")]

    def output(self):
        return "".join(self.printed)

    def wait_for(self, is_there, seconds, what):
        """Waits until is_there(); fails if that takes longer than `seconds`, or the job ends before."""
        end = time.monotonic() + seconds
        while not is_there():
            if time.monotonic() > end or (self.code is not None and not is_there()):
                self.stop()
                fail(f"{self.name}: {what}: not within {seconds} s; exit code {self.code}\n{self.text()}")
            time.sleep(0.005)

    def wait_for_steps(self, count, seconds=60):
        """Waits until that many steps have been printed."""
        self.wait_for(lambda: len(self.steps) >= count, seconds, f"its step number {count}")
        return self

    def end(self, seconds):
        """Returns its exit code, once it has ended by itself."""
        finish = time.monotonic() + seconds
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.stop()
            fail(f"{self.name}: it goes on for {seconds} s\n{self.text()}")
        for thread in self.threads:
            thread.join(max(1, finish - time.monotonic()))
        if any(thread.is_alive() for thread in self.threads):
            self.stop()
            fail(f"{self.name}: it has ended, and what it started has not\n{self.text()}")
        return self.code

    def stop(self):
        """Ends it, at first politely, so that it can end the processes that it started."""
        if self.code is None:
            os.killpg(self.pid, signal.SIGTERM)
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.pid, signal.SIGKILL)  # the rest of its session
        except ProcessLookupError:
            pass
        self.process.wait()
        for thread in self.threads:
            thread.join(10)
