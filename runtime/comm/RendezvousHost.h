// The side of rank 0 of a rendezvous.
#pragma once

#include "runtime/comm/Rendezvous.h"

#include <memory>

namespace dtc::rt {

// Runs the rendezvous as rank 0.
Status rendezvousAsHost(const RendezvousOptions &options, std::unique_ptr<Rendezvous> &rendezvous);

} // namespace dtc::rt
