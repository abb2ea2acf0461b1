"""Small models as people write them, with constructs that no configuration of Hugging Face has.

`random_written` draws one and `text_of` writes it as graph IR. A layer is x + gelu(x w). Around it are, as drawn:
- `shared`: a matrix that every layer reads, so that every stage of a pipeline has it;
- `skip`: each layer adds a projection of the embedded tokens, a value that goes to every stage;
- `positions`: a slice of a table, longer than the sequence, that is added in front of the layers and behind them: no
  sample enters it, and two stages read it;
- `tied`: the embedding is the head;
- `penalty`: a term of the loss that no sample enters, of "table", "head", "shared" or "positions".
"""

PENALTIES = {"squares": "    %s1 = graph.multiply {p}, {p} : ({t}, {t}) -> {t}\n",
             "powers": "    %s0 = graph.multiply {p}, {p} : ({t}, {t}) -> {t}\n"
                       "    %s1 = graph.multiply %s0, %s0 : ({t}, {t}) -> {t}\n"}


def random_written(rng):
    config = {"model_type": "written", "vocab_size": rng.choice([61, 64, 97]), "width": rng.choice([12, 16, 20, 24]),
              "n_layer": rng.choice([1, 2, 3]), "shared": rng.choice([True, False]), "skip": rng.choice([True, False]),
              "positions": rng.choice([True, False]), "tied": rng.choice([True, False])}
    of = ["table"] + [name for name in ("shared", "positions") if config[name]] + ([] if config["tied"] else ["head"])
    config["penalty"] = rng.choice(["", *of])
    config["penalty_form"] = rng.choice(sorted(PENALTIES))
    return config


def text_of(config, sequence):
    width, words = config["width"], config["vocab_size"]
    h, w, table = f"tensor<?x{sequence}x{width}xf32>", f"tensor<{width}x{width}xf32>", f"tensor<{words}x{width}xf32>"
    t, z = f"tensor<?x{sequence}xi32>", f"tensor<?x{sequence}x{words}xf32>"
    all_places, places = f"tensor<{sequence + 3}x{width}xf32>", f"tensor<{sequence}x{width}xf32>"
    extra = [("%s", w)] * config["shared"] + [("%e", h)] * config["skip"]
    takes = "".join(f", {name}: {kind}" for name, kind in extra)
    types = ", ".join([h, *(kind for _, kind in extra)])
    parameters = {"table": ("%table", table, 0.3), "head": ("%head", table, 0.2), "shared": ("%s", w, 0.2),
                  "positions": ("%all", all_places, 0.1)}
    used = ["table", *(name for name in ("shared", "positions") if config[name])] + ([] if config["tied"] else ["head"])
    lines = [f"module @written attributes {{graph.sequence_length = {sequence} : i64}} {{",
             f"  graph.func private @layer(%x: {h}{takes}) -> {h} {{",
             f'    %w = graph.param "weight" normal(0.0, 0.2) decay : {w}',
             f"    %a0 = graph.linear %x, %w : ({h}, {w}) -> {h}",
             f"    %b0 = graph.gelu tanh %a0 : {h}"]
    last = "%b0"
    if config["shared"]:
        lines.append(f"    %b1 = graph.linear {last}, %s : ({h}, {w}) -> {h}")
        last = "%b1"
    if config["skip"]:
        lines.append(f"    %b2 = graph.linear %e, %w : ({h}, {w}) -> {h}")
        lines.append(f"    %b3 = graph.add {last}, %b2 : ({h}, {h}) -> {h}")
        last = "%b3"
    lines += [f"    %y = graph.add %x, {last} : ({h}, {h}) -> {h}", f"    graph.return %y : {h}", "  }",
              f"  graph.func @loss(%tokens: {t}, %targets: {t}) -> tensor<f32> {{"]
    for name in used:
        value, kind, deviation = parameters[name]
        lines.append(f'    {value} = graph.param "{name}" normal(0.0, {deviation}) decay : {kind}')
    lines.append(f"    %words = graph.embedding %table, %tokens : ({table}, {t}) -> {h}")
    first = "%words"
    if config["positions"]:
        lines.append(f"    %places = graph.slice %all dim 0 start 0 size {sequence} : {all_places} -> {places}")
        lines.append(f"    %e = graph.add %words, %places : ({h}, {places}) -> {h}")
        first = "%e"
    operands = ", ".join([first, *({"%s": "%s", "%e": first}[name] for name, _ in extra)])
    lines.append(f'    %last = graph.repeat {config["n_layer"]} @layer({operands}) under "layers.{{}}" : ({types}) -> '
                 f'{h}')
    last = "%last"
    if config["positions"]:
        lines.append(f"    %again = graph.add %last, %places : ({h}, {places}) -> {h}")
        last = "%again"
    lines.append(f"    %z = graph.linear {last}, {'%table' if config['tied'] else '%head'} transposed : ({h}, "
                 f"{table}) -> {z}")
    lines.append(f"    %mean = graph.cross_entropy %z, %targets mean : ({z}, {t}) -> tensor<f32>")
    loss = "%mean"
    if config["penalty"]:
        value, kind, _ = parameters[config["penalty"]]
        lines.append(PENALTIES[config["penalty_form"]].format(p=value, t=kind).rstrip("\n"))
        lines += [f"    %s2 = graph.reduce sum %s1 dims [0, 1] : {kind} -> tensor<f32>",
                  "    %s3 = graph.scale %s2 by 0.01 : tensor<f32>",
                  "    %total = graph.add %mean, %s3 : (tensor<f32>, tensor<f32>) -> tensor<f32>"]
        loss = "%total"
    lines += [f"    graph.return {loss} : tensor<f32>", "  }", "}", ""]
    return "\n".join(lines)
