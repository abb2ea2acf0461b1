#include "runtime/monitor/StoppedStacks.h"

#include "runtime/base/Text.h"
#include "runtime/monitor/StackNames.h"
#include "runtime/monitor/Unwind.h"
#include "runtime/monitor/WatchedThreads.h"

#include <cstdio>
#include <cstring>
#include <elf.h>
#include <memory>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dtc::rt {
using format::text;

namespace {

constexpr size_t kMostFrames = 48;
constexpr int64_t kMostNanos = 500000000;

// The first line of a file of /proc; empty where it can't be read.
std::string lineOf(pid_t process, pid_t thread, const char *name) {
  std::unique_ptr<std::FILE, int (*)(std::FILE *)> file(
      std::fopen(text("/proc/", process, "/task/", thread, "/", name).c_str(), "re"), &std::fclose);
  char line[512];
  if (!file || !std::fgets(line, sizeof(line), file.get()))
    return {};
  line[std::strcspn(line, "\n")] = 0;
  return line;
}

// 'T' while it is stopped by a signal; '?' where it is not known.
char stateOf(pid_t process, pid_t thread) {
  std::string line = lineOf(process, thread, "stat");
  size_t name = line.rfind(") ");
  return name == std::string::npos || name + 2 >= line.size() ? '?' : line[name + 2];
}

// A thread that is stopped by a signal, as long as this lives. Its stop becomes one that its tracer
// sees, and at the end one by a signal again: it runs nothing meanwhile.
class HeldThread {
public:
  HeldThread(pid_t process, pid_t thread) : thread(thread) {
    isHeld =
        stateOf(process, thread) == 'T' && ::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) == 0;
  }
  ~HeldThread() {
    if (isHeld && ::ptrace(PTRACE_DETACH, thread, nullptr, nullptr) != 0)
      letGo();
  }
  HeldThread(const HeldThread &) = delete;
  HeldThread &operator=(const HeldThread &) = delete;

  // False where they can't be read.
  bool read(Registers &registers) const;

private:
  // It has gone on just before it was held, and can be let go only where it stands.
  void letGo() const;

  pid_t thread;
  bool isHeld = false;
};

bool HeldThread::read(Registers &registers) const {
  user_regs_struct user = {};
  iovec to = {&user, sizeof(user)};
  if (!isHeld || ::ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &to) != 0)
    return false;
  registers = {user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi,
               user.rbp, user.rsp, user.r8,  user.r9,  user.r10, user.r11,
               user.r12, user.r13, user.r14, user.r15, user.rip};
  return true;
}

void HeldThread::letGo() const {
  (void)::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
  for (int patience = 100; patience > 0; --patience) {
    int status = 0;
    if (::waitpid(thread, &status, __WALL | WNOHANG) == thread && WIFSTOPPED(status)) {
      // A signal that came meanwhile is the thread's.
      bool isSignal = status >> 16 == 0;
      (void)::ptrace(PTRACE_DETACH, thread, nullptr, isSignal ? WSTOPSIG(status) : 0);
      return;
    }
    ::usleep(1000);
  }
}

} // namespace

std::vector<uint64_t> framesOfStopped(pid_t process, pid_t thread,
                                      const std::vector<Mapping> &mappings) {
  Registers registers = {};
  HeldThread held(process, thread);
  return held.read(registers) ? unwind(process, mappings, registers, kMostFrames)
                              : std::vector<uint64_t>();
}

// /proc/PID/task/TID/syscall: "running", or "NUMBER ARGUMENTS... STACK INSTRUCTION" with -1 in no
// call.
std::string stateOfThread(pid_t process, pid_t thread) {
  std::string line = lineOf(process, thread, "syscall");
  std::string out = text(", state ", std::string(1, stateOf(process, thread)));
  long call = -1;
  if (std::sscanf(line.c_str(), "%ld", &call) == 1 && call >= 0)
    out += text(", in call ", call, " to the system");
  size_t last = line.rfind(' ');
  if (last == std::string::npos)
    return out;
  uint64_t address = std::strtoull(line.c_str() + last, nullptr, 16);
  return text(out, ":\n", frameLine(process, mappingsOf(process), address));
}

std::string stacksOfStopped(pid_t process, const ProgressPage &page) {
  std::string out;
  int64_t deadline = monotonicNanos() + kMostNanos;
  std::vector<Mapping> mappings = mappingsOf(process);
  for (const WatchedThread &thread : watchedThreads(page)) {
    std::string stack;
    if (monotonicNanos() < deadline)
      for (uint64_t address : framesOfStopped(process, thread.id, mappings))
        stack += frameLine(process, mappings, address) + "\n";
    out += thread.name;
    out += stack.empty() ? stateOfThread(process, thread.id) + "\n" : ":\n" + stack;
  }
  return withNames(out);
}

} // namespace dtc::rt
