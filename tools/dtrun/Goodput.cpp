#include "tools/dtrun/Goodput.h"

#include "runtime/comm/RollCall.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <unistd.h>
#include <utility>
#include <vector>

namespace dtc::rt {

const char *nameOf(Spent what) {
  constexpr const char *names[numSpent] = {"training",         "start_up",   "input_wait",
                                           "checkpoint",       "evaluation", "lost",
                                           "lost_to_failures", "restarting", "other"};
  return names[static_cast<size_t>(what)];
}

Spent Goodput::enter(Spent what, double now) {
  spent[static_cast<size_t>(current)] += now - last;
  last = now;
  return std::exchange(current, what);
}

void Goodput::move(double some, Spent from, Spent to) {
  double &source = spent[static_cast<size_t>(from)];
  double moved = std::clamp(some, 0.0, std::max(source, 0.0));
  source -= moved;
  spent[static_cast<size_t>(to)] += moved;
}

void Goodput::takeBack(const SpentSeconds &kept, double now) {
  (void)enter(current, now);
  constexpr auto training = static_cast<size_t>(Spent::Training);
  move(spent[training] - kept[training], Spent::Training, Spent::Lost);
}

void Goodput::addEarlier(const SpentSeconds &earlier) {
  for (size_t i = 0; i < numSpent; ++i)
    spent[i] += earlier[i];
}

// A checkpoint may hold steps that the job's last note does not. The time after that note was
// counted as lost.
void Goodput::startAgain(const SpentSeconds &job, double kept, double ago, double now) {
  adopt(job, Spent::Restarting, now);
  spent[static_cast<size_t>(Spent::Restarting)] += std::max(ago, 0.0);
  double again = job[static_cast<size_t>(Spent::Training)] - kept;
  move(again, Spent::Training, Spent::LostToFailures);
  move(-again, Spent::LostToFailures, Spent::Training);
}

void Goodput::adopt(const SpentSeconds &others, Spent what, double now) {
  spent = others;
  current = what;
  last = now;
}

SpentSeconds Goodput::seconds(double now) const {
  SpentSeconds result = spent;
  result[static_cast<size_t>(current)] += now - last;
  return result;
}

double Goodput::elapsed(double now) const {
  SpentSeconds all = seconds(now);
  return std::accumulate(all.begin(), all.end(), 0.0);
}

SpentSeconds Goodput::shares(double now) const {
  SpentSeconds result = seconds(now);
  double all = elapsed(now);
  for (double &share : result)
    share = all > 0 ? share / all : 0;
  return result;
}

std::string asText(const JobSpent &job) {
  char number[64];
  std::snprintf(number, sizeof(number), "%.6f", job.until);
  std::string words = number;
  if (job.seconds)
    for (double seconds : *job.seconds) {
      std::snprintf(number, sizeof(number), " %.6f", seconds);
      words += number;
    }
  return words;
}

std::optional<JobSpent> jobSpentOf(std::string_view words) {
  std::vector<double> numbers;
  for (const char *at = words.data(), *end = at + words.size(); at < end;) {
    double value = 0;
    auto [rest, error] = std::from_chars(at, end, value);
    constexpr double kMost = 1e12; // the following text can still be parsed
    if (error != std::errc() || !(value >= 0 && value <= kMost) || (rest < end && *rest != ' '))
      return std::nullopt;
    numbers.push_back(value);
    at = std::min(rest + 1, end);
  }
  if (numbers.size() != 1 && numbers.size() != 1 + numSpent)
    return std::nullopt;
  JobSpent job{.until = numbers[0], .seconds = std::nullopt};
  if (numbers.size() > 1)
    std::copy_n(numbers.begin() + 1, numSpent, job.seconds.emplace().begin());
  return job;
}

JobSpent afterFailure(const JobSpent &before, std::string_view note, double failed) {
  std::optional<JobSpent> said = jobSpentOf(note);
  if (!said || !said->seconds)
    return before;
  (*said->seconds)[static_cast<size_t>(Spent::LostToFailures)] +=
      std::max(failed - said->until, 0.0);
  said->until = failed;
  return *said;
}

double clockSeconds() { return launchClock(); }

// Reads field 22 of the stat file of proc(5), in ticks since the machine started. The second field,
// a name, may contain spaces and parentheses.
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
