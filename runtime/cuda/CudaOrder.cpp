#include "runtime/cuda/CudaOrder.h"

#include "runtime/base/Text.h"

namespace dtc::rt {

using format::text;

CudaOrder::~CudaOrder() {
  if (exec)
    (void)driver.cuGraphExecDestroy(exec);
}

void CudaOrder::record(std::vector<OrderItem> added, uint64_t hash, uint64_t tag) {
  Recorded command{.hash = hash};
  for (OrderItem &item : added) {
    if (item.announce) {
      command.announcement = static_cast<int>(announcements.size());
      announcements.push_back({std::move(item.announce), tag});
    }
    items.push_back(std::move(item));
  }
  commands.push_back(command);
  ++position;
}

Status CudaOrder::repeat(uint64_t hash, uint64_t tag) {
  if (position >= commands.size() || commands[position].hash != hash)
    return Status::internal(
        text("command ", position, " of an order differs from the one that was recorded there"));
  if (int announcement = commands[position].announcement; announcement >= 0)
    announcements[static_cast<size_t>(announcement)].tag = tag;
  ++position;
  return {};
}

// Streams that work here become part of the capture by an event of stream 0, and end in it; between that they have what
// order the program says.
Status CudaOrder::sayAll(const std::vector<cu::Stream> &streams) {
  std::vector<bool> used(streams.size());
  for (const OrderItem &item : items)
    used[static_cast<size_t>(item.stream)] = true;
  cu::Event event = nullptr;
  DTC_CUDA(driver, cuEventCreate, &event, cu::eventDisableTiming);
  auto order = [&](cu::Stream before, cu::Stream after) -> Status {
    DTC_CUDA(driver, cuEventRecord, event, before);
    DTC_CUDA(driver, cuStreamWaitEvent, after, event, 0);
    return {};
  };
  Status status;
  for (size_t i = 1; i < streams.size() && status.ok(); ++i)
    if (used[i])
      status = order(streams[0], streams[i]);
  for (size_t i = 0; i < items.size() && status.ok(); ++i) {
    status = items[i].work(streams[static_cast<size_t>(items[i].stream)]);
    if (!status.ok())
      status = {status.statusCode(),
                text("recording ", items[i].what, " as a part of a graph: ", status.message())};
  }
  for (size_t i = 1; i < streams.size() && status.ok(); ++i)
    if (used[i])
      status = order(streams[i], streams[0]);
  Status destroyed = cu::check(driver, "cuEventDestroy", driver.cuEventDestroy(event));
  return status.ok() ? destroyed : status;
}

Status CudaOrder::capture(const std::vector<cu::Stream> &streams) {
  cu::Graph graph = nullptr;
  // No other thread captures. Libraries may load code and allocate at their first calls, which the stricter modes refuse.
  DTC_CUDA(driver, cuStreamBeginCapture, streams[0], cu::captureRelaxed);
  Status said = sayAll(streams);
  Status ended =
      cu::check(driver, "cuStreamEndCapture", driver.cuStreamEndCapture(streams[0], &graph));
  Status status = said.ok() ? ended : said;
  if (status.ok())
    status = cu::check(driver, "cuGraphInstantiateWithFlags",
                       driver.cuGraphInstantiate(&exec, graph, cu::graphNodePriority));
  Status destroyed;
  if (graph)
    destroyed = cu::check(driver, "cuGraphDestroy", driver.cuGraphDestroy(graph));
  items.clear();
  return status.ok() ? destroyed : status;
}

Status CudaOrder::launch(const std::vector<cu::Stream> &streams) {
  if (position != commands.size())
    return Status::internal(
        text("an order of ", commands.size(), " commands ended after ", position));
  if (!exec)
    DTC_RETURN_IF_ERROR(capture(streams));
  for (const Announcement &announcement : announcements)
    announcement.call(announcement.tag);
  DTC_CUDA(driver, cuGraphLaunch, exec, streams[0]);
  return {};
}

} // namespace dtc::rt
