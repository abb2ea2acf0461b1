// Sizes and names of element types, and the words of messages.
#include "runtime/comm/Names.h"

#include "runtime/base/Text.h"

#include <algorithm>

namespace dtc::rt {
using format::text;

const char *nameOf(DataType type) {
  switch (type) {
  case DataType::F32:
    return "f32";
  case DataType::Bf16:
    return "bf16";
  case DataType::F16:
    return "f16";
  case DataType::I32:
    return "i32";
  case DataType::I64:
    return "i64";
  case DataType::U8:
    return "u8";
  }
  return "unknown type";
}

const char *nameOf(Reduction op) { return op == Reduction::Sum ? "sum" : "max"; }

Status checkReducible(DataType type, const char *operation) {
  if (type != DataType::U8)
    return Status::okStatus();
  return Status::invalidArgument(text(operation, " of ", nameOf(type),
                                      " is not implemented; wanted f32, bf16, f16, i32 or i64"));
}

std::string describeCall(const char *operation, size_t count, DataType type) {
  return text(operation, " of ", count, " ", nameOf(type));
}

std::string describeMember(const Comm &comm) {
  return text(" on group '", comm.name(), "' (rank ", comm.rank(), " of ", comm.size(), ")");
}

std::string CommCall::words() const {
  std::string out = hasData ? describeCall(operation, count, type) : operation;
  if (peer >= 0)
    out += text(", peer ", peer, ",");
  return comm ? out + describeMember(*comm) : out;
}

Status checkPeer(const CommCall &call, bool mayBeSelf) {
  if (call.peer < 0 || call.peer >= call.comm->size())
    return Status::invalidArgument(
        text(call.words(), ": rank ", call.peer, " is outside the group"));
  if (call.peer == call.comm->rank() && !mayBeSelf)
    return Status::invalidArgument(text(call.words(), ": to or from itself"));
  return {};
}

std::string listRanks(const std::vector<int> &ranks) {
  constexpr size_t most = 16;
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < std::min(ranks.size(), most); ++i)
    out += text(i == 0 ? "" : i + 1 < ranks.size() ? ", " : " and ", ranks[i]);
  return ranks.size() > most ? text(out, " and ", ranks.size() - most, " more") : out;
}

} // namespace dtc::rt
