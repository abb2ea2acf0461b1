#!/usr/bin/env bash
# Runs a job of 'dtc launch' on Debian's Slurm: two nodes on this machine, one of which is killed in the middle.
#   apt-get install slurmctld slurmd slurm-client munge && bench/slurm.sh [FOLDER]     (as root; FOLDER: for logs)
# Makes a configuration, a key and daemons of its own, and stops them; an installed Slurm is left alone.
# Expects: the job saves checkpoints, loses the node n1, is queued again, and ends with the steps after the checkpoint.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
cd "$folder"
host=$(hostname -s)
pids=()
stop() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
}
trap stop EXIT

dd if=/dev/urandom of=munge.key bs=1 count=1024 status=none
chmod 400 munge.key
mkdir -p state spool-n0 spool-n1 munge
chmod 755 munge
munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge/socket" \
  --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munge.seed" &
pids+=($!)
cat >slurm.conf <<CONF
ClusterName=dtc
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=16817
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
SlurmdParameters=config_overrides
JobRequeue=1
ReturnToService=2
SlurmdTimeout=10
KillWait=5
UnkillableStepTimeout=20
NodeName=n0 NodeHostName=$host NodeAddr=127.0.0.1 Port=17001 CPUs=2
NodeName=n1 NodeHostName=$host NodeAddr=127.0.0.1 Port=17002 CPUs=2
PartitionName=all Nodes=n0,n1 Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$folder/slurm.conf
start() { # name of a node
  slurmd -D -N "$1" >"slurmd-$1.out" 2>&1 &
  pids+=($!)
  last=$!
}
for _ in $(seq 50); do [ -S munge/socket ] && break; sleep 0.1; done
slurmctld -D -c >slurmctld.out 2>&1 &
pids+=($!)
start n0
start n1
lost=$last
for _ in $(seq 60); do
  sinfo -h -o %T 2>/dev/null | grep -q '^idle$' && [ "$(sinfo -h -N -o %T | grep -c idle)" -eq 2 ] && break
  sleep 0.5
done
sinfo -N

# The plan is for one machine, as is the catalogue's 'cpu': two nodes are made of it for this test.
"$root/build/bin/dtc" plan "$root/models/configs/gpt2-quickstart.json" --seq-len 128 --topology cpu --devices 2 \
  --global-batch 16 --fix dp=2 -o plan.json >plan.txt
"$root/build/bin/dtc" compile "$root/models/configs/gpt2-quickstart.json" --seq-len 128 --topology cpu --devices 2 \
  --global-batch 16 --plan plan.json -o model.dte >compile.txt
sed -E 's/"nodes": ?1\b/"nodes": 2/' plan.json >two-nodes.json
"$root/build/bin/dtc" launch two-nodes.json --on slurm --program "$folder/model.dte" -o job --name two-nodes \
  --restarts 2 -- --data synthetic --steps "${STEPS:-120}" --seed 1 --checkpoint-dir "$folder/run" --checkpoint-every 10
cat job/job.sbatch
export PATH=$root/build/bin:$PATH MASTER_ADDR=127.0.0.1 # the nodes' names have no addresses
job=$(sbatch --parsable job/job.sbatch)
log=two-nodes-$job.log
for _ in $(seq 600); do
  [ -d run/step-20 ] && break
  sleep 0.2
done
[ -d run/step-20 ] || { echo "slurm.sh: no checkpoint came"; cat "$log"; exit 1; }
echo "== node n1 is killed"
kill -KILL "$lost"
for each in /proc/[0-9]*; do # the ranks that it started
  if { tr '\0' '\n' <"$each/environ"; } 2>/dev/null | grep -qx "SLURMD_NODENAME=n1" &&
    grep -qzF "$folder/model.dte" "$each/cmdline" 2>/dev/null; then
    kill -KILL "${each#/proc/}" 2>/dev/null || true
  fi
done
sleep 12
start n1
for _ in $(seq 600); do
  state=$(scontrol show job "$job" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p')
  [ "$state" = COMPLETED ] || [ "$state" = FAILED ] && break
  sleep 0.5
done
echo "== the job's log"
cat "$log"
scontrol show job "$job" | grep -E 'JobState|Restarts|ExitCode'
[ "$state" = COMPLETED ]
