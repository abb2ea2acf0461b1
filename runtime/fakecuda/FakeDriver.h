// The functions of the fake driver, one for each of runtime/cuda/Driver.def, and their common
// parts.
#pragma once

#include "runtime/fakecuda/Machine.h"

namespace dtc::rt::fake::driver {

using namespace cu; // for the types of the parameters

#define DTC_CU(name, symbol, parameters) Result name parameters;
#include "runtime/cuda/Driver.def"
#undef DTC_CU

using Lock = std::unique_lock<std::mutex>;

// Returns from a function if the call must not go on.
#define DTC_FAKE_DRIVER(isSafe)                                                                    \
  Machine &m = machine();                                                                          \
  Lock lock(m.mutex);                                                                              \
  if (Result entered = m.enter(isSafe); entered != cu::success)                                    \
    return entered;
#define DTC_FAKE_DRIVER_FREE                                                                       \
  Machine &m = machine();                                                                          \
  Lock lock(m.mutex);                                                                              \
  Result entered = m.enterFree();

// Returns the stream of a handle; null is the default stream.
inline FakeStream &streamOf(Machine &m, cu::Stream stream) {
  return stream ? *reinterpret_cast<FakeStream *>(stream) : m.current().defaultStream;
}
// Returns the event of a handle.
inline FakeEvent &eventOf(cu::Event event) { return *reinterpret_cast<FakeEvent *>(event); }
// Returns a device address as a pointer.
inline char *pointer(cu::DevicePtr address) { return reinterpret_cast<char *>(address); }

// Waits until the current GPU is idle.
inline void awaitGpu(Machine &m, Lock &lock) {
  int number = Machine::currentGpu;
  m.runUntil(lock, [&] { return m.isIdle(number); });
}

} // namespace dtc::rt::fake::driver

namespace dtc::rt::fake {

// Fills the driver's table with the functions above.
void fillDriver(cu::Driver &table);

} // namespace dtc::rt::fake
