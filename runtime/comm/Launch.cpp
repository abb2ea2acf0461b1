// Runs mpirun as a child and explains its end.
#include "runtime/comm/Launch.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/LauncherOutput.h"
#include "runtime/comm/RollCall.h"
#include "runtime/comm/SessionFolder.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

std::vector<std::string> childEnvironment(const std::string &child, const SessionFolder *session) {
  std::vector<std::string> result = {text("DTRUN_CHILD=", child)};
  if (session && !session->setting().empty())
    result.push_back(session->setting());
  auto add = [&](const char *name, const char *value) {
    if (!std::getenv(name)) // keeps variables that the user has set
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

// The signals that this process takes over while it waits; they are blocked and read by poll. A
// stdout that nobody reads is an error of write().
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
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    if (::sigaction(SIGPIPE, &ignore, &pipe) != 0)
      return systemError("ignoring a signal");
    ignored = true;
    queue.number = ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    return queue.number < 0 ? systemError("signalfd") : Status::okStatus();
  }
  ~Signals() { restore(); }
  // Safe in a signal handler.
  void restore() {
    if (ignored)
      ::sigaction(SIGPIPE, &pipe, nullptr);
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

private:
  sigset_t before;
  struct sigaction pipe = {};
  bool blocked = false, ignored = false;
};

using Clock = std::chrono::steady_clock;
// Seconds that mpirun has to end the job once a rank has reported its end. It waits longer for
// hosts that are out of reach.
constexpr std::chrono::seconds kEndSeconds(15);

class Launcher {
public:
  // Starts `program`, an mpirun if there is a session.
  Status start(const std::string &program, const std::vector<std::string> &arguments,
               const SessionFolder *session);
  // Returns mpirun's wait status when it has ended and its output was passed on.
  Status wait(int &waitStatus);

  LauncherOutput output;
  RollCall roll;
  int stopSignal = 0; // signal that this process got from outside
  bool savesAtStop = false;
  int outputError = 0; // errno, where stdout took no more: the job was stopped then

private:
  [[noreturn]] void becomeMpirun(const char *program, char *const *arguments,
                                 char *const *environment, int output, int errors, pid_t parent);
  void passOn(const std::string &bytes);
  bool readErrors(); // false at the end of the stream
  void readOutput();
  void writeOutput();
  void dropOutput();
  void endSlowOne(bool ended);
  void handleSignals(int &waitStatus, bool &ended);

  Signals signals;
  Descriptor errors, lines; // stderr and stdout of mpirun
  std::string waiting;      // part of mpirun's stdout that is still to be written to ours
  bool drops = false;       // it instead
  std::optional<Clock::time_point> causeAt; // when the job's end was told
  const bool showsView = !envText(EnvVar::Terminal).empty();
  pid_t child = -1;
};
} // namespace

// After fork: only calls that are safe in a signal handler.
void Launcher::becomeMpirun(const char *program, char *const *arguments, char *const *environment,
                            int outputPipe, int errorPipe, pid_t parent) {
  // A group of its own: Ctrl-C reaches this launcher alone, which passes it on once.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent)
    ::_exit(1); // the launcher died before prctl
  int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0)
    ::dup2(nothing, STDIN_FILENO);
  ::dup2(outputPipe, STDOUT_FILENO);
  ::dup2(errorPipe, STDERR_FILENO);
  signals.restore();
  ::execve(program, arguments, environment);
  ::_exit(127);
}

Status Launcher::start(const std::string &program, const std::vector<std::string> &arguments,
                       const SessionFolder *session) {
  DTC_RETURN_IF_ERROR(signals.open());
  roll.open();
  Descriptor outputEnd, errorEnd;
  for (auto [read, write] : {std::pair(&lines, &outputEnd), std::pair(&errors, &errorEnd)}) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return systemError("pipe");
    read->number = ends[0];
    write->number = ends[1];
    ::fcntl(read->number, F_SETFL, O_NONBLOCK);
  }
  std::vector<std::string> environment = childEnvironment(roll.name(), session);
  std::vector<char *> argumentPointers = pointers(arguments);
  std::vector<char *> environmentPointers = pointers(environment);
  pid_t parent = ::getpid();
  child = ::fork();
  if (child < 0)
    return systemError("fork");
  if (child == 0)
    becomeMpirun(program.c_str(), argumentPointers.data(), environmentPointers.data(),
                 outputEnd.number, errorEnd.number, parent);
  ::setpgid(child, child); // whoever comes first
  return Status::okStatus();
}

