// Rank 0's side of a rendezvous.
#include "runtime/comm/RendezvousHost.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/comm/Names.h"
#include "runtime/comm/RendezvousHello.h"
#include "runtime/comm/RendezvousWire.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

namespace dtc::rt {
using format::text;

namespace {
constexpr size_t kMostHello = 1024;    // bytes of a stranger's first message
constexpr double kStrangerSeconds = 5; // within which it comes
constexpr size_t kMostStrangers = 64;  // at a time
constexpr double kFarewellSeconds = 2; // for guests to take the reason of a failure
constexpr size_t kTokenBytes = 16;

struct Stranger {
  explicit Stranger(int socket) : wire(std::make_unique<Wire>(socket)), since(now()) {}
  std::unique_ptr<Wire> wire;
  double since;
  bool isAnswered = false; // a refusal was sent; the peer closes the connection
};

struct Peer { // state of a guest
  std::unique_ptr<Wire> wire;
  Hello hello;
  std::string hostAddress; // address of rank 0 as this guest reaches it
  bool hasSpoken = false;  // in the present exchange
};

class Host final : public Rendezvous {
public:
  explicit Host(const RendezvousOptions &options)
      : options(options), peers(static_cast<size_t>(options.size)) {}
  ~Host() override {
    if (listener >= 0)
      ::close(listener);
  }
  Status open();
  Status gather();
  Status exchange(const std::vector<std::string> &sent,
                  std::vector<std::string> &received) override;
  const std::string &address() const override { return ownAddress; }
  const std::string &token() const override { return ownToken; }

private:
  void accept();
  // False where nothing more is to be done with `stranger`.
  bool receive(Stranger &stranger);
  std::string refusal(const Hello &hello) const;
  void dropLost();
  void poll(double deadline);
  Status welcome();
  // Tells the guests, too.
  Status fail(const std::string &reason);
  std::vector<int> missing() const;
  std::string describeMissing() const;
  std::string describePresent() const;
  // Waits for a parcel of each guest.
  Status collect(std::vector<std::vector<std::string>> &parcels);

  RendezvousOptions options;
  int listener = -1;
  uint16_t port = 0;
  std::vector<Stranger> strangers;
  std::vector<Peer> peers; // indexed by rank; rank 0's stays empty
  std::string lastRefused; // the last refused peer, with the reason
  std::string ownAddress, ownToken;
};
} // namespace

Status Host::open() {
  std::string tried;
  for (uint16_t each : options.ports) {
    int error = 0;
    Status status = listenOn(each, listener, error);
    if (status.ok()) {
      port = each;
      ownToken.resize(kTokenBytes);
      if (::getrandom(ownToken.data(), ownToken.size(), 0) != static_cast<ssize_t>(kTokenBytes))
        return Status::unavailable("connecting to the other ranks: getrandom is refused");
      return {};
    }
    tried += (tried.empty() ? "" : "; ") + status.message();
  }
  return Status::unavailable(text("connecting to the other ranks: rank 0 on host '", ownHostName(),
                                  "' can't listen on ", tried, "; name a free port by ",
                                  envInfo(EnvVar::RendezvousPort).name));
}

void Host::accept() {
  for (;;) {
    int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0)
      return;
    int on = 1;
    (void)::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    // The oldest has had most time.
    if (strangers.size() >= kMostStrangers + peers.size())
      strangers.erase(strangers.begin());
    strangers.emplace_back(socket);
  }
}

// Empty where the guest is welcome.
std::string Host::refusal(const Hello &hello) const {
  if (hello.job != hashOf(options.job))
    return text(kOtherJob, ": that of rank 0 on host '", ownHostName(), "'");
  if (hello.size != static_cast<uint64_t>(options.size))
    return text("it is one of ", hello.size, " ranks, rank 0 on host '", ownHostName(), "' one of ",
                options.size);
  if (hello.rank == 0 || hello.rank >= hello.size)
    return text("rank ", hello.rank, " of ", hello.size, " is ",
                hello.rank == 0 ? "rank 0 itself" : "none of them");
  const Peer &peer = peers[hello.rank];
  if (peer.wire)
    return text("rank ", hello.rank, " is here already: process ", peer.hello.process, " on host '",
                peer.hello.host, "'");
  return "";
}

