// Says whether samples hold several documents, and how the loss counts them.
#pragma once

namespace dtc {

// Samples are one text each, or of several documents; then the loss is a mean over all tokens of
// the batch, or a mean over documents of their means over tokens.
enum class Documents { None, LossPerToken, LossPerDocument };

} // namespace dtc