void Launcher::passOn(const std::string &bytes) {
  // Erases rank 0's view, which begins at the cursor; rank 0 draws it again.
  if (constexpr char erase[] = "\r\x1b[J"; showsView && !bytes.empty())
    (void)!::write(STDOUT_FILENO, erase, sizeof(erase) - 1);
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

// Reads the output of the ranks. It passes through this process because mpirun drops data if its
// stdout is full, or crashes if nobody reads it.
void Launcher::readOutput() {
  char bytes[4096];
  while (lines.number >= 0 && waiting.empty()) {
    ssize_t count = ::read(lines.number, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0 && errno == EAGAIN)
      return;
    if (count <= 0)
      return lines.close();
    if (!drops)
      waiting.assign(bytes, static_cast<size_t>(count));
  }
}

// Writes waiting output. Called when poll reports that stdout is writable, so that a pipe takes the
// data without blocking.
void Launcher::writeOutput() {
  ssize_t written = ::write(STDOUT_FILENO, waiting.data(), waiting.size());
  if (written >= 0)
    waiting.erase(0, static_cast<size_t>(written));
  if (written >= 0 || errno == EINTR || errno == EAGAIN)
    return;
  outputError = errno;
  dropOutput();
  ::kill(child, savesAtStop ? SIGUSR2 : SIGTERM);
}

// Discards output from now on: mpirun does not exit before its output is read.
void Launcher::dropOutput() {
  waiting.clear();
  drops = true;
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
    // Once politely; whoever asks again means it. mpirun passes SIGUSR2 on, and ends ranks soon
    // after SIGTERM.
    int polite = savesAtStop && signal == SIGTERM ? SIGUSR2 : SIGTERM;
    if (!ended)
      ::kill(stopSignal ? -child : child, stopSignal ? SIGKILL : polite);
    stopSignal = signal;
  }
}

void Launcher::endSlowOne(bool ended) {
  if (roll.cause().empty() || ended)
    return;
  if (!causeAt)
    causeAt = Clock::now();
  else if (Clock::now() - *causeAt > kEndSeconds)
    ::kill(child, SIGKILL);
}

Status Launcher::wait(int &waitStatus) {
  bool ended = false;
  auto isOpen = [&] { return errors.number >= 0 || lines.number >= 0 || !waiting.empty(); };
  // After mpirun's end a rank that lingers may hold the pipes: it has one second. What has been
  // read of its stdout may take as long as whoever reads ours, unless a signal asked for the end.
  for (int patience = 10; !ended || (isOpen() && patience > 0);) {
    // Descriptors below 0 are not looked at.
    pollfd watched[] = {{signals.queue.number, POLLIN, 0},
                        {errors.number, POLLIN, 0},
                        {roll.descriptor(), POLLIN, 0},
                        {waiting.empty() ? lines.number : -1, POLLIN, 0},
                        {waiting.empty() ? -1 : STDOUT_FILENO, POLLOUT, 0}};
    int millis = stopSignal && !waiting.empty() ? 1000
                 : ended && waiting.empty()     ? 100
                 : causeAt                      ? 1000
                                                : -1;
    int ready = ::poll(watched, std::size(watched), millis);
    if (ready < 0 && errno != EINTR)
      return systemError("poll");
    if (ready == 0 && waiting.empty() && ended)
      --patience;
    if (ready == 0 && !waiting.empty() && stopSignal)
      dropOutput();
    handleSignals(waitStatus, ended);
    roll.read();
    endSlowOne(ended);
    if (errors.number >= 0 && !readErrors())
      errors.close();
    if (ready > 0 && watched[4].revents)
      writeOutput();
    readOutput();
  }
  passOn(output.finish());
  return Status::okStatus();
}

static std::vector<pid_t> childrenOf(pid_t process) {
  std::vector<pid_t> children;
  std::FILE *file =
      std::fopen(text("/proc/", process, "/task/", process, "/children").c_str(), "re");
  int child = 0;
  while (file && std::fscanf(file, "%d", &child) == 1)
    children.push_back(child);
  if (file)
    std::fclose(file);
  return children;
}

