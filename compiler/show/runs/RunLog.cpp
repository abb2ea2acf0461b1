#include "compiler/show/runs/RunLog.h"

#include "compiler/support/File.h"
#include "compiler/support/JsonText.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

namespace dtc {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostLogBytes = int64_t(16) << 30;

UserError noLog(const std::string &message) {
  return UserError(message, "give the folder that a run wrote with 'dtrun --log-dir'");
}

// The numbers of a line that are copied as they are.
constexpr std::pair<const char *, double LoggedStep::*> kNumbers[] = {
    {"loss", &LoggedStep::loss},
    {"grad_norm", &LoggedStep::gradNorm},
    {"lr", &LoggedStep::learningRate},
    {"loss_scale", &LoggedStep::lossScale},
    {"step_time_s", &LoggedStep::seconds},
    {"samples_per_s", &LoggedStep::samplesPerSecond},
    {"tokens_per_s", &LoggedStep::tokensPerSecond},
    {"mfu", &LoggedStep::mfu},
    {"compute_s", &LoggedStep::compute},
    {"exposed_comm_s", &LoggedStep::exposedComm},
    {"input_wait_s", &LoggedStep::inputWait},
    {"other_s", &LoggedStep::other},
    {"checkpoint_stall_s", &LoggedStep::checkpointStall},
    {"peak_memory_bytes", &LoggedStep::plannedBytes},
    {"resident_bytes", &LoggedStep::residentBytes},
    {"skipped_steps", &LoggedStep::skippedSteps},
    {"roll_backs", &LoggedStep::rollBacks},
    {"skipped_batches", &LoggedStep::skippedBatches},
    {"straggler", &LoggedStep::straggler},
    {"straggler_cost", &LoggedStep::stragglerCost},
    {"elapsed_s", &LoggedStep::elapsed},
};

// Reads the lines of one rank's log.
class LogReader {
public:
  LogReader(const std::string &file, uint64_t rank) : file(file) { log.rank = rank; }

  Result<RankSteps> read(llvm::StringRef text) {
    while (!text.empty()) {
      ++lineNumber;
      size_t end = text.find('\n');
      if (end == llvm::StringRef::npos)
        return cut();
      if (Status status = takeLine(text.take_front(end).str()); !status)
        return status.error();
      text = text.drop_front(end + 1);
    }
    return std::move(log);
  }

private:
  SourceLocation place(int64_t column = 1) const { return {file, lineNumber, column}; }
  UserError cut() const {
    return UserError("the last line is cut off", "remove this line; the steps before it are whole",
                     place());
  }
  UserError wrong(const std::string &message) const {
    return UserError(message, "remove this line, or give a log of 'dtrun --log-dir'", place());
  }

  Status takeLine(const std::string &line) {
    if (std::optional<UserError> error = findJsonError(file, line)) {
      error->location.line = lineNumber;
      error->note = "remove this line; the steps of the other lines are whole";
      return *error;
    }
    Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object() || !object.contains("step") || !object["step"].is_number_unsigned())
      return wrong("the line has no step");
    uint64_t step = object["step"].get<uint64_t>();
    if (object.contains("eval_loss"))
      return takeEvaluation(object, step);
    LoggedStep row;
    row.step = step;
    for (auto [key, member] : kNumbers)
      if (Status status = takeNumber(object, key, row.*member); !status)
        return status;
    if (Status status = takeGoodput(object, row); !status)
      return status;
    row.isRepeated = goBackTo(step);
    log.steps.push_back(row);
    return {};
  }

  Status takeEvaluation(const Json &object, uint64_t step) {
    LoggedEvaluation row{.step = step};
    if (Status status = takeNumber(object, "eval_loss", row.loss); !status)
      return status;
    log.evaluations.push_back(row);
    return {};
  }

