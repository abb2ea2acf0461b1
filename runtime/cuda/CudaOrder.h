// An order of a program: prepared at its first run, and repeated as a CUDA graph if possible.
#pragma once

#include "runtime/cuda/CudaGroups.h"
#include "runtime/cuda/CudaSteps.h"
#include "runtime/cuda/MergeLaunches.h"
#include "runtime/cuda/Nvtx.h"

#include <set>

namespace dtc::rt {

// A piece of work that a command enqueues on a stream.
struct OrderItem {
  int stream = 0;
  const char *what = ""; // "gemm", for messages
  StreamWork work = nullptr;
  std::function<void(uint64_t tag)> announce = nullptr; // as in PreparedCommunication
  InGraph inGraph = InGraph::Always;                    // as in PreparedCommunication
  // Set for launches of generated kernels, and for copies.
  std::shared_ptr<const LaunchPiece> piece = nullptr;
  std::string name = {}; // for profilers; may be empty
};

// Records the commands of an order and replays them.
class CudaOrder {
public:
  // `tables` gets the tables of merged launches, which must exist until nothing of the order runs:
  // freeing them waits for that.
  CudaOrder(const cu::Driver &driver, CudaSteps &steps,
            std::vector<std::unique_ptr<LaunchTables>> &tables, const Nvtx *nvtx)
      : driver(driver), steps(steps), allTables(tables), nvtx(nvtx) {}
  ~CudaOrder();
  CudaOrder(const CudaOrder &) = delete;
  CudaOrder &operator=(const CudaOrder &) = delete;

  // True if the order ran before, so that its commands are known.
  bool isKnown() const { return known; }

  // Begins a run of the order.
  void begin() { position = 0; }
  // Adds the next command of an order that is not known yet; `hash` covers everything that decides
  // what it does.
  void record(std::vector<OrderItem> items, uint64_t hash, const Mark &mark);
  // Repeats the next command of a known order. Fails with Internal if it differs from the recorded
  // one.
  Status repeat(uint64_t hash, const Mark &mark);
  // Ends the order and runs it: after the earlier work of `streams[0]`, and before its later work.
  // It runs as a graph if `asGraph` is set, or else stream by stream, with the times of commands.
  // `tag` gets that of a command that fails.
  Status launch(const std::vector<cu::Stream> &streams, bool asGraph, uint64_t &tag);

private:
  struct Recorded {
    uint64_t hash = 0;
    Mark mark; // that of the last run
    std::vector<OrderItem> items;
  };

  // Replaces launches that can be merged.
  Status mergeLaunches(cu::Stream stream);
  void mergeRow(const std::vector<size_t> &row, LaunchTables &tables);
  OrderItem merge(const std::vector<const OrderItem *> &items, LaunchTables &tables) const;
  Status capture(const std::vector<cu::Stream> &streams, uint64_t &tag);
  Status sayAll(const std::vector<cu::Stream> &streams, bool areTimed, uint64_t &tag);
  Status say(const Recorded &command, const std::vector<cu::Stream> &streams, bool isTimed);

  const cu::Driver &driver;
  CudaSteps &steps;
  std::vector<std::unique_ptr<LaunchTables>> &allTables;
  const Nvtx *nvtx; // null if no profiler is attached
  std::vector<Recorded> commands;
  std::set<int> used, apart; // streams in use, and those of them with items of InGraph::OneStream
  bool mayBeGraph = true;    // false: an item may be in no graph
  size_t position = 0;
  bool known = false;
  cu::GraphExec exec = nullptr;
};

} // namespace dtc::rt
