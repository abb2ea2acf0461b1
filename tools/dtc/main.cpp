// dtc: plans and compiles training graphs for clusters.
#include "compiler/support/FinishOutput.h"
#include "tools/cli/AddressSpace.h"
#include "tools/cli/EndWithWords.h"
#include "tools/dtc/Commands.h"

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

DTC_NEED_ADDRESS_SPACE(
    "error: memory ran out before the program began; raise its limit (ulimit -v)\n")

namespace {

constexpr int kUserError = 1, kBadUsage = 2;

// An assertion or crash in dtc is an internal error. Its exit code differs from that of a user's
// error.
void onCrash(void *) {
  llvm::errs()
      << "internal error: this is a bug of dtc; please report the command and the stack above\n";
  std::_Exit(dtc::kInternalError);
}

using Words = std::vector<std::string>;

// Returns the words after the program's name. "dtc help plan" is replaced by "dtc plan --help",
// "dtc help" by "dtc --help" and "dtc version" by "dtc --version".
Words wordsOf(const CLI::App &app, int argc, char **argv) {
  Words words(argv + 1, argv + argc);
  if (words == Words{"version"})
    return {"--version"};
  if (words.empty() || words.front() != "help")
    return words;
  words.erase(words.begin());
  const CLI::App *command = &app;
  for (const std::string &word : words) {
    auto named =
        command->get_subcommands([&](const CLI::App *each) { return each->get_name() == word; });
    if (named.empty())
      return words; // no such command; CLI11 reports the mistake
    command = named.front();
  }
  words.push_back("--help");
  return words;
}

} // namespace

int main(int argc, char **argv) {
  llvm::sys::PrintStackTraceOnErrorSignal(argv[0]);
  llvm::sys::AddSignalHandler(onCrash, nullptr);
  dtc::installLastWords(
      {"error", "use a machine with more of it, or raise its limits (ulimit -v, ulimit -u)",
       kUserError, dtc::kInternalError});
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { dtc::sayMemoryRanOut(); });
  CLI::App app("Plans and compiles training graphs for clusters.\n\n"
               "Example:\n"
               "  dtc plan gpt2/config.json --seq-len 1024 --topology dgx-h100 --global-batch 64 "
               "-o plan.json\n"
               "  dtc compile gpt2/config.json --seq-len 1024 --topology dgx-h100 --plan plan.json "
               "-o gpt2.dte",
               "dtc");
  app.set_version_flag("--version", "dtc " DTC_VERSION);
  app.require_subcommand(1);
  app.failure_message(dtc::usageError);
  int exitCode = 0;
  dtc::addCommands(app, exitCode);
  try {
    Words words = wordsOf(app, argc, argv);
    std::reverse(words.begin(), words.end()); // CLI11 takes them in reverse order
    app.parse(std::move(words));
  } catch (const CLI::ParseError &error) {
    return dtc::finishOutput(app.exit(error) == 0 ? 0 : kBadUsage);
  }
  return dtc::finishOutput(exitCode);
}
