#include "runtime/monitor/Keeper.h"

#include "runtime/base/Text.h"
#include "runtime/comm/Launch.h"
#include "runtime/comm/RollCall.h"
#include "runtime/format/Printable.h"
#include "runtime/monitor/FlightDump.h"
#include "runtime/monitor/Hub.h"
#include "runtime/monitor/Link.h"
#include "runtime/monitor/Stacks.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <new>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
using format::text;

namespace {

constexpr double kBeatSeconds = 1;
constexpr int kPollMillis = 100;
// How long keepers wait for each other to write what they know, when the job is over.
constexpr double kFarewellSeconds = 2;
// How long a rank's keeper waits for rank 0's to say who was first.
constexpr double kVerdictSeconds = 6;
constexpr double kJoinSeconds = 30;
constexpr double kConnectSeconds = 2;

// What a rank has that fails as the others do, by agreement, to say why and end.
constexpr double kGraceSeconds = 1;
// Whether a rank ended by itself, and has said why.
bool isOwnExit(int code) { return code != kExitRankDied; }

double seconds() { return static_cast<double>(monotonicNanos()) * 1e-9; }

std::string hostName() {
  char host[HOST_NAME_MAX + 1] = {};
  (void)::gethostname(host, HOST_NAME_MAX);
  return host;
}

void say(const std::string &lines) {
  std::fputs(format::printable(lines).c_str(), stderr);
  std::fflush(stderr);
}

// The same of why the job ends, which the launcher wants to know.
void tell(const std::string &lines) {
  say(lines);
  if (!lines.empty())
    tellLauncher(lines);
}

// SIGUSR1 to a rank: its keeper sees that a record is wanted.
std::atomic<ProgressPage *> dumpPage{nullptr};
void wantDump(int) { dumpPage.load()->dumpsWanted.fetch_add(1); }

class Keeper {
public:
  explicit Keeper(const KeeperOptions &options)
      : options(options), rank(options.launch.rank), host(hostName()) {}

  Status prepare();
  // In the child, true.
  bool start();
  int becomeRank(const std::function<int(Progress &)> &run);
  int watch();

private:
  struct Peer { // of rank 0's keeper
    explicit Peer(int socket) : link(socket), since(seconds()) {}
    Link link;
    double since;
    int rank = -1; // before its Hello
  };

  // What happens, each in turn.
  void readSignals();
  void reap(int waitStatus);
  void followStop(bool stops);
  void readPage();
  void pollAll();
  void tick(double now);
  void tellWork(double now);
  void listen(double now);
  void followEnd(double now);
  bool isAlone(double now);

  // As rank 0's keeper.
  void acceptPeers();
  void readPeers(double now);
  void hearPeer(Peer &peer, const Frame &frame, double now);
  void judge(double now);
  void askAll(FrameKind kind, int code = 0);
  void give(const Verdict &verdict, double now);
  void tellHub(const Frame &frame);

  // As any other's.
  void connect(double now);
  void readHub(double now);
  void loseHub(double now);

  Frame frameOf(FrameKind kind);
  void readNotes();
  void decideAlone();
  void dump(const std::string &reason);
  Status openFolder(std::string &folder) const;
  void endRank();
  // The job is over for this keeper once its rank has ended, for which that has `grace` seconds, and
  // others have left, or soon.
  void leave(int code, double now, double grace = 0);

  KeeperOptions options;
  int rank;
  std::string host;
  ProgressPage *page = nullptr;
  int notesFile = -1, stacksFile = -1;
  int listener = -1, signalQueue = -1;
  sigset_t signalsBefore = {};
  pid_t child = -1;
  clockid_t childClock = CLOCK_PROCESS_CPUTIME_ID;
  bool knowsClock = false;

  ProgramNotes notes;
  bool hasReadNotes = false;
  bool isStopped = false; // the rank, by a signal
  int64_t stoppedAt = 0;
  uint64_t stoppedNanos = 0;
  bool hasEnded = false; // the rank
  int passedOn = 0;      // a signal that ends a job
  Ending ending;
  uint64_t memoryKills = 0;
  uint32_t dumps = 0; // asked for through the page, and written
  bool hasToldEnd = false;

