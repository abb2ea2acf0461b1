#include "runtime/monitor/Stacks.h"

#include "runtime/monitor/Frames.h"
#include "runtime/monitor/StackNames.h"
#include "runtime/monitor/StoppedStacks.h"
#include "runtime/monitor/WatchedThreads.h"

#include <atomic>
#include <csignal>
#include <execinfo.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dtc::rt {

namespace {

// State of the signal handlers, which belong to the process.
std::atomic<ProgressPage *> stackPage{nullptr};
std::atomic<int> stackFile{-1};
constexpr int kMostFrames = 48;
constexpr int crashSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

int askSignal() { return SIGRTMIN + 9; }

void writeStack() {
  void *frames[kMostFrames];
  int count = ::backtrace(frames, kMostFrames);
  ::backtrace_symbols_fd(frames, count, stackFile);
}

void answer(int) {
  int before = errno;
  writeStack();
  stackPage.load()->stacks.fetch_add(1);
  errno = before;
}

// The stack is written once, whatever happens meanwhile; then the signal does what it would have
// done.
void crash(int signal) {
  static std::atomic<int> crashes{0};
  if (crashes.fetch_add(1) == 0)
    writeStack();
  std::signal(signal, SIG_DFL);
  (void)::raise(signal);
}

} // namespace

void installStackHandlers(ProgressPage &page, int file) {
  stackPage = &page;
  stackFile = file;
  void *frame = nullptr;
  (void)::backtrace(&frame, 1); // loads what it needs, which no handler may
  struct sigaction action = {};
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  action.sa_handler = answer;
  (void)::sigaction(askSignal(), &action, nullptr);
  action.sa_handler = crash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (int signal : crashSignals) {
    struct sigaction before = {};
    if (::sigaction(signal, nullptr, &before) == 0 && !(before.sa_flags & SA_SIGINFO) &&
        before.sa_handler == SIG_DFL)
      (void)::sigaction(signal, &action, nullptr);
  }
}

static std::string readFrom(int file, off_t begin) {
  std::string out(kMostStackBytes, '\0');
  ssize_t count = ::pread(file, out.data(), out.size(), begin);
  out.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return out;
}

std::string readStacks(int file) { return withNames(readFrom(file, 0)); }

std::string collectStacks(int process, const ProgressPage &page, int file) {
  std::string out;
  int64_t deadline = monotonicNanos() + 1000000000;
  for (const WatchedThread &thread : watchedThreads(page)) {
    uint32_t before = page.stacks.load();
    off_t begin = ::lseek(file, 0, SEEK_END);
    if (::syscall(SYS_tgkill, process, thread.id, askSignal()) != 0)
      continue;
    while (page.stacks.load() == before && monotonicNanos() < deadline)
      ::usleep(2000);
    out += thread.name;
    out += page.stacks.load() != before ? ":\n" + readFrom(file, begin)
                                        : stateOfThread(process, thread.id) + "\n";
  }
  return withNames(out);
}

} // namespace dtc::rt