// A program in place of mpirun that ends well has perhaps not run anything.
static void explainAbsence(const Launcher &launcher, int ranks, LaunchResult &result) {
  if (result.exitCode != 0 || !launcher.roll.isDeserted())
    return;
  result.exitCode = 1;
  result.message = text("'", envText(EnvVar::Mpirun), "' (", envInfo(EnvVar::Mpirun).name,
                        ") ended with exit code 0, and none of ", ranks,
                        " ranks has started; name the mpirun of an MPI there");
}

static void explain(const Launcher &launcher, int ranks, int waitStatus, LaunchResult &result) {
  if (launcher.outputError) {
    result.exitCode = 1;
    result.outputError = launcher.outputError;
    result.message = text("writing to stdout: ", std::strerror(launcher.outputError));
    return;
  }
  if (launcher.stopSignal) {
    // A run that could not take its last checkpoint says so itself, and so does its exit code.
    bool isUnsaved = launcher.savesAtStop && WIFEXITED(waitStatus) && WEXITSTATUS(waitStatus) == 1;
    result.exitCode = isUnsaved ? 1 : 128 + launcher.stopSignal;
    result.byUser = true;
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
  } else if (end && end->tooEarly && launcher.roll.haveAllEnded(ranks)) {
    // On a machine with more ranks than processors, Open MPI's daemon may see the end of a rank
    // before the message with which it left MPI (4.1.4), and then says that it left early.
    result.exitCode = 0;
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

// Open MPI's ranks meet in files, in memory, and mpirun waits for ever for a rank that could not
// make its own.
static Status checkFileLimit() {
  constexpr rlim_t kWanted = rlim_t(8) << 20;
  rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= kWanted)
    return {};
  return Status::resourceExhausted(text("starting local ranks: a file may have ", limit.rlim_cur,
                                        " bytes, and Open MPI's take up to ", kWanted,
                                        "; raise the limit of file sizes (ulimit -f)"));
}

// Processes of the job that outlived mpirun, as one that is killed leaves them: they come to this
// process, and would hold what the next start of the job needs.
static void endLeftovers() {
  for (int patience = 300; patience > 0; --patience) {
    pid_t found;
    while ((found = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (found < 0)
      return; // nobody is left
    if (patience <= 250)
      for (pid_t each : childrenOf(::getpid()))
        ::kill(each, SIGKILL);
    ::usleep(10000);
  }
}

Status launchLocalRanks(int ranks, const std::vector<std::string> &arguments, LaunchResult &result,
                        const LaunchOptions &options) {
  if (ranks < 1 || arguments.empty())
    return Status::invalidArgument(
        text("starting local ranks: ", ranks, " ranks; wanted 1 or more, and a program"));
  std::string program = arguments.front();
  std::vector<std::string> command;
  if (!options.isAlone) {
    DTC_RETURN_IF_ERROR(findMpirun(program));
    DTC_RETURN_IF_ERROR(checkFileLimit());
    command = {program, "-n", std::to_string(ranks)};
  }
  command.insert(command.end(), arguments.begin(), arguments.end());
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::optional<SessionFolder> session;
  if (!options.isAlone)
    session.emplace();
  Launcher launcher;
  launcher.savesAtStop = options.savesAtStop;
  DTC_RETURN_IF_ERROR(launcher.start(program, command, session ? &*session : nullptr));
  int waitStatus = 0;
  DTC_RETURN_IF_ERROR(launcher.wait(waitStatus));
  double endedAt = launchClock();
  endLeftovers();
  result = {};
  explain(launcher, ranks, waitStatus, result);
  if (!options.isAlone)
    explainAbsence(launcher, ranks, result);
  else if (WIFSIGNALED(waitStatus) && !result.byUser && !result.outputError)
    result.message = text("the keeper of rank 0 died (signal ", WTERMSIG(waitStatus), ", ",
                          ::strsignal(WTERMSIG(waitStatus)), ")");
  result.cause = launcher.roll.cause();
  result.note = launcher.roll.note();
  result.endedAt = result.cause.empty() ? endedAt : launcher.roll.causeTime();
  return Status::okStatus();
}

bool isLaunchedRank() { return envText(EnvVar::Child) != "0"; }

} // namespace dtc::rt