  double lastTick = 0, lastBeat = -1, endedAt = 0;
  bool isLeaving = false;
  double leaveBy = 0, killAt = 0;
  int exitCode = 0;

  std::unique_ptr<Hub> hub; // of rank 0
  std::vector<std::unique_ptr<Peer>> peers;
  int asked = -1; // for stacks
  bool hasAskedBeats = false;

  std::unique_ptr<Link> link; // to rank 0's keeper
  bool isWelcome = false, hubHasLeft = false, gaveUpJoining = false;
  size_t nextAddress = 0;
  double connectedAt = 0, hubHeardAt = 0, addressAt = 0, hubLostAt = 0;
};

Status Keeper::prepare() {
  void *memory = ::mmap(nullptr, sizeof(ProgressPage), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return Status::resourceExhausted(
        text("memory that a rank shares with its keeper: ", std::strerror(errno)));
  page = new (memory) ProgressPage;
  notesFile = ::memfd_create("dtrun-notes", MFD_CLOEXEC);
  stacksFile = ::memfd_create("dtrun-stacks", MFD_CLOEXEC);
  memoryKills = countMemoryKills();
  if (rank == 0) {
    DTC_RETURN_IF_ERROR(openListener(listener, page->address));
    hub = std::make_unique<Hub>(
        HubOptions{options.launch.size, options.patience, options.silenceSeconds}, notes);
  }
  sigset_t taken;
  sigemptyset(&taken);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD})
    sigaddset(&taken, number);
  (void)::pthread_sigmask(SIG_BLOCK, &taken, &signalsBefore);
  signalQueue = ::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
  return signalQueue >= 0 ? Status() : Status::unavailable("signalfd is refused");
}

bool Keeper::start() {
  pid_t self = ::getpid();
  child = ::fork();
  if (child != 0) {
    (void)::setpgid(child, child);
    (void)::prctl(PR_SET_NAME, "dtrun-keeper");
    // A connection for each rank.
    rlimit files = {};
    if (hub && ::getrlimit(RLIMIT_NOFILE, &files) == 0) {
      files.rlim_cur = files.rlim_max;
      (void)::setrlimit(RLIMIT_NOFILE, &files);
    }
    knowsClock = child > 0 && ::clock_getcpuclockid(child, &childClock) == 0;
    return false;
  }
  // A group of its own: a signal to the keeper's group is passed on once, not told twice.
  (void)::setpgid(0, 0);
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != self)
    ::_exit(kExitRankDied);
  return true;
}

int Keeper::becomeRank(const std::function<int(Progress &)> &run) {
  if (listener >= 0)
    ::close(listener);
  ::close(signalQueue);
  dumpPage = page;
  struct sigaction action = {};
  action.sa_handler = wantDump;
  action.sa_flags = SA_RESTART;
  (void)::sigaction(SIGUSR1, &action, nullptr);
  installStackHandlers(*page, stacksFile);
  (void)::pthread_sigmask(SIG_SETMASK, &signalsBefore, nullptr);
  Progress progress(*page, notesFile);
  return run(progress);
}

void Keeper::readSignals() {
  signalfd_siginfo info;
  while (::read(signalQueue, &info, sizeof(info)) == sizeof(info)) {
    auto signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGUSR1) {
      dump("SIGUSR1");
    } else if (signal != SIGCHLD) {
      if (signal != SIGUSR2)
        passedOn = signal;
      if (!hasEnded)
        (void)::kill(child, signal);
    }
  }
  int status = 0;
  while (!hasEnded && ::waitpid(child, &status, WNOHANG | WUNTRACED | WCONTINUED) == child) {
    if (WIFSTOPPED(status) || WIFCONTINUED(status))
      followStop(WIFSTOPPED(status));
    else
      reap(status);
  }
}

void Keeper::followStop(bool stops) {
  if (isStopped)
    stoppedNanos += static_cast<uint64_t>(monotonicNanos() - stoppedAt);
  isStopped = stops;
  stoppedAt = monotonicNanos();
}

