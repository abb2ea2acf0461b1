// dtc export: writes a plan as the flags or the configuration of other software.
#include "compiler/decide/plan/PlanJson.h"
#include "compiler/show/export/ExportedPlan.h"
#include "tools/dtc/Commands.h"

#include "compiler/show/export/Export.h"
#include "compiler/support/File.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

struct ExportFlags {
  std::string plan, launcher, version, output;
};

int runExport(const ExportFlags &flags) {
  Launcher launcher = *launcherFrom(flags.launcher);
  if (Result<LauncherRelease> release = releaseFrom(launcher, flags.version); !release) {
    (void)release.error().report(llvm::errs());
    return 2;
  }
  if (!flags.output.empty())
    if (Status checked = checkWritable(flags.output); !checked)
      return checked.error().report(llvm::errs());
  Result<std::string> text = readFile(flags.plan);
  if (!text)
    return text.error().report(llvm::errs());
  Plan plan;
  if (Status read = planFromJson(*text, flags.plan, plan); !read)
    return read.error().report(llvm::errs());
  Result<SoftwareStack> software = stackOf(plan);
  if (!software)
    return software.error().report(llvm::errs());
  Result<ExportedPlan> exported = exportPlan(plan, *software, launcher, flags.version);
  if (!exported)
    return exported.error().report(llvm::errs());
  if (flags.output.empty())
    llvm::outs() << exported->text;
  else if (Status wrote = writeFileAtomically(flags.output, exported->text); !wrote)
    return wrote.error().report(llvm::errs());
  for (const std::string &note : exported->notes)
    llvm::errs() << "note: " << note << "\n";
  return 0;
}

} // namespace

void addExport(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "export",
      "Writes a plan as the flags or the configuration of other software, or lists the decisions "
      "that it can't express\n\nExample:\n  dtc export plan.json --to megatron-lm -o plan.sh");
  auto flags = std::make_shared<ExportFlags>();
  command->add_option("PLAN", flags->plan, "a plan.json of 'dtc plan -o'")
      ->required()
      ->check(notEmpty());
  std::vector<std::string> names;
  for (llvm::StringRef name : launcherNames())
    names.push_back(name.str());
  command->add_option("--to", flags->launcher, "the software that is to run the plan")
      ->required()
      ->check(oneOf(names));
  command
      ->add_option("--launcher-version", flags->version,
                   "the version of that software; default: the newest release, as the file says")
      ->type_name("VERSION")
      ->check(notEmpty());
  command->add_option("-o,--output", flags->output, "write it to this file instead of stdout")
      ->type_name("FILE");
  command->callback([flags, &exitCode] { exitCode = runExport(*flags); });
}

} // namespace dtc
