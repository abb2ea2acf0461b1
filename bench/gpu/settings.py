"""The settings of bench/gpu: models, sequence lengths, and micro-batches in the order in which they are tried."""
import dataclasses
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "calibrate-gpu"))
from shapes import SHAPES, Shape

# Each contender trains with these constants of AdamW, at a constant rate.
LEARNING_RATE, BETAS, EPSILON, WEIGHT_DECAY, CLIP_NORM = 3e-4, (0.9, 0.95), 1e-8, 0.1, 1.0
PEAK_FLOPS = 989.4e12  # dense bf16 of an H100 or H200: topologies/dgx-h100.toml


@dataclasses.dataclass(frozen=True)
class Setting:
    name: str
    shape: Shape
    batches: tuple  # likely best first: time may not suffice for all

    @property
    def tokens(self):
        return self.shape.sequence


def setting(name, shape, batches, sequence=None):
    return Setting(name, dataclasses.replace(SHAPES[shape], sequence=sequence or SHAPES[shape].sequence), batches)


SETTINGS = {each.name: each for each in [
    setting("gpt2-124m", "gpt2-124m", (32, 64, 16)),
    setting("gpt2-1.5b", "gpt2-1.5b", (16, 8, 32)),
    setting("llama3-1b", "llama3-1b", (4, 8, 2)),
    setting("gpt2-774m", "gpt2-774m", (16, 32, 8)),
    # Kernels take a few microseconds: the launches determine the step.
    setting("llama3-1b-launches", "llama3-1b", (1,), 512),
    # This one is for a try on any machine.
    setting("tiny-gpt2", "tiny-gpt2", (2, 1), 16),
    setting("tiny-llama", "tiny-llama", (1,), 16),
]}
USUAL = [name for name in SETTINGS if not name.startswith("tiny")]


def config_of(shape):
    """Returns the config.json of a shape, for dtc."""
    if shape.family == "gpt2":
        return {"model_type": "gpt2", "vocab_size": shape.vocabulary, "n_positions": shape.sequence,
                "n_embd": shape.width, "n_layer": shape.layers, "n_head": shape.heads, "n_inner": shape.inner,
                "activation_function": "gelu_new", "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
                "initializer_range": 0.02, "tie_word_embeddings": True}
    return {"model_type": "llama", "vocab_size": shape.vocabulary, "hidden_size": shape.width,
            "intermediate_size": shape.inner, "num_hidden_layers": shape.layers, "num_attention_heads": shape.heads,
            "num_key_value_heads": shape.kv_heads, "max_position_embeddings": 131072, "rope_theta": 500000.0,
            "rms_norm_eps": 1e-5, "hidden_act": "silu", "initializer_range": 0.02, "tie_word_embeddings": True,
            "attention_bias": False, "mlp_bias": False}


def token_flops(shape, parameters):
    """Returns the FLOPs of one token, forward and backward: (with full attention, with causal attention).

    A parameter of a matmul counts 6, the head among them; tables that are only looked up count nothing.
    """
    looked_up = shape.sequence * shape.width if shape.family == "gpt2" else 0
    attention = shape.layers * shape.sequence * shape.width
    products = 6 * (parameters - looked_up)
    return products + 12 * attention, products + 6 * attention
