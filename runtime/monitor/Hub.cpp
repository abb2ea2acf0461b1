#include "runtime/monitor/Hub.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Launch.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>

namespace dtc::rt {
using format::text;

// Seconds that the verdict waits for a rank that failed by itself, after another one ended because
// of its peers.
static constexpr double kSecondThoughts = 2;
static constexpr double kStackSeconds = 2;
// The first steps are not representative, as they prepare what later ones use.
static constexpr uint64_t kFirstSteps = 2;
// Seconds that ranks have to report their position after a failure.
static constexpr double kSettleSeconds = 0.5;

std::string listOfRanks(const std::vector<int> &ranks) {
  constexpr size_t most = 8;
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  size_t shown = std::min(ranks.size(), most);
  for (size_t i = 0; i < shown; ++i)
    out += text(i == 0 ? "" : i + 1 == shown && shown == ranks.size() ? " and " : ", ", ranks[i]);
  return ranks.size() > most ? text(out, " and ", ranks.size() - most, " more") : out;
}

int Hub::joined() const {
  return static_cast<int>(
      std::count_if(ranks.begin(), ranks.end(), [](const Rank &rank) { return rank.joined; }));
}

void Hub::take(Rank &rank, const Standing &standing, double now) {
  // One that was stopped has as long as any other from when it goes on.
  if (standing.moves != rank.standing.moves || standing.activity != rank.standing.activity ||
      standing.isStopped != rank.standing.isStopped) {
    rank.movedAt = now;
    rank.cpuAtMove = standing.cpuMillis;
  }
  const WorkTotals &before = rank.standing.work, &work = standing.work;
  if (work.steps > before.steps && work.workNanos >= before.workNanos) {
    auto steps = static_cast<double>(work.steps - before.steps);
    rank.work = {standing.trainingStep,
                 static_cast<double>(work.workNanos - before.workNanos) * 1e-9 / steps};
    double spent = static_cast<double>(work.stepNanos) - static_cast<double>(before.stepNanos);
    double stopped =
        static_cast<double>(work.stoppedNanos) - static_cast<double>(before.stoppedNanos);
    if (before.steps >= kFirstSteps)
      rank.longestStep = std::max(rank.longestStep, (spent - stopped) * 1e-9 / steps);
  }
  rank.standing = standing;
  rank.reportedAt = now;
}

std::string Hub::tickStragglers(double now) {
  for (size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i].joined && !ranks[i].gone)
      stragglers.receive(static_cast<int>(i), ranks[i].standing.work);
  Straggler before = stragglers.current();
  if (isOver || !stragglers.tick(now))
    return {};
  const Straggler &slow = stragglers.current();
  if (slow.rank < 0)
    return text("dtrun: ", name(before.rank), " no longer holds the others up\n");
  auto millis = [](double seconds) { return text(std::round(seconds * 1e4) / 10, " ms"); };
  return text("dtrun: ", name(slow.rank), " holds the others up: ",
              slow.stoppedSeconds * 2 > slow.workSeconds - slow.othersSeconds
                  ? text("signals keep it stopped for ", millis(slow.stoppedSeconds),
                         " of a step, and it works ")
                  : std::string("it works "),
              millis(slow.workSeconds), " of a step, ",
              stragglers.isAlone(slow.rank) ? "at its best " : "ranks with the same work ",
              millis(slow.othersSeconds), "; that costs ", std::round(slow.costShare * 100),
              " % of a step\n");
}

bool Hub::receive(int index, const Frame &frame, double now) {
  if (index < 0 || index >= options.ranks)
    return false;
  Rank &rank = ranks[static_cast<size_t>(index)];
  bool isHello = frame.kind == FrameKind::Hello;
  if (isHello == rank.joined || rank.gone)
    return false;
  rank.receivedAt = now;
  switch (frame.kind) {
  case FrameKind::Hello:
    rank.joined = true;
    rank.host = frame.host;
    rank.process = frame.process;
    rank.keeper = frame.keeper;
    rank.movedAt = rank.reportedAt = now;
    return true;
  case FrameKind::Beat:
    if (rank.ended || frame.standing.trainingStep < rank.standing.trainingStep)
      return false; // no rank goes back
    take(rank, frame.standing, now);
    return true;
  case FrameKind::Ended:
    if (rank.ended)
      return false;
    take(rank, frame.standing, now);
    rank.ended = true;
    rank.ending = frame.ending;
    rank.stacks = frame.stacks;
    rank.endedAt = now;
    if (!rank.ending.isFinished || rank.ending.signal || rank.ending.exitCode)
      rank.order = ++falls;
    return true;
  case FrameKind::Stacks:
    rank.stacks = frame.stacks;
    return true;
  case FrameKind::Leave:
    rank.gone = true;
    return rank.ended || isOver;
  default:
    return false;
  }
}

