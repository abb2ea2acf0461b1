"""Sizes of GPT-2 and Llama 3, and the work of a step."""
import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Shape:
    family: str  # "gpt2" or "llama"
    layers: int
    width: int
    heads: int
    kv_heads: int
    inner: int
    vocabulary: int
    sequence: int


SHAPES = {
    # Radford et al. 2019. The vocabulary is padded to a multiple of 64, as is usual in training.
    "gpt2-124m": Shape("gpt2", 12, 768, 12, 12, 3072, 50304, 1024),
    "gpt2-774m": Shape("gpt2", 36, 1280, 20, 20, 5120, 50304, 1024),
    "gpt2-1.5b": Shape("gpt2", 48, 1600, 25, 25, 6400, 50304, 1024),
    # From config.json of Llama-3.2-1B. Its table of tokens is also its head.
    "llama3-1b": Shape("llama", 16, 2048, 32, 8, 8192, 128256, 4096),
    # For tests on any machine.
    "tiny-gpt2": Shape("gpt2", 2, 64, 4, 4, 256, 512, 64),
    "tiny-llama": Shape("llama", 2, 64, 4, 2, 192, 512, 64),
}


def model_flops(shape, parameters):
    """Returns the flops of one token, as Megatron-LM counts them: full attention, and products of every parameter
    except tables that are only looked up in."""
    looked_up = shape.sequence * shape.width if shape.family == "gpt2" else 0
    return 6 * (parameters - looked_up) + 12 * shape.layers * shape.sequence * shape.width


def expected_loss(shape):
    """Returns the loss of a model before training."""
    return math.log(shape.vocabulary)
