#!/usr/bin/env python3
"""Checks the files of 'dtc launch'.

1. Manifests: every field exists at its place, with its type, among its values, and none that is required is missing, by
   the definitions of the custom resources (schemas/KIND.json, by tools/manifest-schemas.py). Mistakes of each kind are
   planted, which must be found.
2. Ranks, GPUs, network and restarts are those of the plan: replicas, slots, limits, rules.
3. Scripts pass 'bash -n', and run with stand-ins for dtrun, srun, mpirun and torchrun, which write down their words and
   environment: each rank starts once, with its number; what fails is started again, but not after a final exit code;
   SIGTERM reaches the ranks.
4. Bad input: one line and nothing written.

check_job.py FOLDER      DTC_BIN names the folder of dtc
"""

import copy
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
DTC = Path(os.environ["DTC_BIN"]) / "dtc"
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "number": (int, float)}
TRAINING = ("--data", "/data/train text", "--checkpoint-dir", "/data/run", "--checkpoint-every", "100")


def fail(what):
    sys.exit(f"FAILED: {what}")


def check(condition, what):
    if not condition:
        fail(what)


def dtc(*words, code=0):
    result = subprocess.run([DTC, *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if result.returncode != code:
        fail(f"dtc {' '.join(map(str, words))} ended with {result.returncode}, wanted {code}\n{result.stderr}")
    return result.stderr if code else result.stdout


def mistakes(value, schema, where):
    """Returns what is wrong with a value, by a schema."""
    if schema.get("pruned"):
        return [f"{where} is written, and its schema was left out"]
    if schema.get("x-kubernetes-int-or-string"):
        return [] if isinstance(value, (int, str)) else [f"{where} is no number or text"]
    kind = schema.get("type")
    if kind and (not isinstance(value, TYPES[kind]) or kind == "integer" and isinstance(value, bool)):
        return [f"{where} is {type(value).__name__}, not {kind}"]
    found = [] if value in schema.get("enum", [value]) else [f"{where} is {value}, not one of {schema['enum']}"]
    if isinstance(value, dict):
        found += [f"{where} has no {name}" for name in schema.get("required", []) if name not in value]
        for name, each in value.items():
            below = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if below is None and ("properties" in schema or where == "spec"):
                found.append(f"{where} knows no {name}")
            elif below is not None:
                found += mistakes(each, below, f"{where}.{name}")
    elif isinstance(value, list):
        for index, each in enumerate(value):
            found += mistakes(each, schema.get("items", {}), f"{where}[{index}]")
    return found


def read_manifest(path):
    """Returns a manifest and its definition; ends the test if the manifest has a mistake."""
    definition = json.loads((HERE / "schemas" / path.name).read_text())
    manifest = json.loads(path.read_text())
    for key in ("apiVersion", "kind"):
        check(manifest[key] == definition[key], f"{path.name}: {key} is {manifest[key]}, not {definition[key]}")
    found = mistakes(manifest, definition["schema"], path.stem)
    check(not found, f"{path.name}: {found}")
    return manifest, definition


def plant(manifest, definition, name):
    """Plants mistakes in every object of a manifest: each has to be found."""
    planted = 0

    def walk(value, path):
        nonlocal planted
        if isinstance(value, dict):
            free = path[-1:] in (["limits"], ["metadata"], ["mpiReplicaSpecs"], ["pytorchReplicaSpecs"])
            for key in list(value):
                if not free:
                    wrong = copy.deepcopy(manifest)
                    inner = wrong
                    for step in path:
                        inner = inner[step]
                    inner[key + "s"] = inner.pop(key)  # misspelt
                    check(mistakes(wrong, definition["schema"], name), f"{name}: {path} with '{key}s' passes")
                    planted += 1
                walk(value[key], [*path, key])
        elif isinstance(value, list):
            for index, each in enumerate(value):
                walk(each, [*path, index])
        elif isinstance(value, int) and path[-2:-1] != ["limits"]:
            wrong = copy.deepcopy(manifest)
            inner = wrong
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = str(value)
            check(mistakes(wrong, definition["schema"], name), f"{name}: {path} as text passes")
            planted += 1

    walk(manifest, [])
    check(planted > 20, f"{name}: {planted} mistakes planted")


def container_of(pod):
    (container,) = pod["spec"]["containers"]
    return container


def variables(container):
    return {each["name"]: each["value"] for each in container.get("env", [])}


def check_kubernetes(folder, plan):
    common = (
        "launch",
        plan,
        "--on",
        "kubernetes",
        "--program",
        "/data/model.dte",
        "--image",
        "registry/dtc:1",
        "--name",
        "big-job",
        "--restarts",
        3,
        "--volume",
        "claim:/data",
        "--resource",
        "rdma/ib=8",
        "--interface",
        "eth0",
    )
    said = dtc(*common, "-o", folder / "k8s", "--", *TRAINING)
    check("16 ranks on 2 nodes: jobset.json mpijob.json pytorchjob.json" in said, said)
    manifests = {}
    for name in ("jobset", "mpijob", "pytorchjob"):
        manifests[name], definition = read_manifest(folder / "k8s" / f"{name}.json")
        plant(manifests[name], definition, name)
    limits = {"nvidia.com/gpu": 8, "rdma/ib": 8}
    spec = manifests["jobset"]["spec"]
    (node,) = spec["replicatedJobs"]
    job = node["template"]["spec"]
    check(
        job["completions"] == job["parallelism"] == 2
        and job["completionMode"] == "Indexed"
        and node["replicas"] == 1,
        f"the JobSet has {job}",
    )
    check(spec["failurePolicy"]["maxRestarts"] == 3 and job["backoffLimit"] == 0, "restarts of the JobSet")
    check(job["podFailurePolicy"]["rules"][0]["onExitCodes"]["values"] == [1, 2, 4], "final exit codes of the JobSet")
    container = container_of(job["template"])
    check(
        job["podFailurePolicy"]["rules"][0]["onExitCodes"]["containerName"] == container["name"],
        "the rule's container",
    )
    check(container["resources"]["limits"] == limits, f"limits of the JobSet: {container['resources']}")
    check(variables(container)["MASTER_ADDR"] == "big-job-node-0-0.big-job", "the first pod's name")
    check(variables(container)["NCCL_SOCKET_IFNAME"] == "eth0", "the interface")
    check_node_script(folder, container["command"], "JOB_COMPLETION_INDEX")
    spec = manifests["mpijob"]["spec"]
    worker, launcher = (spec["mpiReplicaSpecs"][name] for name in ("Worker", "Launcher"))
    check(
        spec["slotsPerWorker"] == 8 and worker["replicas"] == 2 and launcher["replicas"] == 1, "slots of the MPIJob"
    )
    check(
        spec["runPolicy"]["backoffLimit"] == 3 and launcher["restartPolicy"] == "OnFailure", "restarts of the MPIJob"
    )
    check(container_of(worker["template"])["resources"]["limits"] == limits, "limits of the MPIJob's workers")
    check("resources" not in container_of(launcher["template"]), "the MPIJob's launcher takes GPUs")
    words = container_of(launcher["template"])["command"]
    check(
        words[:7] == ["mpirun", "-n", "16", "--map-by", "ppr:8:node", "--bind-to", "none"],
        f"the launcher runs {words}",
    )
    check(
        words[words.index("dtrun") :] == ["dtrun", "/data/model.dte", *TRAINING, "--resume"],
        f"the launcher runs {words}",
    )
    spec = manifests["pytorchjob"]["spec"]
    master, worker = (spec["pytorchReplicaSpecs"][name] for name in ("Master", "Worker"))
    check(
        master["replicas"] == worker["replicas"] == 1 and spec["runPolicy"]["backoffLimit"] == 3,
        "replicas of the PyTorchJob",
    )
    check(container_of(master["template"]) == container_of(worker["template"]), "pods of the PyTorchJob differ")
    check_node_script(folder, container_of(master["template"])["command"], "RANK")
    for each in (job["template"], master["template"]):
        volumes = {volume["name"]: volume for volume in each["spec"]["volumes"]}
        mounts = {mount["mountPath"]: volumes[mount["name"]] for mount in container_of(each)["volumeMounts"]}
        check(mounts["/data"]["persistentVolumeClaim"]["claimName"] == "claim", f"volumes are {mounts}")
        check(mounts["/dev/shm"]["emptyDir"]["medium"] == "Memory", f"volumes are {mounts}")


STAND_IN = """#!/bin/bash
# Writes down its words and environment; then does as DO says.
{
  printf '%q ' "$(basename "$0")" "$@"
  echo
  echo "$RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE"
} > "$OUT/call.$BASHPID"
eval "$DO"
"""


def stand_ins(folder):
    """Makes programs that stand for those that scripts start; returns the environment that finds them."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("dtrun", "srun", "mpirun", "torchrun"):
        (tools / name).write_text(STAND_IN)
        (tools / name).chmod(0o755)
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    kept = {key: value for key, value in os.environ.items() if key not in ("RANK", "WORLD_SIZE", "LOCAL_RANK")}
    return {
        **kept,
        "PATH": f"{tools}:{kept['PATH']}",
        "OUT": str(out),
        "DO": "exit 0",
        "RANK": "",
        "WORLD_SIZE": "",
        "LOCAL_RANK": "",
        "LOCAL_WORLD_SIZE": "",
        "SLURM_CPUS_ON_NODE": "64",
    }


def calls(folder):
    return [path.read_text().splitlines() for path in sorted((folder / "out").iterdir())]


def run_script(folder, command, **more):
    environment = {**stand_ins(folder), **more}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return result.returncode, calls(folder), result.stderr


def check_node_script(folder, command, variable):
    """Runs the script of node 1 of 2."""
    subprocess.run(["bash", "-n", "-c", command[2]], check=True)
    code, made, _ = run_script(folder, command, **{variable: "1"})
    wanted = sorted(f"{8 + local} 16 {local} 8" for local in range(8))
    check(code == 0 and sorted(call[1] for call in made) == wanted, f"ranks of node 1 are {made}")
    check(
        all(
            call[0]
            == "dtrun /data/model.dte --data /data/train\\ text --checkpoint-dir /data/run --checkpoint-every 100 "
            "--resume "
            for call in made
        ),
        f"ranks run {made[0][0]}",
    )
    code, _, _ = run_script(folder, command, **{variable: "0", "DO": '[ "$RANK" != 5 ] || exit 3'})
    check(code == 3, f"a node whose rank ended with 3 ends with {code}")
    # SIGTERM reaches the ranks, and the node ends when they have ended.
    environment = {**stand_ins(folder), variable: "0", "DO": "trap 'sleep 0.3; exit 143' TERM; sleep 20 & wait"}
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
    limit = time.monotonic() + 20
    while len(calls(folder)) < 8 and time.monotonic() < limit:
        time.sleep(0.05)
    time.sleep(0.2)
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    code = process.wait(timeout=20)
    check(code == 143 and time.monotonic() - begun >= 0.25, f"after SIGTERM a node ends with {code}")
    try:
        os.killpg(process.pid, signal.SIGKILL)  # sleeping stand-ins
    except ProcessLookupError:
        pass


def check_slurm(folder, plan):
    dtc(
        "launch",
        plan,
        "--on",
        "slurm",
        "--program",
        "model.dte",
        "-o",
        folder / "slurm",
        "--restarts",
        2,
        "--time",
        "24:00:00",
        "--hosts",
        "n0,n1",
        "--",
        *TRAINING,
    )
    script = folder / "slurm" / "job.sbatch"
    subprocess.run(["bash", "-n", script], check=True)
    text = script.read_text()
    options = dict(
        line.removeprefix("#SBATCH --").partition("=")[::2]
        for line in text.splitlines()
        if line.startswith("#SBATCH")
    )
    wanted = {
        "nodes": "2",
        "ntasks-per-node": "8",
        "gpus-per-node": "8",
        "exclusive": "",
        "time": "24:00:00",
        "nodelist": "n0,n1",
        "signal": "TERM@120",
        "requeue": "",
        "open-mode": "append",
        "job-name": "gpt2",
        "output": "%x-%j.log",
    }
    check(options == wanted, f"options of sbatch are {options}")
    code, made, _ = run_script(folder, ["bash", script])
    check(
        code == 0 and len(made) == 1 and made[0][0].startswith("srun --cpus-per-task=8 dtrun model.dte --data "),
        f"srun: {made}",
    )
    for ended, starts in ((3, 3), (70, 3), (1, 1), (2, 1), (4, 1), (143, 1)):
        code, made, said = run_script(folder, ["bash", script], DO=f"exit {ended}")
        check(code == ended and len(made) == starts, f"after exit code {ended}: {len(made)} starts, exit code {code}")
        check(said.count("ended with exit code") == (starts if starts > 1 else 0), said)
    dtc(
        "launch", plan, "--on", "slurm", "--program", "model.dte", "-o", folder / "plain", "--", "--data", "synthetic"
    )
    text = (folder / "plain" / "job.sbatch").read_text()
    check("--resume" not in text and "--signal" not in text and "--requeue" not in text, "a job that saves nothing")


def check_others(folder, plan, cpu):
    dtc(
        "launch",
        plan,
        "--on",
        "mpi",
        "--program",
        "model.dte",
        "-o",
        folder / "mpi",
        "--hosts",
        "n0,n1",
        "--restarts",
        1,
        "--interface",
        "ib0",
        "--",
        *TRAINING,
    )
    check((folder / "mpi" / "hosts").read_text() == "n0 slots=8\nn1 slots=8\n", "the host file")
    subprocess.run(["bash", "-n", folder / "mpi" / "run.sh"], check=True)
    code, made, _ = run_script(folder, [folder / "mpi" / "run.sh"], DO="exit 3")
    wanted = (
        "mpirun --hostfile hosts -n 16 --map-by ppr:8:node --bind-to none -x GLOO_SOCKET_IFNAME=ib0 -x "
        "NCCL_SOCKET_IFNAME=ib0 --mca btl_tcp_if_include ib0 --mca oob_tcp_if_include ib0 dtrun model.dte --data "
    )
    check(code == 3 and len(made) == 2 and all(call[0].startswith(wanted) for call in made), f"mpirun: {made}")
    dtc(
        "launch",
        plan,
        "--on",
        "torchrun",
        "--program",
        "model.dte",
        "-o",
        folder / "torchrun",
        "--restarts",
        4,
        "--",
        *TRAINING,
    )
    script = folder / "torchrun" / "run.sh"
    subprocess.run(["bash", "-n", script], check=True)
    code, made, _ = run_script(folder, [script], HEAD="first")
    check(
        code == 0
        and made[0][0].startswith(
            "torchrun --nnodes 2 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint first:29400 --rdzv-id gpt2 "
            "--max-restarts 4 --no-python dtrun model.dte --data "
        ),
        f"torchrun: {made}",
    )
    code, _, said = run_script(folder, [script])
    check(code != 0 and "the name of the first node" in said, "torchrun without HEAD")
    # A program for four processes of one machine, without GPUs.
    dtc("launch", cpu, "--on", "slurm", "-o", folder / "cpu", "--", "--data", "text.txt")
    text = (folder / "cpu" / "job.sbatch").read_text()
    check(
        "--nodes=1\n" in text and "--ntasks-per-node=4\n" in text and "gpus" not in text and f" dtrun {cpu} " in text,
        text,
    )


def check_errors(folder, plan):
    cases = [
        (("--on", "slurm"), "is a plan, and dtrun runs a program"),
        (("--on", "slurm", "--program", "x.dte", "--restarts", "1"), "dtrun's flags save none"),
        (("--on", "kubernetes", "--program", "x.dte"), "pods need an image with dtrun"),
        (("--on", "kubernetes", "--program", "x.dte", "--image", "i", "--name", "A_b"), "the job's name is 'A_b'"),
        (("--on", "kubernetes", "--program", "x.dte", "--image", "i", "--volume", "data"), "--volume is 'data'"),
        (("--on", "kubernetes", "--program", "x.dte", "--image", "i", "--resource", "x=0"), "--resource is 'x=0'"),
        (("--on", "mpi", "--program", "x.dte"), "a host file needs the names of the nodes"),
        (("--on", "mpi", "--program", "x.dte", "--hosts", "a,b,c"), "--hosts names 3, and the plan is for 2 nodes"),
    ]
    for words, wanted in cases:
        said = dtc("launch", plan, *words, "-o", folder / "none", code=1)
        check(wanted in said and said.startswith("error: ") and said.count("error:") == 1, f"{words}: {said}")
    megatron = folder / "megatron.json"
    dtc(
        "plan",
        "gpt2",
        "--seq-len",
        128,
        "--topology",
        "dgx-h100",
        "--nodes",
        2,
        "--global-batch",
        16,
        "--stack",
        "megatron-core",
        "-o",
        megatron,
    )
    said = dtc("launch", megatron, "--on", "slurm", "--program", "x.dte", "-o", folder / "none", code=1)
    check("is for the stack 'megatron-core', which dtrun does not run" in said, said)
    check(not (folder / "none").exists(), "an error wrote files")


def main():
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    plan, cpu = folder / "plan.json", folder / "cpu.dte"
    dtc("plan", "gpt2", "--seq-len", 128, "--topology", "dgx-h100", "--nodes", 2, "--global-batch", 16, "-o", plan)
    dtc(
        "compile",
        HERE.parents[1] / "test/fuzz/gpt2-tiny.json",
        "--topology",
        "cpu",
        "--devices",
        4,
        "--global-batch",
        4,
        "-o",
        cpu,
    )
    check_kubernetes(folder, plan)
    check_slurm(folder, plan)
    check_others(folder, plan, cpu)
    check_errors(folder, plan)
    print("launch: manifests, scripts and errors are as wanted")


if __name__ == "__main__":
    main()
