// The signals that ask a run to save and end.
#pragma once

namespace dtc::rt {

// Installs handlers: the first SIGTERM or SIGUSR2 only sets a flag, and the second one ends the
// process. SIGUSR2 is for launchers that end a job soon after SIGTERM, as mpirun does.
void takeStopSignals();

// Returns true if one of the signals has arrived.
bool stopIsWanted();

} // namespace dtc::rt
