// Waits between repeated looks at what another thread or process does.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace dtc::rt {

// Sleeps 20 us at first, then twice as long each time, up to 500 us.
class Backoff {
public:
  // Sleeps, longer after each call.
  void pause() {
    std::this_thread::sleep_for(next);
    next = std::min(2 * next, std::chrono::microseconds(500));
  }

private:
  std::chrono::microseconds next{20};
};

} // namespace dtc::rt
