// Puts documents into samples of one length, so that few of their tokens are empty.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// The treatments of documents that are longer than a sample.
enum class LongDocuments {
  Split,  // into pieces of a sample's length and the rest, which are documents of their own
  Cut,    // what does not fit is left out
  Refuse, // an error
};

// Consecutive tokens of one document, which one sample has.
struct PackedPiece {
  uint64_t begin = 0; // the first token, in the source
  uint64_t length = 0;
};

// The pieces of each sample. It follows from the documents, the length and the seed alone, so that
// any sample can be reached at once, and is the same for every rank and plan.
class Packing {
public:
  // Pieces that are packed together. Memory and time of a window are bounded, and it wastes part of
  // a few samples at its end.
  static constexpr uint64_t kWindow = 1 << 16;

  Packing() = default;

  // Packs documents that end at `ends`, ascending, into samples of `length` >= 1 tokens: windows of
  // pieces in an order that the seed shuffles (in their own order if `isShuffled` is false), each
  // window by best fit, the longest piece first (arXiv:2404.10830). Errors: InvalidArgument for a
  // document that is refused, named after `source`.
  static Status make(std::span<const uint64_t> ends, uint64_t length, LongDocuments longer,
                     uint64_t seed, bool isShuffled, const std::string &source, Packing &packing);

  // Returns the number of samples.
  uint64_t samples() const { return firstPieces.size() - 1; }
  // Returns the pieces of one sample.
  std::span<const PackedPiece> piecesOf(uint64_t sample) const {
    return {pieces.data() + firstPieces[sample], pieces.data() + firstPieces[sample + 1]};
  }
  // Returns the tokens of all pieces.
  uint64_t tokens() const { return packedTokens; }
  uint64_t length() const { return roomOf; }

private:
  // Packs `window`, and adds its samples.
  void addWindow(std::span<const PackedPiece> window);

  uint64_t roomOf = 1, packedTokens = 0;
  std::vector<PackedPiece> pieces;
  std::vector<uint64_t> firstPieces = {0}; // of each sample, and the end
};

} // namespace dtc::rt
