// dtc verify: proves from all ranks' programs that an executable computes what it should.
#include "tools/dtc/Commands.h"

#include "compiler/prove/verify/VerifyFile.h"
#include "compiler/support/File.h"

#include <chrono>

namespace dtc {
namespace {

struct VerifyFlags {
  std::string file, format = "text";
};

int runVerify(const VerifyFlags &flags) {
  // An executable must be at an address that is a multiple of 16, such as that of a string on the
  // heap.
  Result<std::string> contents = readFile(flags.file);
  if (!contents)
    return contents.error().report(llvm::errs());
  std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t *>(contents->data()),
                                 contents->size());
  auto start = std::chrono::steady_clock::now();
  Result<VerifyReport> report = verifyFile(bytes, flags.file);
  if (!report)
    return report.error().report(llvm::errs());
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (flags.format == "json")
    llvm::outs() << verifyToJson(*report, flags.file, seconds.count());
  else if (!report->fault)
    printVerified(llvm::outs(), *report, flags.file, seconds.count());
  return report->fault ? faultError(*report->fault, flags.file).report(llvm::errs()) : 0;
}

} // namespace

void addVerify(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "verify",
      "Proves that the collectives of an executable's ranks match and end, and that values are "
      "read, reduced and replicated as they should be\n\nExample:\n  dtc verify gpt2.dte");
  auto flags = std::make_shared<VerifyFlags>();
  command->add_option("FILE", flags->file, "a .dte file")->required();
  command->add_option("--format", flags->format, "text or json, on stdout")
      ->check(oneOf({"text", "json"}));
  command->callback([flags, &exitCode] { exitCode = runVerify(*flags); });
}

} // namespace dtc
