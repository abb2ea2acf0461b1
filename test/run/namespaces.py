"""Hosts of a test: network namespaces with addresses of their own, and a switch between them that can be slow, lose packets, or be cut.

The switch is a process that passes frames between TAP devices, so that it needs nothing of the kernel but those (no netem). All of it
takes root; `reason_to_skip` says what is missing.
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
    """A descriptor of a new TAP device in a namespace, of which this process has no other part."""
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
    """How the switch treats the frames to and from a host; shared with the switch's process."""

    def __init__(self):
        self.cut = multiprocessing.Value("b", 0, lock=False)
        self.loss = multiprocessing.Value("d", 0, lock=False)  # share of frames
        self.rate = multiprocessing.Value("d", 0, lock=False)  # bytes a second; 0: as many as come


def pass_frames(taps, links, seed):
    """The switch: learns who is where, as switches do."""
    chance, where = random.Random(seed), {}
    queues, free = [[] for _ in taps], [0.0] * len(taps)  # of each host's link: frames and when they may leave
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
    """`with Hosts(3, folder) as hosts`: namespaces h0, h1, h2, where programs run by `command`."""

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
            self.switch = multiprocessing.Process(target=pass_frames, args=(self.taps, self.links, self.seed), daemon=True)
            self.switch.start()
        except BaseException:
            self.__exit__()
            raise
        # What mpirun starts its daemons with, in place of ssh.
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
        """What runs there, as the process that this starts."""
        return [str(self.agent), f"h{host}", "exec " + " ".join(f"'{word}'" for word in words)]

    def environment(self, ranks_each, count=None):
        """Variables for an mpirun on h0 that spreads ranks over all hosts, or the first `count` of them."""
        hosts = self.folder / f"hosts-{count or len(self.names)}-{ranks_each}"
        hosts.write_text("".join(f"h{index} slots={ranks_each}\n" for index in range(count or len(self.names))))
        return {"OMPI_MCA_orte_default_hostfile": str(hosts), "OMPI_MCA_plm_rsh_agent": str(self.agent),
                "OMPI_MCA_plm_rsh_no_tree_spawn": "1", "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_pml": "ob1",
                "OMPI_MCA_btl_tcp_if_include": "net0", "OMPI_MCA_oob_tcp_if_include": "net0",
                "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
