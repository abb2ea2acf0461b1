// Blocking copies of memory that is not pinned, by way of two pieces that are: one is copied by the host while the other one
// is by the GPU. The driver's own copies of such memory reach a fraction of that.
#pragma once

#include "runtime/cuda/Driver.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace dtc::rt {

class PinnedStage {
public:
  PinnedStage(const cu::Driver &driver, uint64_t pieceBytes)
      : driver(driver), pieceBytes(pieceBytes) {}
  ~PinnedStage();
  PinnedStage(const PinnedStage &) = delete;
  PinnedStage &operator=(const PinnedStage &) = delete;

  // Example: of 5 bytes and pieces of 2 the third has one byte, and the first piece's memory.
  Status copyIn(cu::DevicePtr to, const char *from, uint64_t bytes);
  Status copyOut(char *to, cu::DevicePtr from, uint64_t bytes);

private:
  struct Piece {
    void *memory = nullptr;
    cu::Event event = nullptr; // of its last copy
  };

  Status open();
  uint64_t sizeOf(uint64_t index, uint64_t bytes) const {
    return std::min(pieceBytes, bytes - index * pieceBytes);
  }
  Piece &pieceOf(uint64_t index) { return pieces[index % pieces.size()]; }

  const cu::Driver &driver;
  uint64_t pieceBytes;
  cu::Stream stream = nullptr;
  std::array<Piece, 2> pieces;
};

} // namespace dtc::rt
