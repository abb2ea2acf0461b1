// Compares stacks of stopped processes with what the processes report, and tests tables made by
// hand.
#include "runtime/monitor/Unwind.h"

#include "runtime/base/Text.h"
#include "runtime/monitor/FrameExpression.h"
#include "runtime/monitor/Stacks.h"
#include "runtime/monitor/StoppedStacks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <alloca.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <execinfo.h>
#include <functional>
#include <random>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace dtc::rt {
namespace {

// The report of a child about itself.
struct Shared {
  void *frames[64], *caller;
  int count;
  std::atomic<int> thread;
  std::atomic<uint64_t> turns;
  std::atomic<bool> isOver; // never true
};
Shared *shared = nullptr;

[[gnu::noinline]] void turnForEver() {
  shared->caller = __builtin_return_address(0);
  shared->count = ::backtrace(shared->frames, 64);
  shared->thread = static_cast<int>(::syscall(SYS_gettid));
  while (!shared->isOver)
    ++shared->turns;
}

[[gnu::noinline]] void withoutFixedFrame(int depth) {
  auto *bytes = static_cast<volatile char *>(alloca(static_cast<size_t>(depth) * 100 + 16));
  bytes[depth] = 1;
  if (depth == 0)
    turnForEver();
  else
    withoutFixedFrame(depth - 1);
  bytes[0] = 2; // prevents a tail call
}

int compareForEver(const void *, const void *) {
  turnForEver();
  return 0;
}

void handleForEver(int) { turnForEver(); }

[[noreturn, gnu::noinline]] void neverReturn() {
  turnForEver();
  std::abort();
}
// The instruction behind the call no longer belongs to this function.
[[gnu::noinline]] void endWithACall() { neverReturn(); }

// A signal interrupts its first instruction, and no function is before that.
extern "C" void trapAtOnce();
asm(".text\n.p2align 6\n.skip 64, 0x90\n.globl trapAtOnce\ntrapAtOnce:\n"
    ".cfi_startproc\nud2\nret\n.cfi_endproc\n");

class StoppedProcess : public testing::Test {
protected:
  void SetUp() override {
    void *memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared = new (memory) Shared;
  }
  void TearDown() override {
    if (child > 0) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    ::munmap(shared, sizeof(Shared));
  }
  void start(const std::function<void()> &run) {
    child = ::fork();
    if (child == 0) {
      run();
      ::_exit(1);
    }
    for (int i = 0; i < 500 && shared->turns == 0; ++i)
      ::usleep(10000);
    ASSERT_GT(shared->turns, 0u);
    ::kill(child, SIGSTOP);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
    ASSERT_TRUE(WIFSTOPPED(status));
  }
  // Waits until the child is in that system call, which takes a while if others use the processor.
  void expectInCall(long number) const {
    const std::string position = ", state S, in call " + std::to_string(number) + " ";
    for (int i = 0; i < 5000 && stateOfThread(child, child).find(position) != 0; ++i)
      ::usleep(1000);
    ASSERT_EQ(stateOfThread(child, child).find(position), 0u) << stateOfThread(child, child);
  }
  // Expects all callers of turnForEver().
  void expectFrames() {
    std::vector<uint64_t> found = framesOfStopped(child, shared->thread, mappingsOf(child)), wanted;
    for (void **frame = std::find(shared->frames, shared->frames + shared->count, shared->caller);
         frame < shared->frames + shared->count; ++frame)
      wanted.push_back(reinterpret_cast<uint64_t>(*frame));
    ASSERT_GT(wanted.size(), 2u);
    ASSERT_EQ(found.size(), wanted.size() + 1);
    found.erase(found.begin());
    EXPECT_EQ(found, wanted);
  }

