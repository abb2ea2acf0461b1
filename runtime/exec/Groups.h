// The groups of a program on the device: for each group of the file, one for every stream with
// collectives and one for every direction of transfers that any program uses.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/format/Communicators.h"
#include "runtime/monitor/ProgramNotes.h"

#include <map>

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
  const format::Manifest *manifest = nullptr;
  std::map<format::CommunicatorKey, int> groups;
};

} // namespace dtc::rt
