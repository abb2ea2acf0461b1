// The table of fitted constants.
#include "bench/planner/FittedConstants.h"

namespace dtc::published {
namespace {

constexpr llvm::StringRef megatron = "megatron-2021+megatron-deepspeed+oneflow";
constexpr llvm::StringRef core = "megatron-core*+megatron-bridge*";
constexpr llvm::StringRef recipes = "megatron-core+megatron-bridge+megatron-bridge-alltoall*";
constexpr llvm::StringRef sharded = "llm-foundry+fsdp*+deepspeed-zero3";

// All stacks have it; these have rows of 8 bits.
constexpr llvm::StringRef casting =
    "megatron-core*+megatron-bridge*+llm-foundry+fsdp*+maxtext+paxml";

constexpr FittedConstant constants[] = {
    {megatron, "memoryTraffic", 1},
    {megatron, "scoreTraffic", 6},
    {"bigscience", "productShare", 0, "megatron-deepspeed"},
    {"bigscience", "memoryTraffic", 0, "megatron-deepspeed"},
    {"bigscience", "scoreTraffic", 0, "megatron-deepspeed"},
    {"megatron-flash", "memoryTraffic", 1},
    {"megatron-flash", "attentionShare", 1},
    {core, "accumulateBytes", 8},
    {core, "memoryTraffic", 1},
    {core, "attentionShare", 1},
    {casting, "castTraffic", 0},
    {core, "tpHidden", 0.5},
    {core, "cpHidden", 0.8},
    {core, "dpHidden", 0.9},
    {core, "overlapSlowdown", 1.05},
    {recipes, "hostSecondsPerLayer", 0},
    {"hagemann*", "memoryTraffic", 1},
    {sharded, "memoryTraffic", 1},
    {sharded, "gatherHidden", 0.9},
    {sharded, "overlapSlowdown", 1.05},
    {"deepspeed-zero3", "gatherShare", 1},
    {"llm-foundry", "attentionShare", 1},
    {"nanotron", "memoryTraffic", 1},
    {"nanotron", "hostSecondsPerLayer", 0},
    {"maxtext+paxml", "attentionShare", 1},
    {"neuron", "productShare", 1},
    {"TPU", "products", 0.82},
    {"A100", "products", 0.82},
    {"H100+H200", "products", 0.82},
    {"V100", "products", 0.82},
    {"B200+B300", "products", 0.82},
    {"GB200", "products", 0.82},
    {"GB300", "products", 0.82},
};

} // namespace

llvm::ArrayRef<FittedConstant> fittedConstants() { return constants; }

} // namespace dtc::published
