#include "test/unit/exec/FakeDevice.h"

#include "runtime/format/Operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace dtc::test {

using namespace rt;

FakeDevice::FakeDevice(FakeJob &job, int rank, const Faults &faults)
    : job(job), rank(rank), faults(faults) {
  job.devices[static_cast<size_t>(rank)] = this;
}

FakeDevice::~FakeDevice() {
  for (const Block &block : memory)
    std::free(block.address);
}

rt::Status FakeDevice::addBlock(uint64_t bytes, uint64_t alignment) {
  uint64_t rounded = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
  memory.push_back({static_cast<char *>(std::aligned_alloc(alignment, rounded)), rounded});
  std::memset(memory.back().address, 0, rounded);
  return {};
}

rt::Status FakeDevice::allocateArena(format::MemorySpace space, uint64_t bytes) {
  DTC_RETURN_IF_ERROR(addBlock(bytes, 4096));
  arenas[static_cast<size_t>(space)] = memory.back().address;
  return {};
}

rt::Status FakeDevice::allocateHost(uint64_t bytes, char *&address) {
  DTC_RETURN_IF_ERROR(addBlock(bytes, 64));
  address = memory.back().address;
  return {};
}

rt::Status FakeDevice::copyIn(char *to, const void *from, uint64_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}

rt::Status FakeDevice::copyOut(void *to, const char *from, uint64_t bytes) {
  std::memcpy(to, from, bytes);
  return {};
}

rt::Status FakeDevice::createStreams(const StreamSpec &spec) {
  queues.resize(spec.used.size());
  position.next.resize(spec.used.size());
  position.records.resize(static_cast<size_t>(spec.events));
  enqueuedRecords.resize(static_cast<size_t>(spec.events));
  return {};
}

rt::Status FakeDevice::createGroup(Control &, const GroupSpec &spec, int &number) {
  Group group;
  for (size_t i = 0; i < spec.ranks.size(); ++i)
    if (static_cast<int>(spec.ranks[i]) == rank) {
      group.memberIndex = i % spec.size;
      size_t first = i - group.memberIndex;
      group.ranks.assign(spec.ranks.begin() + static_cast<ptrdiff_t>(first),
                         spec.ranks.begin() + static_cast<ptrdiff_t>(first + spec.size));
    }
  number = static_cast<int>(groups.size());
  groups.push_back(group);
  return {};
}

rt::Status FakeDevice::beginStep(uint32_t) {
  waits = 0;
  return {};
}

rt::Status FakeDevice::enqueue(int stream, const Command &command, const Mark &mark) {
  Item item{.kind = Kind::Run, .mark = mark, .command = command};
  item.kept = faults.keepsPointers ? &command : nullptr;
  add(stream, std::move(item));
  return {};
}

rt::Status FakeDevice::enqueueRecord(int stream, int event, const Mark &mark) {
  ++enqueuedRecords[static_cast<size_t>(event)];
  add(stream, {.kind = Kind::Record, .mark = mark, .event = event});
  return {};
}

rt::Status FakeDevice::enqueueWait(int stream, int event, const Mark &mark) {
  uint32_t ordinal = enqueuedRecords[static_cast<size_t>(event)];
  if (waits++ == faults.ignoredWait)
    ordinal = 0;
  add(stream, {.kind = Kind::Wait, .mark = mark, .event = event, .ordinal = ordinal});
  return {};
}

rt::Status FakeDevice::enqueueCopyIn(int stream, char *to, const char *from, uint64_t bytes,
                                     const Mark &mark) {
  add(stream, {.kind = Kind::Copy, .mark = mark, .to = to, .from = from, .bytes = bytes});
  return {};
}

rt::Status FakeDevice::enqueueCopyOut(int stream, char *to, const char *from, uint64_t bytes,
                                      const Mark &mark) {
  return enqueueCopyIn(stream, to, from, bytes, mark);
}

