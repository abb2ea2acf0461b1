#!/usr/bin/env python3
"""dtrun --trust loads programs and checkpoints that a trusted key has signed, and nothing else.

1. Signatures are those of minisign, which is the independent reference: it takes ours, and dtrun takes its. A key with
   a password, made here by Python's scrypt, opens with this password alone.
2. A program without a signature, one that was changed after it was signed, and one that an unknown key has signed end
   dtrun with exit code 1 before the first step, on one rank and on two. A file with two keys trusts both.
3. A run with --sign-key goes on from its checkpoint. Without a signature, or with a shard or manifest that was changed
   so that all hashes fit, the one before it is used; without any, the run ends.
"""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dtc_tools import BIN, dtc, run

CONFIG = {"model_type": "gpt2", "vocab_size": 64, "n_embd": 16, "n_head": 2, "n_layer": 1, "n_positions": 16}
REHASH = BIN.parent / "test" / "dtc-rehash"


def fails(words, *command):
    """Runs a command that must end with exit code 1 and one line that has `words`, before a step."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120)
    if done.returncode != 1 or words not in done.stderr or "loss" in done.stdout:
        sys.exit(f"wanted exit code 1 and '{words}', found {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stderr


def start(program, ranks, *flags):
    return [BIN / "dtrun", program, "-n", ranks, "--data", "synthetic", "--steps", 4, *flags]


def encrypted(key, password):
    """Returns a secret key's file with its secret part encrypted as minisign does, at little cost."""
    raw = bytearray(base64.b64decode(key.splitlines()[1]))
    operations, memory, salt = 1 << 19, 1 << 24, bytes(range(32))  # scrypt's N = 2^14, r = 8, p = 1
    part = raw[54:]
    part[72:] = hashlib.blake2b(bytes(raw[:2] + part[:72]), digest_size=32).digest()
    stream = hashlib.scrypt(password, salt=salt, n=1 << 14, r=8, p=1, maxmem=1 << 26, dklen=len(part))
    head = raw[:2] + b"Sc" + raw[4:6] + salt + operations.to_bytes(8, "little") + memory.to_bytes(8, "little")
    body = base64.b64encode(bytes(head) + bytes(a ^ b for a, b in zip(part, stream))).decode()
    return f"untrusted comment: encrypted\n{body}\n"


def check_minisign(folder, program):
    minisign = shutil.which("minisign")
    if not minisign:
        sys.exit("there is no minisign; 'tools/setup.sh --tests' installs it")
    dtc("sign", program, "--key", folder / "a.key")
    run([minisign, "-Vm", program, "-p", folder / "a.pub"])
    run(start(program, 1, "--trust", folder / "a.pub", "--dry-run"))
    run([minisign, "-Sm", program, "-s", folder / "b.key"])
    run(start(program, 1, "--trust", folder / "b.pub", "--dry-run"))

    (folder / "locked.key").write_text(encrypted((folder / "a.key").read_text(), b"a secret"))
    (folder / "password").write_text("a secret\n")
    (folder / "wrong").write_text("another\n")
    sign = [BIN / "dtc", "sign", program, "--key", folder / "locked.key"]
    fails("is encrypted by a password", *sign)
    fails("does not open with this password", *sign, "--password-file", folder / "wrong")
    run([*sign, "--password-file", folder / "password"])
    run([minisign, "-Vm", program, "-p", folder / "a.pub"])
    fails("is encrypted by a password", *start(program, 1, "--checkpoint-dir", folder / "none", "--sign-key",
                                               folder / "locked.key"))


def check_programs(folder, program):
    keys, signature = folder / "a.pub", Path(f"{program}.minisig")
    signature.unlink()
    for ranks in (1, 2):
        fails("has no signature", *start(program, ranks, "--trust", keys))
    dtc("sign", program, "--key", folder / "b.key")
    fails("none of the trusted ones", *start(program, 2, "--trust", keys))
    both = folder / "both.pub"
    both.write_text((folder / "b.pub").read_text() + keys.read_text())
    run(start(program, 2, "--trust", both))
    other = folder / "other.dte"  # a good program, with the signature of another one
    dtc("compile", folder / "config.json", "--topology", "cpu", "--devices", 2, "--global-batch", 4, "--optimizer",
        "sgd", "-o", other)
    shutil.copy(signature, f"{other}.minisig")
    fails("is not what the key", *start(other, 2, "--trust", both))
    fails("no public key in line 1", *start(program, 1, "--trust", folder / "config.json"))
    done = subprocess.run([str(part) for part in start(program, 2, "--trust", both, "--checkpoint-dir", folder / "none",
                                                       "--spike-factor", 3)], capture_output=True, text=True)
    if done.returncode != 2 or "--sign-key" not in done.stderr:
        sys.exit(f"--spike-factor with --trust and without --sign-key: {done.returncode}, {done.stderr}")


def check_checkpoints(folder, program):
    checkpoints, keys = folder / "checkpoints", folder / "a.pub"
    dtc("sign", program, "--key", folder / "a.key")
    flags = ["--trust", keys, "--checkpoint-dir", checkpoints, "--resume"]
    fails("does not have the key", *start(program, 2, *flags, "--sign-key", folder / "b.key"))
    # A run without --sign-key writes what it would not load.
    run(start(program, 2, *flags, "--checkpoint-every", 2, "--keep", 5))
    fails("has no signature", BIN / "dtc", "checkpoint", "verify", checkpoints, "--trust", keys)
    fails("none of the 2 checkpoints", *start(program, 2, *flags))
    dtc("sign", checkpoints / "step-2", "--key", folder / "a.key")
    done = subprocess.run([str(part) for part in start(program, 2, *flags, "--sign-key", folder / "a.key")],
                          capture_output=True, text=True)
    if done.returncode or "step-4 is not good" not in done.stderr or "going on after step 2" not in done.stderr:
        sys.exit(f"wanted to go on after step 2:\n{done.stderr}")
    run([BIN / "dtc", "checkpoint", "verify", checkpoints, "--trust", keys])  # step-4 was signed by the run

    # Other weights, with hashes that fit.
    shard = checkpoints / "step-4" / "shard-00000.safetensors"
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    run([REHASH, checkpoints / "step-4", "--shards"])
    run([BIN / "dtc", "checkpoint", "verify", checkpoints])
    fails("manifest.json' is not what was signed", BIN / "dtc", "checkpoint", "verify", checkpoints, "--trust", keys)
    done = subprocess.run([str(part) for part in start(program, 2, *flags)], capture_output=True, text=True)
    if done.returncode or "going on after step 2" not in done.stderr:
        sys.exit(f"a checkpoint that was changed:\n{done.stderr}")


def main():
    os.environ["DTC_TEST_CODE"] = "quick"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(CONFIG))
        program = folder / "model.dte"
        for ranks in (1, 2):
            dtc("compile", folder / "config.json", "--topology", "cpu", "--devices", ranks, "--global-batch", 4,
                "--fix", f"dp={ranks}", "-o", folder / f"{ranks}.dte")
        for key in "ab":
            dtc("sign", "--new-key", folder / key)
        if (folder / "a.key").stat().st_mode & 0o077:
            sys.exit("others may read the secret key")
        shutil.copy(folder / "1.dte", program)
        check_minisign(folder, program)
        shutil.copy(folder / "2.dte", program)
        check_programs(folder, program)
        check_checkpoints(folder, program)


main()
