// The door between dtrun and libdtc_gloo.so, which is opened only for jobs whose ranks no MPI
// introduces.
#pragma once

#include "runtime/comm/Comm.h"
#include "runtime/comm/Rendezvous.h"
#include "runtime/comm/StartUp.h"

namespace dtc::rt {

// Raised when anything that crosses the door changes: both sides come from one build.
inline constexpr int kGlooPluginVersion = 2;

// Settings of the Gloo communicator.
struct GlooOptions {
  int rank = 0, size = 1;
  double timeoutSeconds = 600;
  uint64_t maxElements = 0; // most elements of one reduction call; 0: a few MiB; tests use less
  PhaseListener *phases = nullptr;  // outlives the world
  Rendezvous *rendezvous = nullptr; // is used until the world is made
  std::string interface;            // empty: the one of the rendezvous's address
};

using GlooPluginVersion = int();
using GlooCreateWorld = void(const GlooOptions &options, std::unique_ptr<Comm> &world,
                             Status &status);

inline constexpr const char *kGlooPluginVersionSymbol = "dtcGlooPluginVersion";
inline constexpr const char *kGlooCreateWorldSymbol = "dtcGlooCreateWorld";

} // namespace dtc::rt