void Hub::close(int index, const std::string &why, double now) {
  Rank &rank = ranks[static_cast<size_t>(index)];
  if (!rank.joined || rank.gone)
    return;
  rank.gone = true;
  if (rank.ended)
    return;
  rank.lostWhy = why;
  rank.endedAt = now;
  rank.order = ++falls;
}

void Hub::forgiveSilence(double now) {
  for (Rank &rank : ranks) {
    rank.receivedAt = now;
    rank.movedAt = rank.reportedAt = now;
    rank.cpuAtMove = rank.standing.cpuMillis;
  }
}

int Hub::findFallen(double now) const {
  // Ranked by how much the rank knows about the cause.
  enum { Own, FromOutside, BecauseOfOthers, kKinds };
  int first[kKinds] = {-1, -1, -1};
  double since = now;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const Rank &rank = ranks[i];
    if (rank.order == 0)
      continue;
    since = std::min(since, rank.endedAt);
    // Signals that end jobs come to all ranks, as a rule, one after another.
    int signal = rank.ending.signal;
    bool isFromOutside = signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
    int &known = first[rank.ended && !isOwn(rank.ending) ? BecauseOfOthers
                       : rank.ended && isFromOutside     ? FromOutside
                                                         : Own];
    if (known < 0 || rank.order < ranks[static_cast<size_t>(known)].order)
      known = static_cast<int>(i);
  }
  if (first[Own] >= 0 || now - since <= kSecondThoughts)
    return first[Own];
  return first[FromOutside] >= 0 ? first[FromOutside] : first[BecauseOfOthers];
}

int Hub::findHungNow() const {
  std::vector<WatchedRank> watched;
  for (const Rank &rank : ranks) {
    WatchedRank &each = watched.emplace_back();
    each.standing = rank.standing;
    // One that has not joined, or is done, is nobody to wait for; nor does it wait.
    each.isThere = rank.joined && !rank.ended && !rank.gone;
    if (!each.isThere)
      continue;
    each.longestStepSeconds = rank.longestStep;
    // A keeper that waits for the processor tells late where its rank has got to.
    each.quietSeconds = rank.reportedAt - rank.movedAt;
    double used =
        static_cast<double>(rank.standing.cpuMillis) - static_cast<double>(rank.cpuAtMove);
    each.cpuShare = each.quietSeconds > 0 ? used / 1000 / each.quietSeconds : 0;
  }
  return findHung(watched, notes, options.patience);
}

bool Hub::haveAllReported(double now) const {
  return now - fellAt > kSettleSeconds ||
         std::all_of(ranks.begin(), ranks.end(), [&](const Rank &rank) {
           return !rank.joined || rank.ended || rank.gone || rank.receivedAt > fellAt;
         });
}

std::optional<Verdict> Hub::tick(double now) {
  if (isOver)
    return std::nullopt;
  for (size_t i = 0; i < ranks.size(); ++i) {
    bool isNear = ranks[i].host == ranks.front().host;
    double silence = options.silenceSeconds * (isNear ? kNearSilence : 1);
    if (ranks[i].joined && !ranks[i].gone && now - ranks[i].receivedAt > silence) {
      ranks[i].isSilent = !ranks[i].ended;
      close(static_cast<int>(i), text("gave no sign of life for ", silence, " s"), now);
    }
  }
  std::optional<Verdict> verdict;
  if (int fallen = findFallen(now); fallen >= 0) {
    if (fellAt < 0)
      fellAt = now;
    if (haveAllReported(now))
      verdict = judgeFallen(fallen);
  } else if (int hung = findHungNow(); hung < 0) {
    asked = -1; // all get on, perhaps after all
  } else if (asked < 0) {
    asked = hung;
    askedAt = now;
  } else {
    const Rank &rank = ranks[static_cast<size_t>(asked)];
    if (!rank.stacks.empty() || now - askedAt > kStackSeconds)
      verdict = judgeHung(asked);
  }
  isOver = verdict.has_value();
  return verdict;
}

bool Hub::haveTrained() const {
  return std::any_of(ranks.begin(), ranks.end(),
                     [](const Rank &rank) { return rank.standing.trainingStep > 0; });
}

std::string Hub::name(int index) const {
  const Rank &rank = ranks[static_cast<size_t>(index)];
  return text("rank ", index, " on host '", rank.host, "' (process ", rank.process, ")");
}

