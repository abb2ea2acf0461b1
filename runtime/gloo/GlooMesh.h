// A connection between any two ranks of a job, by Gloo's TCP transport. Gloo throws; nothing here does.
#pragma once

#include "runtime/comm/GlooPlugin.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// A message between this rank and another. What is sent meets what is received under the same slot: a rank that makes
// another call than its peer waits until the time is out, and gets nothing that was meant for something else.
struct Parcel {
  int peer; // in the world
  const void *from = nullptr;
  void *to = nullptr; // one of both
  size_t bytes = 0;   // none at all: no message
  uint64_t slot = 0;
};

class GlooMesh {
public:
  // Collective over the meeting. Aborted where a rank is lost meanwhile, Unavailable where Gloo can't connect them.
  static Status create(const GlooOptions &options, std::shared_ptr<GlooMesh> &mesh);
  virtual ~GlooMesh() = default;

  // Moves all parcels at once, and returns when all are there. Any thread may call it, each with slots of its own. False
  // where a peer is gone, `seconds` have passed or the job was given up; reason() says so then, and nothing moves any more.
  virtual bool transfer(std::span<const Parcel> parcels, double seconds) = 0;

  // Ends all transfers, also those under way. Keeps the first reason.
  virtual void fail(const std::string &reason) = 0;
  virtual bool hasFailed() const = 0;
  // From here on ranks that close their connections have come to their end.
  virtual void leave() = 0;
  virtual std::string reason() const = 0;
};

} // namespace dtc::rt
