// What a program becomes on one rank: which record each wait of each run is for.
#include "runtime/exec/Binding.h"

#include "runtime/device/CpuDevice.h"
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

namespace dtc::rt {
namespace {

using test::ProgramBuilder;

// Of two runs of a task, whose record and wait are for `records` and `waits`: the record that the wait
// of each run is for, counted from 1.
std::vector<std::vector<int>> waitedFor(format::Runs records, format::Runs waits) {
  ProgramBuilder builder({});
  builder.manifest.num_micro_batches = 2;
  builder.program().num_streams = 2;
  builder.program().num_events = 1;
  builder.program().entries[0]->order = {format::Run(0, 0, 0), format::Run(0, 1, 0)};
  builder.add(test::record(0), 1);
  builder.instructions().back()->runs = records;
  builder.add(test::wait(0));
  builder.instructions().back()->runs = waits;
  std::unique_ptr<Executable> executable;
  Status status = Executable::fromBytes(builder.file(), "test.dte", executable);
  EXPECT_TRUE(status.ok()) << status.message();
  std::unique_ptr<Device> device = makeCpuDevice(1);
  Groups groups;
  BoundProgram bound;
  EXPECT_TRUE(
      bindProgram(executable->manifest(), executable->program(0), {}, groups, {}, *device, bound)
          .ok());
  std::vector<std::vector<int>> ordinals;
  for (const BoundRun &run : bound.entries[format::EntryKind::train])
    ordinals.push_back(run.ordinals);
  return ordinals;
}

// A record that a run leaves out is none that a wait could be for.
TEST(Binding, CountsTheRecordsThatRun) {
  using Ordinals = std::vector<std::vector<int>>;
  EXPECT_EQ(waitedFor(format::Runs::every, format::Runs::every), (Ordinals{{1}, {2}}));
  EXPECT_EQ(waitedFor(format::Runs::last, format::Runs::last).back(), std::vector<int>{1});
}

} // namespace
} // namespace dtc::rt
