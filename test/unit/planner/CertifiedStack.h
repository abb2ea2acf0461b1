// The software of certified problems: fixed figures of a GPU's stack, so that new measurements of
// dtc do not change the problems.
#pragma once

#include "compiler/describe/stack/LoadStack.h"
#include "compiler/describe/stack/SoftwareStack.h"

namespace dtc {

constexpr const char *kCertifiedStack = R"toml(
name = "certified"
description = "Kernels of Megatron-Core, the space of dtc"
extends = "megatron-core"
[planner]
searches_placements = true
chooses_buckets = true
runs_programs = true
[kernels]
expert_imbalance = 1.2
[traffic]
accumulate_bytes = 8
[host]
seconds_per_expert = "0 s"
[kept]
kept_share = 1
kept_share_8_bit = 1
logit_bytes = 8
[recomputation]
selective_attention = false
[overlap]
tp_hidden = 0
p2p_hidden = 1
gather_hidden = 0.8
[collectives]
gathers_rows = false
reduce_bytes = 4
[memory]
gradient_bytes = 4
[space]
fills_stages = []
experts_want_sequence = false
offload = ["0", "1", "2", "3"]
offload_all_layers = true
even_recompute = false
context_kinds = ["ring"]
slides_in_rings = true
zero = ["0", "1", "2", "3"]
zero_of_pipelines = ["0", "1", "2", "3"]
zero_groups = ["1", "2", "3"]
schedules = ["gpipe", "1f1b", "interleaved", "zero-bubble", "zb-v", "zb-2p", "v-half", "v-min"]
recompute_mixes = ["none-selective", "none-full", "selective-full"]
axis_orders = ["any"]
)toml";

// Returns the certified stack.
inline SoftwareStack certifiedStack() { return *parseStack(kCertifiedStack, "certified.toml"); }

} // namespace dtc
