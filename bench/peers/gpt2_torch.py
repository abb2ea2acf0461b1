#!/usr/bin/env python3
"""GPT-2 124M in PyTorch, eager or compiled: fused attention, AdamW fused or foreach."""

import peer

parser = peer.arguments(__doc__)
parser.add_argument("--compile", action="store_true", help="torch.compile of forward and backward")
parser.add_argument("--adamw", choices=("fused", "foreach"), default="fused")
args = parser.parse_args()
peer.fix_threads(args.threads)

import torch
import torch.nn.functional as F
from peer import HEADS, LAYERS, WIDTH
from torch import nn

torch.set_num_threads(args.threads)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, sequence, _ = x.shape
        qkv = self.qkv(self.ln_1(x)).view(batch, sequence, 3, HEADS, WIDTH // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(mixed.transpose(1, 2).reshape(batch, sequence, WIDTH))
        return x + self.down(F.gelu(self.up(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(peer.VOCABULARY, WIDTH)
        self.positions = nn.Embedding(peer.CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(parameter)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.ln_f(x), self.tokens.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def main():
    torch.manual_seed(1)
    model = GPT2()
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1],
               "weight_decay": peer.WEIGHT_DECAY},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=peer.LEARNING_RATE, betas=peer.BETAS, eps=peer.EPSILON,
                                  **{args.adamw: True})
    run = torch.compile(model) if args.compile else model
    data = peer.batches(args.batch, args.sequence)

    def step():
        tokens, targets = (torch.from_numpy(t).long() for t in next(data))
        loss = run(tokens, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), peer.CLIP_NORM, foreach=True)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    peer.serve(args, step, {"version": "PyTorch " + torch.__version__})


main()
