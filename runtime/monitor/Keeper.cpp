#include "runtime/monitor/Keeper.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Launch.h"
#include "runtime/monitor/FlightDump.h"
#include "runtime/monitor/FlightFolder.h"
#include "runtime/monitor/HubLink.h"
#include "runtime/monitor/Peers.h"
#include "runtime/monitor/RankProcess.h"
#include "runtime/monitor/Say.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <poll.h>
#include <unistd.h>

namespace dtc::rt {
using format::text;

namespace {

constexpr double kBeatSeconds = 1;
constexpr int kPollMillis = 100;
// Seconds that keepers wait for each other's final writes when the job is over.
constexpr double kFarewellSeconds = 2;
// Seconds that a rank's keeper waits for the verdict of rank 0's.
constexpr double kVerdictSeconds = 6;

// Seconds that a rank has to report and exit when all ranks fail by agreement.
constexpr double kGraceSeconds = 1;
// Returns true if a rank ended by itself and has printed the reason.
bool isOwnExit(int code) { return code != kExitRankDied; }

class Keeper {
public:
  explicit Keeper(const KeeperOptions &options)
      : options(options), rank(options.launch.rank), child(options.launch),
        link(options.silenceSeconds) {}

  Status prepare();
  // In the child, true.
  bool start() { return child.start(); }
  int becomeRank(const std::function<int(Progress &)> &run);
  int watch();

private:
  // Handlers, called in turn.
  void pollAll();
  void listen(double now);
  void tick(double now);
  void sendWork(double now);
  void followEnd(double now);
  bool isAlone(double now);

  // Called on rank 0's keeper only.
  void judge(double now);
  void askAll(FrameKind kind);
  void give(const Verdict &verdict, double now);
  void sendToHub(const Frame &frame) { (void)hub->receive(0, frame, monotonicSeconds()); }

  // Called on all other keepers.
  void connect(double now);
  void readHub(double now);
  void receiveFromHub(const Frame &frame, double now);
  void closeHub(double now);

  void decideAlone();
  void dump(const std::string &reason);
  // The job is over for this keeper once its rank has ended, for which that has `grace` seconds,
  // and others have left, or soon.
  void leave(int code, double now, double grace = 0);

  KeeperOptions options;
  int rank;
  RankProcess child;
  bool hasReportedEnd = false;

  double lastTick = 0, lastBeat = -1;
  bool isLeaving = false;
  double leaveBy = 0, killAt = 0;
  int exitCode = 0;

  std::unique_ptr<Hub> hub; // set on rank 0 only
  std::unique_ptr<Peers> peers;
  int asked = -1; // for stacks
  bool hasAskedBeats = false;