  pid_t child = -1;
};

TEST_F(StoppedProcess, HasTheStackThatItSees) {
  start([] { withoutFixedFrame(5); });
  expectFrames();
}

// The library was compiled elsewhere.
TEST_F(StoppedProcess, HasFramesOfTheSystemsLibrary) {
  start([] {
    int numbers[] = {3, 1, 2};
    std::qsort(numbers, 3, sizeof(int), compareForEver);
  });
  expectFrames();
}

TEST_F(StoppedProcess, HasFramesBelowASignalsHandler) {
  start([] {
    (void)std::signal(SIGUSR2, handleForEver);
    (void)::raise(SIGUSR2);
  });
  expectFrames();
}

TEST_F(StoppedProcess, HasFramesOfCallsAndTrapsAtTheEdgesOfFunctions) {
  start([] {
    (void)std::signal(SIGILL, handleForEver);
    trapAtOnce();
  });
  expectFrames();
  TearDown();
  SetUp();
  start(endWithACall);
  expectFrames();
}

TEST_F(StoppedProcess, HasAStackOfEachThread) {
  start([] { std::thread([] { withoutFixedFrame(3); }).join(); });
  expectFrames();
}

// Nothing in it runs while it is inspected, and it does not continue afterwards. SIGCONT still has
// its effect.
TEST_F(StoppedProcess, StaysAsItIs) {
  start([] { turnForEver(); });
  auto page = std::make_unique<ProgressPage>();
  page->streams[ProgressPage::kHostStream].thread = child;
  uint64_t turns = shared->turns;
  for (int i = 0; i < 20; ++i) {
    std::string stacks = stacksOfStopped(child, *page);
    EXPECT_EQ(stacks.find("the host's thread ("), 0u) << stacks;
    EXPECT_NE(stacks.find("turnForEver"), std::string::npos) << stacks;
    auto isStopped = [&] { return stateOfThread(child, child).find(", state T") == 0; };
    for (int wait = 0; wait < 500 && !isStopped(); ++wait)
      ::usleep(1000); // it is on its way back, in the kernel
    EXPECT_TRUE(isStopped());
  }
  EXPECT_EQ(shared->turns, turns);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, WNOHANG | WCONTINUED), 0);
  ::kill(child, SIGCONT);
  for (int i = 0; i < 500 && shared->turns == turns; ++i)
    ::usleep(10000);
  EXPECT_GT(shared->turns, turns);
}

// A tracer that stopped it would end its system call.
TEST_F(StoppedProcess, LeavesOneAloneThatRuns) {
  child = ::fork();
  if (child == 0) {
    shared->turns = 1;
    epoll_event event;
    (void)::epoll_wait(::epoll_create1(0), &event, 1, -1);
    shared->turns = 2;
    ::_exit(1);
  }
  expectInCall(SYS_epoll_wait);
  EXPECT_TRUE(framesOfStopped(child, child, mappingsOf(child)).empty());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, WNOHANG | WUNTRACED), 0);
  ::usleep(20000);
  EXPECT_EQ(shared->turns, 1u);
}

// A process that blocks signals does not answer.
TEST_F(StoppedProcess, IsPlacedWhereItDoesNotAnswer) {
  child = ::fork();
  if (child == 0) {
    sigset_t all;
    sigfillset(&all);
    (void)::sigprocmask(SIG_SETMASK, &all, nullptr);
    shared->turns = 1;
    ::pause();
  }
  expectInCall(SYS_pause);
  auto page = std::make_unique<ProgressPage>();
  page->streams[ProgressPage::kHostStream].thread = child;
  int file = ::memfd_create("stacks", MFD_CLOEXEC);
  std::string stacks = collectStacks(child, *page, file);
  ::close(file);
  EXPECT_EQ(stacks.find(format::text("the host's thread (", child, "), state S, in call ",
                                     SYS_pause, " to the system:\n")),
            0u)
      << stacks;
  EXPECT_NE(stacks.find("pause"), std::string::npos) << stacks;
}

