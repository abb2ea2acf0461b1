#include "runtime/monitor/Judge.h"

#include <algorithm>
#include <numeric>

namespace dtc::rt {
namespace {

// Above which a rank is at work: those that wait for others poll, and take less.
constexpr double kBusyShare = 0.3;
// The same before the first step, where who waits for others does so in a call: many ranks may
// share few processors.
constexpr double kStartBusyShare = 0.03;

bool isRank(const std::vector<WatchedRank> &ranks, int64_t rank) {
  return rank >= 0 && rank < static_cast<int64_t>(ranks.size());
}

bool waits(const WatchedRank &rank) {
  return !rank.standing.computes && !rank.standing.waits.empty();
}

// Calls of the group that `rank` has begun, on the other side of a transfer.
uint64_t begunBy(const WatchedRank &rank, const Waiting &waiting) {
  // A send is met by a receive. Of groups that are not counted anybody may be behind.
  size_t group = ProgressPage::indexOf(waiting.group);
  return group < ProgressPage::kGroups ? rank.standing.started[group][waiting.meets == Meets::Send]
                                       : 0;
}

std::vector<int> membersOf(const std::vector<WatchedRank> &ranks, const ProgramNotes &notes,
                           int rank, const Waiting &waiting) {
  std::vector<int> members;
  if (waiting.meets == Meets::Send || waiting.meets == Meets::Receive)
    return {waiting.peer};
  if (waiting.group == ProgressPage::kHostGroup) {
    members.resize(ranks.size());
    std::iota(members.begin(), members.end(), 0);
    return members;
  }
  for (uint32_t member : notes.listOf(waiting.group, static_cast<uint32_t>(rank)))
    members.push_back(static_cast<int>(member));
  return members;
}

double patienceWith(const WatchedRank &rank, const Patience &patience) {
  const Standing &standing = rank.standing;
  if (standing.isStopped)
    return patience.hangSeconds;
  if (waits(rank)) {
    uint64_t bytes = 0;
    for (const Waiting &waiting : standing.waits)
      bytes = std::max(bytes, waiting.bytes);
    double moving = 2 * static_cast<double>(bytes) / patience.bytesPerSecond;
    return std::max(patience.hangSeconds,
                    std::min(patience.hangSeconds + moving, patience.longestSeconds));
  }
  if (standing.activity == Activity::Starting)
    return rank.cpuShare > kStartBusyShare ? patience.longestSeconds : patience.startSeconds;
  if (standing.activity != Activity::Stepping)
    return patience.longestSeconds;
  if (standing.reportsStreams && rank.cpuShare <= kBusyShare)
    return patience.hangSeconds;
  bool isKnown = standing.isInStep && rank.longestStepSeconds > 0;
  return isKnown ? std::min(patience.longestSeconds,
                            std::max(patience.hangSeconds,
                                     patience.longestSteps * rank.longestStepSeconds))
                 : patience.longestSeconds;
}

// Returns the rank that holds up one whose device does not report its position; -1 if all are at
// the same step and none is stopped.
int blockerOfStep(const std::vector<WatchedRank> &ranks, int rank) {
  int behind = -1;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const WatchedRank &other = ranks[i];
    if (static_cast<int>(i) == rank || !other.isThere)
      continue;
    if (other.standing.isStopped)
      return static_cast<int>(i);
    uint32_t step = ranks[static_cast<size_t>(behind < 0 ? rank : behind)].standing.trainingStep;
    if (other.standing.trainingStep < step)
      behind = static_cast<int>(i);
  }
  return behind;
}

} // namespace

int blockerOf(const std::vector<WatchedRank> &ranks, const ProgramNotes &notes, int rank,
              const Waiting &waiting) {
  int found = -1;
  auto isBefore = [&](int a, int b) {
    const WatchedRank &left = ranks[static_cast<size_t>(a)], &right = ranks[static_cast<size_t>(b)];
    if (left.standing.isStopped != right.standing.isStopped)
      return left.standing.isStopped;
    if (waits(left) != waits(right))
      return !waits(left);
    return begunBy(left, waiting) < begunBy(right, waiting);
  };
  for (int member : membersOf(ranks, notes, rank, waiting)) {
    if (member == rank || !isRank(ranks, member))
      continue;
    const WatchedRank &other = ranks[static_cast<size_t>(member)];
    // One that is stopped in the middle of the call keeps the others there.
    bool isBehind = waiting.sequence == 0 || begunBy(other, waiting) < waiting.sequence ||
                    other.standing.isStopped;
    if (isBehind && (found < 0 || isBefore(member, found)))
      found = member;
  }
  return found;
}

// Returns the rank that `rank` waits for, as far as known; -1: none.
static int nextOf(const std::vector<WatchedRank> &ranks, const ProgramNotes &notes, int rank) {
  const Standing &standing = ranks[static_cast<size_t>(rank)].standing;
  if (standing.isStopped)
    return -1;
  if (isInSilentStep(standing))
    return blockerOfStep(ranks, rank);
  int next = -1;
  if (waits(ranks[static_cast<size_t>(rank)]))
    for (const Waiting &waiting : standing.waits)
      if (next < 0)
        next = blockerOf(ranks, notes, rank, waiting);
  return next;
}

int findHung(const std::vector<WatchedRank> &ranks, const ProgramNotes &notes,
             const Patience &patience) {
  // The longest quiet first.
  std::vector<int> order(ranks.size());
  std::iota(order.begin(), order.end(), 0);
  auto quiet = [&](int rank) { return ranks[static_cast<size_t>(rank)].quietSeconds; };
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return quiet(a) != quiet(b) ? quiet(a) > quiet(b) : a < b; });
  double leastSeconds = std::min(patience.hangSeconds, patience.startSeconds);
  for (int start : order) {
    int at = start;
    if (ranks[static_cast<size_t>(at)].quietSeconds < leastSeconds)
      break;
    std::vector<bool> seen(ranks.size());
    for (;;) {
      seen[static_cast<size_t>(at)] = true;
      int next = nextOf(ranks, notes, at);
      if (next < 0 || seen[static_cast<size_t>(next)])
        break;
      at = next;
    }
    const WatchedRank &last = ranks[static_cast<size_t>(at)];
    if (last.quietSeconds >= patienceWith(last, patience))
      return at;
  }
  return -1;
}

} // namespace dtc::rt
