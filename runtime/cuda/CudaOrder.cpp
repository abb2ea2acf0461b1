#include "runtime/cuda/CudaOrder.h"

#include "runtime/base/Text.h"
#include "runtime/format/Grid.h"

#include <map>

namespace dtc::rt {

using format::text;

// Launches that are merged together at most: each is compared with all before it.
static constexpr size_t maxMergedRow = 1024;

CudaOrder::~CudaOrder() {
  if (exec)
    (void)driver.cuGraphExecDestroy(exec);
}

void CudaOrder::record(std::vector<OrderItem> items, uint64_t hash, const Mark &mark) {
  for (const OrderItem &item : items) {
    used.insert(item.stream);
    if (item.inGraph == InGraph::OneStream)
      apart.insert(item.stream);
    mayBeGraph = mayBeGraph && item.inGraph != InGraph::Never;
  }
  commands.push_back({hash, mark, std::move(items)});
  ++position;
}

Status CudaOrder::repeat(uint64_t hash, const Mark &mark) {
  if (position >= commands.size() || commands[position].hash != hash)
    return Status::internal(
        text("command ", position, " of an order differs from the one that was recorded there"));
  commands[position].mark = mark;
  ++position;
  return {};
}

Status CudaOrder::say(const Recorded &command, const std::vector<cu::Stream> &streams,
                      bool isTimed) {
  if (command.items.empty())
    return {};
  auto sayItems = [&]() -> Status {
    for (const OrderItem &item : command.items) {
      Nvtx::Range range(nvtx, item.name.empty() ? item.what : item.name.c_str());
      if (Status status = item.work(streams[static_cast<size_t>(item.stream)]); !status.ok())
        return isTimed
                   ? status
                   : Status(status.statusCode(), text("recording ", item.what,
                                                      " as a part of a graph: ", status.message()));
    }
    return {};
  };
  if (!isTimed || !command.mark.times)
    return sayItems();
  return steps.time(streams[static_cast<size_t>(command.items.front().stream)], command.mark.times,
                    sayItems);
}

// Enqueues all commands. Other streams start after an event of stream 0 and end before another; in
// between, the program orders them.
Status CudaOrder::sayAll(const std::vector<cu::Stream> &streams, bool areTimed, uint64_t &tag) {
  cu::Event event = nullptr;
  DTC_CUDA(driver, cuEventCreate, &event, cu::eventDisableTiming);
  auto order = [&](cu::Stream before, cu::Stream after) -> Status {
    DTC_CUDA(driver, cuEventRecord, event, before);
    DTC_CUDA(driver, cuStreamWaitEvent, after, event, 0);
    return {};
  };
  Status status;
  for (int stream : used)
    if (stream != 0 && status.ok())
      status = order(streams[0], streams[static_cast<size_t>(stream)]);
  for (size_t i = 0; i < commands.size() && status.ok(); ++i) {
    status = say(commands[i], streams, areTimed);
    if (!status.ok())
      tag = commands[i].mark.tag;
  }
  for (int stream : used)
    if (stream != 0 && status.ok())
      status = order(streams[static_cast<size_t>(stream)], streams[0]);
  Status destroyed = cu::check(driver, "cuEventDestroy", driver.cuEventDestroy(event));
  return status.ok() ? destroyed : status;
}

OrderItem CudaOrder::merge(const std::vector<const OrderItem *> &items,
                           LaunchTables &tables) const {
  std::vector<const LaunchPiece *> pieces;
  uint64_t blocks = 0;
  for (const OrderItem *item : items) {
    pieces.push_back(item->piece.get());
    blocks += pieces.back()->blocks;
  }
  size_t firsts = 0, records = 0;
  tables.add(pieces, firsts, records);
  format::Grid grid = format::gridOf(format::mergedThreads, blocks);
  auto work = [this, &tables, function = pieces[0]->merged, grid, firsts, records,
               count = uint64_t(items.size())](cu::Stream stream) mutable -> Status {
    cu::DevicePtr addresses[] = {tables.address(firsts), tables.address(records)};
    void *parameters[] = {&addresses[0], &addresses[1], &count};
    DTC_CUDA(driver, cuLaunchKernel, function, grid.x, grid.y, grid.z, grid.threads, 1, 1, 0,
             stream, parameters, nullptr);
    return {};
  };
  OrderItem merged{items[0]->stream, items[0]->what, std::move(work)};
  if (!items[0]->name.empty())
    merged.name = text(items[0]->name, " and ", items.size() - 1, " like it");
  return merged;
}

// Puts the merged groups into the first positions of the row.
void CudaOrder::mergeRow(const std::vector<size_t> &row, LaunchTables &tables) {
  std::vector<const LaunchPiece *> launches;
  for (size_t command : row)
    launches.push_back(commands[command].items[0].piece.get());
  std::vector<OrderItem> merged;
  for (const LaunchGroup &group : groupLaunches(launches)) {
    std::vector<const OrderItem *> items;
    for (size_t member : group.members)
      items.push_back(&commands[row[member]].items[0]);
    merged.push_back(items.size() == 1 ? *items[0] : merge(items, tables));
  }
  for (size_t i = 0; i < row.size(); ++i) {
    commands[row[i]].items.clear();
    if (i < merged.size())
      commands[row[i]].items.push_back(std::move(merged[i]));
  }
}

// Merges launches in a row on a stream: nothing of another stream is ordered by anything between
// them.
Status CudaOrder::mergeLaunches(cu::Stream stream) {
  LaunchTables &tables = *allTables.emplace_back(std::make_unique<LaunchTables>(driver));
  std::map<int, std::vector<size_t>> rows; // keyed by stream; rows that are still open
  for (size_t i = 0; i < commands.size(); ++i) {
    if (commands[i].items.empty())
      continue;
    const OrderItem &first = commands[i].items[0];
    std::vector<size_t> &row = rows[first.stream];
    if (!first.piece || row.size() == maxMergedRow) {
      mergeRow(row, tables);
      row.clear();
    }
    if (first.piece)
      row.push_back(i);
  }
  for (const auto &[number, row] : rows)
    mergeRow(row, tables);
  return tables.empty() ? Status() : tables.copy(stream);
}

Status CudaOrder::capture(const std::vector<cu::Stream> &streams, uint64_t &tag) {
  cu::Graph graph = nullptr;
  // No other thread captures. Libraries may load code and allocate at their first calls, which the
  // stricter modes refuse.
  DTC_CUDA(driver, cuStreamBeginCapture, streams[0], cu::captureRelaxed);
  Status said = sayAll(streams, /*areTimed=*/false, tag);
  Status ended =
      cu::check(driver, "cuStreamEndCapture", driver.cuStreamEndCapture(streams[0], &graph));
  Status status = said.ok() ? ended : said;
  if (status.ok())
    status = cu::check(driver, "cuGraphInstantiateWithFlags",
                       driver.cuGraphInstantiate(&exec, graph, cu::graphNodePriority));
  Status destroyed;
  if (graph)
    destroyed = cu::check(driver, "cuGraphDestroy", driver.cuGraphDestroy(graph));
  return status.ok() ? destroyed : status;
}

Status CudaOrder::launch(const std::vector<cu::Stream> &streams, bool asGraph, uint64_t &tag) {
  if (position != commands.size())
    return Status::internal(
        text("an order of ", commands.size(), " commands ended after ", position));
  if (asGraph && !known)
    DTC_RETURN_IF_ERROR(mergeLaunches(streams[0]));
  bool isGraph = asGraph && mayBeGraph && apart.size() <= 1;
  if (isGraph && !exec)
    DTC_RETURN_IF_ERROR(capture(streams, tag));
  known = true;
  for (const Recorded &command : commands)
    for (const OrderItem &item : command.items)
      if (item.announce)
        item.announce(command.mark.tag);
  if (!isGraph)
    return sayAll(streams, /*areTimed=*/true, tag);
  DTC_CUDA(driver, cuGraphLaunch, exec, streams[0]);
  return {};
}

} // namespace dtc::rt
