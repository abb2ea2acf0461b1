// Builds T5 (Raffel et al. 2020, arXiv:1910.10683) as graph IR, with the parameter names and
// layouts of Hugging Face: an encoder, and a decoder that reads it by attention of its own. Scores
// have a learned bias for ranges of distances, which all layers of a side share.
#pragma once

#include "models/ModelBuilder.h"

namespace dtc {

// The activation of T5's MLPs.
enum class T5Activation { Relu, GeluTanh, GeluErf, Silu };

// Sizes and options. The fields have the meaning of those in Hugging Face's T5Config.
struct T5Config {
  std::string name = "t5";
  int64_t vocabulary = 32128, width = 512, headDim = 64, innerWidth = 2048, layers = 6,
          decoderLayers = 6, heads = 8, buckets = 32, maxDistance = 128;
  // The token in front of the decoder's inputs, and that in the place of labels that do not count.
  int64_t start = 0, padding = 0;
  double epsilon = 1e-6, initializerFactor = 1, dropout = 0;
  T5Activation activation = T5Activation::Relu;
  bool gated = false;        // the MLP is wo(active(wi_0 x) * wi_1 x)
  bool scalesOutputs = true; // logits are times width^-0.5
};

// Returns the least distances of keys in each bucket but the first, for `buckets` buckets of one
// side of the query: distances below half of them have one bucket each, and ranges that grow with
// the logarithm share the others. A distance beyond `distances` is not listed.
llvm::SmallVector<int64_t> bucketStarts(int64_t buckets, int64_t maxDistance, int64_t distances);

// Builds the model for `sequence` tokens on both sides. Its inputs have the names of transformers:
// "input_ids", "attention_mask" (1 for tokens, 0 for padding behind them) and "labels".
mlir::OwningOpRef<mlir::ModuleOp> buildT5(mlir::MLIRContext *context, const T5Config &config,
                                          int64_t sequence);

} // namespace dtc
