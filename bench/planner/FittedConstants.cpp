// The table of fitted constants.
#include "bench/planner/FittedConstants.h"

namespace dtc::published {
namespace {

constexpr llvm::StringRef megatron = "megatron-2021+megatron-deepspeed+oneflow";
constexpr llvm::StringRef core = "megatron-core*+megatron-bridge*";
constexpr llvm::StringRef recipes = "megatron-core+megatron-bridge+megatron-bridge-alltoall*";
constexpr llvm::StringRef sharded = "llm-foundry+fsdp*+deepspeed-zero3";

// The Megatron-Core stacks that do not run expert communication beside matrix products.
constexpr llvm::StringRef waiting = "megatron-core*+megatron-bridge+megatron-bridge-alltoall+"
                                    "megatron-bridge-graph";

// The stacks with rows of 8 bits; all stacks have the constant.
constexpr llvm::StringRef casting =
    "megatron-core*+megatron-bridge*+llm-foundry+fsdp*+maxtext*+paxml";

constexpr FittedConstant constants[] = {
    {megatron, "memory_traffic", 1},
    {megatron, "score_traffic", 6},
    {"bigscience*", "product_share", 0, "megatron-deepspeed"},
    {"bigscience*", "memory_traffic", 0, "megatron-deepspeed"},
    {"bigscience*", "score_traffic", 0, "megatron-deepspeed"},
    {"megatron-flash", "memory_traffic", 1},
    {"megatron-flash", "attention_share", 1},
    {core, "accumulate_bytes", 8},
    {core, "memory_traffic", 1},
    {casting, "cast_traffic", 0},
    {core, "tp_hidden", 0.5},
    {waiting, "ep_hidden", 0},
    {core, "dp_hidden", 0.9},
    {core, "overlap_slowdown", 1.05},
    {recipes, "seconds_per_layer", 0},
    {"hagemann*", "memory_traffic", 1},
    {sharded, "memory_traffic", 1},
    {sharded, "gather_hidden", 0.9},
    {sharded, "overlap_slowdown", 1.05},
    {"llm-foundry", "attention_share", 1},
    {"nanotron", "memory_traffic", 1},
    {"nanotron", "seconds_per_layer", 0},
    {"maxtext*+paxml", "attention_share", 1},
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
