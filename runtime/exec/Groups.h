// The communicators of a program: of each group one for every stream with collectives and for every
// direction of transfers that any program uses.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/format/dte_generated.h"

#include <compare>
#include <map>
#include <memory>
#include <optional>

namespace dtc::rt {

// Example: of a group with lists 0, 1 and 2, 3 rank 2 has a communicator with rank 3.
class Groups {
public:
  // Collective over `world`: all ranks split it in the same order.
  Status create(const format::Manifest &manifest, Comm &world);

  // What a collective or transfer of this rank goes over; null for other instructions. A group of one
  // rank needs no network.
  Comm *find(const format::Instruction &instruction) const;

private:
  // Transfers that go the same number of places on share one, whatever the streams of both sides.
  struct Key {
    uint32_t group = 0;
    bool isTransfer = false;
    uint32_t streamOrShift = 0; // of transfers: places from the sender to the receiver
    auto operator<=>(const Key &) const = default;
  };
  static std::optional<Key> keyOf(const format::Manifest &manifest,
                                  const format::Instruction &instruction);

  const format::Manifest *manifest = nullptr;
  std::map<Key, std::unique_ptr<Comm>> groups;
};

} // namespace dtc::rt
