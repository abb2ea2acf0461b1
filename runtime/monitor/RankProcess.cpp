#include "runtime/monitor/RankProcess.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Launch.h"
#include "runtime/monitor/BytesMoved.h"
#include "runtime/monitor/Stacks.h"
#include "runtime/monitor/StoppedStacks.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dtc::rt {
using format::text;

namespace {

std::string ownHost() {
  char host[HOST_NAME_MAX + 1] = {};
  (void)::gethostname(host, HOST_NAME_MAX);
  return host;
}

// SIGUSR1 to a rank: its keeper sees that a record is wanted.
std::atomic<ProgressPage *> wishPage{nullptr};
void wishRecord(int) { wishPage.load()->dumpsWanted.fetch_add(1); }

} // namespace

RankProcess::RankProcess(const LaunchEnvironment &launch) : rank(launch.rank), host(ownHost()) {}

Status RankProcess::prepare() {
  void *memory = ::mmap(nullptr, sizeof(ProgressPage), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Status::resourceExhausted(
        text("memory that a rank shares with its keeper: ", std::strerror(errno)));
  shared = new (memory) ProgressPage;
  notesFile = ::memfd_create("dtrun-notes", MFD_CLOEXEC);
  stacksFile = ::memfd_create("dtrun-stacks", MFD_CLOEXEC);
  memoryKills = countMemoryKills();
  sigset_t taken;
  sigemptyset(&taken);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD})
    sigaddset(&taken, number);
  (void)::pthread_sigmask(SIG_BLOCK, &taken, &signalsBefore);
  signalQueue = ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  return signalQueue >= 0 ? Status() : Status::unavailable("signalfd is refused");
}

bool RankProcess::start() {
  pid_t self = ::getpid();
  child = ::fork();
  if (child != 0) {
    (void)::setpgid(child, child);
    (void)::prctl(PR_SET_NAME, "dtrun-keeper");
    // A connection for each rank.
    rlimit files = {};
    if (rank == 0 && ::getrlimit(RLIMIT_NOFILE, &files) == 0) {
      files.rlim_cur = files.rlim_max;
      (void)::setrlimit(RLIMIT_NOFILE, &files);
    }
    knowsClock = child > 0 && ::clock_getcpuclockid(child, &clock) == 0;
    return false;
  }
  // A group of its own: a signal to the keeper's group is passed on once, not told twice.
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != self)
    ::_exit(kExitRankDied);
  return true;
}

int RankProcess::become(const std::function<int(Progress &)> &run) {
  ::close(signalQueue);
  wishPage = shared;
  struct sigaction action = {};
  action.sa_handler = wishRecord;
  action.sa_flags = SA_RESTART;
  (void)::sigaction(SIGUSR1, &action, nullptr);
  installStackHandlers(*shared, stacksFile);
  (void)::pthread_sigmask(SIG_SETMASK, &signalsBefore, nullptr);
  Progress progress(*shared, notesFile);
  return run(progress);
}

void RankProcess::readSignals() {
  signalfd_siginfo info;
  while (::read(signalQueue, &info, sizeof(info)) == sizeof(info)) {
    auto signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGUSR1) {
      isWished = true;
    } else if (signal != SIGCHLD) {
      if (signal != SIGUSR2)
        passed = signal;
      if (!ended)
        (void)::kill(child, signal);
    }
  }
  int status = 0;
  while (!ended && ::waitpid(child, &status, WNOHANG | WUNTRACED | WCONTINUED) == child) {
    if (WIFSTOPPED(status) || WIFCONTINUED(status))
      followStop(WIFSTOPPED(status));
    else
      reap(status);
  }
}

bool RankProcess::takeWish() {
  uint32_t wanted = shared->dumpsWanted.load();
  bool wished = isWished || wanted != wishes;
  isWished = false;
  wishes = wanted;
  return wished;
}

void RankProcess::followStop(bool stops) {
  if (stopped)
    stoppedNanos += static_cast<uint64_t>(monotonicNanos() - stoppedAt);
  stopped = stops;
  stoppedAt = monotonicNanos();
}

void RankProcess::reap(int status) {
  ended = true;
  stopped = false;
  endTime = monotonicSeconds();
  end.isFinished = shared->activity.load() == static_cast<uint32_t>(Activity::Finished);
  if (WIFSIGNALED(status)) {
    end.signal = WTERMSIG(status);
    end.outOfMemory = end.signal == SIGKILL && countMemoryKills() > memoryKills;
  } else {
    end.exitCode = WEXITSTATUS(status);
  }
  if (shared->hasWords.load())
    end.words =
        printable(std::string(shared->words, ::strnlen(shared->words, ProgressPage::kWords)),
                  ProgressPage::kWords);
}

void RankProcess::readNotes() {
  if (hasReadNotes || !shared->hasNotes.load())
    return;
  hasReadNotes = true;
  struct stat info = {};
  if (::fstat(notesFile, &info) != 0)
    return;
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
  if (::pread(notesFile, bytes.data(), bytes.size(), 0) == info.st_size)
    (void)ProgramNotes::decode(bytes, program); // positions have numbers where it is damaged
}

// A rank that writes its stacks for this keeper does not get on by that.
std::string RankProcess::takeStacks() {
  if (stopped)
    return stacksOfStopped(child, *shared);
  uint64_t before = bytesMovedBy(child);
  std::string stacks = collectStacks(child, *shared, stacksFile);
  uint64_t after = bytesMovedBy(child);
  // The system reports no count for a rank that has ended.
  answered += std::max(after, before) - before;
  return stacks;
}

Frame RankProcess::frameOf(FrameKind kind) {
  readNotes();
  Frame frame;
  frame.kind = kind;
  frame.rank = static_cast<uint32_t>(rank);
  frame.process = static_cast<uint32_t>(child);
  frame.keeper = static_cast<uint32_t>(::getpid());
  frame.host = host;
  std::copy(std::begin(shared->address.secret), std::end(shared->address.secret),
            frame.secret.begin());
  frame.standing = standingOf(*shared, program, rank);
  frame.standing.isStopped = stopped;
  // Files may be large and far away at the start; in a call, what is read is not the rank's own
  // work.
  if (frame.standing.activity == Activity::Starting && frame.standing.waits.empty())
    frame.standing.moves += bytesMovedBy(child) - answered;
  frame.standing.work.stoppedNanos =
      stoppedNanos + (stopped ? static_cast<uint64_t>(monotonicNanos() - stoppedAt) : 0);
  timespec used = {};
  if (knowsClock && ::clock_gettime(clock, &used) == 0)
    frame.standing.cpuMillis =
        static_cast<uint64_t>(used.tv_sec) * 1000 + static_cast<uint64_t>(used.tv_nsec) / 1000000;
  if (kind == FrameKind::Ended) {
    frame.ending = end;
    frame.stacks = readStacks(stacksFile);
  }
  if (kind == FrameKind::Stacks)
    frame.stacks = takeStacks();
  return frame;
}

void RankProcess::kill() {
  if (ended)
    return;
  (void)::kill(child, SIGKILL);
  int status = 0;
  for (int patience = 100; patience > 0; --patience) {
    if (::waitpid(child, &status, WNOHANG) == child) {
      ended = true;
      return;
    }
    ::usleep(10000); // in the middle of a call to the system that cannot be interrupted, perhaps
  }
}

} // namespace dtc::rt
