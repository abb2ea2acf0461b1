"""Random configs of encoders and of T5, for make_configs.py."""

ABSENT = object()


def head(pick, words, classes):
    """Draws a class: masked words, or labels of one of three kinds."""
    if pick(True, False):
        return {"architectures": [words]}
    kind = pick(None, "single_label_classification", "multi_label_classification", "regression")
    return {"architectures": [classes], "num_labels": pick(3, 5) if kind else pick(1, 2), "problem_type": kind}


def sizes(pick):
    heads = pick(2, 3, 4)
    return {"vocab_size": pick(61, 64, 67), "hidden_size": heads * pick(4, 6, 8), "num_attention_heads": heads,
            "num_hidden_layers": pick(2, 4), "intermediate_size": pick(8, 20, 33),
            "max_position_embeddings": pick(16, 24), "pad_token_id": pick(ABSENT, 0, 7)}


def bert(pick, words="BertForMaskedLM", classes="BertForSequenceClassification"):
    return {**sizes(pick), **head(pick, words, classes), "hidden_act": pick(ABSENT, "gelu", "gelu_new", "relu"),
            "layer_norm_eps": pick(ABSENT, 1e-6, 1e-3), "type_vocab_size": pick(ABSENT, 1, 3),
            "tie_word_embeddings": pick(ABSENT, True), "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
            "classifier_dropout": pick(ABSENT, None, 0.0)}


def distilbert(pick):
    names = {"hidden_size": pick("dim", "hidden_size"), "num_attention_heads": "n_heads",
             "num_hidden_layers": pick("n_layers", "num_hidden_layers"), "intermediate_size": "hidden_dim"}
    return {**{names.get(key, key): value for key, value in sizes(pick).items()},
            **head(pick, "DistilBertForMaskedLM", "DistilBertForSequenceClassification"),
            "activation": pick(ABSENT, "gelu", "relu"), "tie_word_embeddings": pick(ABSENT, True, False),
            "dropout": 0.0, "attention_dropout": 0, "seq_classif_dropout": 0.0}


def electra(pick):
    return {**bert(pick, "ElectraForMaskedLM", "ElectraForSequenceClassification"), "embedding_size": pick(10, 12)}


def roberta(pick):
    return {**bert(pick, "RobertaForMaskedLM", "RobertaForSequenceClassification"), "max_position_embeddings": 25,
            "pad_token_id": pick(ABSENT, 0, 1)}


def modernbert(pick):
    config = {**sizes(pick), **head(pick, "ModernBertForMaskedLM", "ModernBertForSequenceClassification")}
    layers = config["num_hidden_layers"]
    return {**config, "pad_token_id": pick(None, 0, 7), "local_attention": pick(1, 4, 7),
            "layer_types": pick(ABSENT, ["sliding_attention", "full_attention"] * (layers // 2)),
            "global_attn_every_n_layers": pick(ABSENT, 2), "norm_eps": pick(ABSENT, 1e-3),
            "classifier_pooling": pick(ABSENT, "cls", "mean"), "classifier_activation": pick(ABSENT, "silu"),
            **{key: pick(ABSENT, True, False) for key in ("norm_bias", "attention_bias", "mlp_bias", "decoder_bias",
                                                          "classifier_bias", "tie_word_embeddings")},
            **rotary(pick)}


def rotary(pick):
    """Draws the bases of both kinds of layers, in the older or the newer spelling."""
    if pick(True, False):
        return {"global_rope_theta": pick(ABSENT, 500.0), "local_rope_theta": pick(ABSENT, 50.0)}
    return {"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 300.0},
                                "sliding_attention": {"rope_type": "default"}}}


def vit(pick):
    config = sizes(pick)
    kept = ("hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size")
    return {**{key: config[key] for key in kept}, "architectures": ["ViTForImageClassification"],
            "image_size": pick(8, 10, [8, 12]), "patch_size": pick(4, [4, 2]), "num_channels": pick(ABSENT, 1),
            "qkv_bias": pick(ABSENT, False), "num_labels": pick(ABSENT, 5), "layer_norm_eps": pick(ABSENT, 1e-3),
            "hidden_act": pick(ABSENT, "gelu_new")}


def t5(pick):
    """Draws T5's keys: sizes under either name, both kinds of MLPs, and buckets that a sequence of 16 tells apart."""
    layers, heads = pick(1, 2, 4), pick(2, 4)
    buckets, distance = pick((ABSENT, ABSENT), (ABSENT, 20), (4, 9), (7, 9), (8, 12), (8, 64))
    names = {"num_layers": pick("num_layers", "num_hidden_layers"), "num_heads": "num_heads",
             "d_model": pick("d_model", "hidden_size"), "d_kv": pick("d_kv", "head_dim")}
    sizes = {"num_layers": layers, "num_heads": heads, "d_model": pick(12, 20, 24), "d_kv": pick(3, 6, 8)}
    return {**{names[key]: value for key, value in sizes.items()}, "architectures": ["T5ForConditionalGeneration"],
            "vocab_size": pick(61, 64, 67), "d_ff": pick(20, 33), "num_decoder_layers": pick(ABSENT, None, 1, 2, 4),
            "relative_attention_num_buckets": buckets, "relative_attention_max_distance": distance,
            "feed_forward_proj": pick(ABSENT, "relu", "gated-gelu", "gated-silu", "gelu_new"), "dropout_rate": 0.0,
            "tie_word_embeddings": pick(ABSENT, True, False, None), "scale_decoder_outputs": pick(ABSENT, ABSENT, True),
            "layer_norm_epsilon": pick(ABSENT, 1e-3), "initializer_factor": pick(ABSENT, 0.5),
            "decoder_start_token_id": pick(0, 2), "pad_token_id": pick(ABSENT, 3), "n_positions": pick(ABSENT, 512)}


MAKERS = {"bert": bert, "distilbert": distilbert, "electra": electra, "modernbert": modernbert, "roberta": roberta,
          "t5": t5, "vit": vit}
