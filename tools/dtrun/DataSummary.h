// The line about its data that a run prints before the first step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtc::rt {

// Describes the data of a run or of its evaluation.
struct DataSummary {
  std::vector<std::string> files;   // files that are read; none for random tokens
  std::vector<std::string> leftOut; // files of a folder that are not read
  std::string format;               // "llm.c, 2-byte ids"
  std::optional<uint64_t> tokens;   // nullopt for a model without sequences, and for random tokens
  std::optional<uint64_t> samples;  // nullopt for random tokens, which have no end
  uint64_t sequenceLength = 0;      // tokens of a sample; 0 for a model without sequences
  // A source of a mixture.
  struct Part {
    std::string path;
    double weight = 0;
    uint64_t tokens = 0, samples = 0;
    double epochs = 0; // times that the run reads it
  };
  std::vector<Part> mixture; // empty for one source
  // Documents that were packed into samples.
  struct Packed {
    uint64_t documents = 0, tokens = 0; // packed tokens: less than there are if documents are cut
    uint64_t rooms = 0;                 // tokens that the samples have, empty ones included
  };
  std::optional<Packed> packed;
  // Steps of the run, and samples per step, for training data. 0 for evaluation data, which every
  // evaluation reads completely.
  uint64_t steps = 0, globalBatch = 0;
};

// Returns the line for people: "data: 'train.bin' (llm.c, 2-byte ids): 10846 tokens, 84 samples of
// 128 tokens; 60 steps of 8 read 5.71 epochs". It begins with "evaluation data: " and has no steps
// for evaluation data. Of documents it says "10846 tokens in 60 documents, 85 samples of 128 tokens
// (0.3 % empty)". A mixture has each source with its weight and epochs: "data: 0.7 of 'a' (840
// samples, 2.1 epochs) and 0.3 of 'b' (90 samples, 8.4 epochs), llm.c, 2-byte ids: ...".
std::string dataAsText(const DataSummary &data, bool isEvaluation);

// Returns the line as JSON: {"data":{"files":["train.bin"],"left_out":[],"format":"llm.c, 2-byte
// ids","tokens":10846, "samples":84,"epochs":5.71428571}}. For evaluation data the key is
// "eval_data" and there are no epochs. Of documents it has "documents" and "empty", the share of
// empty tokens. Unknown numbers are null. A mixture has null for "epochs"
// and "sources":[{"path":"a","weight":0.7,"tokens":107520,"samples":840,"epochs":2.1}, ...].
std::string dataAsJson(const DataSummary &data, bool isEvaluation);

} // namespace dtc::rt
