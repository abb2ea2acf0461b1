// The signals that ask a run to save and end.
#pragma once

namespace dtc::rt {

// From now on the first SIGTERM or SIGUSR2 only sets a flag; the second ends the process. SIGUSR2 is
// for launchers that end a job soon after SIGTERM, as mpirun does.
void takeStopSignals();

// Whether one of them came.
bool stopIsWanted();

} // namespace dtc::rt
