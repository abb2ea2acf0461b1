#include "tools/dtrun/StopSignal.h"

#include <csignal>
#include <initializer_list>

namespace dtc::rt {

static volatile std::sig_atomic_t wanted = 0;

static void onStop(int) { wanted = 1; }

void takeStopSignals() {
  struct sigaction action = {};
  action.sa_handler = onStop;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (int number : {SIGTERM, SIGUSR2})
    ::sigaction(number, &action, nullptr);
}

bool stopIsWanted() { return wanted != 0; }

} // namespace dtc::rt
