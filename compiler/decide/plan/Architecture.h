// The shape of a transformer, as the flags of launchers name it.
#pragma once

#include <cstdint>
#include <string>

namespace dtc {

// A plan tells this of its model, so that an export can tell it to a launcher. A size is 0 and a
// word is empty where the model has none. Sizes are elements.
struct ModelArchitecture {
  int64_t hidden = 0; // width of the stream between layers
  int64_t heads = 0;  // heads of queries; if layers differ, the greatest common divisor
  int64_t kvHeads = 0, headDim = 0;
  // Width of the feed-forward part, or of one expert; if layers differ, as for heads.
  int64_t inner = 0;
  int64_t vocabulary = 0;                   // rows of the embedding
  int64_t learnedPositions = 0;             // rows of a learned table of positions
  int64_t window = 0;                       // keys that a query sees
  double rotaryBase = 0;                    // base of rotary embedding
  double rotaryFactor = 0;                  // factor that stretches rotary embedding; 0: none
  std::string norm;                         // "rms" or "layer"
  double epsilon = 0;                       // epsilon of the norms
  std::string activation;                   // "swiglu", "gelu", "gelu_tanh" or "relu"
  double dropout = 0, attentionDropout = 0; // probabilities
  bool tied = false;                        // the output layer is the embedding
  bool biases = false;                      // biases in all linear layers
  bool qkvBiases = false; // biases in the layers that compute queries, keys and values
  int64_t experts = 0, expertsOfToken = 0;
  // Rows that an expert has room for, over its share of the tokens; more are dropped.
  double capacity = 0;
  // All of the above was read, and is the same in all layers.
  bool isWhole = false;

  bool operator==(const ModelArchitecture &) const = default;
};

} // namespace dtc
