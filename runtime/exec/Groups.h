// The groups of a program on the device: of each group of the file one for every stream with
// collectives and for every direction of transfers that any program uses.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/monitor/ProgramNotes.h"

#include <compare>
#include <map>
#include <optional>

namespace dtc::rt {

// Example: of a group with lists 0, 1 and 2, 3 rank 2 has a group with rank 3.
class Groups {
public:
  // Collective over `control`: all ranks make them in the same order.
  Status create(const format::Manifest &manifest, Control &control, Device &device);

  // The device's number of what a collective or transfer of this rank goes over; -1 for other
  // instructions.
  int find(const format::Instruction &instruction) const;

  // What they are, by the device's numbers.
  std::vector<NotedGroup> notes() const;

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
  std::map<Key, int> groups;
};

} // namespace dtc::rt
