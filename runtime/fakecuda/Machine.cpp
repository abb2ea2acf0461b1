#include "runtime/fakecuda/Machine.h"

#include "runtime/fakecuda/FakeCudaOptions.h"

#include <algorithm>
#include <utility>

namespace dtc::rt::fake {

thread_local int Machine::currentGpu = -1;

static Machine *theMachine = nullptr;

Machine &machine() { return *theMachine; }

Machine::Machine(const FakeCudaOptions &options) : options(options), random(options.seed) {
  for (int i = 0; i < options.gpus; ++i) {
    gpus.push_back(std::make_unique<FakeGpu>());
    gpus.back()->defaultStream.gpu = i;
  }
  theMachine = this;
}

Machine::~Machine() { theMachine = nullptr; }

Result Machine::enter(bool isSafe) {
  if (++calls == options.failingCall)
    return cu::errorOperatingSystem;
  if (fault != cu::success)
    return fault;
  if (isSafe)
    return cu::success;
  for (const std::shared_ptr<Capture> &capture : captures)
    if (capture->thread == std::this_thread::get_id()) {
      invalidate(capture, cu::errorCaptureInvalidated);
      return cu::errorCaptureUnsupported;
    }
  return cu::success;
}

Result Machine::enterFree() {
  return ++calls == options.failingCall ? cu::errorOperatingSystem : cu::success;
}

void Machine::invalidate(const std::shared_ptr<Capture> &capture, Result error) {
  if (capture->error == cu::success)
    capture->error = error;
}

Result Machine::fail(const std::string &words) {
  if (fault == cu::success) {
    fault = cu::errorIllegalAddress;
    faultWords = words;
  }
  return fault;
}

void Machine::add(const NodePtr &node) { pending.push_back(node); }

Result Machine::push(FakeStream &stream, std::function<Status()> run,
                     std::function<bool()> isReady) {
  if (stream.capture) {
    if (stream.capture->error != cu::success)
      return cu::errorCaptureInvalidated;
    std::vector<GraphNode> &nodes = stream.capture->nodes;
    nodes.push_back(
        {{stream.captured.begin(), stream.captured.end()}, std::move(run), std::move(isReady)});
    stream.captured = {nodes.size() - 1};
    return cu::success;
  }
  auto node = std::make_shared<Node>();
  node->run = std::move(run);
  node->isReady = std::move(isReady);
  node->gpu = stream.gpu;
  if (stream.last && !stream.last->done)
    node->after.push_back(stream.last);
  stream.last = node;
  node->depth = stream.depth;
  ++*node->depth;
  add(node);
  return cu::success;
}

void Machine::await(std::unique_lock<std::mutex> &lock, FakeStream &stream) {
  std::shared_ptr<size_t> depth = stream.depth;
  if (options.streamDepth > 0 && !stream.capture)
    runUntil(lock, [&] { return *depth <= options.streamDepth; });
}

Result Machine::record(FakeEvent &event, FakeStream &stream) {
  if (stream.capture) {
    if (stream.capture->error != cu::success)
      return cu::errorCaptureInvalidated;
    event.capture = stream.capture;
    event.captured = stream.captured;
    return cu::success;
  }
  event.capture = nullptr;
  Result result = push(stream, {});
  event.node = stream.last;
  return result;
}

// Makes a stream wait for an event. A stream joins a capture by waiting for an event in it; nothing
// inside a capture may wait for an event outside.
Result Machine::wait(FakeStream &stream, FakeEvent &event) {
  bool isOpen =
      event.capture && std::find(captures.begin(), captures.end(), event.capture) != captures.end();
  if (event.capture && !isOpen)
    return cu::errorCapturedEvent;
  if (!stream.capture && !event.capture) {
    if (!event.node || event.node->done)
      return cu::success;
    Result result = push(stream, {});
    stream.last->after.push_back(event.node);
    return result;
  }
  if (!event.capture) {
    invalidate(stream.capture, cu::errorCaptureInvalidated);
    return cu::errorCaptureIsolation;
  }
  if (event.capture->error != cu::success)
    return cu::errorCaptureInvalidated;
  if (stream.capture && stream.capture != event.capture) {
    invalidate(stream.capture, cu::errorCaptureInvalidated);
    invalidate(event.capture, cu::errorCaptureInvalidated);
    return cu::errorCaptureMerge;
  }
  if (!stream.capture) {
    stream.capture = event.capture;
    capturing.push_back(&stream);
  }
  stream.captured.insert(event.captured.begin(), event.captured.end());
  return cu::success;
}

Result Machine::beginCapture(FakeStream &stream) {
  constexpr Result illegalState = 401;
  if (stream.capture)
    return illegalState;
  if (&stream == &gpus[static_cast<size_t>(stream.gpu)]->defaultStream)
    return cu::errorCaptureUnsupported;
  stream.capture = std::make_shared<Capture>();
  stream.capture->origin = &stream;
  stream.capture->thread = std::this_thread::get_id();
  stream.captured.clear();
  captures.push_back(stream.capture);
  capturing.push_back(&stream);
  return cu::success;
}

Result Machine::endCapture(FakeStream &stream, FakeGraph *&graph) {
  constexpr Result illegalState = 401, wrongThread = 908;
  std::shared_ptr<Capture> capture = stream.capture;
  if (!capture)
    return illegalState;
  if (capture->thread != std::this_thread::get_id())
    return wrongThread;
  if (capture->origin != &stream) {
    invalidate(capture, cu::errorCaptureInvalidated);
    return cu::errorCaptureUnmatched;
  }
  // All captured nodes must come before the end of the stream that began the capture.
  std::vector<bool> joined(capture->nodes.size());
  std::vector<size_t> open(stream.captured.begin(), stream.captured.end());
  while (!open.empty()) {
    size_t node = open.back();
    open.pop_back();
    if (joined[node])
      continue;
    joined[node] = true;
    open.insert(open.end(), capture->nodes[node].after.begin(), capture->nodes[node].after.end());
  }
  Result result = capture->error;
  if (result == cu::success && std::find(joined.begin(), joined.end(), false) != joined.end())
    result = cu::errorCaptureUnjoined;
  std::erase(captures, capture);
  std::erase_if(capturing, [&](FakeStream *each) {
    if (each->capture != capture)
      return false;
    each->capture = nullptr;
    each->captured.clear();
    return true;
  });
  if (result == cu::success)
    graph = new FakeGraph{std::move(capture->nodes)};
  capture->nodes.clear(); // events may keep the capture alive
  return result;
}

void Machine::launch(const FakeGraph &graph, FakeStream &stream) {
  std::vector<NodePtr> nodes;
  auto end = std::make_shared<Node>();
  end->gpu = stream.gpu;
  for (const GraphNode &each : graph.nodes) {
    auto node = std::make_shared<Node>();
    node->run = each.run;
    node->isReady = each.isReady;
    node->held = each.held;
    node->gpu = stream.gpu;
    for (size_t before : each.after)
      node->after.push_back(nodes[before]);
    if (each.after.empty() && stream.last)
      node->after.push_back(stream.last);
    nodes.push_back(node);
    end->after.push_back(node);
    add(node);
  }
  queue(nodes);
  if (stream.last)
    end->after.push_back(stream.last);
  stream.last = end;
  add(end);
}

// Puts branches of a graph on queues: CUDA only promises that each branch runs at some time.
void Machine::queue(const std::vector<NodePtr> &nodes) {
  if (options.graphQueues == 0)
    return;
  std::vector<NodePtr> last(options.graphQueues);
  std::vector<NodePtr> left = nodes;
  while (!left.empty()) {
    std::vector<size_t> free;
    for (size_t i = 0; i < left.size(); ++i)
      if (std::none_of(left.begin(), left.end(), [&](const NodePtr &other) {
            const std::vector<NodePtr> &after = left[i]->after;
            return std::find(after.begin(), after.end(), other) != after.end();
          }))
        free.push_back(i);
    size_t chosen = free[draw(free.size())], onto = draw(last.size());
    NodePtr node = left[chosen];
    left.erase(left.begin() + static_cast<ptrdiff_t>(chosen));
    if (last[onto])
      node->after.push_back(last[onto]);
    last[onto] = node;
  }
}

bool Machine::runOne() {
  std::vector<size_t> ready;
  for (size_t i = 0; i < pending.size(); ++i) {
    const Node &node = *pending[i];
    bool isFree = std::all_of(node.after.begin(), node.after.end(),
                              [](const NodePtr &before) { return before->done; });
    if (isFree && (fault != cu::success || !node.isReady || node.isReady()))
      ready.push_back(i);
  }
  if (ready.empty())
    return false;
  size_t chosen = ready[random() % ready.size()];
  NodePtr node = pending[chosen];
  pending.erase(pending.begin() + static_cast<ptrdiff_t>(chosen));
  if (node->run && fault == cu::success)
    if (Status status = node->run(); !status.ok())
      (void)fail(status.message());
  idle = Backoff();
  double &clock = gpus[static_cast<size_t>(node->gpu)]->clock;
  clock += 1e-6;
  node->seconds = clock;
  node->done = true;
  node->after.clear();
  node->run = nullptr;
  node->isReady = nullptr;
  node->held = nullptr;
  if (node->depth)
    --*std::exchange(node->depth, nullptr);
  return true;
}

bool Machine::isIdle(int gpu) const {
  return std::none_of(pending.begin(), pending.end(),
                      [gpu](const NodePtr &node) { return node->gpu == gpu; });
}

FakeFunction *Machine::addFunction(FakeFunction function) {
  functions.push_back(std::make_unique<FakeFunction>(function));
  return functions.back().get();
}

void Machine::removeFunctions(const FakeModule *module) {
  std::erase_if(functions, [module](const std::unique_ptr<FakeFunction> &function) {
    return function->module == module;
  });
}

void Machine::forget(FakeStream &stream) { std::erase(capturing, &stream); }

void Machine::rest(std::unique_lock<std::mutex> &lock) {
  Backoff pause = idle;
  lock.unlock();
  pause.pause();
  lock.lock();
  idle = pause;
}

void Machine::runUntil(std::unique_lock<std::mutex> &lock, const std::function<bool()> &isOver) {
  while (!isOver())
    if (!runOne())
      rest(lock);
}

bool Machine::isPinned(const void *address, uint64_t bytes) const {
  const auto *at = static_cast<const char *>(address);
  auto next = pinned.upper_bound(at);
  if (next == pinned.begin())
    return false;
  --next;
  return at + bytes <= next->first + next->second;
}

} // namespace dtc::rt::fake
