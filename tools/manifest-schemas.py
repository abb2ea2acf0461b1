#!/usr/bin/env python3
"""Writes what test/launch needs of a custom resource's definition: names, types, enumerations and required fields.

Descriptions are left out, and so is what lies below fields of a pod that dtc launch does not write (KEPT has those that
it does); their names stay, so that a misspelt field is found at every level that is written. Needs PyYAML.

Usage: manifest-schemas.py ORIGIN < DEFINITION.yaml > test/launch/schemas/KIND.json
   git -C jobset show v0.10.0:config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml | manifest-schemas.py \\
     "kubernetes-sigs/jobset v0.10.0" > test/launch/schemas/jobset.json
"""

import json
import sys

import yaml

POD = {"containers", "volumes", "hostNetwork", "restartPolicy", "terminationGracePeriodSeconds"}
# These fields keep what lies below, for a field of a pod and of a container.
KEPT = {
    "containers": {"env", "resources", "securityContext", "volumeMounts", "command"},
    "volumes": {"emptyDir", "persistentVolumeClaim"},
    "securityContext": {"capabilities"},
}
WORDS = ("type", "enum", "required", "x-kubernetes-int-or-string", "minimum", "maximum")


def small(schema, names=(), kept=None):
    """Returns a schema without its prose. `names` are the fields above it; `kept`: those of its own that stay whole."""
    result = {word: schema[word] for word in WORDS if word in schema}
    if "properties" in schema:
        own = schema["properties"]
        if "containers" in own and "volumes" in own:
            kept = POD
        result["properties"] = {}
        for name, each in own.items():
            is_leaf = not {"properties", "items", "additionalProperties"} & each.keys()
            whole = kept is None or name in kept or is_leaf
            below = KEPT.get(name) if kept is not None and whole else None
            result["properties"][name] = small(each, (*names, name), below) if whole else {"pruned": True}
    if "items" in schema:
        result["items"] = small(schema["items"], names, kept)
    if isinstance(schema.get("additionalProperties"), dict):
        result["additionalProperties"] = small(schema["additionalProperties"], names)
    return result


def main():
    definition = yaml.safe_load(sys.stdin)
    spec = definition["spec"]
    served = [each for each in spec["versions"] if each["served"] and each["storage"]]
    (version,) = served
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"].pop("status", None)
    print(
        json.dumps(
            {
                "origin": sys.argv[1],
                "apiVersion": f"{spec['group']}/{version['name']}",
                "kind": spec["names"]["kind"],
                "schema": small(schema),
            },
            indent=None,
            separators=(",", ":"),
            sort_keys=True,
        )
    )


if __name__ == "__main__":
    main()