// This holds at any place, and with any registers.
TEST_F(StoppedProcess, EndsWithAnyRegisters) {
  start([] { turnForEver(); });
  std::vector<Mapping> mappings = mappingsOf(child);
  std::mt19937_64 random(1);
  size_t most = 0;
  for (int i = 0; i < 3000; ++i) {
    Registers registers;
    for (uint64_t &value : registers) {
      const Mapping &any = mappings[random() % mappings.size()];
      value = random() % 8 ? any.begin + random() % (any.end - any.begin) : random();
    }
    most = std::max(most, unwind(child, mappings, registers, 20).size());
  }
  EXPECT_GT(most, 1u);
  EXPECT_LE(most, 20u);
}

// A module in this process's memory, with code from 0x800 on, and one entry for 0x100 bytes of it.
class MadeTable : public testing::Test {
protected:
  static constexpr uint64_t codeAt = 0x800, codeBytes = 0x100;

  void make(const std::vector<uint8_t> &initial, const std::vector<uint8_t> &instructions) {
    bytes.assign(4096, 0);
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = sizeof(header);
    header.e_phnum = 2;
    Elf64_Phdr parts[2] = {};
    parts[0].p_type = PT_LOAD;
    parts[1].p_type = PT_GNU_EH_FRAME;
    parts[1].p_vaddr = 0x200;
    put(0, header);
    put(sizeof(header), parts);
    std::vector<uint8_t> common = {0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b};
    common.insert(common.end(), initial.begin(), initial.end());
    size_t commonAt = 0x300, ownAt = commonAt + 4 + common.size();
    putEntry(commonAt, common);
    std::vector<uint8_t> own(13);
    set(own, 0, ownAt + 4 - commonAt);
    set(own, 4, codeAt - (ownAt + 8));
    set(own, 8, codeBytes);
    own.insert(own.end(), instructions.begin(), instructions.end());
    putEntry(ownAt, own);
    std::vector<uint8_t> table = {1, 0x1b, 0x03, 0x3b};
    table.resize(20);
    set(table, 8, 1);
    set(table, 12, codeAt - 0x200);
    set(table, 16, ownAt - 0x200);
    std::copy(table.begin(), table.end(), bytes.begin() + 0x200);
    mapping = {base(), base() + bytes.size(), 0, true, "made"};
  }
  bool find(uint64_t offset, FrameRow &row) {
    Module module;
    if (!findModule(memory, {mapping}, mapping, module))
      return false;
    table.emplace(memory, module);
    return table->find(base() + offset, row);
  }
  uint64_t base() const { return reinterpret_cast<uint64_t>(bytes.data()); }
  template <typename T> void put(size_t at, const T &value) {
    std::memcpy(bytes.data() + at, &value, sizeof(value));
  }
  static void set(std::vector<uint8_t> &of, size_t at, uint64_t value) {
    auto small = static_cast<uint32_t>(value);
    std::memcpy(of.data() + at, &small, sizeof(small));
  }
  void putEntry(size_t at, const std::vector<uint8_t> &entry) {
    put(at, static_cast<uint32_t>(entry.size()));
    std::copy(entry.begin(), entry.end(), bytes.begin() + static_cast<int64_t>(at) + 4);
  }

  ForeignMemory memory{::getpid()};
  std::vector<uint8_t> bytes;
  Mapping mapping;
  std::optional<FrameTable> table; // the row refers to it
};