// Ranks at one position are told together, the largest group first.
std::string Hub::describeOthers(int culprit) const {
  constexpr size_t most = 6;
  std::map<std::string, std::vector<int>> positions;
  for (int i = 0; i < options.ranks; ++i) {
    const Rank &rank = ranks[static_cast<size_t>(i)];
    if (i != culprit && rank.joined)
      positions[text(rank.standing.isStopped       ? "is stopped in "
                     : rank.standing.computes      ? "computes in "
                     : rank.standing.waits.empty() ? "is in "
                                                   : "waits in ",
                     rank.standing.position)]
          .push_back(i);
  }
  std::vector<std::pair<std::string, std::vector<int>>> sorted(positions.begin(), positions.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return a.second.size() != b.second.size() ? a.second.size() > b.second.size()
                                              : a.second < b.second;
  });
  std::string out;
  for (size_t i = 0; i < std::min(sorted.size(), most); ++i)
    out += text("  ", listOfRanks(sorted[i].second),
                sorted[i].second.size() == 1 ? " " : ", each: ", sorted[i].first, "\n");
  return sorted.size() > most ? text(out, "  ranks at ", sorted.size() - most, " more places\n")
                              : out;
}

// When a verdict is given, all that are there have answered. A connection that was closed was
// closed by a host that is there.
std::string Hub::describeHost(int culprit) const {
  const std::string &home = ranks.front().host, &host = ranks[static_cast<size_t>(culprit)].host;
  if (host == home || !ranks[static_cast<size_t>(culprit)].isSilent)
    return {};
  std::vector<int> lost;
  bool oneAnswers = false, moreAreSilent = false;
  for (int i = 0; i < options.ranks; ++i) {
    const Rank &rank = ranks[static_cast<size_t>(i)];
    if (!rank.joined || rank.host == home)
      continue;
    bool answers = rank.ended || (!rank.isSilent && (rank.gone || rank.receivedAt > fellAt));
    if (rank.host == host && answers)
      return {};
    if (rank.host == host)
      lost.push_back(i);
    oneAnswers = oneAnswers || answers;
    moreAreSilent = moreAreSilent || (!answers && rank.host != host);
  }
  if (moreAreSilent && !oneAnswers)
    return text("  nothing is heard of any host but '", home,
                "', where rank 0 is: its network is gone, or all others are\n");
  return text("  nothing is heard of host '", host, "', where ", listOfRanks(lost),
              lost.size() == 1 ? " is" : " are", ": it or its network is gone\n");
}

static std::string indented(const std::string &lines) {
  constexpr size_t most = 60;
  std::string out;
  size_t begin = 0;
  for (size_t line = 0; line < most && begin < lines.size(); ++line) {
    size_t end = std::min(lines.find('\n', begin), lines.size());
    out += text("    ", printable(std::string_view(lines).substr(begin, end - begin), 300), "\n");
    begin = end + 1;
  }
  return out;
}

Verdict Hub::judgeFallen(int culprit) const {
  const Rank &rank = ranks[static_cast<size_t>(culprit)];
  Verdict verdict{culprit, kExitRankDied, {}, {}};
  if (rank.ended)
    verdict.exitCode = exitCodeOf(rank.ending);
  if (rank.ended && rank.ending.signal == 0 && rank.ending.exitCode != 0) {
    // It said why, or would have, had another not been there to say it first.
    verdict.reason = rank.ending.words;
    if (!rank.ending.words.empty())
      verdict.report = text("dtrun: ", rank.ending.words, "\n");
    else if (isWorthRecord(rank.ending,
                           haveTrained())) // the first of them, where all do by agreement
      verdict.reason = text(name(culprit), " ", describe(rank.ending));
    return verdict;
  }
  verdict.reason =
      text(name(culprit), " ",
           rank.ended ? describe(rank.ending)
                      : text("is lost: its keeper (process ", rank.keeper, ") ", rank.lostWhy),
           "; it was in ", rank.standing.position);
  verdict.report = text("dtrun: ", verdict.reason, "\n");
  if (!rank.ended)
    verdict.report += describeHost(culprit);
  if (!rank.stacks.empty())
    verdict.report += text("  its stacks:\n", indented(rank.stacks));
  verdict.report += describeOthers(culprit);
  return verdict;
}

Verdict Hub::judgeHung(int culprit) const {
  const Rank &rank = ranks[static_cast<size_t>(culprit)];
  const Standing &standing = rank.standing;
  bool waits = !standing.computes && !standing.waits.empty();
  std::string reason =
      text(name(culprit), " ",
           standing.isStopped ? "is stopped by a signal, and has been"
           : waits            ? "waits for ranks that are there, and has been"
                              : "does not get on: it has been",
           " in ", standing.position, " for ", std::floor(rank.reportedAt - rank.movedAt), " s");
  std::string report = text("dtrun: ", reason, "\n");
  if (!rank.stacks.empty())
    report += text("  its stacks:\n", indented(rank.stacks));
  return {culprit, kExitRankDied, report + describeOthers(culprit), reason};
}

} // namespace dtc::rt
