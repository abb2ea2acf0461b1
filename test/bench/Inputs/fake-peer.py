"""A peer that trains nothing: answers as bench/gpu/peer.py does. Batch 2 does not fit into its memory."""
import json
import sys


def answer(**values):
    print(json.dumps(values), flush=True)


batch = 0
answer(ready=True, version="of lit")
for line in sys.stdin:
    request = json.loads(line)
    if "batch" in request:
        batch = request["batch"]
        answer(**({"failed": "out of memory: tried 2"} if batch == 2
                  else {"first_loss": 6.2, "loss": 6.1, "seconds": 0.5}))
    elif "steps" in request:
        steps = request["steps"]
        answer(wall_s=0.25 * steps, step_s=[0.25] * steps, loss=6.0, allocated_bytes=2**30, reserved_bytes=2**31)
    else:
        answer(reserved_bytes=0)
