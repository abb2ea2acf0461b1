#include "runtime/monitor/HubLink.h"

#include "runtime/monitor/Hub.h"

namespace dtc::rt {

// Seconds to keep trying to join, to try one address, and to wait after a refused connection.
constexpr double kJoinSeconds = 30;
constexpr double kConnectSeconds = 2;
constexpr double kRefusedSeconds = 0.2;

bool HubLink::isDue(double now) {
  if (link && !welcome && now - connectedAt < kConnectSeconds)
    return false;
  if (begunAt == 0)
    begunAt = now;
  gaveUp = now - begunAt > kJoinSeconds;
  if (gaveUp)
    link.reset();
  return !gaveUp;
}

void HubLink::connect(const KeeperAddress &address, const Frame &hello, double now) {
  int socket = beginConnect(address, nextAddress);
  nextAddress = socket < 0 ? 0 : nextAddress + 1;
  connectedAt = socket < 0 ? now - kConnectSeconds + kRefusedSeconds : now;
  link = socket < 0 ? nullptr : std::make_unique<Link>(socket);
  if (link)
    link->send(hello);
}

std::vector<Frame> HubLink::receive(double now) {
  std::vector<Frame> frames, known;
  std::string why;
  closed = !link->receive(frames, why);
  link->flush();
  for (Frame &frame : frames) {
    receivedAt = now;
    welcome = welcome || frame.kind == FrameKind::Welcome;
    left = left || (welcome && frame.kind == FrameKind::Leave);
    if (welcome)
      known.push_back(std::move(frame));
  }
  if (!welcome && closed)
    connectedAt = now - kConnectSeconds + kRefusedSeconds; // the next address, soon
  return known;
}

void HubLink::send(const Frame &frame, bool mayBeDropped) {
  if (link)
    link->send(frame, mayBeDropped);
}

bool HubLink::isBroken(double now) const {
  return closed || now - receivedAt > silence * (link->isNear() ? kNearSilence : 1);
}

void HubLink::addTo(std::vector<pollfd> &watched) const {
  if (link && welcome)
    watched.push_back({link->descriptor(), link->events(), 0});
}

} // namespace dtc::rt
