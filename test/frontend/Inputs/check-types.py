"""Checks the table of docs/model-types.md: each type imports, or is refused with the part that the table names.

check-types.py PAGE RESULTS FOLDER      RESULTS: the folder of transformers' results; dtc is on the PATH
"""
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

# The types of ../shared/reviews/bug-reports.md, of public configs.
WANTED = """aquila baichuan bert bloom cohere cohere2 deepseek_v2 deepseek_v3 falcon gemma2 gemma3_text glm4 gpt2
gpt_bigcode gpt_neox gpt_oss gptj granite internlm2 kimi_k2 llama llama4_text mamba minimax_m1 minimax_m2 mistral
mixtral modernbert olmo olmo2 opt phi phi3 qwen2 qwen3 qwen3_moe smollm3 stablelm starcoder2 t5 vit""".split()
LEAST = 24
OTHER = {"hidden_size": 32, "intermediate_size": 56, "num_hidden_layers": 2, "num_attention_heads": 4,
         "max_position_embeddings": 64, "vocab_size": 61}


def check(condition, what):
    if not condition:
        sys.exit(f"FAILED: {what}")


def configs_of(results):
    """Returns type -> the configs of it that are compared with transformers."""
    found = {}
    for name in ("configs", "expert_configs"):
        for case in json.loads((results / f"{name}.json").read_text())["cases"]:
            found.setdefault(case["config"]["model_type"], []).append(case["config"])
    return found


def run(folder, config):
    path, out = folder / "config.json", folder / "model.mlir"
    path.write_text(json.dumps(config, indent=2))
    out.unlink(missing_ok=True)
    result = subprocess.run(["dtc", "import", path, "-o", out], capture_output=True, text=True)
    return result, out.read_text() if out.exists() else ""


def main():
    page, folder = Path(sys.argv[1]).read_text(), Path(sys.argv[3])
    configs = configs_of(Path(sys.argv[2]))
    folder.mkdir(parents=True, exist_ok=True)
    rows = re.findall(r"^\| (\w+) \| (imports|refused) \| (.*) \|$", page, re.MULTILINE)
    check([row[0] for row in rows] == WANTED, f"the page has the types {[row[0] for row in rows]}")
    counts = Counter(row[1] for row in rows)
    check(f"{counts['imports']} become\nmodels" in page and f"{counts['refused']} are refused" in page,
          f"the page does not say that {counts['imports']} import and {counts['refused']} don't")
    check(counts["imports"] >= LEAST, f"{counts['imports']} types import")
    for kind, what, said in rows:
        if what == "imports":
            check(said == str(len(configs.get(kind, []))), f"{kind}: {len(configs.get(kind, []))} configs are compared")
            for config in configs[kind]:
                result, text = run(folder, config)
                check(result.returncode == 0 and "graph.func @loss" in text, f"{kind}: {result.stderr}")
        else:
            result, text = run(folder, {"model_type": kind, **OTHER})
            lines = result.stderr.splitlines()
            check(result.returncode == 1 and not text and len(re.findall("error:", result.stderr)) == 1
                  and lines[0].startswith(f"{folder / 'config.json'}:2:3: error: 'model_type' is '{kind}'; dtc imports")
                  and f"{kind} has {said}, which dtc can't import" in lines[1], f"{kind}: {result.stderr}")
    for kind in re.findall(r"\w+", re.search(r"Beside these, dtc imports (.*?) \(\[", page, re.DOTALL).group(1)):
        check(kind == "and" or kind in configs and kind not in WANTED, f"'{kind}' is on the page")
    beside = {kind for kind in configs if kind not in WANTED}
    check(all(kind in page for kind in beside), f"the page lacks one of {sorted(beside)}")
    print(f"{counts['imports']} types import, {counts['refused']} are refused")


if __name__ == "__main__":
    main()
