// The devices, links and tasks of a simulation.
#pragma once

#include "llvm/ADT/SmallVector.h"

#include <string>

namespace dtc {

// A device of the simulation.
struct SimDevice {
  std::string name;
  // A computation takes this many times as long while a transfer goes on at the device, latency
  // included. 1 or more.
  double computeSlowdown = 1;
};

// Does its tasks one after another, in the order in which they were added.
struct SimStream {
  int device = 0;
  std::string name;
};

// One direction of a link. Transfers share it max-min fairly: no transfer can have more without
// taking from one that has no more than it (progressive filling; Bertsekas and Gallager, Data
// Networks, section 6.5.2).
struct SimLink {
  std::string name;
  double bytesPerSecond = 0;
};

// The kind of a task.
enum class SimTaskKind { Compute, Transfer };

// A computation or a transfer.
struct SimTask {
  SimTaskKind kind = SimTaskKind::Compute;
  std::string name;
  // Starts when it is the next one of all of these: one stream for a computation, a sender's and a
  // receiver's for a message, one of every rank for a collective.
  llvm::SmallVector<int, 2> streams;
  llvm::SmallVector<int, 2> dependencies = {}; // tasks that have to end before it starts
  double seconds = 0;                          // seconds of a computation, or latency of a transfer
  double bytes = 0;                     // bytes over every link of the route; 0 for a computation
  llvm::SmallVector<int, 2> route = {}; // links; none: the bytes take no time
};

} // namespace dtc
