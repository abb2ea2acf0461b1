// A plan in Megatron-Core's terms, which Megatron-LM and Megatron-Bridge share. Internal to
// this folder.
#pragma once

#include "compiler/show/export/Capabilities.h"

namespace dtc::launch {

// The settings that Megatron-LM and Megatron-Bridge share.
struct MegatronSettings {
  // Layers of each stage or chunk if they differ: "E,t*3|t*4|t*3,L" of
  // --pipeline-model-parallel-layout; else "".
  std::string layout;
  // 1: no virtual stages.
  int64_t virtualStages = 1;
  std::string granularity, method; // settings of recomputation; "": none
  int64_t recomputedLayers = 0;    // number per chunk
  int64_t offloadedLayers = 0;     // the first ones, with their activations
  // ZeRO-2 and 3: Megatron-FSDP's sharding strategy; else "".
  std::string fsdpStrategy;
  bool distributedOptimizer = false;
  int64_t optimizerInstances = 1; // copies of what ZeRO shards
  bool overlapsReduce = false, overlapsGather = false;
  // The stack hides collectives of tensor parallelism, which takes TransformerEngine's buffers.
  bool overlapsTensor = false;
  int64_t bucketElements = 0;      // 0: its own, or the units of Megatron-FSDP
  bool pipelineBeforeData = false; // ranks of a pipeline are nearer than those of dp
  // cp_comm_type of core/transformer/transformer_config.py; TransformerEngine knows no "allgather",
  // which the flag's help names (context_parallel.py). "": no context parallelism.
  std::string contextCommType;
  // Ranks of the all-to-all and of the ring of a hierarchy of both; else empty.
  llvm::SmallVector<int64_t, 2> contextSizes;
  // Number of ranks that tensor parallelism splits an expert over, if more than one; else 0.
  int64_t expertTensorRanks = 0;
  // "alltoall", or "flex" with DeepEP where a token is sent once to each rank; "" without expert
  // parallelism.
  std::string dispatcher;
  // Rows that an expert has room for, over its share; 0: as many as come.
  double expertCapacity = 0;
  std::string optimizer;
  bool needsOneConnection = false; // CUDA_DEVICE_MAX_CONNECTIONS=1 before Blackwell
  std::vector<std::string> notes;
};

// Converts a plan to Megatron's settings. Errors: decisions that the launcher does not support.
Result<MegatronSettings> megatronSettings(const PlanView &view, const Capabilities &launcher);

// Returns the capabilities that both launchers share.
Capabilities megatronCapabilities(llvm::StringRef name, llvm::StringRef stack);

} // namespace dtc::launch
