// The table of software stacks.
#include "compiler/planner/Software.h"

#include <iterator>

namespace dtc {
namespace {

const SoftwareStack table[] = {
    {.name = "dtc"},
    {.name = "megatron-2021",
     .blockedAttention = false,
     .selectiveAttention = true,
     .lossTraffic = 8.7,
     .accumulateBytes = 10,
     .dpHidden = 0},
    {.name = "megatron-deepspeed",
     .blockedAttention = false,
     .selectiveAttention = true,
     .lossTraffic = 8.7,
     .accumulateBytes = 6,
     .dpHidden = 0},
    {.name = "bigscience",
     .blockedAttention = false,
     .selectiveAttention = true,
     .lossTraffic = 8.7,
     .accumulateBytes = 6,
     .dpHidden = 0},
    {.name = "megatron-flash",
     .selectiveAttention = true,
     .lossTraffic = 8.7,
     .accumulateBytes = 8,
     .dpHidden = 0},
    {.name = "megatron-core",
     .selectiveAttention = true,
     .lossTraffic = 4,
     .accumulateBytes = 8,
     .tpHidden = 0.5},
    {.name = "megatron-bridge",
     .selectiveAttention = true,
     .sendsTokensOnce = true,
     .lossTraffic = 4,
     .accumulateBytes = 8,
     .tpHidden = 0.5},
    {.name = "hagemann-torch",
     .joinsPointwise = false,
     .blockedAttention = false,
     .selectiveAttention = true,
     .compositeTraffic = 6,
     .rmsNormKept = 3,
     .scoreTraffic = 15,
     .lossTraffic = 8.7,
     .accumulateBytes = 6,
     .dpHidden = 0},
    {.name = "hagemann-fused",
     .joinsPointwise = false,
     .blockedAttention = false,
     .selectiveAttention = true,
     .compositeTraffic = 6,
     .rmsNormKept = 3,
     .lossTraffic = 8.7,
     .accumulateBytes = 6,
     .dpHidden = 0},
    {.name = "hagemann-flash1",
     .joinsPointwise = false,
     .selectiveAttention = true,
     .compositeTraffic = 6,
     .rmsNormKept = 3,
     .lossTraffic = 8.7,
     .accumulateBytes = 6,
     .dpHidden = 0},
    {.name = "hagemann-flash2",
     .joinsPointwise = false,
     .selectiveAttention = true,
     .compositeTraffic = 6,
     .rmsNormKept = 3,
     .lossTraffic = 8.7,
     .accumulateBytes = 6,
     .dpHidden = 0},
    {.name = "hagemann-flash2-rms",
     .joinsPointwise = true,
     .selectiveAttention = true,
     .lossTraffic = 8.7,
     .accumulateBytes = 6,
     .dpHidden = 0},
    {.name = "llm-foundry", .joinsPointwise = false, .lossTraffic = 6.7, .accumulateBytes = 8},
    {.name = "fsdp-eager",
     .joinsPointwise = false,
     .selectiveShare = 0.5,
     .lossTraffic = 6.7,
     .accumulateBytes = 8},
    {.name = "fsdp-compiled", .selectiveShare = 0.5, .lossTraffic = 2, .accumulateBytes = 8},
    {.name = "deepspeed-zero3",
     .joinsPointwise = false,
     .blockedAttention = false,
     .lossTraffic = 8.7,
     .accumulateBytes = 8},
    {.name = "nanotron", .joinsPointwise = false, .lossTraffic = 8.7, .accumulateBytes = 10},
    {.name = "oneflow", .blockedAttention = false, .lossTraffic = 8.7, .accumulateBytes = 10},
    {.name = "maxtext", .lossTraffic = 2},
    {.name = "paxml", .blockedAttention = false, .lossTraffic = 2},
    {.name = "neuron", .lossTraffic = 2},
};

} // namespace

llvm::ArrayRef<SoftwareStack> softwareStacks() { return table; }

const SoftwareStack *softwareNamed(llvm::StringRef name) {
  for (const SoftwareStack &stack : table)
    if (stack.name == name)
      return &stack;
  return nullptr;
}

} // namespace dtc
