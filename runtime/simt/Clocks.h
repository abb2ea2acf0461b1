// Tells which access is ordered before which. Keeps the time of each warp of the running block, and
// what other blocks have released to the block.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace dtc::simt {

inline constexpr uint32_t warpThreads = 32;
inline constexpr uint32_t maxBlockThreads = 1024;
inline constexpr uint32_t maxWarps = maxBlockThreads / warpThreads;
inline constexpr uint32_t maxBlocks = 1u << 22; // so that a thread of the grid fits 32 bits

// An access: the thread that made it, and the time by the clock of its warp. Time 0 means that
// there was none.
struct Stamp {
  uint32_t thread = 0; // block * 1024 + thread of the block
  uint32_t time : 30 = 0;
  uint32_t write : 1 = 0;
  uint32_t atomic : 1 = 0;

  // Returns the number of the thread's block in the grid.
  uint32_t block() const { return thread / maxBlockThreads; }
  // Returns the number of the thread in its block.
  uint32_t threadOfBlock() const { return thread % maxBlockThreads; }
  // Returns the number of the thread's warp, counted as if all blocks had 32 warps.
  uint32_t warpOfGrid() const { return thread / warpThreads; }
};

// The clocks of the running block's warps, and the orders that fences and atomic accesses make
// between blocks.
class Clocks {
public:
  // Forgets what blocks of earlier launches have released.
  void startLaunch() { released.clear(); }
  // Starts the block `number`: all its clocks start at 1, and nothing is acquired.
  void startBlock(uint32_t number) {
    block = number;
    times.fill(1);
    barrierTimes.fill(1);
    acquired.clear();
  }
  uint32_t blockNumber() const { return block; }
  // Makes thread `number` of the block the one that acquires, releases and accesses from now on.
  void setThread(uint32_t number) { thread = number; }

  // All threads of the block are at a barrier: everything before the barrier is ordered before
  // everything after it.
  void passBlockBarrier() {
    for (uint32_t warp = 0; warp < maxWarps; ++warp)
      barrierTimes[warp] = ++times[warp];
  }
  // Some lanes of the warp are at a barrier of the warp: the time of the warp moves on.
  void passWarpBarrier(uint32_t warp) { ++times[warp]; }

  // A thread that has passed a fence makes an atomic access to `address`. A block that makes an
  // atomic access to it later is ordered after everything that is ordered before this one.
  void release(const void *address) {
    Times &to = released[address];
    for (uint32_t warp = 0; warp < maxWarps; ++warp)
      raise(to, block * maxWarps + warp, barrierTimes[warp]);
    raise(to, block * maxWarps + thread / warpThreads, ++times[thread / warpThreads]);
    for (auto [warp, time] : acquired)
      raise(to, warp, time);
  }
  // The thread makes an atomic access to `address`: the block is from now on ordered after
  // everything that other blocks have released there.
  void acquire(const void *address) {
    auto from = released.find(address);
    if (from == released.end())
      return;
    for (auto [warp, time] : from->second)
      if (warp / maxWarps != block)
        raise(acquired, warp, time);
  }

  // Returns the stamp of an access that the current thread makes now.
  Stamp now(bool write, bool atomic) const {
    Stamp stamp;
    stamp.thread = block * maxBlockThreads + thread;
    stamp.time = times[thread / warpThreads] & 0x3fffffff;
    stamp.write = write;
    stamp.atomic = atomic;
    return stamp;
  }

  // Returns true if the access is ordered before what the current thread does now, or if the stamp
  // holds no access.
  bool isOrdered(Stamp stamp) const {
    if (stamp.time == 0)
      return true;
    if (stamp.block() != block) {
      if (acquired.empty())
        return false;
      auto found = acquired.find(stamp.warpOfGrid());
      return found != acquired.end() && stamp.time < found->second;
    }
    uint32_t other = stamp.threadOfBlock(), warp = other / warpThreads;
    if (other == thread || stamp.time < barrierTimes[warp])
      return true;
    return warp == thread / warpThreads && stamp.time < times[warp];
  }

private:
  // For each warp of the grid: everything before that time.
  using Times = std::unordered_map<uint32_t, uint32_t>;
  static void raise(Times &times, uint32_t warp, uint32_t time) {
    uint32_t &known = times[warp];
    known = known < time ? time : known;
  }

  uint32_t block = 0, thread = 0;
  std::array<uint32_t, maxWarps> times{}, barrierTimes{};
  Times acquired; // of the whole block, because a barrier usually follows
  std::unordered_map<const void *, Times> released;
};

} // namespace dtc::simt
