// Explores all orders that streams and events allow for the commands that the host has enqueued.
//
// A state is the progress of each stream. From each state every stream that may continue does, and
// if a state is reached on several ways, memory must be the same on all of them. Then all orders
// lead to the same memory, however many they are. Each of several ranks is explored by itself: the
// others bring the data of a first run to its collectives and transfers, and the test also checks
// that this rank brings the same data in every order. So no order between ranks is left out.
#pragma once

#include "runtime/comm/Loopback.h"
#include "runtime/exec/Executor.h"
#include "test/unit/exec/FakeDevice.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <thread>

namespace dtc::test {

// All ranks of a job on fake devices, on which nothing runs by itself.
class FakeRanks {
public:
  // The device of the rank `faulty` has `faults`.
  FakeRanks(const std::vector<uint8_t> &file, int ranks, size_t stepsAhead,
            const Faults &faults = {}, int faulty = 0)
      : fakes(ranks), executors(static_cast<size_t>(ranks)) {
    EXPECT_TRUE(rt::Executable::fromBytes(file, "test.dte", executable).ok());
    controls = rt::makeLoopbackWorld(ranks, 60);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      devices.push_back(
          std::make_unique<FakeDevice>(fakes, rank, rank == faulty ? faults : Faults()));
    for (size_t rank = 0; rank < devices.size(); ++rank)
      threads.emplace_back([&, rank] {
        rt::ExecutorOptions options{.stepsAhead = stepsAhead};
        EXPECT_TRUE(rt::Executor::create(*executable, *controls[rank], *devices[rank], options,
                                         executors[rank])
                        .ok());
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  // Runs everything. Each time `choose` picks one of the streams that may continue. Returns false
  // if a rank's side of a collective or transfer changed while it was in progress.
  bool runAll(const std::function<size_t(size_t)> &choose) {
    bool isSame = true;
    std::vector<std::pair<FakeDevice *, size_t>> ready;
    do {
      ready.clear();
      for (auto &device : devices)
        for (size_t stream = 0; stream < device->numStreams(); ++stream)
          if (device->canRun(stream))
            ready.push_back({device.get(), stream});
      if (!ready.empty()) {
        auto [device, stream] = ready[choose(ready.size())];
        isSame &= device->run(stream);
      }
    } while (!ready.empty());
    for (auto &device : devices)
      EXPECT_TRUE(device->isIdle()) << "what is enqueued waits for ever";
    return isSame;
  }

  FakeJob fakes;
  std::unique_ptr<rt::Executable> executable;
  std::vector<std::unique_ptr<rt::Comm>> controls;
  std::vector<std::unique_ptr<FakeDevice>> devices;
  std::vector<std::unique_ptr<rt::Executor>> executors;
};

// The result of exploring all orders.
struct Explored {
  uint64_t states = 0, runs = 0;
  double orders = 0;                         // ways through the states
  bool isOne = true;                         // every state has one memory, and all lead to the end
  std::set<std::vector<uint32_t>> work = {}; // FakeDevice::workDone of all states
};

// Explores every order of the commands that `device` has to run. The device is left at the end of
// one of them.
inline Explored explore(FakeDevice &device) {
  struct State {
    FakeDevice::Memory memory;
    double ways = 0;
  };
  Explored explored;
  std::map<FakeDevice::Position, State> level;
  level[device.at()] = {device.save(), 1};
  while (explored.isOne) {
    explored.states += level.size();
    std::map<FakeDevice::Position, State> next;
    for (const auto &[position, state] : level) {
      bool goesOn = false;
      for (size_t stream = 0; stream < device.numStreams(); ++stream) {
        device.restore(position, state.memory);
        if (!device.canRun(stream))
          continue;
        goesOn = true;
        ++explored.runs;
        explored.isOne &= device.run(stream);
        explored.work.insert(device.workDone());
        auto [to, isNew] = next.try_emplace(device.at());
        if (isNew)
          to->second.memory = device.save();
        else
          explored.isOne &= device.holds(to->second.memory);
        to->second.ways += state.ways;
      }
      explored.isOne &= goesOn || device.isIdle();
    }
    if (next.empty())
      break;
    level = std::move(next);
  }
  explored.orders = level.begin()->second.ways;
  if (explored.isOne)
    device.restore(level.begin()->first, level.begin()->second.memory);
  return explored;
}

// Explores all ranks, each by itself, after a first run in which they met.
inline Explored exploreAll(FakeRanks &job) {
  std::vector<std::pair<FakeDevice::Position, FakeDevice::Memory>> starts;
  for (auto &device : job.devices)
    starts.push_back({device->at(), device->save()});
  Explored all{.orders = 1};
  all.isOne = job.runAll([](size_t) { return 0; });
  for (size_t rank = 0; rank < starts.size() && all.isOne; ++rank) {
    job.devices[rank]->restore(starts[rank].first, starts[rank].second);
    Explored one = explore(*job.devices[rank]);
    if (rank == 0)
      all.work = one.work;
    all.states += one.states;
    all.runs += one.runs;
    all.orders *= one.orders;
    all.isOne &= one.isOne;
  }
  return all;
}

} // namespace dtc::test