rt::Status FakeDevice::endStep(const Mark &mark, uint64_t &step) {
  step = ++steps;
  add(0, {.kind = Kind::EndStep, .mark = mark});
  return {};
}

rt::Status FakeDevice::synchronize(uint64_t step, uint64_t &tag) {
  tag = 0;
  return isDone(step) || faults.returnsEarly ? rt::Status()
                                             : rt::Status::aborted("nobody runs the streams");
}

bool FakeDevice::isIdle() const {
  for (size_t stream = 0; stream < queues.size(); ++stream)
    if (position.next[stream] < queues[stream].size())
      return false;
  return true;
}

std::vector<uint32_t> FakeDevice::workDone() const {
  std::vector<uint32_t> done(queues.size());
  for (size_t stream = 0; stream < queues.size(); ++stream)
    done[stream] = static_cast<uint32_t>(std::count_if(
        queues[stream].begin(), queues[stream].begin() + position.next[stream],
        [](const Item &item) {
          return item.kind == Kind::Run || item.kind == Kind::Copy || item.kind == Kind::EndStep;
        }));
  return done;
}

FakeDevice::Memory FakeDevice::save() const {
  Memory saved;
  for (const Block &block : memory)
    saved.emplace_back(block.address, block.address + block.bytes);
  return saved;
}

void FakeDevice::restore(const Position &to, const Memory &saved) {
  position = to;
  for (size_t i = 0; i < memory.size(); ++i)
    std::memcpy(memory[i].address, saved[i].data(), saved[i].size());
}

bool FakeDevice::holds(const Memory &saved) const {
  for (size_t i = 0; i < memory.size(); ++i)
    if (std::memcmp(memory[i].address, saved[i].data(), saved[i].size()) != 0)
      return false;
  return true;
}

// The other side must be the oldest of the stream that it is on.
std::vector<FakeDevice::Item *> FakeDevice::matchedTransfer(Item &mine, const Group &group) const {
  const format::Transfer &op = *mine.what().source->op_as_Transfer();
  bool sends = op.kind() == format::TransferKind::send;
  int peer = group.ranks[(group.memberIndex + op.shift()) % group.ranks.size()];
  FakeDevice &device = *job.devices[static_cast<size_t>(peer)];
  for (size_t stream = 0; stream < device.queues.size(); ++stream) {
    if (device.position.next[stream] >= device.queues[stream].size())
      continue;
    Item &other = device.queues[stream][device.position.next[stream]];
    if (other.kind != Kind::Run || other.hasRun || other.what().group != mine.what().group)
      continue;
    const format::Transfer *there = other.what().source->op_as_Transfer();
    if (there && (there->kind() == format::TransferKind::send) != sends)
      return sends ? std::vector<Item *>{&mine, &other} : std::vector<Item *>{&other, &mine};
  }
  return {};
}

std::vector<FakeDevice::Item *> FakeDevice::matched(size_t stream) const {
  const Item &mine = queues[stream][position.next[stream]];
  const Group &group = groups[static_cast<size_t>(mine.what().group)];
  if (mine.what().source->op_type() == format::Op::Transfer)
    return matchedTransfer(const_cast<Item &>(mine), group);
  std::vector<Item *> items;
  for (int member : group.ranks) {
    FakeDevice &device = *job.devices[static_cast<size_t>(member)];
    uint32_t next = device.position.next[stream];
    if (next >= device.queues[stream].size())
      return {};
    Item &item = device.queues[stream][next];
    // An item that has run belongs to an earlier collective, which its rank has not left yet.
    if (item.kind != Kind::Run || item.hasRun || item.what().group != mine.what().group)
      return {};
    items.push_back(&item);
  }
  return items;
}

bool FakeDevice::canRun(size_t stream) const {
  if (position.next[stream] >= queues[stream].size())
    return false;
  const Item &item = queues[stream][position.next[stream]];
  if (item.kind == Kind::Wait)
    return position.records[static_cast<size_t>(item.event)] >= item.ordinal;
  if (item.kind == Kind::Run && item.what().group >= 0)
    return item.hasRun || !matched(stream).empty();
  return true;
}

