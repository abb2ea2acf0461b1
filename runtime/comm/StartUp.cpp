#include "runtime/comm/StartUp.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/Launch.h"
#include "runtime/comm/Names.h"
#include "runtime/comm/RankMarks.h"
#include "runtime/comm/RollCall.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <iterator>
#include <unistd.h>

namespace dtc::rt {
using format::text;

const char *nameOf(Phase phase) {
  constexpr const char *names[] = {"starting MPI", "meeting the other ranks",
                                   "joining all ranks in one communicator",
                                   "comparing the job of the ranks", "making groups of ranks"};
  return names[static_cast<size_t>(phase)];
}

StartUp::StartUp(const LaunchEnvironment &launch, double seconds)
    : launch(launch), seconds(seconds) {
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

std::chrono::steady_clock::duration StartUp::duration() const {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(std::min(seconds, 1e9)));
}

void StartUp::enter(Phase entered) {
  if (!marks)
    return;
  std::lock_guard lock(mutex);
  marks->leave(static_cast<int>(entered));
  phase = static_cast<int>(entered);
  deadline = std::chrono::steady_clock::now() + duration();
  // The rendezvous knows better who is missing, and has this deadline itself.
  if (entered == Phase::MeetingRanks)
    deadline += std::chrono::seconds(15);
  changed.notify_all();
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
    // A process that was stopped itself has nothing to say of the others: it waits anew.
    auto now = std::chrono::steady_clock::now();
    if (now - end > std::chrono::milliseconds(500))
      deadline = now + duration();
    else
      giveUp(static_cast<Phase>(watched));
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

std::string describeMissing(const LaunchEnvironment &launch, const RankMarks &marks, Phase phase) {
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
    return out;
  if (launch.localSize == launch.size)
    return "all ranks are here and none is stopped";
  std::vector<int> here;
  for (const RankMark &mark : seen)
    here.push_back(mark.rank);
  return text(listRanks(here), " of this host are here; a rank of another host is missing, or the "
                               "network between hosts does not carry their messages");
}

// One rank of a machine speaks for all. The others wait for it: whoever ends first may end them.
void StartUp::giveUp(Phase waiting) {
  std::vector<RankMark> seen = marks->read();
  auto speaker = std::find_if(seen.begin(), seen.end(), [&](const RankMark &mark) {
    return !mark.isStopped && mark.phase == static_cast<int>(waiting);
  });
  if (speaker != seen.end() && speaker->rank != launch.rank)
    std::this_thread::sleep_for(std::chrono::seconds(3));
  std::string line =
      text("dtrun: rank ", launch.rank, " on host '", hostName(), "' waited ", seconds, " s ",
           nameOf(waiting), ": ", describeMissing(launch, *marks, waiting),
           "; where ranks need longer to start, raise ", envInfo(EnvVar::StartTimeout).name,
           " or --timeout\n");
  tellLauncher(line);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  // Ranks of other machines have their say before this one's end ends the job.
  std::this_thread::sleep_for(std::chrono::seconds(1));
  ::_exit(kExitRankDied);
}

} // namespace dtc::rt
