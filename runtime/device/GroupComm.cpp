#include "runtime/device/GroupComm.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Loopback.h"

namespace dtc::rt {

Status makeGroupComm(Comm *world, int rank, const GroupSpec &spec, std::unique_ptr<Comm> &made) {
  auto lists = static_cast<int>(spec.ranks.size() / spec.size);
  int mine = lists, position = 0; // ranks in no list share a communicator that nobody uses
  for (size_t i = 0; i < spec.ranks.size(); ++i)
    if (spec.ranks[i] == static_cast<uint32_t>(rank)) {
      mine = static_cast<int>(i / spec.size);
      position = static_cast<int>(i % spec.size);
    }
  if (spec.size == 1) // needs no network
    made = std::move(makeLoopbackWorld(1).front());
  else if (world)
    DTC_RETURN_IF_ERROR(world->split(mine, position, made));
  else
    return Status::internal(format::text("a device without a world was to make group '", spec.name,
                                         "' of ", spec.size, " ranks"));
  made->setName(spec.name);
  return {};
}

} // namespace dtc::rt
