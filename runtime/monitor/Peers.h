// The keepers of all other ranks, which report to that of rank 0.
#pragma once

#include "runtime/monitor/Hub.h"
#include "runtime/monitor/Link.h"

#include <memory>
#include <poll.h>

namespace dtc::rt {

// The connections of rank 0's keeper to all others.
class Peers {
public:
  // `hub` is told what they say.
  Peers(Hub &hub, int ranks) : hub(hub), ranks(ranks) {}

  // Begins to listen; `address` becomes where, with the secret that they have to know.
  Status open(KeeperAddress &address);
  // In a child, whose it is not.
  void close();
  // Accepts connections, reads frames, and drops closed connections.
  void read(const KeeperAddress &address, double now);
  // Sends a frame to all keepers.
  void sendAll(const Frame &frame);
  // Sends a frame to the keeper of one rank.
  void send(int rank, const Frame &frame);
  // Returns true if all identified keepers have left.
  bool haveLeft() const;
  // Adds the sockets of all connections to those to poll.
  void addTo(std::vector<pollfd> &watched) const;

private:
  struct Peer {
    Peer(int socket, double now) : link(socket), since(now) {}
    Link link;
    double since;  // -1: to be dropped
    int rank = -1; // before its Hello
  };
  void accept(double now);
  void receive(Peer &peer, const Frame &frame, const KeeperAddress &address, double now);

  Hub &hub;
  int ranks;
  int listener = -1;
  std::vector<std::unique_ptr<Peer>> peers;
};

} // namespace dtc::rt
