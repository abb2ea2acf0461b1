// The communicators of NCCL that the programs of a file use, how many blocks each may have, and the
// memory that their buffers take beside the arena.
#pragma once

#include "runtime/format/dte_generated.h"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace dtc::format {

// Identifies a group on the device: collectives of one group on one stream, or transfers over one
// distance in its lists, whatever the streams of both sides.
struct CommunicatorKey {
  uint32_t group = 0;
  bool isTransfer = false;
  uint32_t streamOrShift = 0; // transfers: distance in the list from the sender to the receiver
  auto operator<=>(const CommunicatorKey &) const = default;
};
// Returns the key of a collective or transfer; nullopt for other instructions.
std::optional<CommunicatorKey> communicatorOf(const Manifest &manifest,
                                              const Instruction &instruction);

// The use that programs make of a key.
struct CommunicatorUse {
  bool exchanges = false;               // a collective is an all_to_all
  bool sends = false, receives = false; // transfers: a communicator for each
  uint64_t mostBytes = 0;               // of a collective, those of all of its ranks together
};

// A communicator with what decides about its memory.
struct Communicator {
  uint32_t ranks = 2;
  uint32_t blocks = 0; // the most that it may have; 0: as many as NCCL likes
  bool isTransfer = false, exchanges = false, receives = false;
};

// Operations that wait for other ranks occupy a block of a multiprocessor for each of their
// channels, and some 80 KiB of its shared memory, so that large blocks of products find no room
// there. The communicators of a rank whose operations wait beside other work have this many blocks
// in all, fewer than half of an A100's or an H100's 108 and 132 multiprocessors.
inline constexpr uint32_t mostBlocksBeside = 64;
// The most blocks of one: a few saturate the link of two ranks, and collectives of at most
// `fewBytes`, such as norms, need no second one.
inline constexpr uint32_t mostBlocksOfTransfers = 4, mostBlocksOfCollectives = 16;
inline constexpr uint64_t fewBytes = uint64_t(64) << 10;

// Returns the most blocks of a communicator, 0 for no limit. `besides`: the number of communicators
// of a rank that wait beside other work.
uint32_t mostBlocksOf(const CommunicatorKey &key, const CommunicatorUse &use, uint32_t besides);

// Estimates the bytes of device memory that the buffers of a communicator take, once all of its
// connections are made. A connection takes 10 MiB a block on the rank that receives (protocols of
// 0.5, 4.7 and 4 MiB, in units of 2): those of a ring, of trees (two within a machine), and of
// direct transfers. NVLS takes 2 MiB a block and rank, of 8 at most.
uint64_t bufferBytesOf(const Communicator &communicator);

// The communicators that the programs of a file use.
class Communicators {
public:
  explicit Communicators(const Manifest &manifest);

  // Returns the keys that any program uses, in the order in which all ranks create them, with their
  // uses by all programs.
  const std::map<CommunicatorKey, CommunicatorUse> &all() const { return uses; }
  // Returns the use that one program makes of a key.
  CommunicatorUse useOf(uint32_t program, const CommunicatorKey &key) const;
  // Returns the most blocks of a key's communicators, alike on all ranks; 0 for no limit.
  uint32_t blocksOf(const CommunicatorKey &key) const;
  // Returns the number of communicators of a rank whose operations may wait beside other work of
  // it: the most of any program.
  uint32_t numBeside() const { return besides; }
  // Returns those that a rank of a program makes.
  std::vector<Communicator> of(uint32_t program) const;
  // Returns the bytes of their buffers.
  uint64_t bytesOf(uint32_t program) const;

private:
  const Manifest &manifest;
  std::map<CommunicatorKey, CommunicatorUse> uses;
  std::vector<std::map<CommunicatorKey, CommunicatorUse>> ofPrograms;
  uint32_t besides = 0;
};

} // namespace dtc::format
