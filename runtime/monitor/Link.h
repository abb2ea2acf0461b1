// A connection between two keepers, which carries frames and never makes anybody wait.
#pragma once

#include "runtime/monitor/Frames.h"

#include <poll.h>

namespace dtc::rt {

// A connection between two keepers that sends and receives frames without blocking.
class Link {
public:
  // Takes ownership of a non-blocking socket.
  explicit Link(int socket) : socket(socket) {}
  ~Link();
  Link(const Link &) = delete;
  Link &operator=(const Link &) = delete;

  int descriptor() const { return socket; }
  // Returns true if both ends have the same address, i.e. are on one machine.
  bool isNear() const;
  // Returns the events to poll the socket for.
  short events() const { return static_cast<short>(POLLIN | (out.empty() ? 0 : POLLOUT)); }
  // Sends what can be sent now, the rest when flush() is called. An end that does not read gets no
  // more than some beats: what comes then is dropped where it `mayBeDropped`, else the link fails.
  void send(const Frame &frame, bool mayBeDropped = false);
  // Sends as many of the pending bytes as the socket takes.
  void flush();
  // Reads what is there, and appends the frames in it. False once the other end is gone, or has
  // sent what is no frame; `why` says so.
  bool receive(std::vector<Frame> &frames, std::string &why);
  bool hasFailed() const { return failed; }

private:
  bool takeFrame(std::vector<Frame> &frames, std::string &why);

  int socket;
  bool failed = false;
  std::vector<uint8_t> in, out;
};

// Begins to listen on all addresses of this machine; `address` becomes what others connect to.
// Unavailable where the system refuses.
Status openListener(int &socket, KeeperAddress &address);
// A connection that somebody has opened, or -1.
int acceptLink(int listener);
// Begins to connect to the `which`th address; -1 where there is none such.
int beginConnect(const KeeperAddress &address, size_t which);

} // namespace dtc::rt