void Keeper::reap(int status) {
  hasEnded = true;
  isStopped = false;
  endedAt = seconds();
  ending.isFinished = page->activity.load() == static_cast<uint32_t>(Activity::Finished);
  if (WIFSIGNALED(status)) {
    ending.signal = WTERMSIG(status);
    ending.outOfMemory = ending.signal == SIGKILL && countMemoryKills() > memoryKills;
  } else {
    ending.exitCode = WEXITSTATUS(status);
  }
  if (page->hasWords.load())
    ending.words = printable(std::string(page->words, ::strnlen(page->words, ProgressPage::kWords)),
                             ProgressPage::kWords);
}

void Keeper::readNotes() {
  if (hasReadNotes || !page->hasNotes.load())
    return;
  hasReadNotes = true;
  struct stat info = {};
  if (::fstat(notesFile, &info) != 0)
    return;
  std::vector<uint8_t> bytes(static_cast<size_t>(info.st_size));
  if (::pread(notesFile, bytes.data(), bytes.size(), 0) == info.st_size)
    (void)ProgramNotes::decode(bytes, notes); // places have numbers where it is damaged
}

Frame Keeper::frameOf(FrameKind kind) {
  readNotes();
  Frame frame;
  frame.kind = kind;
  frame.rank = static_cast<uint32_t>(rank);
  frame.process = static_cast<uint32_t>(child);
  frame.keeper = static_cast<uint32_t>(::getpid());
  frame.host = host;
  std::copy(std::begin(page->address.secret), std::end(page->address.secret), frame.secret.begin());
  frame.standing = standingOf(*page, notes, rank);
  frame.standing.isStopped = isStopped;
  frame.standing.work.stoppedNanos =
      stoppedNanos + (isStopped ? static_cast<uint64_t>(monotonicNanos() - stoppedAt) : 0);
  timespec used = {};
  if (knowsClock && ::clock_gettime(childClock, &used) == 0)
    frame.standing.cpuMillis =
        static_cast<uint64_t>(used.tv_sec) * 1000 + static_cast<uint64_t>(used.tv_nsec) / 1000000;
  if (kind == FrameKind::Ended) {
    frame.ending = ending;
    frame.stacks = readStacks(stacksFile);
  }
  return frame;
}