bool Host::receive(Stranger &stranger) {
  std::vector<Message> messages;
  std::string why;
  bool isOpen = stranger.wire->receive(kMostHello, messages, why);
  stranger.wire->flush();
  if (stranger.isAnswered || messages.empty())
    return isOpen && now() - stranger.since < kStrangerSeconds;
  if (!isOpen) // gave up meanwhile, and has perhaps come again
    return false;
  Hello hello;
  if (messages.size() > 1 || messages[0].word != Word::Hello || !decode(messages[0].payload, hello))
    return false;
  if (std::string reason = refusal(hello); !reason.empty()) {
    if (hello.job == hashOf(options.job))
      lastRefused = text("a rank ", hello.rank, " of ", hello.size, " on host '", hello.host,
                         "' (process ", hello.process, ") was refused: ", reason);
    stranger.wire->send(Word::Refused, reason);
    stranger.isAnswered = true;
    return true;
  }
  Peer &peer = peers[hello.rank];
  sockaddr_storage local = {};
  socklen_t length = sizeof(local);
  (void)::getsockname(stranger.wire->descriptor(), reinterpret_cast<sockaddr *>(&local), &length);
  peer.hostAddress = addressText(local);
  peer.hello = hello;
  peer.wire = std::move(stranger.wire);
  peer.wire->send(Word::Taken, "");
  return false;
}

// Guests that have gone while others are waited for; they may come again.
void Host::dropLost() {
  for (Peer &peer : peers) {
    std::vector<Message> messages;
    std::string why;
    if (peer.wire && (!peer.wire->receive(kMostHello, messages, why) || !messages.empty()))
      peer = {};
  }
}

// Blocks until data arrives or can be sent.
void Host::poll(double deadline) {
  std::vector<pollfd> watched;
  auto add = [&](const Wire &wire) {
    watched.push_back(
        {wire.descriptor(), static_cast<short>(POLLIN | (wire.wantsToWrite() ? POLLOUT : 0)), 0});
  };
  if (listener >= 0)
    watched.push_back({listener, POLLIN, 0});
  for (const Stranger &stranger : strangers)
    add(*stranger.wire);
  for (const Peer &peer : peers)
    if (peer.wire && !peer.hasSpoken)
      add(*peer.wire);
  double left = std::clamp(deadline - now(), 0.0, 0.1);
  (void)::poll(watched.data(), watched.size(), static_cast<int>(left * 1000) + 1);
}

std::vector<int> Host::missing() const {
  std::vector<int> ranks;
  for (int rank = 1; rank < options.size; ++rank)
    if (!peers[static_cast<size_t>(rank)].wire)
      ranks.push_back(rank);
  return ranks;
}

// "rank 1 on host 'a', ranks 2 and 3 on host 'b'"
std::string Host::describePresent() const {
  constexpr size_t most = 8;
  std::map<std::string, std::vector<int>> hosts;
  for (int rank = 1; rank < options.size; ++rank)
    if (const Peer &peer = peers[static_cast<size_t>(rank)]; peer.wire)
      hosts[peer.hello.host].push_back(rank);
  std::string out;
  size_t listed = 0;
  for (const auto &[host, ranks] : hosts)
    if (listed++ < most)
      out += text(out.empty() ? "" : ", ", listRanks(ranks), " on host '", host, "'");
  return hosts.size() > most ? text(out, " and those of ", hosts.size() - most, " more hosts")
                             : out;
}

Status Host::fail(const std::string &reason) {
  strangers.clear();
  double deadline = now() + kFarewellSeconds;
  for (Peer &peer : peers)
    if (peer.wire)
      peer.wire->send(Word::Failed, reason);
  auto isBusy = [](const Peer &peer) { return peer.wire && peer.wire->wantsToWrite(); };
  while (now() < deadline && std::any_of(peers.begin(), peers.end(), isBusy)) {
    ::usleep(10000);
    for (Peer &peer : peers)
      if (peer.wire)
        peer.wire->flush();
  }
  return Status::aborted(reason);
}

// "rank 2 of 4 has not come; here are ranks 1 and 3 on host 'b'"
std::string Host::describeMissing() const {
  std::string present = describePresent();
  std::vector<int> ranks = missing();
  return text(
      listRanks(ranks), " of ", options.size, ranks.size() == 1 ? " has" : " have", " not come",
      options.isOver ? text(" to port ", port, " of host '", ownHostName(), "'") : "",
      present.empty() ? "" : "; here are ", present, lastRefused.empty() ? "" : "; ", lastRefused);
}

Status Host::gather() {
  double deadline = now() + options.seconds;
  while (!missing().empty()) {
    if (options.isOver && *options.isOver)
      return Status::unavailable("");
    if (now() > deadline && options.isOver)
      return fail(describeMissing());
    if (now() > deadline)
      return fail(text("rank 0 on host '", ownHostName(), "' waited ", options.seconds,
                       " s at port ", port, ": ", describeMissing(),
                       "; where ranks need longer to start, raise ",
                       envInfo(EnvVar::StartTimeout).name, " or --timeout"));
    poll(deadline);
    accept();
    dropLost();
    std::erase_if(strangers, [&](Stranger &stranger) { return !receive(stranger); });
  }
  ::close(listener);
  listener = -1;
  strangers.clear();
  return welcome();
}

