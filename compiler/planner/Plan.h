// A plan: how one training step is spread over a cluster, and what that should cost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dtc {

struct PlanStage {
  int64_t firstLayer = 0, lastLayer = 0; // inclusive
  std::vector<int64_t> ranks;
  int64_t peakMemoryBytes = 0;
  double computeSeconds = 0, exposedCommSeconds = 0;
  std::vector<std::string> recompute; // per layer: none, selective or full
};

// Bytes of the fullest rank, by what they hold.
struct PlanMemory {
  int64_t parameters = 0, gradients = 0, optimizer = 0, activations = 0, temporaries = 0,
          communication = 0;
  int64_t total() const {
    return parameters + gradients + optimizer + activations + temporaries + communication;
  }
};

struct PlanPrediction {
  double stepSeconds = 0, tokensPerSecond = 0, tflopsPerDevice = 0, mfu = 0, bubbleFraction = 0,
         exposedCommSeconds = 0;
  int64_t peakMemoryBytes = 0;
  bool fits = true;
  PlanMemory memory;
};

struct PlanSearch {
  double seconds = 0, lowerBoundSeconds = 0, optimalityGap = 0;
  int64_t candidates = 0;
  bool exhaustive = false;
};

// Field for field the plan JSON of the interface, schema "dtc.plan/1".
struct Plan {
  std::string modelName;
  int64_t parameters = 0;
  double flopsPerStep = 0; // model flops: no recomputation counted
  int64_t sequenceLength = 0;

  std::string topologyName;
  int64_t devices = 1, nodes = 1;

  int64_t dp = 1, tp = 1, pp = 1, cp = 1, ep = 1;
  bool sequenceParallel = false;
  int64_t zero = 0;
  int64_t microBatch = 1, numMicroBatches = 1, globalBatch = 1;
  std::string schedule = "1f1b";
  int64_t virtualStages = 1;
  std::string recompute = "none", precision = "f32", optimizer = "adamw";

  std::vector<PlanStage> stages;
  // Parameter -> mesh axis -> "replicate" or "shard(DIM)".
  std::map<std::string, std::map<std::string, std::string>> tensors;
  PlanPrediction predicted;
  PlanSearch search;
};

// One JSON object, keys in the interface's order, two spaces of indentation.
std::string planToJson(const Plan &plan);

// Reads what planToJson wrote (or a person edited). Returns "" or one message "path:line:col:
// error: ..." that names the key, the value found and the value wanted.
std::string planFromJson(const std::string &text, const std::string &path, Plan &plan);

} // namespace dtc