Status Keeper::openFolder(std::string &folder) const {
  folder = options.flightFolder;
  if (folder.empty()) {
    const char *temporary = std::getenv("TMPDIR");
    const char *job = std::getenv("PMIX_NAMESPACE");
    // The same for all ranks of this machine.
    std::string name = job ? job : text("parent ", ::getppid());
    folder = text(temporary && *temporary ? temporary : "/tmp", "/dtrun-flights-", ::getuid(), "-",
                  XXH3_64bits(name.data(), name.size()));
  }
  struct stat info = {};
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return Status::unavailable(text("making folder '", folder, "': ", std::strerror(errno)));
  // In a folder that all may write to, somebody else may have been first.
  if (options.flightFolder.empty() &&
      (::lstat(folder.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::getuid()))
    return Status::unavailable(
        text("folder '", folder, "' is somebody else's; name one by --log-dir"));
  return {};
}

void Keeper::dump(const std::string &reason) {
  FlightHeader header{rank,   static_cast<int>(child),
                      host,   frameOf(FrameKind::Beat).standing.place,
                      reason, options.patience.hangSeconds};
  std::string folder;
  Status status = openFolder(folder);
  if (status.ok())
    status = writeFlights(folder, *page, notes, header);
  if (!status.ok())
    say(text("dtrun: rank ", rank, " writes no flight record: ", status.message(), "\n"));
  else if (rank == 0)
    say(text("dtrun: flight records are in ", folder, "/flight-rank-R.json\n"));
}

void Keeper::endRank() {
  if (hasEnded)
    return;
  (void)::kill(child, SIGKILL);
  int status = 0;
  for (int patience = 100; patience > 0; --patience) {
    if (::waitpid(child, &status, WNOHANG) == child) {
      hasEnded = true;
      return;
    }
    ::usleep(10000); // in the middle of a call to the system that cannot be interrupted, perhaps
  }
}

void Keeper::leave(int code, double now, double grace) {
  if (isLeaving)
    return;
  isLeaving = true;
  exitCode = code;
  killAt = now + grace;
  leaveBy = now + kFarewellSeconds + grace;
  if (grace == 0)
    endRank();
  if (link)
    link->send(frameOf(FrameKind::Leave));
  if (!hub && (hubHasLeft || !isWelcome))
    leaveBy = now + grace;
}

// Nobody is there to say who was first.
void Keeper::decideAlone() {
  std::string who = text("rank ", rank, " on host '", host, "' (process ", child, ") ");
  if (ending.signal || ending.exitCode == 0) {
    tell(text("dtrun: ", who, describe(ending), "; it was in ",
              frameOf(FrameKind::Beat).standing.place, "\n"));
    dump(describe(ending));
  } else if (!ending.words.empty()) {
    tell(text("dtrun: ", ending.words, "\n"));
    dump(ending.words);
  }
  leave(exitCodeOf(ending), seconds());
}

void Keeper::tellHub(const Frame &frame) { (void)hub->hear(0, frame, seconds()); }

void Keeper::acceptPeers() {
  constexpr size_t strangers = 64;
  for (;;) {
    int socket = acceptLink(listener);
    if (socket < 0)
      return;
    if (peers.size() < static_cast<size_t>(options.launch.size) + strangers)
      peers.push_back(std::make_unique<Peer>(socket));
    else
      ::close(socket);
  }
}

void Keeper::hearPeer(Peer &peer, const Frame &frame, double now) {
  bool isHello = frame.kind == FrameKind::Hello;
  if (peer.rank < 0) {
    // A stranger, or a rank of this job that nobody has been yet.
    bool knows = isHello && std::equal(frame.secret.begin(), frame.secret.end(),
                                       std::begin(page->address.secret));
    auto claimed = static_cast<int>(std::min<uint32_t>(frame.rank, INT_MAX));
    if (!knows || claimed == 0 || !hub->hear(claimed, frame, now)) {
      peer.since = -1; // to be dropped
      return;
    }
    peer.rank = claimed;
    Frame welcome;
    welcome.kind = FrameKind::Welcome;
    peer.link.send(welcome);
    return;
  }
  if (!hub->hear(peer.rank, frame, now)) {
    hub->lose(peer.rank, "said what it could not say then", now);
    peer.since = -1;
  }
}

void Keeper::readPeers(double now) {
  for (std::unique_ptr<Peer> &peer : peers) {
    std::vector<Frame> frames;
    std::string why;
    bool isOpen = peer->link.receive(frames, why);
    for (const Frame &frame : frames)
      if (peer->since >= 0)
        hearPeer(*peer, frame, now);
    peer->link.flush();
    bool isStale = peer->rank < 0 && now - peer->since > kConnectSeconds;
    if (isOpen && peer->since >= 0 && !isStale && !peer->link.hasFailed())
      continue;
    if (peer->rank >= 0)
      hub->lose(peer->rank, why.empty() ? "is out of reach" : why, now);
    peer.reset();
  }
  std::erase(peers, nullptr);
}

// To the keepers of all other ranks.
void Keeper::askAll(FrameKind kind, int code) {
  Frame frame;
  frame.kind = kind;
  frame.exitCode = static_cast<uint32_t>(code);
  for (std::unique_ptr<Peer> &peer : peers)
    if (peer->rank >= 0)
      peer->link.send(frame, /*mayBeDropped=*/kind == FrameKind::Welcome);
}

void Keeper::give(const Verdict &verdict, double now) {
  tell(verdict.report);
  askAll(FrameKind::Verdict, verdict.exitCode);
  if (!verdict.report.empty())
    dump(verdict.report.substr(0, verdict.report.find('\n')));
  leave(verdict.exitCode, now, isOwnExit(verdict.exitCode) ? kGraceSeconds : 0);
}

void Keeper::connect(double now) {
  if (link && !isWelcome && now - connectedAt < kConnectSeconds)
    return;
  if (addressAt == 0)
    addressAt = now;
  if (now - addressAt > kJoinSeconds) {
    gaveUpJoining = true;
    link.reset();
    say(text("dtrun: the keeper of rank ", rank, " on host '", host,
             "' can't reach that of rank 0 over TCP; what happens to it is noticed by collectives "
             "alone\n"));
    return;
  }
  int socket = beginConnect(page->address, nextAddress);
  nextAddress = socket < 0 ? 0 : nextAddress + 1;
  connectedAt = socket < 0 ? now - kConnectSeconds + 0.2 : now;
  link = socket < 0 ? nullptr : std::make_unique<Link>(socket);
  if (link)
    link->send(frameOf(FrameKind::Hello));
}

void Keeper::readHub(double now) {
  std::vector<Frame> frames;
  std::string why;
  bool isOpen = link->receive(frames, why);
  link->flush();
  for (const Frame &frame : frames) {
    hubHeardAt = now;
    isWelcome = isWelcome || frame.kind == FrameKind::Welcome;
    if (!isWelcome)
      continue;
    if (frame.kind == FrameKind::Leave)
      hubHasLeft = true;
    if (frame.kind == FrameKind::AskBeat && !hasEnded)
      link->send(frameOf(FrameKind::Beat));
    if (frame.kind == FrameKind::AskStacks && !hasEnded && !isStopped) {
      Frame answer = frameOf(FrameKind::Stacks);
      answer.stacks = collectStacks(child, *page, stacksFile);
      link->send(answer);
    }
    if (frame.kind == FrameKind::Verdict && !isLeaving) {
      auto code = static_cast<int>(frame.exitCode);
      if (!isOwnExit(code))
        dump("the job was ended");
      leave(code, now, isOwnExit(code) ? kGraceSeconds : 0);
    }
  }
  if (!isWelcome) {
    if (!isOpen)
      connectedAt = now - kConnectSeconds + 0.2; // the next address, soon
    return;
  }
  double silence = options.silenceSeconds * (link->isNear() ? kNearSilence : 1);
  if (isOpen && now - hubHeardAt <= silence)
    return;
  if (hubHasLeft || isLeaving)
    leaveBy = std::min(leaveBy, std::max(now, killAt));
  else
    loseHub(now);
}

// Rank 0's keeper is gone without a word, or its host is.
void Keeper::loseHub(double now) {
  if (hubLostAt == 0)
    hubLostAt = now;
  // One speaks for all, the others in case that it is gone, too.
  if (now - hubLostAt < (rank == 1 ? 0 : 2))
    return;
  if (rank == 1 || options.launch.size < 16)
    tell(text("dtrun: rank 0 is lost: its keeper is out of reach of that of rank ", rank,
              " on host '", host, "'; rank ", rank, " is in ",
              frameOf(FrameKind::Beat).standing.place, "\n"));
  hubHasLeft = true;
  dump("rank 0 is lost");
  leave(kExitRankDied, now);
}

void Keeper::readPage() {
  if (uint32_t wanted = page->dumpsWanted.load(); wanted != dumps) {
    dumps = wanted;
    dump("SIGUSR1");
  }
}

void Keeper::pollAll() {
  std::vector<pollfd> watched = {{signalQueue, POLLIN, 0}};
  auto add = [&](const Link &each) {
    watched.push_back(
        {each.descriptor(), static_cast<short>(POLLIN | (each.wantsToWrite() ? POLLOUT : 0)), 0});
  };
  if (listener >= 0)
    watched.push_back({listener, POLLIN, 0});
  for (const std::unique_ptr<Peer> &peer : peers)
    add(peer->link);
  if (link && isWelcome && hubLostAt == 0)
    add(*link);
  (void)::poll(watched.data(), watched.size(), kPollMillis);
}

void Keeper::tick(double now) {
  bool beats = now - lastBeat >= kBeatSeconds;
  if (hub) {
    if (page->hasAddress.load() && !hub->hasJoined(0))
      tellHub(frameOf(FrameKind::Hello));
    if (hub->hasJoined(0) && !hasEnded && beats)
      tellHub(frameOf(FrameKind::Beat));
    if (beats)
      askAll(FrameKind::Welcome); // all that rank 0's keeper has to say is that it is there
  } else if (link && isWelcome && beats && !hasEnded) {
    link->send(frameOf(FrameKind::Beat), /*mayBeDropped=*/true);
  }
  if (beats)
    lastBeat = now;
  if (beats && hub)
    tellWork(now);
}

// Rank 0 may read in its page what its keeper knows of all.
void Keeper::tellWork(double now) {
  std::string line = hub->tickStragglers(now);
  if (!line.empty())
    say(line);
  for (int each = 0; each < options.launch.size; ++each)
    page->work.set(each, hub->workOf(each));
  page->work.set(hub->straggler());
}

// What the end of the rank means, once it has been told.
void Keeper::followEnd(double now) {
  bool isLinked = hub ? hub->hasJoined(0) : isWelcome && !hubHasLeft && hubLostAt == 0;
  if (!hasToldEnd && isLinked) {
    if (hub)
      tellHub(frameOf(FrameKind::Ended));
    else
      link->send(frameOf(FrameKind::Ended));
  }
  hasToldEnd = true;
  if (ending.isFinished && !ending.signal && !ending.exitCode)
    leave(0, now);
  else if (passedOn) // the job is being ended from outside, of which all hear
    leave(ending.signal ? 128 + ending.signal : ending.exitCode, now);
  else if (!isLinked || now - endedAt > kVerdictSeconds)
    decideAlone();
}

void Keeper::judge(double now) {
  if (std::optional<Verdict> verdict = hub->tick(now))
    return give(*verdict, now);
  if (hub->wantsBeats() && !hasAskedBeats) {
    hasAskedBeats = true;
    askAll(FrameKind::AskBeat);
    lastBeat = -1; // of this one's rank, too
  }
  int wanted = hub->wantsStacksOf();
  bool isNew = wanted >= 0 && asked != wanted;
  asked = wanted;
  if (!isNew)
    return;
  Frame frame;
  frame.kind = FrameKind::AskStacks;
  for (std::unique_ptr<Peer> &peer : peers)
    if (peer->rank == wanted)
      peer->link.send(frame);
  if (wanted == 0 && !isStopped) {
    frame = frameOf(FrameKind::Stacks);
    frame.stacks = collectStacks(child, *page, stacksFile);
    tellHub(frame);
  }
}

// Whether nobody is left to wait for.
bool Keeper::isAlone(double now) {
  if (!hasEnded && now >= killAt)
    endRank();
  if (now >= leaveBy)
    return true;
  return hasEnded && (hub ? std::all_of(peers.begin(), peers.end(),
                                        [&](const std::unique_ptr<Peer> &peer) {
                                          return peer->rank < 0 || hub->isGone(peer->rank);
                                        })
                          : !link);
}

void Keeper::listen(double now) {
  // After a sleep of the whole machine nobody is late.
  if (now - lastTick > 2) {
    hubHeardAt = now;
    if (hub)
      hub->forgiveSilence(now);
  }
  lastTick = now;
  readSignals();
  readPage();
  if (hub) {
    acceptPeers();
    readPeers(now);
  } else if (hubLostAt != 0 && !isLeaving) {
    loseHub(now);
  } else if (link) {
    readHub(now);
  }
}

int Keeper::watch() {
  if (child < 0) {
    say(text("dtrun: starting rank ", rank, ": fork: ", std::strerror(errno), "\n"));
    return 1;
  }
  lastTick = seconds();
  for (;;) {
    pollAll();
    double now = seconds();
    listen(now);
    if (!hub && page->hasAddress.load() && page->address.port != 0 && !isWelcome &&
        !gaveUpJoining && !hasEnded && !isLeaving)
      connect(now);
    if (!isLeaving)
      tick(now);
    if (hasEnded && !isLeaving)
      followEnd(now);
    if (hub && !isLeaving && !passedOn)
      judge(now);
    if (isLeaving && isAlone(now))
      break;
  }
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
