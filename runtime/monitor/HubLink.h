// The connection of a rank's keeper to that of rank 0.
#pragma once

#include "runtime/monitor/Link.h"

#include <memory>
#include <poll.h>

namespace dtc::rt {

// The connection of a keeper to that of rank 0.
class HubLink {
public:
  // After `silence` seconds without a word rank 0's keeper is lost; later on its own machine.
  explicit HubLink(double silence) : silence(silence) {}

  // Returns true if there is no connection yet and the link has not given up.
  bool isWanted() const { return !welcome && !gaveUp; }
  // Returns true if it is time to call connect().
  bool isDue(double now);
  // Tries to connect to rank 0's keeper and sends `hello`.
  void connect(const KeeperAddress &address, const Frame &hello, double now);
  // Returns true if the time to join has passed without success.
  bool hasGivenUp() const { return gaveUp; }

  // Returns true if there is a connection.
  bool isOpen() const { return link != nullptr; }
  // Returns true if rank 0's keeper has accepted this one.
  bool isWelcome() const { return welcome; }
  // Returns the frames received since the last call.
  std::vector<Frame> receive(double now);
  // Nothing where there is no connection.
  void send(const Frame &frame, bool mayBeDropped = false);
  // Returns true if rank 0's keeper has announced that it leaves.
  bool hasLeft() const { return left; }
  // Returns true if the connection has broken or was silent for too long.
  bool isBroken(double now) const;
  // This machine slept until now: silence means nothing.
  void forgiveSilence(double now) { receivedAt = now; }
  // Adds the connection's socket to those to poll.
  void addTo(std::vector<pollfd> &watched) const;

private:
  double silence;
  std::unique_ptr<Link> link;
  bool welcome = false, left = false, gaveUp = false, closed = false;
  size_t nextAddress = 0;
  double begunAt = 0, connectedAt = 0, receivedAt = 0;
};

} // namespace dtc::rt
