#include "runtime/monitor/Standing.h"

#include "runtime/base/Text.h"
#include "runtime/comm/StartUp.h"

#include <algorithm>

namespace dtc::rt {
using format::text;

std::string printable(std::string_view words, size_t most) {
  std::string out(words.substr(0, most));
  for (char &c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f)
      c = '?';
  return out;
}

bool isInSilentStep(const Standing &standing) {
  return standing.isInStep && !standing.reportsStreams && standing.waits.empty() &&
         standing.activity == Activity::Stepping;
}

static std::string hostPosition(uint64_t tag) {
  auto peer = static_cast<int64_t>(tag >> 32 & 0x7fffffff) - 1;
  auto call = static_cast<HostCall>(static_cast<uint32_t>(tag));
  return text(nameOf(call), " of control values",
              peer < 0                    ? std::string(" among all ranks")
              : call == HostCall::Receive ? text(" from rank ", peer)
                                          : text(" to rank ", peer));
}

std::string positionOf(const ProgressPage &page, const ProgramNotes &notes, uint64_t tag) {
  if (tag & kHostTag)
    return hostPosition(tag);
  const StepSlotName &step = page.steps[(tag >> 32) % ProgressPage::kSteps];
  uint32_t entry = step.entry.load(std::memory_order_relaxed);
  constexpr const char *entries[] = {"step ", "evaluation after step ", "gradients after step "};
  std::string where = text(entries[std::min<uint32_t>(entry, 2)],
                           step.trainingStep.load(std::memory_order_relaxed));
  auto issue = static_cast<uint32_t>(tag);
  const NotedInstruction *note = notes.find(entry, issue);
  if (!note)
    return issue == 0xffffffff ? where + ", around its tasks" : text(where, ", issue ", issue);
  const NotedIssue &at = notes.issues[entry][issue];
  return text(where, ", task '", note->task, "', micro-batch ", at.microBatch, ", instruction ",
              note->index,
              note->layers > 1 ? text(" in layer ", at.layer, " of ", note->layers) : "", ", ",
              note->words);
}

namespace {

class StandingReader {
public:
  StandingReader(const ProgressPage &page, const ProgramNotes &notes, int rank)
      : page(page), notes(notes), rank(rank) {}
  Standing read();

private:
  void readStream(size_t index);
  void readHost(uint64_t tag, uint64_t sequence);
  void addWait(const Waiting &waiting, const std::string &position);

  const ProgressPage &page;
  const ProgramNotes &notes;
  int rank;
  Standing standing;
  std::string waitingPosition, around;
};

void StandingReader::addWait(const Waiting &waiting, const std::string &position) {
  if (standing.waits.size() < Standing::kWaits)
    standing.waits.push_back(waiting);
  if (waitingPosition.empty())
    waitingPosition =
        waiting.sequence ? text(position, ", call ", waiting.sequence, " of its group") : position;
}

void StandingReader::readHost(uint64_t tag, uint64_t sequence) {
  auto call = static_cast<HostCall>(static_cast<uint32_t>(tag));
  auto peer = static_cast<int>(tag >> 32 & 0x7fffffff) - 1;
  Meets meets = call == HostCall::Send      ? Meets::Send
                : call == HostCall::Receive ? Meets::Receive
                                            : Meets::Collective;
  addWait({ProgressPage::kHostGroup, meets, sequence, peer, 0}, hostPosition(tag));
}

void StandingReader::readStream(size_t index) {
  const StreamPosition &stream = page.streams[index];
  uint64_t moves = stream.moves.load(std::memory_order_acquire);
  standing.moves += moves;
  if (moves % 2 == 0)
    return;
  uint64_t tag = stream.tag.load(std::memory_order_relaxed);
  FlightEvent event = page.flights.find(stream.event.load(std::memory_order_relaxed));
  if (tag & kHostTag)
    return readHost(tag, event.sequence);
  uint32_t entry = page.steps[(tag >> 32) % ProgressPage::kSteps].entry.load();
  const NotedInstruction *note = notes.find(entry, static_cast<uint32_t>(tag));
  std::string position = positionOf(page, notes, tag);
  if (!note || note->kind == "wait") {
    if (around.empty())
      around = position;
  } else if (note->meets == Meets::Nobody) {
    if (!standing.computes)
      standing.position = position;
    standing.computes = true;
  } else {
    int peer = notes.peerOf(note->group, note->meets, static_cast<uint32_t>(rank));
    addWait({note->group, note->meets, event.sequence, peer, note->bytes}, position);
  }
}

Standing StandingReader::read() {
  standing.activity = static_cast<Activity>(
      std::min(page.activity.load(), static_cast<uint32_t>(Activity::Finished)));
  standing.reportsStreams = page.reportsStreams.load() != 0;
  standing.isInStep = page.isInStep.load() != 0;
  standing.moves = page.hostMoves.load();
  for (const StepSlotName &step : page.steps)
    standing.trainingStep = std::max(standing.trainingStep, step.trainingStep.load());
  for (size_t group = 0; group < ProgressPage::kGroups; ++group)
    for (size_t side = 0; side < 2; ++side)
      standing.started[group][side] = page.started[group][side].load(std::memory_order_relaxed);
  standing.work = page.work.totals();
  for (size_t i = 0; i < ProgressPage::kStreams; ++i)
    readStream(i);
  if (standing.position.empty())
    standing.position = !waitingPosition.empty() ? waitingPosition : around;
  constexpr const char *hosts[] = {"starting", "between instructions", "reading or writing files",
                                   "ending"};
  uint32_t phase = page.phase.load(std::memory_order_relaxed);
  if (standing.position.empty() && standing.activity == Activity::Starting && phase > 0)
    standing.position = text("the start (", nameOf(static_cast<Phase>(phase - 1)), ")");
  bool isSilent = isInSilentStep(standing);
  if (standing.position.empty())
    standing.position =
        isSilent
            ? text("step ", standing.trainingStep, ", on a device that does not tell where it is")
            : text(hosts[static_cast<size_t>(standing.activity)],
                   standing.trainingStep ? text(", step ", standing.trainingStep) : "");
  standing.position = printable(standing.position, Standing::kPositionBytes);
  return standing;
}

} // namespace

Standing standingOf(const ProgressPage &page, const ProgramNotes &notes, int rank) {
  return StandingReader(page, notes, rank).read();
}

} // namespace dtc::rt
