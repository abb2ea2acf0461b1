// Runs mpirun as a child and explains its end.
#include "runtime/comm/Launch.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/LauncherOutput.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace dtc::rt {
using format::text;

namespace {
// A file descriptor that closes itself.
struct Descriptor {
  int number = -1;
  Descriptor() = default;
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() { close(); }
  void close() {
    if (number >= 0)
      ::close(number);
    number = -1;
  }
};

Status systemError(const char *doing) {
  return Status::unavailable(text("starting local ranks: ", doing, ": ", std::strerror(errno)));
}

bool isProgram(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

Status findMpirun(std::string &path) {
  std::string wanted = envText(EnvVar::Mpirun);
  const char *variable = envInfo(EnvVar::Mpirun).name;
  if (wanted.find('/') != std::string::npos) {
    path = wanted;
    if (isProgram(path))
      return Status::okStatus();
    return Status::unavailable(
        text("starting local ranks: ", variable, " is '", wanted, "', which is no program"));
  }
  const char *folders = std::getenv("PATH");
  for (std::string_view rest = folders ? folders : ""; !rest.empty();) {
    std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    path = text(folder.empty() ? "." : folder, "/", wanted);
    if (isProgram(path))
      return Status::okStatus();
  }
  return Status::unavailable(text("starting local ranks: no '", wanted,
                                  "' on PATH; install openmpi-bin, or set ", variable,
                                  ", or run one rank (-n 1)"));
}

// Settings go by environment: each MPI reads its own and ignores the others'.
const std::pair<const char *, const char *> settings[] = {
    {"DTRUN_CHILD", "1"},
    // Open MPI 4: more ranks than cores, no binding (ranks have several threads), and root.
    {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    // Open MPI 5.
    {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"},
    {"PRTE_MCA_hwloc_default_binding_policy", "none"},
};
const std::pair<const char *, const char *> rootSettings[] = {
    {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {"PRTE_ALLOW_RUN_AS_ROOT", "1"},
    {"PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
};

std::vector<std::string> childEnvironment() {
  std::vector<std::string> result;
  auto add = [&](const char *name, const char *value) {
    // What the user set already stays.
    if (!std::getenv(name) || std::strcmp(name, "DTRUN_CHILD") == 0)
      result.push_back(text(name, "=", value));
  };
  for (auto [name, value] : settings)
    add(name, value);
  if (::geteuid() == 0)
    for (auto [name, value] : rootSettings)
      add(name, value);
  for (char **variable = environ; *variable; ++variable)
    if (std::strncmp(*variable, "DTRUN_CHILD=", 12) != 0)
      result.push_back(*variable);
  return result;
}

std::vector<char *> pointers(const std::vector<std::string> &strings) {
  std::vector<char *> result;
  for (const std::string &string : strings)
    result.push_back(const_cast<char *>(string.c_str()));
  result.push_back(nullptr);
  return result;
}

// The signals that this process takes over while it waits; they are blocked and read by poll.
class Signals {
public:
  Status open() {
    sigset_t taken;
    sigemptyset(&taken);
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD})
      sigaddset(&taken, number);
    if (::pthread_sigmask(SIG_BLOCK, &taken, &before) != 0)
      return systemError("blocking signals");
    blocked = true;
    queue.number = ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    return queue.number < 0 ? systemError("signalfd") : Status::okStatus();
  }
  ~Signals() {
    if (blocked)
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  // The next signal, or 0.
  int next() {
    signalfd_siginfo info;
    return ::read(queue.number, &info, sizeof(info)) == sizeof(info)
               ? static_cast<int>(info.ssi_signo)
               : 0;
  }

  Descriptor queue;
  sigset_t before;

private:
  bool blocked = false;
};

class Launcher {
public:
  Status start(const std::string &program, const std::vector<std::string> &arguments);
  // Returns mpirun's wait status when it has ended and its output was passed on.
  Status wait(int &waitStatus);

  LauncherOutput output;
  int stopSignal = 0; // that this process got from outside
  bool savesAtStop = false;

private:
  [[noreturn]] void becomeMpirun(const char *program, char *const *arguments,
                                 char *const *environment, int errors, pid_t parent);
  void passOn(const std::string &bytes);
  bool readErrors(); // false at the end of the stream
  void handleSignals(int &waitStatus, bool &ended);

  Signals signals;
  Descriptor errors;
  pid_t child = -1;
};
} // namespace

// After fork: only calls that are safe in a signal handler.
void Launcher::becomeMpirun(const char *program, char *const *arguments, char *const *environment,
                            int errorPipe, pid_t parent) {
  // A group of its own: Ctrl-C reaches this launcher alone, which passes it on once.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent)
    ::_exit(1); // the launcher died before prctl
  int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0)
    ::dup2(nothing, STDIN_FILENO);
  ::dup2(errorPipe, STDERR_FILENO);
  ::pthread_sigmask(SIG_SETMASK, &signals.before, nullptr);
  ::execve(program, arguments, environment);
  ::_exit(127);
}

Status Launcher::start(const std::string &program, const std::vector<std::string> &arguments) {
  DTC_RETURN_IF_ERROR(signals.open());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return systemError("pipe");
  errors.number = ends[0];
  Descriptor writeEnd;
  writeEnd.number = ends[1];
  ::fcntl(errors.number, F_SETFL, O_NONBLOCK);
  std::vector<std::string> environment = childEnvironment();
  std::vector<char *> argumentPointers = pointers(arguments);
  std::vector<char *> environmentPointers = pointers(environment);
  pid_t parent = ::getpid();
  child = ::fork();
  if (child < 0)
    return systemError("fork");
  if (child == 0)
    becomeMpirun(program.c_str(), argumentPointers.data(), environmentPointers.data(),
                 writeEnd.number, parent);
  ::setpgid(child, child); // whoever comes first
  return Status::okStatus();
}

void Launcher::passOn(const std::string &bytes) {
  for (size_t done = 0; done < bytes.size();) {
    ssize_t written = ::write(STDERR_FILENO, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return; // nobody reads stderr: the job goes on
    done += static_cast<size_t>(written);
  }
}

bool Launcher::readErrors() {
  char bytes[4096];
  for (;;) {
    ssize_t count = ::read(errors.number, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return count < 0 && errno == EAGAIN;
    passOn(output.feed({bytes, static_cast<size_t>(count)}));
  }
}

void Launcher::handleSignals(int &waitStatus, bool &ended) {
  while (int signal = signals.next()) {
    if (signal == SIGCHLD) {
      ended = ended || ::waitpid(child, &waitStatus, WNOHANG) == child;
      continue;
    }
    if (signal == SIGUSR1) { // for the ranks, to which mpirun passes it on
      if (!ended)
        ::kill(child, SIGUSR1);
      continue;
    }
    // Once politely; whoever asks again means it. mpirun passes SIGUSR2 on, and ends ranks soon after
    // SIGTERM.
    int polite = savesAtStop && signal == SIGTERM ? SIGUSR2 : SIGTERM;
    if (!ended)
      ::kill(stopSignal ? -child : child, stopSignal ? SIGKILL : polite);
    stopSignal = signal;
  }
}

Status Launcher::wait(int &waitStatus) {
  bool ended = false, open = true;
  // After mpirun's end a rank that lingers may hold the pipe: it has one second.
  for (int patience = 10; !ended || (open && patience > 0);) {
    pollfd watched[2] = {{signals.queue.number, POLLIN, 0}, {errors.number, POLLIN, 0}};
    int ready = ::poll(watched, open ? 2 : 1, ended ? 100 : -1);
    if (ready < 0 && errno != EINTR)
      return systemError("poll");
    if (ready == 0)
      --patience;
    handleSignals(waitStatus, ended);
    open = open && readErrors();
  }
  passOn(output.finish());
  return Status::okStatus();
}

static void explain(const Launcher &launcher, int waitStatus, LaunchResult &result) {
  if (launcher.stopSignal) {
    result.exitCode = 128 + launcher.stopSignal;
    result.message = text("stopped by signal ", launcher.stopSignal, " (",
                          ::strsignal(launcher.stopSignal), ")");
    return;
  }
  const std::optional<RankEnd> &end = launcher.output.end();
  if (end && end->signal) {
    result.exitCode = kExitRankDied;
    result.message =
        text("rank ", end->rank, " died (signal ", end->signal, ", ", ::strsignal(end->signal), ")",
             end->signal == SIGKILL ? "; the system kills so when memory runs out" : "");
  } else if (end && end->tooEarly) {
    result.exitCode = kExitRankDied;
    result.message = text("rank ", end->rank, " exited before the job's end");
  } else if (WIFSIGNALED(waitStatus)) {
    result.exitCode = kExitRankDied;
    result.message = text("mpirun died (signal ", WTERMSIG(waitStatus), ", ",
                          ::strsignal(WTERMSIG(waitStatus)), ")");
  } else if (WEXITSTATUS(waitStatus) > 128 && WEXITSTATUS(waitStatus) != kExitRankStopped) {
    result.exitCode = kExitRankDied;
    result.message = text("a rank died (mpirun gave exit code ", WEXITSTATUS(waitStatus), ")");
  } else if (!end && WEXITSTATUS(waitStatus) == 127) {
    result.exitCode = 1;
    result.message = "mpirun could not run the program, or is not a program itself";
  } else {
    result.exitCode = WEXITSTATUS(waitStatus);
    result.byRank = end && end->exitCode;
    if (result.byRank)
      result.message = text("rank ", end->rank, " exited with code ", end->exitCode);
  }
}

Status launchLocalRanks(int ranks, const std::vector<std::string> &arguments, LaunchResult &result,
                        bool savesAtStop) {
  if (ranks < 1 || arguments.empty())
    return Status::invalidArgument(
        text("starting local ranks: ", ranks, " ranks; wanted 1 or more, and a program"));
  std::string mpirun;
  DTC_RETURN_IF_ERROR(findMpirun(mpirun));
  std::vector<std::string> command = {mpirun, "-n", std::to_string(ranks)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Launcher launcher;
  launcher.savesAtStop = savesAtStop;
  DTC_RETURN_IF_ERROR(launcher.start(mpirun, command));
  int waitStatus = 0;
  DTC_RETURN_IF_ERROR(launcher.wait(waitStatus));
  result = {};
  explain(launcher, waitStatus, result);
  return Status::okStatus();
}

bool isLaunchedRank() { return envText(EnvVar::Child) == "1"; }

} // namespace dtc::rt
