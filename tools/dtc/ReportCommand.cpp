// dtc report: writes the logs of a run as one HTML page.
#include "compiler/show/runs/RunPage.h"
#include "compiler/support/File.h"
#include "runtime/format/Counted.h"
#include "tools/dtc/Commands.h"

#include "llvm/Support/Path.h"

namespace dtc {
namespace {

struct ReportFlags {
  std::string folder, output;
};

int runReport(const ReportFlags &flags) {
  if (Status writable = checkWritable(flags.output); !writable)
    return writable.error().report(llvm::errs());
  Result<RunLog> run = readRunLog(flags.folder);
  if (!run)
    return run.error().report(llvm::errs());
  std::vector<RunEvent> events = eventsOf(*run);
  llvm::StringRef name = llvm::sys::path::filename(llvm::StringRef(flags.folder).rtrim('/'));
  Status wrote = writeFileAtomically(flags.output, runPage(name.str(), *run, events));
  if (!wrote)
    return wrote.error().report(llvm::errs());
  llvm::outs() << flags.output << ": " << format::counted(run->ranks.front().steps.size(), "step")
               << " of " << format::counted(run->ranks.size(), "rank") << ", "
               << format::counted(events.size(), "event") << "\n";
  return 0;
}

} // namespace

void addReport(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "report", "Writes how a run went as one HTML page: loss, throughput, goodput, memory, "
                "events\n\nExample:\n  dtc report runs/logs -o run.html");
  auto flags = std::make_shared<ReportFlags>();
  command->add_option("RUN_DIR", flags->folder, "the folder of 'dtrun --log-dir'")
      ->required()
      ->check(notEmpty());
  command->add_option("-o,--output", flags->output, "the page to write")
      ->type_name("FILE.html")
      ->required()
      ->check(notEmpty());
  command->callback([flags, &exitCode] { exitCode = runReport(*flags); });
}

} // namespace dtc
