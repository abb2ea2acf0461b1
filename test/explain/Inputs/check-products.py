#!/usr/bin/env python3
"""Checks that the products that explain lists of a plan make up the flops of its model.

  check-products.py PLAN.json PRODUCTS.json ATTENTION.json [--less FLOPS]

PRODUCTS.json is what `dtc explain --op linear --format json` prints, ATTENTION.json what `--op attention` does.
The model counts causal attention in full and the cost of an op its half, so that attention counts twice here.
--less: by so much the model has less.
"""
import argparse
import json

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
for name in ("plan", "products", "attention"):
    parser.add_argument(name)
parser.add_argument("--less", type=float, default=0)
options = parser.parse_args()


def flops(path):
    with open(path) as file:
        return sum(op["flops"] * op["runs"] for op in json.load(file)["ops"])


with open(options.plan) as file:
    wanted = json.load(file)["model"]["flops_per_step"]
found = flops(options.products) + 2 * flops(options.attention)
assert found == wanted + options.less, f"ops have {found} flops, the model {wanted}"
