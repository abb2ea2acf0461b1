#include "runtime/comm/StartUp.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/Attendance.h"
#include "runtime/comm/Launch.h"
#include "runtime/comm/Names.h"
#include "runtime/comm/RankMarks.h"
#include "runtime/comm/RollCall.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <unistd.h>

namespace dtc::rt {
using format::text;

const char *nameOf(Phase phase) {
  constexpr const char *names[] = {"starting MPI",
                                   "connecting to the other ranks",
                                   "joining all ranks in one communicator",
                                   "comparing the job of the ranks",
                                   "reading the program, and what it starts with",
                                   "opening its device",
                                   "making groups of ranks",
                                   "opening its outputs",
                                   "opening its data",
                                   "reading a checkpoint",
                                   "filling its parameters",
                                   "reading its first batch"};
  // A mark may hold anything.
  auto index = static_cast<size_t>(phase);
  return index < std::size(names) ? names[index] : "starting";
}

bool isOwnWork(Phase phase) {
  return phase >= Phase::ReadingProgram && phase != Phase::MakingGroups;
}

StartUp::StartUp(const LaunchEnvironment &launch, const StartUpOptions &options)
    : launch(launch), options(options) {
  if (launch.size < 2)
    return;
  marks = std::make_unique<RankMarks>(launch);
  watcher = std::thread([this] { watch(); });
}

StartUp::~StartUp() {
  done();
  if (watcher.joinable())
    watcher.join();
}

constexpr double kForEver = 1e9; // seconds

double StartUp::secondsOf(Phase phase) const {
  return std::min(isOwnWork(phase) ? options.workSeconds : options.seconds, kForEver);
}

std::chrono::steady_clock::time_point StartUp::deadlineOf(Phase phase) const {
  // The rendezvous knows better who is missing, and has this deadline itself.
  double seconds = secondsOf(phase) + (phase == Phase::Rendezvous ? 15 : 0);
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(
             std::chrono::duration<double>(seconds));
}

// Seconds after its own deadline until a rank is told which ranks are missing.
constexpr double kAttendancePatience = 3;

// So that what is known comes before a phase's deadline.
static double attendanceSeconds(double seconds) { return seconds - std::min(2.0, seconds / 4); }

void StartUp::enter(Phase entered) {
  if (!marks)
    return;
  if (options.onPhase)
    options.onPhase(entered);
  if (entered == Phase::StartingMpi)
    attendance = std::make_unique<Attendance>(
        launch, [](const char *name) -> const char * { return std::getenv(name); },
        attendanceSeconds(options.seconds));
  else if (entered > Phase::JoiningWorld && attendance)
    attendance->end();
  std::lock_guard lock(mutex);
  marks->leave(static_cast<int>(entered));
  phase = static_cast<int>(entered);
  deadline = deadlineOf(entered);
  changed.notify_all();
}

double StartUp::patienceOf(double seconds) {
  std::lock_guard lock(mutex);
  return !finished && phase >= 0 && isOwnWork(static_cast<Phase>(phase)) ? kForEver : seconds;
}

std::string StartUp::suspects() { return marks ? describeLost(launch, *marks) : std::string(); }

void StartUp::done() {
  std::lock_guard lock(mutex);
  finished = true;
  changed.notify_all();
}

void StartUp::watch() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return finished || phase >= 0; });
  while (!finished) {
    auto end = deadline;
    int watched = phase;
    bool moved = changed.wait_until(
        lock, end, [&] { return finished || phase != watched || deadline != end; });
    if (moved)
      continue;
    auto waiting = static_cast<Phase>(watched);
    bool isWatched = isOwnWork(waiting) && options.isWatched && options.isWatched();
    // A process that was stopped itself has nothing to say of the others: it waits anew.
    if (isWatched || std::chrono::steady_clock::now() - end > std::chrono::milliseconds(500))
      deadline = deadlineOf(waiting);
    else
      giveUp(waiting);
  }
}

static std::string hostName() {
  char host[HOST_NAME_MAX + 1] = {};
  (void)::gethostname(host, HOST_NAME_MAX);
  return host;
}