  HubLink link; // used on all ranks but 0
  bool hubHasLeft = false;
  double hubLostAt = 0;
};

Status Keeper::prepare() {
  DTC_RETURN_IF_ERROR(child.prepare());
  if (rank != 0)
    return {};
  hub = std::make_unique<Hub>(
      HubOptions{options.launch.size, options.patience, options.silenceSeconds}, child.notes());
  peers = std::make_unique<Peers>(*hub, options.launch.size);
  return peers->open(child.page().address);
}

int Keeper::becomeRank(const std::function<int(Progress &)> &run) {
  if (peers)
    peers->close();
  return child.become(run);
}

void Keeper::dump(const std::string &reason) {
  FlightHeader header{rank,
                      child.id(),
                      options.launch.size,
                      child.hostName(),
                      child.frameOf(FrameKind::Beat).standing.position,
                      reason,
                      options.patience.hangSeconds};
  std::string folder;
  Status status = openFlightFolder(options.flightFolder, folder);
  if (status.ok())
    status = writeFlights(folder, child.page(), child.notes(), header);
  if (!status.ok())
    say(text("dtrun: rank ", rank, " writes no flight record: ", status.message(), "\n"));
  else if (rank == 0)
    say(text("dtrun: flight records are in ", folder, "/flight-rank-R.json\n"));
}

void Keeper::leave(int code, double now, double grace) {
  if (isLeaving)
    return;
  isLeaving = true;
  exitCode = code;
  killAt = now + grace;
  leaveBy = now + kFarewellSeconds + grace;
  if (grace == 0)
    child.kill();
  link.send(child.frameOf(FrameKind::Leave));
  if (!hub && (hubHasLeft || !link.isWelcome()))
    leaveBy = now + grace;
}

// Nobody is there to say who was first.
void Keeper::decideAlone() {
  const Ending &ending = child.ending();
  Standing standing = child.frameOf(FrameKind::Beat).standing;
  bool hasReportedError = isOwn(ending) && !ending.signal && ending.exitCode;
  std::string reason = ending.words;
  if (isOwn(ending))
    reason =
        text("rank ", rank, " on host '", child.hostName(), "' (process ", child.id(), ") ",
             describe(ending), hasReportedError ? "" : text("; it was in ", standing.position));
  if (!hasReportedError)
    report(text("dtrun: ", reason, "\n"));
  if (isWorthRecord(ending, standing.trainingStep > 0))
    dump(reason);
  leave(exitCodeOf(ending), monotonicSeconds());
}

// To the keepers of all other ranks.
void Keeper::askAll(FrameKind kind) {
  Frame frame;
  frame.kind = kind;
  peers->sendAll(frame);
}

void Keeper::give(const Verdict &verdict, double now) {
  report(verdict.report);
  Frame frame;
  frame.kind = FrameKind::Verdict;
  frame.exitCode = static_cast<uint32_t>(verdict.exitCode);
  frame.reason = verdict.reason;
  peers->sendAll(frame);
  if (!verdict.reason.empty())
    dump(verdict.reason);
  leave(verdict.exitCode, now, isOwnExit(verdict.exitCode) ? kGraceSeconds : 0);
}

void Keeper::connect(double now) {
  if (link.isDue(now))
    link.connect(child.page().address, child.frameOf(FrameKind::Hello), now);
  if (link.hasGivenUp())
    say(text("dtrun: the keeper of rank ", rank, " on host '", child.hostName(),
             "' can't reach that of rank 0 over TCP; what happens to it is noticed by collectives "
             "alone\n"));
}

void Keeper::receiveFromHub(const Frame &frame, double now) {
  if (frame.kind == FrameKind::AskBeat && !child.hasEnded())
    link.send(child.frameOf(FrameKind::Beat));
  if (frame.kind == FrameKind::AskStacks && !child.hasEnded())
    link.send(child.frameOf(FrameKind::Stacks));
  if (frame.kind == FrameKind::Verdict && !isLeaving) {
    auto code = static_cast<int>(frame.exitCode);
    if (!frame.reason.empty())
      dump(frame.reason);
    leave(code, now, isOwnExit(code) ? kGraceSeconds : 0);
  }
}

void Keeper::readHub(double now) {
  for (const Frame &frame : link.receive(now)) {
    hubHasLeft = link.hasLeft();
    receiveFromHub(frame, now);
  }
  if (!link.isWelcome() || !link.isBroken(now))
    return;
  if (hubHasLeft || isLeaving)
    leaveBy = std::min(leaveBy, child.hasEnded() ? now : std::max(now, killAt));
  else
    closeHub(now);
}

// Rank 0's keeper is gone without a word, or its host is.
void Keeper::closeHub(double now) {
  if (hubLostAt == 0)
    hubLostAt = now;
  // One speaks for all, the others in case that it is gone, too.
  if (now - hubLostAt < (rank == 1 ? 0 : 2))
    return;
  if (rank == 1 || options.launch.size < 16)
    report(text("dtrun: rank 0 is lost: its keeper is out of reach of that of rank ", rank,
                " on host '", child.hostName(), "'; rank ", rank, " is in ",
                child.frameOf(FrameKind::Beat).standing.position, "\n"));
  hubHasLeft = true;
  dump("rank 0 is lost");
  leave(kExitRankDied, now);
}

void Keeper::pollAll() {
  std::vector<pollfd> watched = {{child.descriptor(), POLLIN, 0}};
  if (peers)
    peers->addTo(watched);
  if (hubLostAt == 0)
    link.addTo(watched);
  (void)::poll(watched.data(), watched.size(), kPollMillis);
}

void Keeper::tick(double now) {
  bool beats = now - lastBeat >= kBeatSeconds;
  if (hub) {
    if (child.page().hasAddress.load() && !hub->hasJoined(0))
      sendToHub(child.frameOf(FrameKind::Hello));
    if (hub->hasJoined(0) && !child.hasEnded() && beats)
      sendToHub(child.frameOf(FrameKind::Beat));
    if (beats)
      askAll(FrameKind::Welcome); // all that rank 0's keeper has to say is that it is there
  } else if (link.isWelcome() && beats && !child.hasEnded()) {
    link.send(child.frameOf(FrameKind::Beat), /*mayBeDropped=*/true);
  }
  child.page().isWatched = hub ? hub->joined() == options.launch.size : link.isWelcome();
  if (beats)
    lastBeat = now;
  if (beats && hub)
    sendWork(now);
}

// Rank 0 may read in its page what its keeper knows of all.
void Keeper::sendWork(double now) {
  std::string line = hub->tickStragglers(now);
  if (!line.empty())
    say(line);
  WorkPage &work = child.page().work;
  for (int each = 0; each < options.launch.size; ++each)
    work.set(each, hub->workOf(each));
  work.set(hub->straggler());
}

// Acts on the end of the rank, once it has been reported.
void Keeper::followEnd(double now) {
  const Ending &ending = child.ending();
  bool isLinked = hub ? hub->hasJoined(0) : link.isWelcome() && !hubHasLeft && hubLostAt == 0;
  if (!hasReportedEnd && isLinked) {
    if (hub)
      sendToHub(child.frameOf(FrameKind::Ended));
    else
      link.send(child.frameOf(FrameKind::Ended));
  }
  hasReportedEnd = true;
  if (ending.isFinished && !ending.signal && !ending.exitCode)
    leave(0, now);
  else if (child.passedOn()) // the job is being ended from outside, of which all hear
    leave(ending.signal ? 128 + ending.signal : ending.exitCode, now);
  else if (!isLinked || now - child.endedAt() > kVerdictSeconds)
    decideAlone();
}

void Keeper::judge(double now) {
  if (std::optional<Verdict> verdict = hub->tick(now))
    return give(*verdict, now);
  if (hub->wantsBeats() && !hasAskedBeats) {
    hasAskedBeats = true;
    askAll(FrameKind::AskBeat);
    lastBeat = -1; // this keeper's own rank beats at once, too
  }
  int wanted = hub->wantsStacksOf();
  bool isNew = wanted >= 0 && asked != wanted;
  asked = wanted;
  if (!isNew)
    return;
  Frame frame;
  frame.kind = FrameKind::AskStacks;
  peers->send(wanted, frame);
  if (wanted == 0) {
    sendToHub(child.frameOf(FrameKind::Stacks));
    lastTick = monotonicSeconds(); // this keeper was busy for seconds, the machine did not sleep
  }
}

// Returns true if no peer is left to wait for.
bool Keeper::isAlone(double now) {
  if (now >= killAt)
    child.kill();
  if (now >= leaveBy)
    return true;
  return child.hasEnded() && (peers ? peers->haveLeft() : !link.isOpen());
}

void Keeper::listen(double now) {
  // After a sleep of the whole machine nobody is late.
  if (now - lastTick > 2) {
    link.forgiveSilence(now);
    if (hub)
      hub->forgiveSilence(now);
  }
  lastTick = now;
  child.readSignals();
  if (child.takeWish())
    dump("SIGUSR1");
  if (peers)
    peers->read(child.page().address, now);
  else if (hubLostAt != 0 && !isLeaving)
    closeHub(now);
  else if (link.isOpen())
    readHub(now);
}

int Keeper::watch() {
  if (!child.hasStarted()) {
    say(text("dtrun: starting rank ", rank, ": fork: ", std::strerror(errno), "\n"));
    return 1;
  }
  const ProgressPage &page = child.page();
  lastTick = monotonicSeconds();
  for (;;) {
    pollAll();
    double now = monotonicSeconds();
    listen(now);
    if (!hub && page.hasAddress.load() && page.address.port != 0 && link.isWanted() &&
        !child.hasEnded() && !isLeaving)
      connect(now);
    if (!isLeaving)
      tick(now);
    if (child.hasEnded() && !isLeaving)
      followEnd(now);
    if (hub && !isLeaving && !child.passedOn())
      judge(now);
    if (isLeaving && isAlone(now))
      break;
  }
  if (peers)
    askAll(FrameKind::Leave);
  return exitCode;
}

} // namespace

int keepRank(const KeeperOptions &options, const std::function<int(Progress &)> &rank) {
  auto keeper = std::make_unique<Keeper>(options);
  Status status = keeper->prepare();
  if (!status.ok()) {
    say(text("dtrun: ", status.message(), "\n"));
    return 1;
  }
  return keeper->start() ? keeper->becomeRank(rank) : keeper->watch();
}

Status introduceKeepers(Control &world, Progress &progress) {
  ProgressPage &page = progress.shared();
  DTC_RETURN_IF_ERROR(world.broadcast(&page.address, sizeof(page.address), DataType::U8, 0));
  page.hasAddress.store(1, std::memory_order_release);
  return {};
}

} // namespace dtc::rt
