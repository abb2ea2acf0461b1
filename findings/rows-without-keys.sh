#!/usr/bin/env bash
# Rows of attention that see no key, in transformers: a row of padding behind the tokens by more than the window of
# its layer. Encoders with windows (ModernBERT) have them in every batch of samples of unequal length.
#
# Expected: the two implementations of attention agree to rounding, and a row sees nothing beyond its window. They do
# not agree. With "sdpa" such a row does not depend on any token. With "eager", whose mask adds the least number of the
# type to all scores alike, it attends to all positions, those beyond the window too: a change of the first token
# changes the output of the last row of padding, 23 positions away in a layer that sees 2 on each side. Losses that
# ignore padding hide it; labels on padding, or a mean over all rows, do not. graph.attention of dtc gives zeros.
#
# Measured with transformers 5.24.0 and torch 2.8.0 on a CPU. The script fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q torch==2.8.0 numpy transformers==5.24.0
"$folder/venv/bin/python" -W ignore - <<'PY'
import torch
from transformers import ModernBertConfig, ModernBertForMaskedLM

torch.set_num_threads(1)
TOKENS, LENGTH, WINDOW = 24, 8, 4  # a query sees WINDOW // 2 keys on each side
config = ModernBertConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=1,
                          num_attention_heads=4, max_position_embeddings=64, local_attention=WINDOW, pad_token_id=0,
                          bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
                          layer_types=["sliding_attention"])
mask = (torch.arange(TOKENS) < LENGTH).long()[None]
tokens = torch.arange(3, 3 + TOKENS)[None]
other = tokens.clone()
other[0, 0] = 60
changes = {}
for name in ("sdpa", "eager"):
    torch.manual_seed(1)
    model = ModernBertForMaskedLM._from_config(config, attn_implementation=name).eval()
    with torch.no_grad():
        difference = model(input_ids=tokens, attention_mask=mask).logits - model(input_ids=other,
                                                                                 attention_mask=mask).logits
    changes[name] = [difference[0, row].abs().max().item() for row in (0, LENGTH - 1, TOKENS - 1)]
    print(f"{name}: the first token changes row 0 by {changes[name][0]:.2g}, the last token's row by "
          f"{changes[name][1]:.2g}, the last row of padding by {changes[name][2]:.2g}")
assert changes["sdpa"][1:] == [0, 0], changes
assert changes["eager"][1] == 0 and changes["eager"][2] > 1e-6, changes
print("with eager attention a row that sees no key sees all of them")
PY
