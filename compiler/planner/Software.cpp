// The table of software stacks.
#include "compiler/planner/Software.h"

#include <iterator>

namespace dtc {
namespace {

const SoftwareStack table[] = {
    {.name = "dtc"},
    {.name = "megatron-2021",
     .joinsPointwise = true,
     .blockedAttention = false,
     .selectiveAttention = true,
     .dpHidden = 0},
    {.name = "megatron-deepspeed",
     .joinsPointwise = true,
     .blockedAttention = false,
     .selectiveAttention = true,
     .dpHidden = 0},
    {.name = "megatron-flash", .selectiveAttention = true, .dpHidden = 0},
    {.name = "megatron-core", .selectiveAttention = true, .tpHidden = 0.5},
    {.name = "megatron-bridge", .selectiveAttention = true, .tpHidden = 0.5},
    {.name = "hagemann-torch",
     .joinsPointwise = false,
     .blockedAttention = false,
     .selectiveAttention = true,
     .dpHidden = 0},
    {.name = "hagemann-fused",
     .joinsPointwise = false,
     .blockedAttention = false,
     .selectiveAttention = true,
     .dpHidden = 0},
    {.name = "hagemann-flash1", .joinsPointwise = false, .selectiveAttention = true, .dpHidden = 0},
    {.name = "hagemann-flash2", .joinsPointwise = false, .selectiveAttention = true, .dpHidden = 0},
    {.name = "hagemann-flash2-rms",
     .joinsPointwise = true,
     .selectiveAttention = true,
     .dpHidden = 0},
    {.name = "llm-foundry", .joinsPointwise = false},
    {.name = "fsdp-eager", .joinsPointwise = false},
    {.name = "fsdp-compiled"},
    {.name = "deepspeed-zero3", .joinsPointwise = false, .blockedAttention = false},
    {.name = "nanotron", .joinsPointwise = false},
    {.name = "oneflow", .blockedAttention = false},
    {.name = "maxtext"},
    {.name = "neuron"},
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
