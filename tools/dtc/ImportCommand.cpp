// dtc import: makes graph IR from a Hugging Face config.json.
#include "tools/dtc/Commands.h"

#include "compiler/describe/frontend/Frontend.h"
#include "compiler/support/File.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Path.h"

namespace dtc {
namespace {

struct ImportFlags {
  std::string config, output;
  int64_t sequence = 0;
  bool documents = false;
};

int runImport(const ImportFlags &flags) {
  mlir::MLIRContext context;
  SourceNotes notes;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      loadWrittenModel(&context, flags.config, flags.sequence, llvm::errs(), notes,
                       flags.documents ? Documents::LossPerToken : Documents::None);
  if (!module)
    return 1;
  if (notes.header.empty())
    notes.header = {"// " + llvm::sys::path::filename(flags.config).str() +
                    " as 'dtc import' wrote it."};
  if (Status wrote = writeFileAtomically(flags.output, printModel(*module, notes)); !wrote)
    return wrote.error().report(llvm::errs());
  return 0;
}

} // namespace

void addImport(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "import", "Turns a Hugging Face config.json into graph IR\n\nExample:\n  dtc import "
                "gpt2/config.json --seq-len 1024 -o gpt2.mlir");
  auto flags = std::make_shared<ImportFlags>();
  command
      ->add_option("CONFIG", flags->config,
                   "config.json of a model_type of docs/writing-a-model.md, a folder that holds "
                   "one, or a name of the catalogue, such as llama-3-8b")
      ->required();
  command->add_option("--seq-len", flags->sequence, "sequence length (default: the model's)")
      ->check(wholeNumber(1));
  command->add_flag("--documents", flags->documents,
                    "samples are of several documents, which attention and positions stay within");
  command->add_option("-o,--output", flags->output, "the .mlir file to write")->required();
  command->callback([flags, &exitCode] { exitCode = runImport(*flags); });
}

} // namespace dtc
