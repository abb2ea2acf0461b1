"""Hosts of a test: network namespaces with own addresses, and a switch between them that can be slow, lose packets,
or be cut.

The switch is a process that passes frames between TAP devices, so that it needs no other support of the kernel (no
netem). All of it needs root; `reason_to_skip` names what is missing.
"""
import ctypes
import fcntl
import multiprocessing
import os
import random
import select
import shutil
import struct
import subprocess
import time
from pathlib import Path

CLONE_NEWNET, TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x40000000, 0x400454CA, 0x0002, 0x1000
NETWORK = "10.213.77"
QUEUE = 256 << 10  # bytes that a slow link holds


def run(*words, check=True):
    return subprocess.run([str(word) for word in words], check=check, capture_output=True, text=True)


def reason_to_skip():
    if os.geteuid() != 0:
        return "network namespaces want root"
    for program in ("ip", "unshare", "hostname", "mpirun"):
        if not shutil.which(program):
            return f"'{program}' is not here"
    if not Path("/dev/net/tun").exists():
        return "/dev/net/tun is not here"
    name = f"dtc-{os.getpid()}-try"
    tried = run("ip", "netns", "add", name, check=False)
    run("ip", "netns", "del", name, check=False)
    return f"ip netns add: {tried.stderr.strip()}" if tried.returncode else None


def open_tap(namespace, device):
    """Returns a descriptor of a new TAP device in a namespace that this process does not enter otherwise."""
    libc = ctypes.CDLL(None, use_errno=True)
    here, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if libc.setns(there, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TAP | IFF_NO_PI))
    finally:
        libc.setns(here, CLONE_NEWNET)
        os.close(here)
        os.close(there)
    return tap


class Link:
    """The settings by which the switch treats the frames to and from a host; shared with the switch's process."""

    def __init__(self):
        self.cut = multiprocessing.Value("b", 0, lock=False)
        self.loss = multiprocessing.Value("d", 0, lock=False)  # share of frames
        self.rate = multiprocessing.Value("d", 0, lock=False)  # bytes per second; 0: unlimited


def pass_frames(taps, links, seed):
    """Runs the switch: it learns addresses from frames, as switches do."""
    chance, where = random.Random(seed), {}
    # Each host's link has a queue of frames with the times at which they may leave, and the time when it is free.
    queues, free = [[] for _ in taps], [0.0] * len(taps)
    poller = select.poll()
    for tap in taps:
        poller.register(tap, select.POLLIN)
    number = {tap: index for index, tap in enumerate(taps)}

    def leave(to, frame):
        try:
            os.write(taps[to], frame)
        except OSError:
            pass  # a queue is full: the frame is lost

    while True:
        waits = any(queues)
        for tap, _ in poller.poll(1 if waits else 100):
            source = number[tap]
            for _ in range(64):
                try:
                    frame = os.read(tap, 65536)
                except OSError:
                    break
                where[frame[6:12]] = source
                target = where.get(frame[:6])
                for to in [target] if target is not None else [each for each in range(len(taps)) if each != source]:
                    ends = links[source], links[to]
                    if to == source or any(link.cut.value or chance.random() < link.loss.value for link in ends):
                        continue
                    rates = [link.rate.value for link in ends if link.rate.value]
                    if not rates:
                        leave(to, frame)
                    elif sum(len(each) for _, each in queues[to]) < QUEUE:
                        free[to] = max(free[to], time.monotonic()) + len(frame) / min(rates)
                        queues[to].append((free[to], frame))
        now = time.monotonic()
        for to, queue in enumerate(queues):
            while queue and queue[0][0] <= now:
                leave(to, queue.pop(0)[1])


class Hosts:
    """Namespaces h0, h1, h2, in which `command` runs programs, for `with Hosts(3, folder) as hosts`."""

    def __init__(self, count, folder, seed=1):
        self.names = [f"dtc-{os.getpid()}-{index}" for index in range(count)]
        self.folder, self.seed, self.links = folder, seed, [Link() for _ in range(count)]
        self.taps, self.switch = [], None

    def __enter__(self):
        try:
            for index, name in enumerate(self.names):
                run("ip", "netns", "add", name)
                self.taps.append(open_tap(name, "net0"))
                run("ip", "-n", name, "addr", "add", f"{NETWORK}.{index + 1}/24", "dev", "net0")
                run("ip", "-n", name, "link", "set", "net0", "up")
                run("ip", "-n", name, "link", "set", "lo", "up")
            self.switch = multiprocessing.Process(target=pass_frames, args=(self.taps, self.links, self.seed),
                                                  daemon=True)
            self.switch.start()
        except BaseException:
            self.__exit__()
            raise
        # mpirun starts its daemons with this script instead of ssh.
        self.agent = self.folder / "agent"
        self.agent.write_text("#!/bin/bash\nhost=$1; shift\ncase $host in\n" + "".join(
            f"h{index}) space={name};;\n" for index, name in enumerate(self.names))
            + "esac\nexec ip netns exec $space unshare --uts bash -c \"hostname $host; $*\"\n")
        self.agent.chmod(0o755)
        return self

    def __exit__(self, *_):
        if self.switch:
            self.switch.kill()
            self.switch.join()
        for tap in self.taps:
            os.close(tap)
        for name in self.names:
            run("ip", "netns", "del", name, check=False)

    def command(self, host, words):
        """Returns a command that runs `words` on a host, as a child of this process."""
        return [str(self.agent), f"h{host}", "exec " + " ".join(f"'{word}'" for word in words)]

    def environment(self, ranks_each, count=None):
        """Returns variables for an mpirun on h0 that spreads ranks over all hosts, or the first `count` of them."""
        hosts = self.folder / f"hosts-{count or len(self.names)}-{ranks_each}"
        hosts.write_text("".join(f"h{index} slots={ranks_each}\n" for index in range(count or len(self.names))))
        return {"OMPI_MCA_orte_default_hostfile": str(hosts), "OMPI_MCA_plm_rsh_agent": str(self.agent),
                "OMPI_MCA_plm_rsh_no_tree_spawn": "1", "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_pml": "ob1",
                "OMPI_MCA_btl_tcp_if_include": "net0", "OMPI_MCA_oob_tcp_if_include": "net0",
                "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