// The ranks of the job that left no mark on this machine, where it has all ranks.
static std::vector<int> absentOf(const LaunchEnvironment &launch,
                                 const std::vector<RankMark> &seen) {
  std::vector<int> absent;
  if (launch.localSize != launch.size || seen.size() >= static_cast<size_t>(launch.size))
    return absent;
  for (int rank = 0; rank < launch.size; ++rank)
    if (std::none_of(seen.begin(), seen.end(),
                     [&](const RankMark &mark) { return mark.rank == rank; }))
      absent.push_back(rank);
  return absent;
}

std::string describeLost(const LaunchEnvironment &launch, const RankMarks &marks) {
  std::vector<RankMark> seen = marks.read();
  std::string out;
  auto add = [&](const std::string &words) { out += (out.empty() ? "" : "; ") + words; };
  for (const RankMark &mark : seen)
    if (mark.isStopped)
      add(text("rank ", mark.rank, " (process ", mark.process, ") is stopped by a signal"));
  auto local = static_cast<size_t>(launch.localSize);
  if (std::vector<int> absent = absentOf(launch, seen); !absent.empty())
    add(text(listRanks(absent), absent.size() == 1 ? " has" : " have", " ended"));
  else if (seen.size() < local)
    add(text(local - seen.size(), " of the ", local, " ranks of this host have ended"));
  return out;
}

std::string describeMissing(const LaunchEnvironment &launch, const RankMarks &marks, Phase phase,
                            const std::string &others, bool haveAllCome) {
  std::vector<RankMark> seen = marks.read();
  std::string out;
  auto add = [&](const std::string &words) { out += (out.empty() ? "" : "; ") + words; };
  for (const RankMark &mark : seen)
    if (mark.isStopped)
      add(text("rank ", mark.rank, " (process ", mark.process, ") is stopped by a signal, ",
               nameOf(static_cast<Phase>(mark.phase))));
    else if (mark.phase < static_cast<int>(phase))
      add(text("rank ", mark.rank, " (process ", mark.process, ") is still ",
               nameOf(static_cast<Phase>(mark.phase))));
  auto local = static_cast<size_t>(launch.localSize);
  if (std::vector<int> absent = absentOf(launch, seen); !absent.empty()) {
    add(text(listRanks(absent), absent.size() == 1 ? " has" : " have",
             " not started dtrun, or ended"));
  } else if (seen.size() < local) {
    add(text(local - seen.size(), " of the ", local,
             " ranks of this host have not started dtrun, or ended"));
  }
  if (!out.empty())
    return others.empty() ? out : text(out, "; ", others);
  if (launch.localSize == launch.size)
    return "all ranks are here and none is stopped";
  std::vector<int> here;
  for (const RankMark &mark : seen)
    here.push_back(mark.rank);
  const char *network = "or the network between hosts does not carry their messages";
  return text(listRanks(here), " of this host are here; ",
              others.empty() ? text("a rank of another host is missing, ", network)
              : haveAllCome  ? text(others, ", so that one of another host hangs, ", network)
                             : others);
}

// One rank of a machine speaks for all. The others wait for it: whoever ends first may end them.
void StartUp::giveUp(Phase waiting) {
  // Later phases are none that a rank which never started would hold up.
  bool isAsked = attendance && waiting <= Phase::JoiningWorld;
  std::string others = isAsked ? attendance->words(kAttendancePatience) : "";
  bool haveAllCome = isAsked && attendance->haveAllCome();
  std::vector<RankMark> seen = marks->read();
  auto speaker = std::find_if(seen.begin(), seen.end(), [&](const RankMark &mark) {
    return !mark.isStopped && mark.phase == static_cast<int>(waiting);
  });
  if (speaker != seen.end() && speaker->rank != launch.rank)
    std::this_thread::sleep_for(std::chrono::seconds(3));
  std::string line = text("dtrun: rank ", launch.rank, " on host '", hostName(), "' waited ",
                          secondsOf(waiting), " s ", nameOf(waiting), ": ",
                          describeMissing(launch, *marks, waiting, others, haveAllCome),
                          "; where ranks need longer to start, raise ",
                          envInfo(EnvVar::StartTimeout).name, " or --timeout\n");
  sendToLauncher(line);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  // Ranks of other machines have their say before this one's end ends the job.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  ::_exit(kExitRankDied);
}

} // namespace dtc::rt