// Each rank gets the address at which others reach it. Ranks of rank 0's machine may have come over
// the loopback, which is of no use to those of others.
Status Host::welcome() {
  std::string outer, loopback = "127.0.0.1";
  for (const Peer &peer : peers) {
    if (!peer.wire)
      continue;
    if (!isLoopback(peer.hello.address) && outer.empty())
      outer = peer.hostAddress;
    if (peer.hello.address == "::1")
      loopback = "::1";
  }
  ownAddress = outer.empty() ? loopback : outer;
  bool isSix = ownAddress.find(':') != std::string::npos;
  if (ownAddress.starts_with("fe80:") && !options.isOver)
    return fail(text("rank 0 is reached at ", ownAddress,
                     ", an address of one link, which says nothing on other machines; set "
                     "MASTER_ADDR to a global one"));
  for (Peer &peer : peers) {
    if (!peer.wire)
      continue;
    std::string theirs = isLoopback(peer.hello.address) ? ownAddress : peer.hello.address;
    if ((theirs.find(':') != std::string::npos) != isSix && !options.isOver)
      return fail(text("rank 0 is reached over IPv4 by some ranks, over IPv6 by others (rank ",
                       peer.hello.rank, " on host '", peer.hello.host, "' has ", theirs,
                       ", rank 0 ", ownAddress, "); set MASTER_ADDR to an address of one kind"));
    std::string payload;
    put(payload, theirs);
    put(payload, ownToken);
    peer.wire->send(Word::Welcome, payload);
  }
  return {};
}

Status Host::collect(std::vector<std::vector<std::string>> &parcels) {
  double deadline = now() + options.seconds;
  for (Peer &peer : peers)
    peer.hasSpoken = !peer.wire;
  auto isSilent = [](const Peer &peer) { return !peer.hasSpoken; };
  while (std::any_of(peers.begin(), peers.end(), isSilent)) {
    if (now() > deadline) {
      std::vector<int> silent;
      for (size_t rank = 1; rank < peers.size(); ++rank)
        if (isSilent(peers[rank]))
          silent.push_back(static_cast<int>(rank));
      return fail(text("rank 0 on host '", ownHostName(), "' waited ", options.seconds,
                       " s while ranks connect: ", listRanks(silent), " of ", options.size,
                       silent.size() == 1 ? " does" : " do", " not answer (",
                       silent.size() == 1 ? "it is" : "the first is", " process ",
                       peers[static_cast<size_t>(silent[0])].hello.process, " on host '",
                       peers[static_cast<size_t>(silent[0])].hello.host, "')"));
    }
    poll(deadline);
    for (Peer &peer : peers) {
      if (peer.hasSpoken)
        continue;
      std::vector<Message> messages;
      std::string why;
      peer.wire->flush();
      bool isOpen = peer.wire->receive(mostBytes(options.size), messages, why);
      size_t rank = peer.hello.rank;
      peer.hasSpoken = messages.size() == 1 && messages[0].word == Word::Parcel &&
                       decodePieces(messages[0].payload, peers.size(), parcels[rank]);
      if (!messages.empty() && !peer.hasSpoken)
        why = "said what it could not say then";
      if (!peer.hasSpoken && (!isOpen || !messages.empty())) {
        std::string who = text("rank ", rank, " on host '", peer.hello.host, "' (process ",
                               peer.hello.process, ") ", why, " while ranks connect");
        peer.wire.reset();
        return fail(who);
      }
    }
  }
  return {};
}

Status Host::exchange(const std::vector<std::string> &sent, std::vector<std::string> &received) {
  std::vector<std::vector<std::string>> parcels(peers.size());
  parcels[0] = sent;
  DTC_RETURN_IF_ERROR(collect(parcels));
  auto piecesFor = [&](size_t rank) {
    std::vector<std::string> pieces;
    for (const std::vector<std::string> &parcel : parcels)
      pieces.push_back(parcel[rank]);
    return pieces;
  };
  double deadline = now() + options.seconds;
  for (size_t rank = 1; rank < peers.size(); ++rank)
    peers[rank].wire->send(Word::Parcel, encodePieces(piecesFor(rank)));
  auto isBusy = [](const Peer &peer) { return peer.wire && peer.wire->wantsToWrite(); };
  while (std::any_of(peers.begin(), peers.end(), isBusy) && now() < deadline) {
    ::usleep(1000);
    for (Peer &peer : peers)
      if (peer.wire)
        peer.wire->flush();
  }
  received = piecesFor(0);
  return {};
}

Status rendezvousAsHost(const RendezvousOptions &options, std::unique_ptr<Rendezvous> &rendezvous) {
  auto host = std::make_unique<Host>(options);
  DTC_RETURN_IF_ERROR(host->open());
  DTC_RETURN_IF_ERROR(host->gather());
  rendezvous = std::move(host);
  return {};
}

} // namespace dtc::rt