  Status takeNumber(const Json &object, const char *key, double &value) const {
    auto found = object.find(key);
    if (found == object.end())
      return wrong(std::string("step ") + object["step"].dump() + " has no '" + key + "'");
    if (found->is_number())
      value = found->get<double>();
    else if (!found->is_null())
      return wrong(std::string("'") + key + "' of step " + object["step"].dump() + " is of type " +
                   std::string(found->type_name()) + ", wanted a number or null");
    return {};
  }

  Status takeGoodput(const Json &object, LoggedStep &row) const {
    auto shares = object.find("goodput");
    if (shares == object.end() || !shares->is_object() || std::isnan(row.elapsed))
      return wrong("step " + std::to_string(row.step) + " has no 'goodput' or no 'elapsed_s'");
    for (size_t cause = 0; cause < kSpentCauses.size(); ++cause) {
      auto share = shares->find(kSpentCauses[cause].key);
      if (share == shares->end() || !share->is_number())
        return wrong("'goodput' of step " + std::to_string(row.step) + " has no share '" +
                     kSpentCauses[cause].key + "'");
      row.spent[cause] = share->get<double>() * row.elapsed;
    }
    return {};
  }

  // Removes the steps from `step` on, which run again. Returns true if there were any.
  bool goBackTo(uint64_t step) {
    bool isRepeated = !log.steps.empty() && log.steps.back().step >= step;
    while (!log.steps.empty() && log.steps.back().step >= step)
      log.steps.pop_back();
    while (!log.evaluations.empty() && log.evaluations.back().step >= step)
      log.evaluations.pop_back();
    return isRepeated;
  }

  const std::string &file;
  int64_t lineNumber = 0;
  RankSteps log;
};

// Returns the number in a name such as "rank-12.jsonl", or nothing for other names.
std::optional<uint64_t> numberIn(llvm::StringRef name, llvm::StringRef prefix,
                                 llvm::StringRef suffix) {
  uint64_t number = 0;
  if (!name.consume_front(prefix) || !name.consume_back(suffix) || name.getAsInteger(10, number))
    return std::nullopt;
  return number;
}

Result<FlightNote> readFlight(const std::string &path, uint64_t rank) {
  Result<std::string> text = readFile(path);
  if (!text)
    return text.error();
  if (std::optional<UserError> error = findJsonError(path, *text)) {
    error->note = "remove this flight record";
    return *error;
  }
  Json root = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  FlightNote note{.rank = rank};
  const Json about = root.is_object() ? root.value("dtc", Json()) : Json();
  if (!about.is_object() || !about.contains("reason") || !about["reason"].is_string())
    return UserError("'" + path + "' is no flight record of dtrun", "remove it");
  note.reason = about["reason"].get<std::string>();
  if (about.contains("place") && about["place"].is_string())
    note.position = about["place"].get<std::string>();
  return note;
}

} // namespace

Result<RunLog> readRunLog(const std::string &folder) {
  RunLog run;
  run.folder = folder;
  std::map<uint64_t, std::string> logs, flights;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    llvm::StringRef name = llvm::sys::path::filename(at->path());
    if (auto rank = numberIn(name, "rank-", ".jsonl"))
      logs[*rank] = at->path();
    else if (auto failed = numberIn(name, "flight-rank-", ".json"))
      flights[*failed] = at->path();
  }
  if (error)
    return noLog("reading the folder '" + folder + "': " + error.message());
  if (!logs.count(0))
    return noLog("'" + folder + "' has no rank-0.jsonl, the log of rank 0");
  for (const auto &[rank, path] : logs) {
    Result<std::string> text = readFile(path, kMostLogBytes);
    if (!text)
      return text.error();
    Result<RankSteps> log = LogReader(path, rank).read(*text);
    if (!log)
      return log.error();
    if (rank == 0 && log->steps.empty())
      return noLog("'" + path + "' has no steps");
    run.ranks.push_back(std::move(*log));
  }
  for (const auto &[rank, path] : flights) {
    Result<FlightNote> note = readFlight(path, rank);
    if (!note)
      return note.error();
    run.flights.push_back(std::move(*note));
  }
  return run;
}

} // namespace dtc
