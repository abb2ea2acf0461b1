// Checks that a step in steady state starts no thread, allocates nothing and looks up nothing by
// name. The whole process is counted, with all of its ranks and streams.
#include "test/unit/exec/RankRunner.h"
#include "test/unit/format/Sample.h"

#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <pthread.h>

namespace {

std::atomic<bool> counting{false};
std::atomic<uint64_t> allocations{0}, threadStarts{0}, lookups{0};

void count(std::atomic<uint64_t> &counter) {
  if (counting.load(std::memory_order_relaxed))
    counter.fetch_add(1, std::memory_order_relaxed);
}

// glibc's own dlsym, which the one below hides.
using Lookup = void *(void *handle, const char *name);
Lookup *realLookup() {
  static auto *real = reinterpret_cast<Lookup *>(::dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34"));
  return real;
}

} // namespace

#ifndef __SANITIZE_ADDRESS__ // AddressSanitizer counts them itself
// Counts malloc, calloc and the others, and calls glibc's own names; operator new calls malloc.
extern "C" {
// NOLINTBEGIN(readability-identifier-naming)
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t items, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
// NOLINTEND(readability-identifier-naming)

void *malloc(size_t bytes) {
  count(allocations);
  return __libc_malloc(bytes);
}
void *calloc(size_t items, size_t bytes) {
  count(allocations);
  return __libc_calloc(items, bytes);
}
void *realloc(void *memory, size_t bytes) {
  count(allocations);
  return __libc_realloc(memory, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  count(allocations);
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  count(allocations);
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument) {
  count(threadStarts);
  static auto *real =
      reinterpret_cast<decltype(&pthread_create)>(realLookup()(RTLD_NEXT, "pthread_create"));
  return real(thread, attributes, start, argument);
}
void *dlsym(void *handle, const char *name) noexcept {
  count(lookups);
  return realLookup()(handle, name);
}
}
#endif

namespace dtc::rt {
namespace {

using test::ProgramBuilder;

struct Counted {
  uint64_t allocations, threadStarts, lookups;
};

// Counts what `run` allocates. All ranks call it at the same time, and the counters are read while
// all wait.
class Counter {
public:
  explicit Counter(int ranks) : barrier(ranks) {}

  Counted during(int rank, const std::function<void()> &run) {
    barrier.arrive_and_wait();
    if (rank == 0) {
      allocations = threadStarts = lookups = 0;
      counting = true;
    }
    barrier.arrive_and_wait();
    run();
    barrier.arrive_and_wait();
    if (rank == 0)
      counting = false;
    barrier.arrive_and_wait();
    return {allocations, threadStarts, lookups};
  }

private:
  std::barrier<> barrier;
};

#ifdef __SANITIZE_ADDRESS__
#define DTC_SKIP_UNCOUNTED GTEST_SKIP() << "AddressSanitizer has hooks of its own"
#else
#define DTC_SKIP_UNCOUNTED (void)0
#endif

// The hooks must see every kind of call.
TEST(Allocation, IsCounted) {
  DTC_SKIP_UNCOUNTED;
  Counter counter(1);
  Counted nothing = counter.during(0, [] {});
  EXPECT_EQ(nothing.allocations + nothing.threadStarts + nothing.lookups, 0u);
  Counted some = counter.during(0, [] {
    std::free(std::aligned_alloc(64, 64));
    std::vector<int> values(100);
    std::thread([&] { values[0] = 1; }).join();
    EXPECT_NE(::dlsym(RTLD_DEFAULT, "malloc"), nullptr);
  });
  EXPECT_GE(some.allocations, 2u);
  EXPECT_EQ(some.threadStarts, 1u);
  EXPECT_EQ(some.lookups, 1u);
}

// Removes convolutions, because oneDNN allocates some small objects for every call.
void removeConvolutions(ProgramBuilder &builder) {
  std::erase_if(builder.instructions(), [](const std::unique_ptr<format::InstructionT> &each) {
    return each->op.type == format::Op::Conv2d || each->op.type == format::Op::Conv2dInputGrad ||
           each->op.type == format::Op::Conv2dWeightGrad;
  });
}

// Nearly every instruction of the format runs, with collectives on two streams, while the next step
// is prepared.
TEST(Allocation, StepsDoWithout) {
  DTC_SKIP_UNCOUNTED;
  std::vector<uint8_t> object = test::readBytes(DTC_SAMPLE_KERNELS);
  for (int ranks : {1, 2})
    for (int threads : {1, 2}) {
      test::SampleIndices at;
      ProgramBuilder builder = test::sampleProgram(static_cast<uint32_t>(ranks), object, &at);
      removeConvolutions(builder);
      Counter counter(ranks);
      test::runRanks(
          ranks, builder.file(),
          [&](int rank, Executor &executor, Device &device) {
            std::vector<int32_t> tokens(8);
            std::span<const std::byte> bytes = std::as_bytes(std::span(tokens));
            StepResult result; // keeps the memory for rows of experts
            auto runSteps = [&](uint64_t first, uint64_t number) {
              for (uint64_t i = 0; i < number; ++i) {
                ASSERT_TRUE(executor.setScalars({.step = first + i, .baseLr = 0.125f}).ok());
                ASSERT_TRUE(executor.writeInput("tokens", bytes).ok());
                ASSERT_TRUE(executor.enqueue(format::EntryKind::train).ok());
                if (i > 0)
                  ASSERT_TRUE(executor.collect(result).ok());
              }
              ASSERT_TRUE(executor.collect(result).ok());
            };
            // A thread of the pool allocates the working memory of a kernel when it first gets a
            // piece of that kernel's work. That may be in any step, but only once. Memory that is
            // allocated in every step, or in every tenth, would show in every round.
            Counted found = {};
            for (uint64_t round = 0; round < 20; ++round) {
              found = counter.during(rank, [&] { runSteps(1 + 10 * round, 10); });
              if (round > 0 && found.allocations == 0)
                break;
            }
            EXPECT_EQ(found.allocations, 0u);
            EXPECT_EQ(found.threadStarts, 0u);
            EXPECT_EQ(found.lookups, 0u);
          },
          threads);
    }
}

// Four micro-batches go to the other rank and come from it, on streams of their own, in two slots.
ProgramBuilder exchangingProgram() {
  ProgramBuilder builder({{"pp", 2}});
  format::ProgramT &program = builder.program();
  builder.manifest.num_micro_batches = 4;
  program.num_streams = 3;
  program.num_events = 6;
  uint32_t group = builder.group({0}), x = builder.buffer("x", 16), y = builder.buffer("y", 16);
  for (uint32_t buffer : {x, y}) {
    program.buffers[buffer]->slots = 2;
    program.buffers[buffer]->slot_stride = 64;
    program.buffers[buffer]->offset = buffer == x ? 0 : 128;
  }
  program.arena_bytes = 256;
  // Events 0 and 1: x is computed; 2 and 3: it is sent; 4 and 5: y is received.
  auto record = [](uint32_t event) {
    format::RecordT made = test::record(event);
    made.slots = 2;
    return made;
  };
  auto wait = [](uint32_t event) {
    format::WaitT made = test::wait(event);
    made.slots = 2;
    return made;
  };
  builder.add(test::record(2), 1);
  builder.add(test::record(3), 1);
  program.tasks[0]->name = "begin";
  program.tasks.push_back(std::make_unique<format::TaskT>());
  program.tasks[1]->name = "exchange";
  std::swap(program.tasks[0], program.tasks[1]);
  builder.add(wait(2));
  builder.add(test::zero(x));
  builder.add(record(0));
  builder.add(wait(0), 1);
  builder.add(test::transfer(format::TransferKind::send, group, 1, x, 16), 1);
  builder.add(record(2), 1);
  builder.add(test::transfer(format::TransferKind::receive, group, 1, y, 16), 2);
  builder.add(record(4), 2);
  builder.add(wait(4));
  using format::Run;
  program.entries[0]->order = {Run(1, 0), Run(0, 0), Run(0, 1), Run(0, 2), Run(0, 3)};
  return builder;
}

TEST(Allocation, TransfersDoWithout) {
  DTC_SKIP_UNCOUNTED;
  Counter counter(2);
  test::runRanks(2, exchangingProgram().file(), [&](int rank, Executor &executor, Device &) {
    Counted found = {};
    for (uint64_t round = 0; round < 20; ++round) {
      found = counter.during(rank, [&] {
        for (int i = 0; i < 10; ++i)
          test::step(executor);
      });
      if (round > 0 && found.allocations == 0)
        break;
    }
    EXPECT_EQ(found.allocations, 0u);
    EXPECT_EQ(found.threadStarts, 0u);
    EXPECT_EQ(found.lookups, 0u);
  });
}

} // namespace
} // namespace dtc::rt