// Returns the bytes that a rank brings to a collective, or gets from it.
static uint64_t bytesOfSide(const format::Collective &op, size_t ranks, bool brings) {
  using format::CollectiveKind;
  bool whole = op.kind() == CollectiveKind::all_to_all ||
               (op.kind() == CollectiveKind::all_gather && !brings) ||
               (op.kind() == CollectiveKind::reduce_scatter && brings);
  return op.count() * (whole ? ranks : 1) * format::bytesOf(op.dtype());
}

// Computes what each member gets from what all brought. Sums are in the order of ranks, as with
// loopback ranks.
void FakeDevice::meet(const std::vector<Item *> &items) {
  using format::CollectiveKind;
  if (const format::Transfer *sent = items[0]->what().source->op_as_Transfer()) {
    const char *from = items[0]->what().buffers[0];
    items[0]->brought.assign(from, from + sent->count() * format::bytesOf(sent->dtype()));
    items[1]->got = items[0]->brought;
    for (Item *item : items)
      item->hasRun = true;
    return;
  }
  const format::Collective &op = *items[0]->what().source->op_as_Collective();
  uint64_t part = op.count() * format::bytesOf(op.dtype());
  bool reduces =
      op.kind() == CollectiveKind::all_reduce || op.kind() == CollectiveKind::reduce_scatter;
  ASSERT_TRUE(!reduces || op.dtype() == format::DType::f32);
  for (Item *item : items)
    item->brought.assign(item->what().buffers[0],
                         item->what().buffers[0] + bytesOfSide(op, items.size(), true));
  for (size_t to = 0; to < items.size(); ++to) {
    std::vector<char> &got = items[to]->got;
    got.resize(bytesOfSide(op, items.size(), false));
    for (size_t from = 0; from < items.size(); ++from) {
      const char *brought = items[from]->brought.data();
      if (op.kind() == CollectiveKind::all_gather)
        std::memcpy(got.data() + from * part, brought, part);
      if (op.kind() == CollectiveKind::all_to_all)
        std::memcpy(got.data() + from * part, brought + to * part, part);
      if (!reduces)
        continue;
      brought += op.kind() == CollectiveKind::reduce_scatter ? to * part : 0;
      auto *sums = reinterpret_cast<float *>(got.data());
      for (uint64_t i = 0; i < op.count(); ++i) {
        float value = 0;
        std::memcpy(&value, brought + i * sizeof(float), sizeof(float));
        bool isMax = op.reduce() == format::ReduceKind::max;
        sums[i] = from == 0 ? value : isMax ? std::max(sums[i], value) : sums[i] + value;
      }
    }
    items[to]->hasRun = true;
  }
}

bool FakeDevice::collect(Item &item, size_t stream) {
  if (!item.hasRun)
    meet(matched(stream));
  const Command &command = item.what();
  bool isSame = std::equal(item.brought.begin(), item.brought.end(), command.buffers[0]);
  // A transfer has one buffer, which it reads or writes.
  std::copy(item.got.begin(), item.got.end(), command.buffers.back());
  return isSame;
}

bool FakeDevice::run(size_t stream) {
  Item &item = queues[stream][position.next[stream]];
  bool isSame = true;
  switch (item.kind) {
  case Kind::Run:
    if (item.what().group >= 0) {
      isSame = collect(item, stream);
    } else {
      rt::Status status = code.run(item.what(), pool);
      EXPECT_TRUE(status.ok()) << status.message();
    }
    break;
  case Kind::Record:
    ++position.records[static_cast<size_t>(item.event)];
    break;
  case Kind::Wait:
    break;
  case Kind::Copy:
    std::memcpy(item.to, item.from, item.bytes);
    break;
  case Kind::EndStep:
    ++position.doneSteps;
    break;
  }
  ++position.next[stream];
  return isSame;
}

} // namespace dtc::test
