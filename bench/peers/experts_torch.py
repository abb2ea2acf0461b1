#!/usr/bin/env python3
"""transformers' own Mixtral in PyTorch, from a config.json, with AdamW: a peer of bench/experts.sh."""

import peer

parser = peer.arguments(__doc__)
parser.add_argument("config", help="a config.json of a Mixtral")
parser.add_argument("--experts", choices=("grouped_mm", "eager"), default="grouped_mm",
                    help="how transformers multiplies the rows of experts")
args = parser.parse_args()
peer.fix_threads(args.threads)

import torch
import transformers
from torch import nn

torch.set_num_threads(args.threads)


def main():
    torch.manual_seed(1)
    config = transformers.AutoConfig.from_pretrained(args.config)
    config.use_cache = False
    options = {"experts_implementation": args.experts}
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="sdpa", **options)
    model = model.to(torch.float32).train()
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1],
               "weight_decay": peer.WEIGHT_DECAY},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=peer.LEARNING_RATE, betas=peer.BETAS, eps=peer.EPSILON,
                                  fused=True)
    data = peer.batches(args.batch, args.sequence, config.vocab_size)

    def step():
        tokens, targets = (torch.from_numpy(t).long() for t in next(data))
        logits = model(input_ids=tokens).logits
        loss = nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), peer.CLIP_NORM, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    peer.serve(args, step, {"version": f"transformers {transformers.__version__}, PyTorch {torch.__version__}"})


main()
