// The communicators of a program: one for each group and stream that any program uses.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/format/dte_generated.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace dtc::rt {

// Example: of a group with lists 0, 1 and 2, 3 rank 2 has a communicator with rank 3.
class Groups {
public:
  // Collective over `world`: all ranks split it in the same order.
  Status create(const format::Manifest &manifest, Comm &world);

  // The group of this rank for a collective on `stream`. A group of one rank needs no network.
  Comm &find(const format::Collective &collective, uint32_t stream) const;

private:
  using Key = std::pair<uint32_t, uint32_t>; // group, stream

  std::map<Key, std::unique_ptr<Comm>> groups;
};

} // namespace dtc::rt
