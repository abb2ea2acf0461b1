// Reads plans from files, for the commands that explain them.
#include "tools/dtc/PlanFiles.h"

#include "compiler/decide/plan/PlanJson.h"
#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/support/File.h"
#include "runtime/format/Verify.h"
#include "tools/dtc/PlanningFlags.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <span>

namespace dtc {

namespace {

// Returns the text of the plan from which an executable was compiled, after all checks that dtrun
// makes. `contents` must be at an address that is a multiple of 16, such as that of a string on the
// heap.
Result<std::string> planOfExecutable(const std::string &file, const std::string &contents,
                                     const std::string &doing) {
  std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(contents.data()),
                                 contents.size());
  const format::Manifest *manifest = nullptr;
  if (rt::Status status = format::verifyExecutable(bytes, file, manifest); !status.ok())
    return UserError(status.message());
  if (!manifest->plan_json() || manifest->plan_json()->size() == 0)
    return UserError(doing + " '" + file + "': the executable does not hold its plan",
                     "give the plan.json that it was compiled from ('dtc plan -o plan.json')");
  return manifest->plan_json()->str();
}

} // namespace

Result<Plan> readPlan(const std::string &file, const std::string &doing) {
  Result<std::string> text = readFile(file);
  if (text && llvm::StringRef(*text).starts_with("DTEX"))
    text = planOfExecutable(file, *text, doing);
  if (!text)
    return text.error();
  Plan plan;
  if (Status read = planFromJson(*text, file, plan); !read)
    return read.error();
  return plan;
}

std::string fileNamedBy(const std::string &planFile, const std::string &path) {
  namespace fs = llvm::sys::fs;
  llvm::SmallString<128> folder(planFile);
  if (path.empty() || llvm::sys::path::is_absolute(path) || fs::exists(path) ||
      fs::make_absolute(folder))
    return path;
  while (llvm::sys::path::has_parent_path(folder)) {
    llvm::sys::path::remove_filename(folder);
    llvm::SmallString<128> file(folder);
    llvm::sys::path::append(file, path);
    if (fs::exists(file))
      return file.str().str();
  }
  return path;
}

Status takeModelOf(const Plan &plan, const std::string &planFile, const std::string &doing,
                   const std::string &mend, PlanningFlags &flags) {
  flags.model = fileNamedBy(planFile, plan.origin.model);
  llvm::StringRef model = flags.model;
  if (model.empty())
    return UserError(doing + " '" + planFile + "': the plan does not name its model", mend);
  bool isWritten = model.ends_with(".mlir"); // contains its sequence length
  bool isFile = isWritten || model.contains('/') || model.ends_with(".json");
  if (isFile && !llvm::sys::fs::exists(model))
    return UserError(doing + " '" + planFile + "': there is no '" + flags.model +
                         "', the model of the plan, here or beside the plan",
                     mend);
  if (!isWritten)
    flags.sequence = plan.sequenceLength;
  return {};
}

std::string topologyOf(const Plan &plan) {
  return plan.origin.topology.empty() ? plan.topologyName : plan.origin.topology;
}

Result<Topology> loadTopologyOf(const Plan &plan, int64_t nodes) {
  Result<Topology> made = loadTopology(topologyOf(plan), nodes, plan.devices);
  return made ? made : loadTopology(plan.topologyName, nodes, plan.devices);
}

} // namespace dtc
