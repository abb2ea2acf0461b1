// Blocking copies of memory that is not pinned, through two pinned buffers: the host copies one
// while the GPU copies the other. The driver's own copies of such memory reach a fraction of this
// speed.
#pragma once

#include "runtime/cuda/Driver.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace dtc::rt {

// Owns the two buffers and a stream.
class PinnedStage {
public:
  PinnedStage(const cu::Driver &driver, uint64_t pieceBytes)
      : driver(driver), pieceBytes(pieceBytes) {}
  ~PinnedStage();
  PinnedStage(const PinnedStage &) = delete;
  PinnedStage &operator=(const PinnedStage &) = delete;

  // Copies from host memory. Example: 5 bytes in pieces of 2 have three pieces; the third has one
  // byte, and uses the first buffer.
  Status copyIn(cu::DevicePtr to, const char *from, uint64_t bytes);
  // Copies to host memory.
  Status copyOut(char *to, cu::DevicePtr from, uint64_t bytes);

private:
  struct Piece {
    void *memory = nullptr;
    cu::Event event = nullptr; // recorded after its last copy
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
