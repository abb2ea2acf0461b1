"""Models, parameters and samples that make_fine_tuning.py and ../fine_tuning.py share. Standard library only."""
import random

try:
    from reference.sampler import samples_of as order_of
    from reference.weights import weights_of
except ImportError:
    from sampler import samples_of as order_of
    from weights import weights_of

SEQUENCE, WIDTH, WORDS, BATCH, STEPS, RATE, SEED = 8, 12, 61, 12, 3, 1e-2, 5
Z_SHARE, IGNORED = 0.05, -100

GPT2 = {"model_type": "gpt2", "vocab_size": WORDS, "n_positions": 16, "n_embd": 24, "n_layer": 4, "n_head": 4,
        "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0, "tie_word_embeddings": True}
LLAMA = {"model_type": "llama", "vocab_size": WORDS, "max_position_embeddings": 16, "hidden_size": 24,
         "intermediate_size": 40, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
         "tie_word_embeddings": False}

LAYERS = 4  # layers of a graph; "early" is how many of them are in a repeat of their own, in front
# Losses are "ignored" (cross entropy alone), "z" (with the z-loss over all tokens), "counted z" (over those that
# count).
CASES = [
    {"name": "gpt2", "config": GPT2},
    {"name": "llama", "config": LLAMA},
    {"name": "nothing counts in the last step", "config": LLAMA, "none": True},
    {"name": "z-loss over all", "graph": {"loss": "z", "early": 0}},
    {"name": "z-loss over what counts", "graph": {"loss": "counted z", "early": 0}},
    {"name": "z-loss where nothing counts in the last step", "graph": {"loss": "z", "early": 0}, "none": True},
    {"name": "frozen embedding and head", "graph": {"loss": "ignored", "early": 0}, "frozen": ["table"]},
    {"name": "frozen embedding and first layers", "graph": {"loss": "ignored", "early": 2, "untied": True},
     "frozen": ["table", "h.0.weight", "h.0.bias", "h.1.weight", "h.1.bias"]},
    {"name": "frozen weights, trained biases", "graph": {"loss": "z", "early": 0},
     "frozen": ["table", *(f"h.{layer}.weight" for layer in range(LAYERS))]},
    {"name": "head alone trained", "graph": {"loss": "ignored", "early": 4, "untied": True},
     "frozen": ["table", *(f"h.{layer}.{name}" for layer in range(LAYERS) for name in ("weight", "bias"))]},
]


def start_of(name, count):
    """Returns the initial values of a parameter, chosen such that rounding is not magnified from step to step."""
    share = 1 if "norm" in name or ".ln_" in name else 0.4
    return [share * value for value in weights_of(name, count)]


def config_of(case):
    return case["config"]


def samples_of(case):
    """Returns tokens and targets: in some samples none counts, in others all; in the last step of `none` none at all.
    """
    rng = random.Random("samples of fine-tuning")
    tokens, targets = [], []
    none = order_of(STEPS, BATCH, BATCH * STEPS, SEED) if case.get("none") else []
    for sample in range(BATCH * STEPS):
        share = rng.choice([0.0, 0.2, 0.6, 0.9, 1.0])
        share = 1.0 if sample in none else share
        tokens.append([rng.randrange(WORDS) for _ in range(SEQUENCE)])
        targets.append([IGNORED if rng.random() < share else rng.randrange(WORDS) for _ in range(SEQUENCE)])
    return {"tokens": tokens, "targets": targets}


def parameters_of(case):
    """Returns name -> shape in a checkpoint, in the order of the model."""
    if "graph" in case:
        shapes = {"table": [WORDS, WIDTH]}
        for layer in range(LAYERS):
            shapes |= {f"h.{layer}.weight": [WIDTH, WIDTH], f"h.{layer}.bias": [WIDTH]}
        return shapes | ({"head": [WORDS, WIDTH]} if case["graph"].get("untied") else {})
    config, shapes = case["config"], {}
    if config["model_type"] == "gpt2":
        c = config["n_embd"]
        shapes = {"transformer.wte.weight": [WORDS, c], "transformer.wpe.weight": [config["n_positions"], c]}
        for layer in range(config["n_layer"]):
            p = f"transformer.h.{layer}."
            shapes |= {p + "ln_1.weight": [c], p + "ln_1.bias": [c], p + "attn.c_attn.weight": [c, 3 * c],
                       p + "attn.c_attn.bias": [3 * c], p + "attn.c_proj.weight": [c, c], p + "attn.c_proj.bias": [c],
                       p + "ln_2.weight": [c], p + "ln_2.bias": [c], p + "mlp.c_fc.weight": [c, 4 * c],
                       p + "mlp.c_fc.bias": [4 * c], p + "mlp.c_proj.weight": [4 * c, c], p + "mlp.c_proj.bias": [c]}
        return shapes | {"transformer.ln_f.weight": [c], "transformer.ln_f.bias": [c]}
    c, f, kv = config["hidden_size"], config["intermediate_size"], config["hidden_size"] // 2
    shapes = {"model.embed_tokens.weight": [WORDS, c]}
    for layer in range(config["num_hidden_layers"]):
        p = f"model.layers.{layer}."
        shapes |= {p + "input_layernorm.weight": [c], p + "self_attn.q_proj.weight": [c, c],
                   p + "self_attn.k_proj.weight": [kv, c], p + "self_attn.v_proj.weight": [kv, c],
                   p + "self_attn.o_proj.weight": [c, c], p + "post_attention_layernorm.weight": [c],
                   p + "mlp.gate_proj.weight": [f, c], p + "mlp.up_proj.weight": [f, c],
                   p + "mlp.down_proj.weight": [c, f]}
    return shapes | {"model.norm.weight": [c], "lm_head.weight": [WORDS, c]}


def graph_of(case):
    """Returns the model as graph IR: layers x + tanh(x w + b), the first `early` of them in a repeat of their own."""
    graph, frozen = case["graph"], set(case.get("frozen", ()))
    h, w, b, t = (f"tensor<?x{SEQUENCE}x{WIDTH}xf32>", f"tensor<{WIDTH}x{WIDTH}xf32>", f"tensor<{WIDTH}xf32>",
                  f"tensor<{WORDS}x{WIDTH}xf32>")
    ids, logits, rows = f"tensor<?x{SEQUENCE}xi32>", f"tensor<?x{SEQUENCE}x{WORDS}xf32>", f"tensor<?x{SEQUENCE}xf32>"

    def word(name):
        return " frozen" if name in frozen else ""

    def layer(name, first):
        return [f"  graph.func private @{name}(%x: {h}) -> {h} {{",
                f'    %w, %b = graph.param "weight" normal(0.0, 0.3) decay{word(f"h.{first}.weight")}, '
                f'"bias" normal(0.0, 0.3){word(f"h.{first}.bias")} : {w}, {b}',
                f"    %s = graph.linear %x, %w, %b : ({h}, {w}, {b}) -> {h}", f"    %a = graph.tanh %s : {h}",
                f"    %y = graph.add %x, %a : ({h}, {h}) -> {h}", f"    graph.return %y : {h}", "  }"]

    early = graph["early"]
    lines = [f"module @tuned attributes {{graph.sequence_length = {SEQUENCE} : i64}} {{"]
    if early > 0:
        lines += layer("early", 0)
    if early < LAYERS:
        lines += layer("layer", early)
    lines += [f"  graph.func @loss(%tokens: {ids}, %targets: {ids}) -> tensor<f32> {{",
              f'    %table = graph.param "table" normal(0.0, 0.3) decay{word("table")} : {t}',
              f"    %x0 = graph.embedding %table, %tokens : ({t}, {ids}) -> {h}"]
    last = "%x0"
    for name, first, count in (("early", 0, early), ("layer", early, LAYERS - early)):
        if count > 0:
            braces = f"{{{first}}}" if first else "{}"
            lines.append(f'    %{name} = graph.repeat {count} @{name}({last}) under "h.{braces}" : ({h}) -> {h}')
            last = f"%{name}"
    head = "%table"
    if graph.get("untied"):
        lines.append(f'    %head = graph.param "head" normal(0.0, 0.3) decay{word("head")} : {t}')
        head = "%head"
    lines += [f"    %z = graph.linear {last}, {head} transposed : ({h}, {t}) -> {logits}",
              f"    %mean = graph.cross_entropy %z, %targets ignoring {IGNORED} mean "
              f": ({logits}, {ids}) -> tensor<f32>"]
    loss = "%mean"
    if graph["loss"] != "ignored":
        lines += [f"    %e = graph.exp %z : {logits}", f"    %sum = graph.reduce sum %e dims [2] : {logits} -> {rows}",
                  f"    %log = graph.log %sum : {rows}",
                  f"    %square = graph.multiply %log, %log : ({rows}, {rows}) -> {rows}"]
        if graph["loss"] == "z":
            lines.append(f"    %m = graph.reduce mean %square dims [0, 1] : {rows} -> tensor<f32>")
        else:
            lines += [f"    %counted = graph.counted %targets ignoring {IGNORED} : {ids} to {rows}",
                      f"    %m = graph.weighted_mean %square, %counted : {rows}"]
        lines += [f"    %share = graph.scale %m by {Z_SHARE} : tensor<f32>",
                  "    %total = graph.add %mean, %share : (tensor<f32>, tensor<f32>) -> tensor<f32>"]
        loss = "%total"
    return "\n".join([*lines, f"    graph.return {loss} : tensor<f32>", "  }", "}", ""])
