// The state of all ranks as rank 0's keeper knows it, and the verdict on which rank stopped first.
// The hub uses no clock and no network: its caller reports every event together with its time.
#pragma once

#include "runtime/monitor/Frames.h"
#include "runtime/monitor/Judge.h"
#include "runtime/monitor/Stragglers.h"

#include <optional>

namespace dtc::rt {

// A keeper on one's own machine is lost after so many times the silence: the system closes its
// connection as soon as it ends, so that silence alone says that the machine is busy.
inline constexpr double kNearSilence = 5;

// Settings of the hub.
struct HubOptions {
  int ranks = 1;
  Patience patience = {};
  // Seconds without a beat after which a keeper, its rank and host count as lost.
  double silenceSeconds = 4;
};

// The end of the job.
struct Verdict {
  int culprit = -1;
  int exitCode = 0;
  std::string report; // lines for the user; empty where the culprit has said why
  std::string reason; // for flight records; empty where none are to be written
};

// Tracks all ranks and judges which one stopped first.
class Hub {
public:
  // `notes` are of rank 0, whose groups are those of all; they may come later than the hub.
  Hub(const HubOptions &options, const ProgramNotes &notes)
      : options(options), notes(notes), ranks(static_cast<size_t>(options.ranks)),
        stragglers(options.ranks) {}

  // Takes a frame of a rank. Returns false if the rank cannot send this frame now: the caller then
  // closes the connection.
  bool receive(int rank, const Frame &frame, double now);
  // Records that the connection to the rank's keeper is gone. No effect once the keeper has left.
  void close(int rank, const std::string &why, double now);
  // The machine of this keeper slept until now: silence means nothing.
  void forgiveSilence(double now);

  // To be called some times a second. A verdict is given once.
  std::optional<Verdict> tick(double now);
  // To be called as often. A line where it has become another rank that holds the others up.
  std::string tickStragglers(double now);
  const Straggler &straggler() const { return stragglers.current(); }
  // Returns the mean work per step between the last two beats of the rank.
  const RankWork &workOf(int rank) const { return ranks[static_cast<size_t>(rank)].work; }
  // The rank whose stacks are wanted for the verdict to come; -1 for none.
  int wantsStacksOf() const { return asked; }
  // Returns true if beats of all ranks are needed to state their positions in the verdict.
  bool wantsBeats() const { return fellAt >= 0 && !isOver; }

  // Returns true if the rank's keeper has joined.
  bool hasJoined(int rank) const { return ranks[static_cast<size_t>(rank)].joined; }
  // Returns the number of keepers that have joined.
  int joined() const;
  // Returns true if the rank's keeper has left or was lost.
  bool isGone(int rank) const { return ranks[static_cast<size_t>(rank)].gone; }

private:
  struct Rank {
    bool joined = false, gone = false, ended = false, isSilent = false;
    std::string host;
    uint32_t process = 0, keeper = 0;
    Standing standing;
    RankWork work;
    // Seconds, but for the first steps; of means over a second, where steps are shorter; 0: not
    // known.
    double longestStep = 0;
    double receivedAt = 0, movedAt = 0;
    double reportedAt =
        0; // time at which `standing` was reported; later frames may be of other kinds
    uint64_t cpuAtMove = 0;
    Ending ending;
    std::string stacks, lostWhy;
    double endedAt = 0;
    uint64_t order = 0; // in which ranks ended or were lost, from 1
  };

  void take(Rank &rank, const Standing &standing, double now);
  // The first rank that ended without being done, or was lost; -1 where none has, or it may still
  // turn out that another was the first.
  int findFallen(double now) const;
  int findHungNow() const;
  // Returns true if every rank that still can has reported its position since the first failure.
  bool haveAllReported(double now) const;
  Verdict judgeFallen(int culprit) const;
  Verdict judgeHung(int culprit) const;
  std::string name(int rank) const;
  // Returns true if any rank has begun to train.
  bool haveTrained() const;
  std::string describeOthers(int culprit) const;
  // Explains that the host or its network is lost if none of its ranks is reachable; else empty.
  std::string describeHost(int culprit) const;

  HubOptions options;
  const ProgramNotes &notes;
  std::vector<Rank> ranks;
  Stragglers stragglers;
  uint64_t falls = 0;
  bool isOver = false;
  int asked = -1;
  double askedAt = 0;
  double fellAt = -1; // when the first rank was found to have fallen
};

// "rank 3", "ranks 0, 1 and 5", "ranks 0, 1, 2 and 500 more".
std::string listOfRanks(const std::vector<int> &ranks);

} // namespace dtc::rt
