"""The [calibration] of a file has six collectives of each number of ranks, or the command said why not."""
import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    points = tomllib.load(file)["calibration"].get("collectives", [])
with open(sys.argv[2], encoding="utf-8") as file:
    notes = [line for line in file if line.startswith("note: ")]
kinds = {}
for point in points:
    kinds.setdefault(point["ranks"], set()).add(point["kind"])
incomplete = {ranks: sorted(found) for ranks, found in kinds.items() if len(found) != 6}
if incomplete and not any("were left out" in note for note in notes):
    sys.exit(f"incomplete without a note: {incomplete}")
if not kinds and not any("no collectives" in note for note in notes):
    sys.exit("no collectives, and no note")
