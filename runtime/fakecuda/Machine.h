// The state of the emulated machine: its GPUs, enqueued work, and captures.
#pragma once

#include "runtime/base/Backoff.h"
#include "runtime/cuda/CudaLibraries.h"
#include "runtime/fakecuda/FakeCudaOptions.h"
#include "runtime/simt/Launch.h"

#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace dtc::rt::fake {

using cu::Result;

// Enqueued work. It may run once all of `after` have.
struct Node {
  std::vector<std::shared_ptr<Node>> after;
  std::function<Status()> run;   // null: nothing to do
  std::function<bool()> isReady; // null: always
  std::shared_ptr<void> held;    // kept alive until it has run
  std::shared_ptr<size_t> depth; // outstanding calls of its stream
  int gpu = 0;
  bool done = false;
  double seconds = 0; // GPU's clock when it ran
};
using NodePtr = std::shared_ptr<Node>;

// A node of a graph: its work, and the nodes before it.
struct GraphNode {
  std::vector<size_t> after;
  std::function<Status()> run;
  std::function<bool()> isReady;
  std::shared_ptr<void> held = nullptr; // kept alive by the graph, a copy of it or a run of it
};

// A captured graph.
struct FakeGraph {
  std::vector<GraphNode> nodes;
};

struct FakeStream;

// A capture that is under way.
struct Capture {
  FakeStream *origin = nullptr;
  std::thread::id thread;
  Result error = cu::success; // error that made it invalid
  std::vector<GraphNode> nodes;
  // By GPU: the nodes of the operation of NCCL captured last.
  std::map<int, std::pair<size_t, size_t>> operations;
};

// A stream.
struct FakeStream {
  int gpu = 0;
  NodePtr last; // all earlier work has run once this has; may be null
  std::shared_ptr<Capture> capture;
  std::set<size_t> captured; // nodes that the next one comes after
  // The number of calls that have not run.
  std::shared_ptr<size_t> depth = std::make_shared<size_t>(0);
};

// An event.
struct FakeEvent {
  unsigned flags = 0;
  NodePtr node;                     // of the last record, if it was not captured
  std::shared_ptr<Capture> capture; // of the last record, if it was
  std::set<size_t> captured;
};

// A loaded module.
struct FakeModule {
  std::unique_ptr<simt::Module> code;
};

// A kernel of a module.
struct FakeFunction {
  const simt::Kernel *kernel = nullptr;
  FakeModule *module = nullptr;
  bool isLoaded = false;
  uint32_t dynamicShared = 48 * 1024; // the most that a launch may ask for
};

// A GPU and its memory.
struct FakeGpu {
  simt::Memory memory;
  std::map<uint64_t, uint64_t> allocations;   // address, bytes
  std::map<uint64_t, uint64_t> reservations;  // address, bytes
  std::map<cu::Allocation, uint64_t> created; // bytes of each until it is released
  std::map<uint64_t, cu::Allocation> mapped;  // key: address
  std::set<uint64_t> accessible;              // addresses
  uint64_t used = 0;
  FakeStream defaultStream;
  int contexts = 0;                      // how often its primary context was retained
  std::map<uint64_t, uint64_t> products; // calls by algorithm
  std::map<int64_t, uint64_t> cudnnRuns; // runs by engine
  double clock = 0;                      // seconds of all work that has run
  // Multiprocessors that operations of NCCL hold from their begin to their end.
  uint32_t held = 0;
  // The operation of NCCL enqueued last outside of captures, of any communicator: its first node
  // and its last.
  NodePtr began, ended;
};

struct NcclWorld; // the ranks of a communicator (FakeNccl.cpp)

// The emulated machine. Its mutex is held during calls.
class Machine {
public:
  explicit Machine(const FakeCudaOptions &options);
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  // Begins a call. Most calls must not be made by a thread that captures; `isSafe` marks those that
  // may. Returns an error if the call has to end at once.
  Result enter(bool isSafe = true);
  // Begins a call that frees something, which happens even after an error.
  Result enterFree();
  // Returns a number below `count`, by the seed.
  uint64_t draw(uint64_t count) { return random() % count; }

  // Adds work to a stream or to its capture.
  Result push(FakeStream &stream, std::function<Status()> run, std::function<bool()> isReady = {});
  // Records an event on a stream, or in its capture.
  Result record(FakeEvent &event, FakeStream &stream);
  // Makes a stream wait for an event; it joins the capture of a captured event.
  Result wait(FakeStream &stream, FakeEvent &event);
  // Begins a capture of a stream.
  Result beginCapture(FakeStream &stream);
  // Ends a capture; `graph` becomes the captured graph.
  Result endCapture(FakeStream &stream, FakeGraph *&graph);
  // Enqueues a run of a graph.
  void launch(const FakeGraph &graph, FakeStream &stream);
  // Ends a call that has enqueued something: waits while the stream is full.
  void await(std::unique_lock<std::mutex> &lock, FakeStream &stream);

  // Runs one node that may run, any of them; returns false if there is none.
  bool runOne();
  // Releases the lock for a while, longer each time until something has run.
  void rest(std::unique_lock<std::mutex> &lock);
  // Runs nodes until `isOver`; releases the lock while none may run, since other threads may change
  // that.
  void runUntil(std::unique_lock<std::mutex> &lock, const std::function<bool()> &isOver);
  // Returns true if the GPU has no enqueued work.
  bool isIdle(int gpu) const;

  // Adds a function. CUDA never frees functions; they are removed with their module.
  FakeFunction *addFunction(FakeFunction function);
  // Removes the functions of a module.
  void removeFunctions(const FakeModule *module);
  // Removes the traces of a stream that is about to be destroyed.
  void forget(FakeStream &stream);

  // Returns true if host memory is pinned, as copies that run later need it.
  bool isPinned(const void *address, uint64_t bytes) const;
  // Returns true if a GPU has this many multiprocessors that no operation of NCCL holds.
  bool hasRoom(const FakeGpu &gpu, uint32_t blocks) const {
    return gpu.held + blocks <= options.multiprocessors;
  }
  // Returns a variable of the environment; empty if it is not set.
  std::string variable(const std::string &name) const {
    auto found = options.environment.find(name);
    return found == options.environment.end() ? "" : found->second;
  }
  // Returns the calling thread's GPU.
  FakeGpu &current() { return *gpus[static_cast<size_t>(currentGpu)]; }

  // The GPU whose context the calling thread has, as in CUDA; -1 for none.
  static thread_local int currentGpu;

  FakeCudaOptions options;
  std::mutex mutex;
  std::vector<std::unique_ptr<FakeGpu>> gpus;
  std::map<const char *, uint64_t> pinned;                   // address, bytes
  std::map<std::string, int64_t> alive;                      // objects that exist, by kind
  std::map<uint64_t, std::shared_ptr<NcclWorld>> ncclWorlds; // key: number in their id
  uint64_t launches = 0;                                     // kernels that ran
  uint64_t cudnnGraphs = 0;                                  // graphs that were computed
  uint64_t calls = 0;
  Result fault = cu::success; // error after which nothing works any more
  std::string faultWords;
  bool isEnding = false; // the machine is ending
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
  Backoff idle; // time since something has run
};

// Returns the machine of this process, of which there is one, as with a driver: its functions have
// no argument for it.
Machine &machine();

} // namespace dtc::rt::fake
