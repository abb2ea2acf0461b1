// An order of a program: prepared the first time that it runs, and run again and again, as a CUDA graph where that may be.
#pragma once

#include "runtime/cuda/CudaGroups.h"
#include "runtime/cuda/CudaSteps.h"
#include "runtime/cuda/MergeLaunches.h"
#include "runtime/cuda/Nvtx.h"

#include <set>

namespace dtc::rt {

// Something that a command says to a stream.
struct OrderItem {
  int stream = 0;
  const char *what = ""; // "gemm", for messages
  StreamWork work = nullptr;
  std::function<void(uint64_t tag)> announce = nullptr; // as PreparedMeeting
  bool needsStreams = false;                            // as PreparedMeeting
  // Of launches of generated kernels, and of copies.
  std::shared_ptr<const LaunchPiece> piece = nullptr;
  std::string name = {}; // for profilers; empty where there is none
};

class CudaOrder {
public:
  // `tables` get those of launches that are one, which must stay until nothing of the order runs: to free them waits for that.
  CudaOrder(const cu::Driver &driver, CudaSteps &steps,
            std::vector<std::unique_ptr<LaunchTables>> &tables, const Nvtx *nvtx)
      : driver(driver), steps(steps), allTables(tables), nvtx(nvtx) {}
  ~CudaOrder();
  CudaOrder(const CudaOrder &) = delete;
  CudaOrder &operator=(const CudaOrder &) = delete;

  // Whether it ran before, so that its commands are known.
  bool isKnown() const { return known; }

  // The order begins anew.
  void begin() { position = 0; }
  // The next command of an order that is not known; `hash` is of all that decides what it does.
  void record(std::vector<OrderItem> items, uint64_t hash, const Mark &mark);
  // The next command of one that is. Internal where it is another than the one that was recorded there.
  Status repeat(uint64_t hash, const Mark &mark);
  // The order ends: `streams[0]` is to run all of it behind what it has, and before what it gets. As a graph, if that is
  // wanted, or else stream by stream, with the times of commands. `tag` becomes that of a command that fails.
  Status launch(const std::vector<cu::Stream> &streams, bool asGraph, uint64_t &tag);

private:
  struct Recorded {
    uint64_t hash = 0;
    Mark mark; // of the last time
    std::vector<OrderItem> items;
  };

  // Replaces launches that can be one by it.
  Status mergeLaunches(cu::Stream stream);
  void mergeRow(const std::vector<size_t> &row, LaunchTables &tables);
  OrderItem merge(const std::vector<const OrderItem *> &items, LaunchTables &tables) const;
  Status capture(const std::vector<cu::Stream> &streams, uint64_t &tag);
  Status sayAll(const std::vector<cu::Stream> &streams, bool areTimed, uint64_t &tag);
  Status say(const Recorded &command, const std::vector<cu::Stream> &streams, bool isTimed);

  const cu::Driver &driver;
  CudaSteps &steps;
  std::vector<std::unique_ptr<LaunchTables>> &allTables;
  const Nvtx *nvtx; // null for none
  std::vector<Recorded> commands;
  std::set<int> used, apart; // streams, and those of them with items that need streams
  size_t position = 0;
  bool known = false;
  cu::GraphExec exec = nullptr;
};

} // namespace dtc::rt
