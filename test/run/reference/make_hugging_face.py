#!/usr/bin/env python3
"""Makes the stored folders of Hugging Face's that hugging_face.py imports: tiny models as transformers saves them.

Needs torch and transformers (pip install torch transformers); the tests need only the files that this writes:
<model>/config.json, model.safetensors   written by save_pretrained, random weights; llama in two files with an index
losses.json   the mean loss of each model, by transformers, over all samples of tokens.bin beside this folder
Usage: make_hugging_face.py OUTPUT_DIR TOKENS
"""
import array
import json
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM

SEQUENCE, WORDS = 16, 61
SMALL = dict(vocab_size=WORDS, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=32, initializer_range=0.08, tie_word_embeddings=False,
             bos_token_id=0, eos_token_id=0, pad_token_id=0)
GPT2 = dict(vocab_size=WORDS, n_positions=24, n_embd=24, n_layer=2, n_head=3, initializer_range=0.08, bos_token_id=0,
            eos_token_id=0, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
# Each case is: model type, keys of its config, dtype, and the largest file.
MODELS = {
    "gpt2": ("gpt2", GPT2, torch.float32, "5GB"),
    "llama": ("llama", SMALL, torch.float32, "30KB"),
    "llama-bf16": ("llama", {**SMALL, "tie_word_embeddings": True}, torch.bfloat16, "5GB"),
    "qwen2": ("qwen2", {**SMALL, "tie_word_embeddings": True}, torch.float32, "5GB"),
    "mixtral": ("mixtral", {**SMALL, "intermediate_size": 16, "num_local_experts": 4, "num_experts_per_tok": 2,
                            "sliding_window": None, "router_aux_loss_coef": 0.0}, torch.float32, "5GB"),
    "gemma3": ("gemma3_text", {**SMALL, "head_dim": 8, "query_pre_attn_scalar": 8, "sliding_window": 4,
                               "layer_types": ["sliding_attention", "full_attention"], "tie_word_embeddings": True},
               torch.float32, "5GB"),
    "bert": ("bert", dict(vocab_size=WORDS, hidden_size=24, intermediate_size=40, num_hidden_layers=2,
                          num_attention_heads=4, max_position_embeddings=32, initializer_range=0.08,
                          hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0), torch.float32, "5GB"),
}


def samples(path):
    tokens = array.array("H", path.read_bytes()[1024:])  # behind llm.c's header
    return [list(tokens[at: at + SEQUENCE + 1]) for at in range(0, len(tokens) - SEQUENCE, SEQUENCE)]


def mean_loss(model, rows):
    """Computes the mean loss in f32, over all targets of all samples; of an encoder over the masked words."""
    if model.config.model_type == "bert":
        from reference.encoder_inputs import inputs_of
        inputs = inputs_of(model.config.to_dict(), [row[:-1] for row in rows])
        with torch.no_grad():
            return model.float().eval()(**{name: torch.tensor(numbers).reshape(shape)
                                           for name, (shape, numbers, _) in inputs.items()}).loss.item()
    rows = torch.tensor(rows)
    with torch.no_grad():
        logits = model.float().eval()(rows[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), rows[:, 1:].reshape(-1)).item()


def main():
    out, rows, losses = Path(sys.argv[1]), samples(Path(sys.argv[2])), {}
    torch.manual_seed(5)
    for name, (kind, keys, dtype, largest) in MODELS.items():
        head = AutoModelForMaskedLM if kind == "bert" else AutoModelForCausalLM
        model = head.from_config(AutoConfig.for_model(kind, **keys))
        for parameter in model.parameters():  # norms and biases, too
            parameter.data += 0.05 * torch.randn_like(parameter)
        model.to(dtype).save_pretrained(out / name, max_shard_size=largest)
        (out / name / "generation_config.json").unlink(missing_ok=True)
        model.config.architectures = [type(model).__name__]
        losses[name] = mean_loss(model, rows)
    (out / "losses.json").write_text(json.dumps(losses, indent=1) + "\n")


if __name__ == "__main__":
    main()
