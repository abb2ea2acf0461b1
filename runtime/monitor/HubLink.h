// The connection of a rank's keeper to that of rank 0.
#pragma once

#include "runtime/monitor/Link.h"

#include <memory>
#include <poll.h>

namespace dtc::rt {

class HubLink {
public:
  // After `silence` seconds without a word rank 0's keeper is lost; later on its own machine.
  explicit HubLink(double silence) : silence(silence) {}

  // Whether there is none yet, nor were all tries in vain.
  bool isWanted() const { return !welcome && !gaveUp; }
  // Whether it is time for a try, to be made by connect().
  bool isDue(double now);
  void connect(const KeeperAddress &address, const Frame &hello, double now);
  // Whether it has been tried for so long that it is tried no more.
  bool hasGivenUp() const { return gaveUp; }

  bool isOpen() const { return link != nullptr; }
  // From a keeper that knows this one.
  bool isWelcome() const { return welcome; }
  // What it has said since.
  std::vector<Frame> receive(double now);
  // Nothing where there is no connection.
  void send(const Frame &frame, bool mayBeDropped = false);
  // Whether it said that it leaves.
  bool hasLeft() const { return left; }
  // Whether the connection has broken, or was silent for too long.
  bool isBroken(double now) const;
  // This machine slept until now: silence means nothing.
  void forgiveSilence(double now) { heardAt = now; }
  void addTo(std::vector<pollfd> &watched) const;

private:
  double silence;
  std::unique_ptr<Link> link;
  bool welcome = false, left = false, gaveUp = false, closed = false;
  size_t nextAddress = 0;
  double begunAt = 0, connectedAt = 0, heardAt = 0;
};

} // namespace dtc::rt
