#include "compiler/show/timeline/ReadTrace.h"

#include "compiler/support/JsonText.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <optional>

namespace dtc {
namespace {

using Json = nlohmann::json;

// A year. What is longer is no time of a run, and sums of more could be infinite.
constexpr double kMostMicros = 3.2e13;

const Json *find(const Json &object, const char *key) {
  auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

bool takeCount(const Json &object, const char *key, uint64_t most, uint64_t &value) {
  const Json *found = find(object, key);
  bool isCount = found && found->is_number_unsigned() && found->get<uint64_t>() <= most;
  value = isCount ? found->get<uint64_t>() : 0;
  return isCount;
}

bool takeSeconds(const Json &object, const char *key, double &seconds) {
  const Json *found = find(object, key);
  double micros = found && found->is_number() ? found->get<double>() : 2 * kMostMicros;
  seconds = micros * 1e-6;
  return std::abs(micros) <= kMostMicros;
}

bool takeWords(const Json &object, const char *key, std::string &words) {
  const Json *found = find(object, key);
  bool isString = found && found->is_string();
  words = isString ? found->get<std::string>() : "";
  return isString;
}

// Nothing where a field is missing or is none that dtrun writes.
std::optional<TracedRun> readRun(const Json &event, uint32_t &rank) {
  TracedRun run;
  const Json *args = find(event, "args");
  uint64_t instruction = 0, process = 0;
  double seconds = 0;
  if (!args || !args->is_object() || !takeCount(*args, "step", UINT32_MAX, run.step) ||
      !takeCount(*args, "instruction", UINT32_MAX, instruction) ||
      !takeCount(event, "pid", UINT32_MAX, process) || !takeSeconds(event, "ts", run.begin) ||
      !takeSeconds(event, "dur", seconds) || !takeWords(*args, "task", run.task) ||
      !takeWords(event, "name", run.name))
    return std::nullopt;
  run.instruction = static_cast<uint32_t>(instruction);
  run.end = run.begin + seconds;
  rank = static_cast<uint32_t>(process);
  return run;
}

} // namespace

Result<std::vector<TracedRun>> readTrace(const std::string &text, const std::string &file,
                                         uint32_t &rank) {
  UserError wrong("reading '" + file + "': it is no trace of 'dtrun --profile'",
                  "give the file that dtrun wrote with --profile");
  if (findJsonError(file, text)) // nesting that overflows a stack, too
    return wrong;
  Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Json *events = root.is_object() ? find(root, "traceEvents") : nullptr;
  if (!events || !events->is_array())
    return wrong;
  std::vector<TracedRun> runs;
  for (const Json &event : *events) {
    std::string phase;
    if (!event.is_object() || !takeWords(event, "ph", phase) || phase != "X")
      continue;
    std::optional<TracedRun> run = readRun(event, rank);
    if (!run)
      return wrong;
    runs.push_back(std::move(*run));
  }
  if (runs.empty())
    return wrong;
  return runs;
}

} // namespace dtc
