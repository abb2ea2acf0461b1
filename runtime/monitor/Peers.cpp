#include "runtime/monitor/Peers.h"

#include <algorithm>
#include <climits>
#include <unistd.h>

namespace dtc::rt {

// Seconds that a new connection has to identify itself.
constexpr double kHelloSeconds = 2;

Status Peers::open(KeeperAddress &address) { return openListener(listener, address); }

void Peers::close() {
  if (listener >= 0)
    ::close(listener);
  listener = -1;
}

void Peers::accept(double now) {
  constexpr size_t strangers = 64;
  for (;;) {
    int socket = acceptLink(listener);
    if (socket < 0)
      return;
    if (peers.size() < static_cast<size_t>(ranks) + strangers)
      peers.push_back(std::make_unique<Peer>(socket, now));
    else
      ::close(socket);
  }
}

void Peers::receive(Peer &peer, const Frame &frame, const KeeperAddress &address, double now) {
  if (peer.rank < 0) {
    // A stranger, or a rank of this job that nobody has been yet.
    bool knows = frame.kind == FrameKind::Hello &&
                 std::equal(frame.secret.begin(), frame.secret.end(), std::begin(address.secret));
    auto claimed = static_cast<int>(std::min<uint32_t>(frame.rank, INT_MAX));
    if (!knows || claimed == 0 || !hub.receive(claimed, frame, now)) {
      peer.since = -1;
      return;
    }
    peer.rank = claimed;
    Frame welcome;
    welcome.kind = FrameKind::Welcome;
    peer.link.send(welcome);
    return;
  }
  if (!hub.receive(peer.rank, frame, now)) {
    hub.close(peer.rank, "said what it could not say then", now);
    peer.since = -1;
  }
}

void Peers::read(const KeeperAddress &address, double now) {
  accept(now);
  for (std::unique_ptr<Peer> &peer : peers) {
    std::vector<Frame> frames;
    std::string why;
    bool isOpen = peer->link.receive(frames, why);
    for (const Frame &frame : frames)
      if (peer->since >= 0)
        receive(*peer, frame, address, now);
    peer->link.flush();
    bool isStale = peer->rank < 0 && now - peer->since > kHelloSeconds;
    if (isOpen && peer->since >= 0 && !isStale && !peer->link.hasFailed())
      continue;
    if (peer->rank >= 0)
      hub.close(peer->rank, why.empty() ? "is out of reach" : why, now);
    peer.reset();
  }
  std::erase(peers, nullptr);
}

void Peers::sendAll(const Frame &frame) {
  for (std::unique_ptr<Peer> &peer : peers)
    if (peer->rank >= 0)
      peer->link.send(frame, /*mayBeDropped=*/frame.kind == FrameKind::Welcome);
}

void Peers::send(int rank, const Frame &frame) {
  for (std::unique_ptr<Peer> &peer : peers)
    if (peer->rank == rank)
      peer->link.send(frame);
}

bool Peers::haveLeft() const {
  return std::all_of(peers.begin(), peers.end(), [&](const std::unique_ptr<Peer> &peer) {
    return peer->rank < 0 || hub.isGone(peer->rank);
  });
}

void Peers::addTo(std::vector<pollfd> &watched) const {
  watched.push_back({listener, POLLIN, 0});
  for (const std::unique_ptr<Peer> &peer : peers)
    watched.push_back({peer->link.descriptor(), peer->link.events(), 0});
}

} // namespace dtc::rt
