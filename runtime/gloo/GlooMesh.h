// A connection between any two ranks of a job, over Gloo's TCP transport. Gloo throws; nothing here
// does.
#pragma once

#include "runtime/comm/GlooPlugin.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dtc::rt {

// A message between this rank and another. A send matches the receive under the same slot: a rank
// that makes another call than its peer waits until the timeout, and gets nothing that was meant
// for another call.
struct Parcel {
  int peer; // rank in the world
  const void *from = nullptr;
  void *to = nullptr; // null in a send, as is `from` in a receive
  size_t bytes = 0;   // 0: no message
  uint64_t slot = 0;
};

// The connections of a job.
class GlooMesh {
public:
  // Connects all ranks. Collective over the rendezvous. Aborted if a rank is lost meanwhile,
  // Unavailable if Gloo cannot connect them.
  static Status create(const GlooOptions &options, std::shared_ptr<GlooMesh> &mesh);
  virtual ~GlooMesh() = default;

  // Moves all parcels at once, and returns when all have arrived. Any thread may call it, each with
  // slots of its own. Returns false if a peer is gone, `seconds` have passed or the job was given
  // up; reason() then returns the cause, and nothing moves any more.
  virtual bool transfer(std::span<const Parcel> parcels, double seconds) = 0;

  // Ends all transfers, also those under way. Keeps the first reason.
  virtual void fail(const std::string &reason) = 0;
  // Returns true after fail(), or after a failed transfer.
  virtual bool hasFailed() const = 0;
  // Declares that ranks which close their connections from here on have ended normally.
  virtual void leave() = 0;
  // Returns the first reason of a failure.
  virtual std::string reason() const = 0;
};

} // namespace dtc::rt
