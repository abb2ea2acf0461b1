// The keepers of all other ranks, as rank 0's hears them.
#pragma once

#include "runtime/monitor/Hub.h"
#include "runtime/monitor/Link.h"

#include <memory>
#include <poll.h>

namespace dtc::rt {

class Peers {
public:
  // `hub` is told what they say.
  Peers(Hub &hub, int ranks) : hub(hub), ranks(ranks) {}

  // Begins to listen; `address` becomes where, with the secret that they have to know.
  Status open(KeeperAddress &address);
  // In a child, whose it is not.
  void close();
  // Who came, what they said, who is gone.
  void read(const KeeperAddress &address, double now);
  // To all of them, or to that of one rank.
  void tellAll(const Frame &frame);
  void tell(int rank, const Frame &frame);
  // Whether those that have said who they are have all left.
  bool haveLeft() const;
  void addTo(std::vector<pollfd> &watched) const;

private:
  struct Peer {
    Peer(int socket, double now) : link(socket), since(now) {}
    Link link;
    double since;  // -1: to be dropped
    int rank = -1; // before its Hello
  };
  void accept(double now);
  void hear(Peer &peer, const Frame &frame, const KeeperAddress &address, double now);

  Hub &hub;
  int ranks;
  int listener = -1;
  std::vector<std::unique_ptr<Peer>> peers;
};

} // namespace dtc::rt
