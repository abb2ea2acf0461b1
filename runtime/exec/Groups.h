// The groups of a program on the device: for each group of the file, one for every stream with
// collectives and one for every direction of transfers that any program uses.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/monitor/ProgramNotes.h"

#include <compare>
#include <map>
#include <optional>

namespace dtc::rt {

// Makes and finds the device's groups. Example: in a group with lists 0, 1 and 2, 3, rank 2 shares
// a group with rank 3.
class Groups {
public:
  // Makes the groups. Collective over `control`: all ranks make them in the same order.
  Status create(const format::Manifest &manifest, Control &control, Device &device);

  // Returns the device's number of the group of a collective or transfer; -1 for other
  // instructions.
  int find(const format::Instruction &instruction) const;

  // Returns descriptions of the groups, by the device's numbers.
  std::vector<NotedGroup> notes() const;

private:
  // Identifies a group. Transfers over the same distance share one, whatever the streams of both
  // sides.
  struct Key {
    uint32_t group = 0;
    bool isTransfer = false;
    uint32_t streamOrShift = 0; // transfers: distance in the list from the sender to the receiver
    auto operator<=>(const Key &) const = default;
  };
  static std::optional<Key> keyOf(const format::Manifest &manifest,
                                  const format::Instruction &instruction);

  const format::Manifest *manifest = nullptr;
  std::map<Key, int> groups;
};

} // namespace dtc::rt
