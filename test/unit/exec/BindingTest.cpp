// Tests how a program is bound to one rank: types of tensors, and which instructions of each run
// the host enqueues.
#include "runtime/exec/Binding.h"
#include "runtime/exec/Loader.h"

#include "runtime/device/CpuDevice.h"
#include "runtime/format/ElementTypes.h"
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

namespace dtc::rt {
namespace {

using test::ProgramBuilder;
using Issues = std::vector<std::pair<uint32_t, uint32_t>>;

TEST(TensorSpec, HasTheTypeOfTheFile) {
  for (format::DType type : format::EnumValuesDType()) {
    format::TensorT tensor;
    tensor.name = "w";
    tensor.global_shape = tensor.stored_shape = tensor.local_shape = {2};
    tensor.dtype = type;
    flatbuffers::FlatBufferBuilder encoder;
    encoder.Finish(format::CreateTensor(encoder, &tensor));
    TensorSpec spec = tensorSpec(*flatbuffers::GetRoot<format::Tensor>(encoder.GetBufferPointer()));
    EXPECT_EQ(spec.dtype, format::storedName(type));
  }
}

// Returns run and instruction of everything that is enqueued, for two runs of a task that has a
// record and a wait.
Issues issuesOf(format::Runs records, format::Runs waits) {
  ProgramBuilder builder({});
  builder.manifest.num_micro_batches = 2;
  builder.program().num_streams = 3;
  builder.program().num_events = 1;
  builder.program().entries[0]->order = {format::Run(0, 0), format::Run(0, 1)};
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
  const BoundEntry &entry = bound.entries[format::EntryKind::train];
  EXPECT_EQ(entry.streams, (std::vector<bool>{true, true, false}));
  Issues issues;
  for (const Issue &issue : entry.issues)
    issues.push_back({issue.run, issue.instruction});
  return issues;
}

// A record that a run leaves out cannot be waited for.
TEST(Binding, LeavesOutWhatARunDoesNotTakePartIn) {
  using format::Runs;
  EXPECT_EQ(issuesOf(Runs::every, Runs::every), (Issues{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(issuesOf(Runs::last, Runs::last), (Issues{{1, 0}, {1, 1}}));
}

// A repeated instruction is enqueued once for each layer, with its own events, between instructions
// that do not repeat.
TEST(Binding, EnqueuesEveryLayer) {
  ProgramBuilder builder({});
  builder.program().num_streams = 2;
  builder.program().num_events = 4;
  format::RecordT record = test::record(3);
  record.layer_stride = -1;
  format::WaitT wait = test::wait(3);
  wait.layer_stride = -1;
  builder.add(test::record(0), 1);
  builder.add(record, 1);
  builder.add(wait);
  builder.add(test::wait(0));
  builder.program().tasks[0]->repeats = {format::Repeat(1, 3, 3)};
  std::unique_ptr<Executable> executable;
  ASSERT_TRUE(Executable::fromBytes(builder.file(), "test.dte", executable).ok());
  std::unique_ptr<Device> device = makeCpuDevice(1);
  Groups groups;
  BoundProgram bound;
  ASSERT_TRUE(
      bindProgram(executable->manifest(), executable->program(0), {}, groups, {}, *device, bound)
          .ok());
  std::vector<std::pair<uint32_t, int>> events; // instruction, event
  for (const Issue &issue : bound.entries[format::EntryKind::train].issues)
    events.push_back({issue.instruction, bound.tasks[0].instructions[issue.instruction].eventIn(
                                             issue.layer, /*microBatch=*/0)});
  EXPECT_EQ(events, (std::vector<std::pair<uint32_t, int>>{
                        {0, 0}, {1, 3}, {2, 3}, {1, 2}, {2, 2}, {1, 1}, {2, 1}, {3, 0}}));
}

} // namespace
} // namespace dtc::rt
