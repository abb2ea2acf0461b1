// Keeps finished plans in a folder.
#include "compiler/search/planner/PlanCache.h"

#include "compiler/decide/plan/PlanJson.h"
#include "compiler/decide/plan/PlanToJson.h"
#include "compiler/describe/stack/Fingerprint.h"
#include "compiler/support/File.h"
#include "compiler/support/JsonText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <nlohmann/json.hpp>

namespace dtc {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char *kSchema = "dtc.plan-cache/1";
// Number of alternatives stored: those that `dtc plan` shows, and more for the report's frontier.
constexpr size_t kMostOthers = 24;

std::string hashOf(llvm::StringRef bytes) {
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(llvm::arrayRefFromStringRef(bytes));
  return llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
         llvm::utohexstr(hash.low64, /*LowerCase=*/true, 16);
}

std::optional<Plan> planOf(const Json &json, const std::string &file) {
  Plan plan;
  if (!planFromJson(json.dump(), file, plan))
    return std::nullopt;
  return plan;
}

// Adds the settings of a step that its plan does not decide.
void addSettings(llvm::raw_ostream &out, const StepOptions &step) {
  for (double value : {step.beta1, step.beta2, step.epsilon, step.weightDecay, step.clipNorm,
                       step.minLrRatio, step.trustCoefficient, step.muonMomentum})
    out << llvm::format("%.17g ", value);
  out << step.cosine << " " << step.warmupSteps << " " << step.coupledDecay << " "
      << nameOf(step.matrixRate) << "\n";
}

} // namespace

Result<PlanCache> PlanCache::open(const std::string &folder, const std::string &program) {
  std::error_code error = llvm::sys::fs::create_directories(folder);
  if (!error && !llvm::sys::fs::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    return UserError("making the plan cache '" + folder + "': " + error.message(),
                     "name a folder that can be written");
  auto file = llvm::MemoryBuffer::getFile(program, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return UserError("reading the program '" + program + "': " + file.getError().message());
  PlanCache cache;
  cache.folder = folder;
  cache.programHash = hashOf((*file)->getBuffer());
  return cache;
}

std::string PlanCache::keyOf(const PlanRequest &request) const {
  std::string text;
  llvm::raw_string_ostream out(text);
  // Each field of the request has a line; the graph, which is longest, comes last.
  out << programHash << "\n"
      << request.topology.fingerprint << "\n"
      << request.topology.nodes << " " << request.topology.numDevices() << "\n"
      << request.globalBatch << " " << nameOf(request.precision) << " " << nameOf(request.optimizer)
      << " " << nameOf(request.optimizerState) << " "
      << (request.gradDtype ? nameOf(*request.gradDtype) : "") << " "
      << (request.software ? fingerprintOf(*request.software) : kOwnStack) << "\n"
      << request.maxMemoryBytes.value_or(-1) << " " << request.ignoreMemory << " "
      << request.marginShare.value_or(-1) << " " << request.marginBytes.value_or(-1) << " "
      << request.risk.value_or(-1) << " " << request.executable << " " << request.prefersExecutable
      << " " << request.mayIdle << " " << request.onGpu << " " << request.searchWork << "\n";
  addSettings(out, request.step);
  for (const auto &[key, value] : request.fixed)
    out << key << "=" << value << ",";
  out << "\n";
  request.model->print(out);
  return hashOf(text);
}

std::string PlanCache::fileOf(const std::string &key) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, key + ".json");
  return std::string(path);
}

std::optional<PlanResult> PlanCache::find(const std::string &key) const {
  std::string file = fileOf(key);
  Result<std::string> text = readFile(file);
  if (!text || findJsonError(file, *text)) // also rejects nesting that the cache never writes
    return std::nullopt;
  Json json = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("schema") || json["schema"] != kSchema ||
      !json.contains("key") || json["key"] != key || !json.contains("plan") ||
      !json.contains("others") || !json["others"].is_array())
    return std::nullopt;
  PlanResult planResult;
  std::optional<Plan> best = planOf(json["plan"], file);
  if (!best)
    return std::nullopt;
  planResult.best = std::move(*best);
  for (const Json &other : json["others"]) {
    std::optional<Plan> plan = planOf(other, file);
    if (!plan)
      return std::nullopt;
    planResult.others.push_back(std::move(*plan));
  }
  return planResult;
}

Status PlanCache::store(const std::string &key, const PlanResult &planResult) const {
  Json json{{"schema", kSchema}, {"key", key}, {"plan", Json::parse(planToJson(planResult.best))}};
  json["others"] = Json::array();
  for (const Plan &plan : planResult.others) {
    if (json["others"].size() == kMostOthers)
      break;
    json["others"].push_back(Json::parse(planToJson(plan)));
  }
  return writeFileAtomically(fileOf(key), json.dump() + "\n");
}

Result<PlanResult> planModel(const PlanRequest &request, const PlanCache &cache, bool &wasFound,
                             std::optional<Plan> *leastMemory) {
  std::string key = cache.keyOf(request);
  std::optional<PlanResult> known = cache.find(key);
  wasFound = known.has_value();
  if (known)
    return std::move(*known);
  Result<PlanResult> planResult = planModel(request, leastMemory);
  // A plan whose search the clock ended is not stored, as another run may find a better one.
  if (planResult && planResult->best.search.end != SearchEnd::Seconds)
    if (Status stored = cache.store(key, *planResult); !stored)
      return stored.error();
  return planResult;
}

} // namespace dtc
