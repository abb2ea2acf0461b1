// What the fake driver keeps of a machine: its GPUs, what was enqueued and has not run, and what is being captured.
#pragma once

#include "runtime/base/Backoff.h"
#include "runtime/fakecuda/FakeCuda.h"
#include "runtime/simt/Simt.h"

#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace dtc::rt::fake {

using cu::Result;

// Something enqueued. It may run once all of `after` have.
struct Node {
  std::vector<std::shared_ptr<Node>> after;
  std::function<Status()> run;   // null: nothing to do
  std::function<bool()> isReady; // null: always
  std::shared_ptr<void> held;    // until it has run
  std::shared_ptr<size_t> depth; // of its stream
  int gpu = 0;
  bool done = false;
  double seconds = 0; // when it ran
};
using NodePtr = std::shared_ptr<Node>;

// What a node of a graph does, and behind which others.
struct GraphNode {
  std::vector<size_t> after;
  std::function<Status()> run;
  std::function<bool()> isReady;
  std::shared_ptr<void> held = nullptr; // as long as the graph, a copy of it or a run of it lives
};

struct FakeGraph {
  std::vector<GraphNode> nodes;
};

struct FakeStream;

struct Capture {
  FakeStream *origin = nullptr;
  std::thread::id thread;
  Result error = cu::success; // after which it is invalid
  std::vector<GraphNode> nodes;
};

struct FakeStream {
  int gpu = 0;
  NodePtr last; // all before has run once this has; may be null
  std::shared_ptr<Capture> capture;
  std::set<size_t> captured; // nodes that what comes next is behind
  // Calls that have not run.
  std::shared_ptr<size_t> depth = std::make_shared<size_t>(0);
};

struct FakeEvent {
  unsigned flags = 0;
  NodePtr node;                     // of the last record, where it was not captured
  std::shared_ptr<Capture> capture; // of the last record, where it was
  std::set<size_t> captured;
};

struct FakeModule {
  std::unique_ptr<simt::Module> code;
};

struct FakeFunction {
  const simt::Kernel *kernel = nullptr;
  FakeModule *module = nullptr;
  bool isLoaded = false;
  uint32_t dynamicShared = 48 * 1024; // most that a launch may ask for
};

struct FakeGpu {
  simt::Memory memory;
  std::map<uint64_t, uint64_t> allocations;   // address, bytes
  std::map<uint64_t, uint64_t> reservations;  // address, bytes
  std::map<cu::Allocation, uint64_t> created; // bytes, of what is not released
  std::map<uint64_t, cu::Allocation> mapped;  // by address
  std::set<uint64_t> accessible;              // addresses
  uint64_t used = 0;
  FakeStream defaultStream;
  int contexts = 0;                      // how often its own was retained
  std::map<uint64_t, uint64_t> products; // by algorithm, how many were asked for
  std::map<int64_t, uint64_t> cudnnRuns; // by engine
  double clock = 0;                      // seconds, of what has run
};

struct NcclWorld; // the ranks of a communicator (FakeNccl.cpp)

class Machine {
public:
  explicit Machine(const FakeCudaOptions &options);

  // Begins a call, of which most must not be made by a thread that captures: `isSafe` are those that may. Not success
  // where the call is to end at once.
  Result enter(bool isSafe = true);
  // The same of one that frees something, which is done in any case.
  Result enterFree();
  // A number below `count`, by the seed.
  uint64_t draw(uint64_t count) { return random() % count; }

  // Adds work to a stream or to what it captures.
  Result push(FakeStream &stream, std::function<Status()> run, std::function<bool()> isReady = {});
  Result record(FakeEvent &event, FakeStream &stream);
  Result wait(FakeStream &stream, FakeEvent &event);
  Result beginCapture(FakeStream &stream);
  Result endCapture(FakeStream &stream, FakeGraph *&graph);
  void launch(const FakeGraph &graph, FakeStream &stream);
  // Ends a call that has enqueued something: waits while the stream is full.
  void await(std::unique_lock<std::mutex> &lock, FakeStream &stream);

  // Runs one of the nodes that may run, whichever; false where none may.
  bool runOne();
  // Lets go of the lock for a while, a longer one each time until something has run.
  void rest(std::unique_lock<std::mutex> &lock);
  // Runs nodes until `isOver`; lets go of the lock while none may run, since other threads may change that.
  void runUntil(std::unique_lock<std::mutex> &lock, const std::function<bool()> &isOver);
  bool isIdle(int gpu) const;

  // Functions are never freed in CUDA; they go with their module.
  FakeFunction *addFunction(FakeFunction function);
  void removeFunctions(const FakeModule *module);
  // The stream is about to go.
  void forget(FakeStream &stream);

  // Whether host memory is pinned, as copies that come later need it.
  bool isPinned(const void *address, uint64_t bytes) const;
  FakeGpu &current() { return *gpus[static_cast<size_t>(currentGpu)]; }

  // The GPU whose context is that of the calling thread, as in CUDA; -1 for none.
  static thread_local int currentGpu;

  FakeCudaOptions options;
  std::mutex mutex;
  std::vector<std::unique_ptr<FakeGpu>> gpus;
  std::map<const char *, uint64_t> pinned;                   // address, bytes
  std::map<std::string, int64_t> alive;                      // objects that exist, by kind
  std::map<uint64_t, std::shared_ptr<NcclWorld>> ncclWorlds; // by the number in their id
  uint64_t launches = 0;                                     // of kernels, that ran
  uint64_t cudnnGraphs = 0;                                  // that were computed
  uint64_t calls = 0;
  Result fault = cu::success; // after which nothing works any more
  std::string faultWords;
  bool isEnding = false; // of the machine
  int stuck = 0;         // calls that return only then

private:
  void add(const NodePtr &node);
  void invalidate(const std::shared_ptr<Capture> &capture, Result error);
  Result fail(const std::string &words);
  // Puts nodes of a graph on queues.
  void queue(const std::vector<NodePtr> &nodes);

  std::vector<NodePtr> pending;
  std::vector<std::unique_ptr<FakeFunction>> functions;
  std::vector<std::shared_ptr<Capture>> captures;
  std::vector<FakeStream *> capturing;
  std::mt19937_64 random;
  Backoff idle; // since something has run last
};

// The one of this process, as a driver is.
Machine &machine();

// What stands in for each table.
void fillDriver(cu::Driver &table);
void fillBlasLt(cu::BlasLt &blas);
void fillCudnn(cu::Cudnn &cudnn);
void fillNccl(cu::Nccl &nccl);

} // namespace dtc::rt::fake
