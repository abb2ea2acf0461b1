"""The inputs of encoders and of T5 that make_configs.py gives to transformers and like_transformers.py to dtc.

Standard library only.
"""
from reference.weights import uniform


def shape_of(value):
    """Returns height and width of a number for both, or of a list."""
    return value if isinstance(value, list) else [value, value]


def inputs_of(config, rows):
    """Returns name -> (shape, numbers, whether they are whole) for rows of tokens; of images for as many samples."""
    samples, length = len(rows), len(rows[0])
    inputs, spaces = {}, [length - sample % 5 for sample in range(samples)]
    if config["model_type"] == "vit":
        shape = [samples, config.get("num_channels", 3), *shape_of(config["image_size"])]
        count = shape[0] * shape[1] * shape[2] * shape[3]
        inputs["pixel_values"] = shape, uniform("pixels", count, -1, 1), False
    else:
        shape = [samples, length]
        inputs["input_ids"] = shape, [token for row in rows for token in row], True
        inputs["attention_mask"] = shape, [int(at < space) for space in spaces for at in range(length)], True
        if config.get("type_vocab_size", 1 if config["model_type"] in ("distilbert", "modernbert", "t5") else 2) > 1:
            inputs["token_type_ids"] = shape, [int(2 * at >= length) for _ in rows for at in range(length)], True
    if config["architectures"][0].endswith("MaskedLM"):
        masked = [row[at] if at < space and (at + sample) % 3 == 0 else -100
                  for sample, (row, space) in enumerate(zip(rows, spaces)) for at in range(length)]
        return {**inputs, "labels": (shape, masked, True)}
    if config["architectures"][0].endswith("ConditionalGeneration"):  # other words than the encoder's, most of them
        words = [token if (at + sample) % 7 else -100 for sample, row in enumerate(rows)
                 for at, token in enumerate(reversed(row))]
        return {**inputs, "labels": (shape, words, True)}
    labels = config.get("num_labels", 2)
    kind = config.get("problem_type") or ("regression" if labels == 1 else "single_label_classification")
    if kind == "single_label_classification":
        inputs["labels"] = [samples], [sample % labels for sample in range(samples)], True
    elif kind == "regression":
        shape = [samples] if labels == 1 else [samples, labels]
        inputs["labels"] = shape, uniform("labels", samples * labels, -1, 1), False
    else:
        inputs["labels"] = [samples, labels], [float((3 * at) % 7 < 3) for at in range(samples * labels)], False
    return inputs
