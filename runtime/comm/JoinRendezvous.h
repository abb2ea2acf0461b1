// Plans the rendezvous of a job and joins it.
#pragma once

#include "runtime/comm/Rendezvous.h"

#include <memory>

namespace dtc::rt {

// Chooses the rendezvous of the job from the environment. Host: MASTER_ADDR, or the launcher's
// variables (RendezvousAddress.h). Port: DTC_RENDEZVOUS_PORT, or MASTER_PORT and those behind it,
// without that port itself if torchrun's agent listens there; else one that follows from the job's
// name if the launcher gives one, else 29500. Errors: InvalidArgument if a variable is no port, and
// if nothing names the host.
Status planRendezvous(const LaunchEnvironment &launch, const EnvironmentReader &read,
                      double seconds, RendezvousOptions &options);

// Resolves the names of `options.host` into `options.addresses`. Unavailable if none resolves.
// Serves threads that may not resolve names themselves: that reads the environment, which other
// threads may change.
Status findAddresses(RendezvousOptions &options);

// Returns when all ranks have come. Aborted after the time, naming those that are missing, and the
// hosts of the others; its message is empty on a quiet rank that rank 0 has told. InvalidArgument
// where this rank cannot be one of the job.
Status joinRendezvous(const RendezvousOptions &options, std::unique_ptr<Rendezvous> &rendezvous);

} // namespace dtc::rt
