// The side of all ranks but 0 of a rendezvous.
#pragma once

#include "runtime/comm/Rendezvous.h"

#include <memory>

namespace dtc::rt {

// Runs the rendezvous as any other rank.
Status rendezvousAsGuest(const RendezvousOptions &options, std::unique_ptr<Rendezvous> &rendezvous);

} // namespace dtc::rt
