// The fake driver: streams, graphs and events.
#include "runtime/fakecuda/FakeDriver.h"

#include <atomic>

namespace dtc::rt::fake::driver {

Result cuStreamCreateWithPriority(cu::Stream *stream, unsigned flags, int priority) {
  DTC_FAKE_DRIVER(true)
  if (flags > cu::streamNonBlocking)
    return cu::errorInvalidValue;
  auto made = std::make_unique<FakeStream>();
  made->gpu = Machine::currentGpu;
  ++m.alive["stream"];
  *stream = reinterpret_cast<cu::Stream>(made.release());
  return cu::success;
}

Result cuStreamDestroy(cu::Stream stream) {
  DTC_FAKE_DRIVER_FREE
  auto *owned = reinterpret_cast<FakeStream *>(stream);
  m.forget(*owned);
  delete owned;
  --m.alive["stream"];
  return entered;
}

Result cuStreamWaitEvent(cu::Stream stream, cu::Event event, unsigned flags) {
  DTC_FAKE_DRIVER(true)
  return flags == 0 ? m.wait(streamOf(m, stream), eventOf(event)) : cu::errorInvalidValue;
}

// Waits for a value in pinned memory, which host threads write, too.
Result cuStreamWaitValue32(cu::Stream stream, cu::DevicePtr address, uint32_t value,
                           unsigned flags) {
  DTC_FAKE_DRIVER(true)
  if (!m.isPinned(pointer(address), sizeof(value)) || flags != cu::waitValueEqual)
    return cu::errorInvalidValue;
  std::atomic_ref<uint32_t> word(*reinterpret_cast<uint32_t *>(address));
  return m.push(streamOf(m, stream), {},
                [word, value] { return word.load(std::memory_order_acquire) == value; });
}

Result cuStreamWriteValue32(cu::Stream stream, cu::DevicePtr address, uint32_t value,
                            unsigned flags) {
  DTC_FAKE_DRIVER(true)
  if (!m.isPinned(pointer(address), sizeof(value)) || flags != 0)
    return cu::errorInvalidValue;
  std::atomic_ref<uint32_t> word(*reinterpret_cast<uint32_t *>(address));
  return m.push(streamOf(m, stream), [word, value]() -> Status {
    word.store(value, std::memory_order_release);
    return {};
  });
}

Result cuStreamBeginCapture(cu::Stream stream, int mode) {
  DTC_FAKE_DRIVER(true)
  // The rules of mode THREAD_LOCAL apply: calls that make the host wait are refused during a
  // capture.
  return mode == cu::captureRelaxed ? m.beginCapture(streamOf(m, stream)) : cu::errorInvalidValue;
}

Result cuStreamEndCapture(cu::Stream stream, cu::Graph *graph) {
  DTC_FAKE_DRIVER_FREE
  FakeGraph *made = nullptr;
  Result result = m.endCapture(streamOf(m, stream), made);
  if (entered != cu::success) { // the capture ends even then
    delete made;
    return entered;
  }
  m.alive["graph"] += made ? 1 : 0;
  *graph = reinterpret_cast<cu::Graph>(made);
  return result;
}

Result cuGraphInstantiate(cu::GraphExec *exec, cu::Graph graph, unsigned long long flags) {
  DTC_FAKE_DRIVER(true)
  ++m.alive["executable graph"];
  *exec = reinterpret_cast<cu::GraphExec>(new FakeGraph(*reinterpret_cast<FakeGraph *>(graph)));
  return flags == cu::graphNodePriority ? cu::success : cu::errorInvalidValue;
}

Result cuGraphLaunch(cu::GraphExec exec, cu::Stream stream) {
  DTC_FAKE_DRIVER(true)
  FakeStream &on = streamOf(m, stream);
  if (on.capture)
    // In CUDA a graph within the graph, which the runtime does not use.
    return cu::errorCaptureUnsupported;
  m.launch(*reinterpret_cast<FakeGraph *>(exec), on);
  return cu::success;
}

Result cuGraphDestroy(cu::Graph graph) {
  DTC_FAKE_DRIVER_FREE
  delete reinterpret_cast<FakeGraph *>(graph);
  --m.alive["graph"];
  return entered;
}

Result cuGraphExecDestroy(cu::GraphExec exec) {
  DTC_FAKE_DRIVER_FREE
  delete reinterpret_cast<FakeGraph *>(exec);
  --m.alive["executable graph"];
  return entered;
}

Result cuEventCreate(cu::Event *event, unsigned flags) {
  DTC_FAKE_DRIVER(true)
  auto made = std::make_unique<FakeEvent>();
  made->flags = flags;
  ++m.alive["event"];
  *event = reinterpret_cast<cu::Event>(made.release());
  return cu::success;
}

Result cuEventDestroy(cu::Event event) {
  DTC_FAKE_DRIVER_FREE
  delete reinterpret_cast<FakeEvent *>(event);
  --m.alive["event"];
  return entered;
}

Result cuEventRecord(cu::Event event, cu::Stream stream) {
  DTC_FAKE_DRIVER(true)
  return m.record(eventOf(event), streamOf(m, stream));
}

Result cuEventSynchronize(cu::Event event) {
  DTC_FAKE_DRIVER(false)
  FakeEvent &of = eventOf(event);
  if (of.capture)
    return cu::errorCapturedEvent;
  NodePtr node = of.node;
  m.runUntil(lock, [&] { return !node || node->done; });
  return m.fault;
}

// A query runs one node, any of them, so that repeated queries make progress; if nothing can run it
// takes a while, so that other threads or processes make progress, too.
Result cuEventQuery(cu::Event event) {
  DTC_FAKE_DRIVER(false)
  FakeEvent &of = eventOf(event);
  if (of.capture)
    return cu::errorCapturedEvent;
  if (of.node && !of.node->done && !m.runOne())
    m.rest(lock);
  if (m.fault != cu::success)
    return m.fault;
  return !of.node || of.node->done ? cu::success : cu::errorNotReady;
}

Result cuEventElapsedTime(float *milliseconds, cu::Event begin, cu::Event end) {
  DTC_FAKE_DRIVER(true)
  for (cu::Event event : {begin, end}) {
    const FakeEvent &of = eventOf(event);
    if (of.capture)
      return cu::errorCapturedEvent;
    if (!of.node || of.flags != cu::eventDefault)
      return cu::errorInvalidHandle;
    if (!of.node->done)
      return cu::errorNotReady;
  }
  *milliseconds =
      static_cast<float>((eventOf(end).node->seconds - eventOf(begin).node->seconds) * 1e3);
  return cu::success;
}

} // namespace dtc::rt::fake::driver