// push %rbp; a frame of 32 bytes; an early end, behind which the frame is as before.
TEST_F(MadeTable, GivesTheRowOfEachInstruction) {
  make({0x0c, 7, 8, 0x90, 1},                     // def_cfa rsp+8; rip at -8
       {0x41, 0x0e, 16,   0x86, 2,                // 1: def_cfa_offset 16; rbp at -16
        0x02, 0x20, 0x0e, 48,                     // 0x21: 48
        0x0a, 0x03, 0x10, 0,    0x0e, 8,    0xc6, // remember; 0x31: 8; rbp as at first
        0x04, 4,    0,    0,    0,    0x0b, 0x41,
        0x0d, 6,    0x07, 3}); // 0x35: restore; 0x36: of rbp; rbx undefined
  const struct {
    uint64_t at;
    int64_t offset;
    RegisterRule::Kind rbp;
  } rows[] = {{0, 8, RegisterRule::Same},    {1, 16, RegisterRule::At},
              {0x20, 16, RegisterRule::At},  {0x21, 48, RegisterRule::At},
              {0x31, 8, RegisterRule::Same}, {0x35, 48, RegisterRule::At}};
  FrameRow row;
  for (const auto &each : rows) {
    ASSERT_TRUE(find(codeAt + each.at, row)) << each.at;
    EXPECT_EQ(row.base, kStackRegister) << each.at;
    EXPECT_EQ(row.offset, each.offset) << each.at;
    EXPECT_EQ(row.rules[6].kind, each.rbp) << each.at;
    EXPECT_EQ(row.rules[kProgramCounter].value, -8) << each.at;
  }
  ASSERT_TRUE(find(codeAt + 0x36, row));
  EXPECT_EQ(row.base, 6u);
  EXPECT_EQ(row.rules[6].value, -16);
  EXPECT_EQ(row.rules[3].kind, RegisterRule::Undefined);
  EXPECT_FALSE(find(codeAt - 1, row));
  EXPECT_FALSE(find(codeAt + codeBytes, row));
}

TEST_F(MadeTable, GivesNoRowThatMakesNoSense) {
  FrameRow row;
  for (const std::vector<uint8_t> &wrong :
       {std::vector<uint8_t>{0x0b}, {0x3f}, {0x0c, 99, 8}, {0x0e}, {0x0f, 0}, {0x10, 6, 200, 1}}) {
    make({0x0c, 7, 8, 0x90, 1}, wrong);
    EXPECT_FALSE(find(codeAt, row)) << static_cast<int>(wrong[0]);
  }
  make({0x0c, 7, 8, 0x90, 1}, {});
  EXPECT_TRUE(find(codeAt, row));
}

// The bytes were overwritten.
TEST_F(MadeTable, EndsWhateverIsInIt) {
  std::mt19937 random(1);
  FrameRow row;
  int found = 0;
  for (int i = 0; i < 5000; ++i) {
    std::vector<uint8_t> instructions(random() % 60);
    for (uint8_t &byte : instructions)
      byte = static_cast<uint8_t>(random());
    make({0x0c, 7, 8, 0x90, 1}, instructions);
    for (int change = 0; change < i % 4; ++change)
      bytes[random() % 0x340] = static_cast<uint8_t>(random());
    found += find(codeAt + random() % codeBytes, row);
  }
  EXPECT_GT(found, 0);
  EXPECT_LT(found, 5000);
}

TEST(FrameExpression, Evaluates) {
  ForeignMemory memory(::getpid());
  Registers registers = {};
  registers[7] = 0x1000;
  registers[16] = 0x2b;
  uint64_t number = 77, value = 0, first = reinterpret_cast<uint64_t>(&number);
  auto gives = [&](const std::vector<uint8_t> &bytes, const uint64_t *begin = nullptr) {
    return evaluate(bytes, memory, registers, begin, value);
  };
  // The entries are those of procedure linkage tables: rsp + 8 + ((rip & 15) >= 11) * 8.
  const std::vector<uint8_t> plt = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  EXPECT_TRUE(gives(plt));
  EXPECT_EQ(value, 0x1010u);
  registers[16] = 0x2a;
  EXPECT_TRUE(gives(plt));
  EXPECT_EQ(value, 0x1008u);
  EXPECT_TRUE(gives({0x77, 0x78})); // rsp - 8
  EXPECT_EQ(value, 0xff8u);
  EXPECT_TRUE(gives({0x06}, &first));
  EXPECT_EQ(value, 77u);
  EXPECT_TRUE(gives({0x09, 0xff, 0x23, 3})); // -1 + 3
  EXPECT_EQ(value, 2u);
  for (const std::vector<uint8_t> &wrong :
       {std::vector<uint8_t>{}, {0x22}, {0x30, 0x22}, {0x30, 0x06}, {0x0e, 1}, {0x8f, 0}, {0xff}})
    EXPECT_FALSE(gives(wrong));
}

} // namespace
} // namespace dtc::rt
