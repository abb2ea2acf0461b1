#include "runtime/monitor/Progress.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

namespace dtc::rt {

static constexpr auto relaxed = std::memory_order_relaxed;

const char *nameOf(HostCall call) {
  constexpr const char *names[] = {"all_reduce", "all_gather", "reduce_scatter",
                                   "all_to_all", "broadcast",  "barrier",
                                   "split",      "send",       "receive"};
  auto index = static_cast<size_t>(call);
  return index < std::size(names) ? names[index] : "call";
}

int64_t monotonicNanos() {
  timespec now = {};
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

Progress::Progress(ProgressPage &page, int notes) : page(page), notes(notes), sequences(1) {
  beginThread(static_cast<int>(ProgressPage::kHostStream));
}

void Progress::describe(const ProgramNotes &program) {
  sequences.resize(program.groups.size() + 1);
  std::vector<uint8_t> bytes = program.encode();
  for (size_t done = 0; notes >= 0 && done < bytes.size();) {
    ssize_t written = ::write(notes, bytes.data() + done, bytes.size() - done);
    if (written <= 0)
      return; // memory is short: positions have numbers and no words
    done += static_cast<size_t>(written);
  }
  page.hasNotes.store(1, std::memory_order_release);
}

uint64_t Progress::schedule(uint64_t tag, uint32_t group, Meets meets) {
  if (meets == Meets::Nobody)
    return 0;
  size_t side = meets == Meets::Receive;
  size_t index = group == ProgressPage::kHostGroup ? 0 : group + size_t(1);
  uint64_t sequence = index < sequences.size() ? ++sequences[index][side] : 0;
  return page.flights.schedule(tag, group | (side ? kReceives : 0), sequence, monotonicNanos(),
                               enteredStep, enteredEntry);
}

void Progress::start(uint64_t event, int64_t now) {
  page.flights.start(event, now);
  FlightEvent copy = page.flights.find(event);
  size_t group = ProgressPage::indexOf(copy.group & ~kReceives);
  if (copy.id && group < ProgressPage::kGroups)
    page.started[group][copy.group >> 31].store(copy.sequence, relaxed);
}

void Progress::complete(uint64_t firstEvent, uint64_t lastEvent) {
  int64_t now = monotonicNanos();
  for (uint64_t id = firstEvent; id != 0 && id <= lastEvent; ++id)
    page.flights.complete(id, now);
  page.hostMoves.fetch_add(1, relaxed);
}

void Progress::beginThread(int stream) {
  at(stream).thread = static_cast<int32_t>(::syscall(SYS_gettid));
}

void Progress::say(const std::string &words) {
  size_t size = std::min(words.size(), ProgressPage::kWords - 1);
  std::memcpy(page.words, words.data(), size);
  page.words[size] = 0;
  page.hasWords.store(1, std::memory_order_release);
}

void Progress::addWork(uint32_t program, double workSeconds, double stepSeconds) {
  auto add = [](std::atomic<uint64_t> &to, double seconds) {
    to.fetch_add(seconds > 0 ? static_cast<uint64_t>(seconds * 1e9) : 0, relaxed);
  };
  page.work.program.store(program, relaxed);
  add(page.work.workNanos, workSeconds);
  add(page.work.stepNanos, stepSeconds);
  page.work.steps.fetch_add(1, relaxed);
  page.isInStep.store(0, relaxed);
}

RankWork Progress::workOf(int rank) const {
  auto index = static_cast<size_t>(rank);
  if (index >= WorkPage::kMostRanks)
    return {};
  const WorkPage::Entry &entry = page.work.ranks[index];
  return {entry.step.load(relaxed), entry.workSeconds.load(relaxed)};
}

Straggler Progress::straggler() const {
  return {.rank = page.work.straggler.load(relaxed) - 1,
          .workSeconds = page.work.stragglerWork.load(relaxed),
          .othersSeconds = page.work.othersWork.load(relaxed),
          .stoppedSeconds = page.work.stragglerStopped.load(relaxed),
          .costShare = page.work.stragglerCost.load(relaxed)};
}

} // namespace dtc::rt
