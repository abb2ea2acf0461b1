// Builds encoders as graph IR, with the parameter names and layouts of Hugging Face: BERT (Devlin
// et al. 2018, arXiv:1810.04805) and its kin, ModernBERT (Warner et al. 2024, arXiv:2412.13663) and
// the vision transformer (Dosovitskiy et al. 2020, arXiv:2010.11929). A family is a set of
// features: compiler/describe/frontend/Encoders.cpp has one row for each.
#pragma once

#include "models/ModelBuilder.h"

#include <array>

namespace dtc {

// The activation of an MLP or a head.
enum class EncoderActivation { GeluErf, GeluTanh, Relu, Silu, Tanh };

// A head: out(norm(active(dense x))). Names are those of parameters, without ".weight". An empty
// name means that the head has no such part.
struct EncoderHead {
  const char *dense = "", *norm = "", *out = "";
  std::optional<EncoderActivation> activation = std::nullopt; // that of the config if there is none
};

// The features of a family that no size tells. An empty name means that it has no such part.
struct EncoderFeatures {
  bool ofImages = false;      // it reads images in patches, behind a token that is a parameter
  bool normsFirst = true;     // norms are in front of attention and the MLP, not behind their sums
  bool firstUnnormed = false; // attention of the first layer has no norm in front
  bool rotary = false;        // rotary embedding in the place of learned positions
  bool gated = false;         // the MLP is down(active(gate x) * up x), both in one weight
  bool outputDropped = true;  // there is dropout behind attention
  // Positions count from behind the padding row, and tokens of padding are at that row.
  bool positionsSkipPadding = false;
  const char *base = "", *words = "", *positions = "", *types = "";
  const char *embeddingNorm = "", *embeddingProjection = "";
  const char *layers = "encoder.layer", *lastNorm = "";
  const char *query = "attention.self.query", *key = "attention.self.key";
  const char *value = "attention.self.value", *qkv = "", *output = "attention.output.dense";
  const char *attentionNorm = "attention.output.LayerNorm", *mlpNorm = "output.LayerNorm";
  const char *up = "intermediate.dense", *down = "output.dense";
  // The head of masked language modelling. Its `out` is the parameter if the decoder is not tied to
  // the embedding; `wordBias` is the bias if it is tied.
  EncoderHead wordHead = {};
  const char *wordBias = "";
  EncoderHead classHead = {}; // the head of classification
};

// The loss of a model: of masked words, or of the labels of whole samples as transformers'
// problem_type names them.
enum class EncoderTask { MaskedWords, OneOfClasses, SomeOfClasses, Regression };

// Sizes and options. The fields have the meaning of those in Hugging Face's BertConfig and its kin.
struct EncoderConfig {
  std::string name = "bert";
  EncoderTask task = EncoderTask::MaskedWords;
  int64_t vocabulary = 30522, width = 768, embeddingWidth = 768, innerWidth = 3072, layers = 12,
          heads = 12, positions = 512, types = 2, labels = 2;
  double epsilon = 1e-12, initializerRange = 0.02;
  double embeddingDropout = 0, attentionDropout = 0, outputDropout = 0, innerDropout = 0,
         headDropout = 0;
  bool dropsHeadInput = false; // dropout is in front of the dense layer of the head, too
  EncoderActivation activation = EncoderActivation::GeluErf;
  EncoderActivation headActivation = EncoderActivation::GeluErf;
  bool tied = true, normBias = true, queryBias = true, outputBias = true, mlpBias = true;
  bool headBias = true, decoderBias = true;
  bool meanPooled = false;        // the head of classification reads the mean of all tokens
  std::optional<int64_t> padding; // the row of the embedding without gradient from look-ups
  // Layers that see keys at most this far from the query, on both sides: 1 for each of them.
  // `localRotary` is their rotary embedding.
  llvm::SmallVector<int64_t> localLayers;
  int64_t reach = 0;
  RotarySpec rotary, localRotary;
  // Images: [channels, height, width], in patches of [height, width].
  int64_t channels = 3;
  std::array<int64_t, 2> image{224, 224}, patch{16, 16};
  EncoderFeatures features = {};
};

// Builds the model for sequences of `sequence` tokens, 0 for images. Its inputs have the names of
// transformers: "input_ids", "attention_mask" (1 for tokens, 0 for padding) and, with two types or
// more, "token_type_ids"; or "pixel_values"; and "labels". Weights are [out, in], the layout of
// torch.nn.Linear.
mlir::OwningOpRef<mlir::ModuleOp> buildEncoder(mlir::MLIRContext *context,
                                               const EncoderConfig &config, int64_t sequence);

} // namespace dtc
