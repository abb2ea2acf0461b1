// dtc inspect: shows the content of an executable or a plan.
#include "compiler/decide/plan/PlanJson.h"
#include "compiler/decide/plan/PlanToJson.h"
#include "tools/dtc/Commands.h"
#include "tools/dtc/PlanFiles.h"

#include "compiler/build/emit/Inspect.h"
#include "compiler/search/planner/Planner.h"
#include "compiler/show/explain/PlanText.h"
#include "compiler/support/File.h"

namespace dtc {
namespace {

struct InspectFlags {
  std::string file, format = "text";
  int64_t rank = -1;
};

int inspectPlan(const InspectFlags &flags, const std::string &text) {
  if (flags.rank >= 0)
    return UserError("--rank lists instructions, and '" + flags.file + "' is a plan",
                     "leave it out, or give the .dte file that was compiled of the plan")
        .report(llvm::errs());
  PlanResult planResult;
  if (Status read = planFromJson(text, flags.file, planResult.best); !read)
    return read.error().report(llvm::errs());
  if (flags.format == "json") {
    llvm::outs() << planToJson(planResult.best);
    return 0;
  }
  Result<Topology> topology = loadTopologyOf(planResult.best, 0);
  if (!topology)
    return topology.error().report(llvm::errs());
  llvm::outs() << planToText(planResult, *topology);
  return 0;
}

int runInspect(const InspectFlags &flags) {
  // An executable must be at an address that is a multiple of 16, such as that of a string on the
  // heap.
  Result<std::string> contents = readFile(flags.file);
  if (!contents)
    return contents.error().report(llvm::errs());
  llvm::StringRef bytes = *contents;
  if (bytes.ltrim().starts_with("{"))
    return inspectPlan(flags, bytes.str());
  InspectOptions options;
  options.json = flags.format == "json";
  if (flags.rank >= 0)
    options.rank = static_cast<uint32_t>(flags.rank);
  std::span<const uint8_t> file(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  if (Status done = inspectExecutable(file, flags.file, options, llvm::outs()); !done)
    return done.error().report(llvm::errs());
  return 0;
}

} // namespace

void addInspect(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "inspect", "Shows what is in an executable or a plan\n\nExample:\n  dtc inspect "
                 "gpt2.dte --rank 3");
  auto flags = std::make_shared<InspectFlags>();
  command->add_option("FILE", flags->file, "a .dte file or a plan.json")->required();
  command->add_option("--rank", flags->rank, "list this rank's instructions")
      ->check(wholeNumber(0, std::numeric_limits<uint32_t>::max()));
  command->add_option("--format", flags->format, "text or json")->check(oneOf({"text", "json"}));
  command->callback([flags, &exitCode] { exitCode = runInspect(*flags); });
}

} // namespace dtc
