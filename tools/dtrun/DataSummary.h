// The line about its data that a run prints before the first step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtc::rt {

struct DataSummary {
  std::vector<std::string> files;   // that are read; none of random tokens
  std::vector<std::string> leftOut; // of a folder
  std::string format;               // "llm.c, 2-byte ids"
  std::optional<uint64_t> tokens;   // nullopt: a model without sequences, or random tokens
  std::optional<uint64_t> samples;  // nullopt: random tokens, which have no end
  uint64_t sequenceLength = 0;      // tokens of a sample; 0 for a model without sequences
  // Of training data: the steps of the run and the samples of each. 0 for evaluation data, which
  // every evaluation reads as a whole.
  uint64_t steps = 0, globalBatch = 0;
};

// "data: 'train.bin' (llm.c, 2-byte ids): 10846 tokens, 84 samples of 128 tokens; 60 steps of 8 read
// 5.71 epochs"; "evaluation data: ..." where there are no steps.
std::string dataAsText(const DataSummary &data, bool isEvaluation);

// {"data":{"files":["train.bin"],"left_out":[],"format":"llm.c, 2-byte ids","tokens":10846,
// "samples":84,"epochs":5.71428571}}; "eval_data" and no epochs for evaluation data. Numbers that
// are not known are null.
std::string dataAsJson(const DataSummary &data, bool isEvaluation);

} // namespace dtc::rt
