#include "tools/dtrun/Goodput.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <unistd.h>

namespace dtc::rt {

const char *nameOf(Spent what) {
  constexpr const char *names[numSpent] = {"training",   "start_up", "input_wait", "checkpoint",
                                           "evaluation", "lost",     "other"};
  return names[static_cast<size_t>(what)];
}

Spent Goodput::enter(Spent what, double now) {
  seconds[static_cast<size_t>(current)] += now - last;
  last = now;
  Spent before = current;
  current = what;
  return before;
}

void Goodput::move(double some, Spent from, Spent to) {
  double &source = seconds[static_cast<size_t>(from)];
  double moved = std::clamp(some, 0.0, std::max(source, 0.0));
  source -= moved;
  seconds[static_cast<size_t>(to)] += moved;
}

std::array<double, numSpent> Goodput::shares(double now) const {
  std::array<double, numSpent> result = seconds;
  result[static_cast<size_t>(current)] += now - last;
  for (double &share : result)
    share = now > began ? share / (now - began) : 0;
  return result;
}

double clockSeconds() {
  struct timespec now = {};
  (void)::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Field 22 of proc(5)'s stat, in ticks since the machine began. The second field, a name, may have
// spaces and parentheses.
double processBegan() {
  double now = clockSeconds();
  char line[1024];
  std::FILE *file = std::fopen("/proc/self/stat", "re");
  size_t count = file ? std::fread(line, 1, sizeof(line) - 1, file) : 0;
  if (file)
    std::fclose(file);
  line[count] = 0;
  unsigned long long ticks = 0;
  const char *rest = std::strrchr(line, ')');
  long perSecond = ::sysconf(_SC_CLK_TCK);
  if (!rest || perSecond <= 0 ||
      std::sscanf(rest + 1,
                  " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                  "%llu",
                  &ticks) != 1)
    return now;
  return std::min(now, static_cast<double>(ticks) / static_cast<double>(perSecond));
}

} // namespace dtc::rt
