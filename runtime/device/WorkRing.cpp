#include "runtime/device/WorkRing.h"

#include "kernels/cpu/ThreadPool.h"

namespace dtc::rt {

// A side that waits for room sleeps until this part of the ring is free, so that two threads do not
// wake each other for every command.
static constexpr uint32_t kSlotsPerWake = WorkRing::kSlots / 4;
static_assert((WorkRing::kSlots & (WorkRing::kSlots - 1)) == 0, "numbers of slots wrap around");

// `stop` changes a number by this, so that a sleeping thread wakes; nobody reads the number
// afterwards.
static constexpr uint32_t kJump = uint32_t(1) << 31;

WorkRing::WorkRing(size_t maxBuffers, size_t maxScalars) : slots(kSlots) {
  for (Work &slot : slots) {
    slot.command.buffers.reserve(maxBuffers);
    slot.command.scalars.reserve(maxScalars);
  }
}

Work *WorkRing::beginPut() {
  uint32_t put = puts.load(std::memory_order_relaxed);
  uint32_t taken = takes.load(std::memory_order_acquire);
  while (put - taken == kSlots && !stopped.load(std::memory_order_acquire)) {
    takes.wait(taken, std::memory_order_acquire);
    taken = takes.load(std::memory_order_acquire);
  }
  return stopped.load(std::memory_order_acquire) ? nullptr : &slots[put % kSlots];
}

void WorkRing::endPut() {
  puts.fetch_add(1, std::memory_order_release);
  puts.notify_one();
}

Work *WorkRing::beginTake() {
  uint32_t take = takes.load(std::memory_order_relaxed);
  while (!stopped.load(std::memory_order_acquire)) {
    if (puts.load(std::memory_order_acquire) != take) {
      Work *work = &slots[take % kSlots];
      return stopped.load(std::memory_order_acquire) ? nullptr : work;
    }
    cpu::waitWhileEqual(puts, take);
  }
  return nullptr;
}

void WorkRing::endTake() {
  uint32_t taken = takes.fetch_add(1, std::memory_order_release) + 1;
  if (taken % kSlotsPerWake == 0)
    takes.notify_one();
}

void WorkRing::stop() {
  stopped.store(true, std::memory_order_release);
  puts.fetch_add(kJump, std::memory_order_release);
  puts.notify_all();
  takes.fetch_add(kJump, std::memory_order_release);
  takes.notify_all();
}

} // namespace dtc::rt
