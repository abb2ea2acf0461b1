// The communicators of a program: one for each set of mesh axes and stream that any program uses.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/format/dte_generated.h"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace dtc::rt {

// Example: on a mesh dp = 2, tp = 2, the group of axes {tp} of rank 2 is ranks 2 and 3.
class Groups {
public:
  // Collective over `world`: all ranks split it in the same order.
  Status create(const format::Manifest &manifest, Comm &world);

  // The group of this rank for a collective on `stream`. A group of one rank needs no network.
  Comm &find(const format::Collective &collective, uint32_t stream) const;

private:
  using Key = std::pair<uint32_t, uint32_t>; // axes (bit i: axis i), stream
  static uint32_t maskOf(const format::Collective &collective);

  std::map<Key, std::unique_ptr<Comm>> groups;
};

} // namespace dtc::rt
