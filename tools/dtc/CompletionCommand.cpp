// dtc completion and dtc manual: write what shells and man(1) need, from the command line itself.
#include "compiler/support/Error.h"
#include "compiler/support/File.h"
#include "runtime/format/Counted.h"
#include "tools/cli/Completion.h"
#include "tools/cli/ManualPage.h"
#include "tools/dtc/Commands.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace dtc {
namespace {

int runManual(const CLI::App &app, const std::string &folder) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return UserError("making the folder '" + folder + "': " + error.message()).report(llvm::errs());
  std::vector<ManualPage> pages = manualPages(commandInfo(app), "dtc " DTC_VERSION);
  for (const ManualPage &page : pages) {
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, page.file);
    if (Status wrote = writeFileAtomically(path.str().str(), page.text); !wrote)
      return wrote.error().report(llvm::errs());
  }
  llvm::outs() << folder << ": " << format::counted(pages.size(), "manual page") << "\n";
  return 0;
}

} // namespace

void addCompletion(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "completion", "Prints the script by which a shell completes dtc's commands, flags and "
                    "values\n\nExamples:\n  source <(dtc completion bash)\n"
                    "  dtc completion fish > ~/.config/fish/completions/dtc.fish");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "the shell")->required()->check(oneOf(completionShells()));
  command->callback([shell, &app, &exitCode] {
    llvm::outs() << completionScript(commandInfo(app), *shell);
    exitCode = 0;
  });
}

void addManual(CLI::App &app, int &exitCode) {
  CLI::App *command =
      app.add_subcommand("manual", "Writes the manual pages of dtc and its commands\n\nExample:\n"
                                   "  dtc manual -o man1\n  man -l man1/dtc-plan.1");
  auto folder = std::make_shared<std::string>();
  command->add_option("-o,--output", *folder, "the folder to write to")
      ->type_name("DIR")
      ->required()
      ->check(notEmpty());
  command->callback([folder, &app, &exitCode] { exitCode = runManual(app, *folder); });
}

} // namespace dtc
