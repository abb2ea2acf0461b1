// Names that all backends share.
#pragma once

#include "runtime/comm/Comm.h"

#include <vector>

namespace dtc::rt {

// Returns the name of a type, e.g. "f32".
const char *nameOf(DataType type);
// Returns the name of a reduction.
const char *nameOf(Reduction op);

// InvalidArgument unless sums and maxima of `type` are implemented: f32, i32, i64.
Status checkReducible(DataType type, const char *operation);

// "all-reduce of 1024 f32" for messages.
std::string describeCall(const char *operation, size_t count, DataType type);

// " on group 'dp' (rank 1 of 4)" for messages.
std::string describeMember(const Comm &comm);

// The current call of a member. It is formatted only for errors: calls are frequent and should not
// allocate.
struct CommCall {
  const Comm *comm; // null: no group yet
  const char *operation;
  size_t count = 0;
  DataType type = DataType::U8;
  int peer = -1; // root, sender or receiver
  bool hasData = true;

  // "send of 4 f32, peer 1, on group 'dp' (rank 0 of 2)"
  std::string words() const;
};

// InvalidArgument unless the call's peer is of the group, and another than this rank where it must
// be.
Status checkPeer(const CommCall &call, bool mayBeSelf);

// "rank 1" or "ranks 1, 2 and 5", of the first sixteen.
std::string listRanks(const std::vector<int> &ranks);

} // namespace dtc::rt
