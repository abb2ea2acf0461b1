// dtc fmt: prints graph IR in its usual style.
#include "tools/dtc/Commands.h"

#include "compiler/describe/text/ModelPrinter.h"
#include "compiler/describe/text/ParseModel.h"
#include "compiler/support/File.h"
#include "compiler/support/Hints.h"
#include "dialects/graph/Graph.h"

#include "mlir/IR/MLIRContext.h"

namespace dtc {
namespace {

struct FmtFlags {
  std::string model;
  bool inPlace = false;
};

int runFmt(const FmtFlags &flags) {
  Result<std::string> text = readFile(flags.model);
  if (!text)
    return text.error().report(llvm::errs());
  mlir::MLIRContext context;
  context.loadDialect<graph::GraphDialect>();
  SourceNotes notes;
  Result<mlir::OwningOpRef<mlir::ModuleOp>> module =
      parseModel(&context, flags.model, *text, &notes);
  if (!module)
    return reportWithSource(module.error(), *text, llvm::errs());
  std::string formatted = printModel(**module, notes);
  if (!flags.inPlace) {
    llvm::outs() << formatted;
    return 0;
  }
  if (formatted == *text)
    return 0;
  if (Status wrote = writeFileAtomically(flags.model, formatted); !wrote)
    return wrote.error().report(llvm::errs());
  return 0;
}

} // namespace

void addFmt(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "fmt",
      "Writes graph IR in its usual style: types by name, sizes at the top, comments kept\n\n"
      "Example:\n  dtc fmt model.mlir -i");
  auto flags = std::make_shared<FmtFlags>();
  command->add_option("MODEL", flags->model, "a .mlir file in the graph dialect")->required();
  command->add_flag("-i,--in-place", flags->inPlace, "change the file instead of printing it");
  command->callback([flags, &exitCode] { exitCode = runFmt(*flags); });
}

} // namespace dtc
