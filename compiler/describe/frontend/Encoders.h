// The families of encoders. Each is one row of the table in Encoders.cpp; docs/adding-a-model.md
// tells how to add one. Internal to this folder.
#pragma once

#include "models/Encoder.h"

#include "llvm/ADT/ArrayRef.h"

namespace dtc {

// A family of encoders: its names, its features, and the keys from which the classes of
// transformers read the rest. An empty key means that the classes have none, so that its value is
// 0 or false.
struct EncoderFamily {
  const char *type = "";
  // The classes that dtc builds. The first is that of a file without `architectures`.
  const char *maskedWords = "", *classes = "";
  EncoderFeatures features = {};
  const char *width = "hidden_size", *layers = "num_hidden_layers";
  const char *heads = "num_attention_heads", *innerWidth = "intermediate_size";
  const char *embeddingWidth = "";        // the width of layers if there is no key
  const char *epsilon = "layer_norm_eps"; // kBertEpsilon if there is no key
  const char *activation = "hidden_act", *headActivation = ""; // the layers' own if there is no key
  const char *embeddingDropout = "hidden_dropout_prob", *outputDropout = "hidden_dropout_prob";
  const char *innerDropout = "hidden_dropout_prob";
  const char *attentionDropout = "attention_probs_dropout_prob";
  // Dropout of the head of classification. Where the class allows null, that means the second.
  const char *headDropout = "", *usualHeadDropout = "";
  bool dropsHeadInput = false; // dropout is in front of the head's first layer, too
  // Keys of biases. Layers of a family without a key have them.
  const char *normBias = "", *attentionBias = "", *queryBias = "", *mlpBias = "", *headBias = "",
             *decoderBias = "";
  const char *pooling = ""; // "cls" or "mean"
  // Layers have windows: the number of keys of one, on both sides, and the interval of layers that
  // have none.
  const char *window = "", *unwindowedEvery = "";
  const char *theta = "", *localTheta = ""; // bases of rotary embedding
};

// The number that BERT adds to a variance.
inline constexpr double kBertEpsilon = 1e-12;

// Returns all families of encoders.
llvm::ArrayRef<EncoderFamily> allEncoders();

// Returns the family of a model_type, or null.
const EncoderFamily *findEncoder(llvm::StringRef type);

} // namespace dtc
