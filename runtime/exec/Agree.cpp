#include "runtime/exec/Agree.h"

#include "runtime/base/Text.h"

#include <cstdint>

namespace dtc::rt {

Status agree(Comm &world, const Status &mine) {
  // The largest of size - rank among the ranks with an error is that of the lowest one; 0 where
  // there is none.
  int32_t claim = mine.ok() ? 0 : world.size() - world.rank();
  int32_t winner = 0;
  DTC_RETURN_IF_ERROR(world.allReduce(&claim, &winner, 1, DataType::I32, Reduction::Max));
  if (winner == 0)
    return {};
  int speaker = world.size() - winner;
  std::string message;
  int32_t header[2] = {}; // code, bytes of the message
  if (world.rank() == speaker) {
    message = speaker == 0 ? mine.message() : format::text("rank ", speaker, ": ", mine.message());
    header[0] = static_cast<int32_t>(mine.statusCode());
    header[1] = static_cast<int32_t>(message.size());
  }
  DTC_RETURN_IF_ERROR(world.broadcast(header, 2, DataType::I32, speaker));
  message.resize(static_cast<size_t>(header[1]));
  DTC_RETURN_IF_ERROR(world.broadcast(message.data(), message.size(), DataType::U8, speaker));
  return Status(static_cast<StatusCode>(header[0]), message);
}

} // namespace dtc::rt
