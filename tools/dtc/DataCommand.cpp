// dtc data: hands its words to the Python package dtc_data, which has tokenizers.
#include "tools/dtc/Commands.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace dtc {
namespace {

// Returns the folder that has dtc_data beside this program: that of an installation, or of the
// tree that the program was built from; empty if there is none.
std::string packageFolder() {
  // The address of any function of the program will do.
  std::string program =
      llvm::sys::fs::getMainExecutable(nullptr, reinterpret_cast<void *>(&packageFolder));
  llvm::SmallString<256> installed(llvm::sys::path::parent_path(program));
  llvm::sys::path::append(installed, "..", "share", "dtc", "python");
  for (llvm::StringRef folder : {installed.str(), llvm::StringRef(DTC_PYTHON_FOLDER)}) {
    llvm::SmallString<256> file(folder);
    llvm::sys::path::append(file, "dtc_data", "cli.py");
    if (llvm::sys::fs::exists(file))
      return folder.str();
  }
  return {};
}

// Replaces this process by `words`; returns only where that fails.
int become(const std::vector<std::string> &words) {
  std::vector<char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(const_cast<char *>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments.front(), arguments.data());
  llvm::errs() << "error: starting " << words.front() << ": " << std::strerror(errno)
               << "\nnote: 'dtc data' is a Python program: install python3, or name an interpreter "
                  "with DTC_PYTHON\n";
  return 1;
}

// Runs dtc_data with the interpreter that DTC_PYTHON names; else by the command dtc-data of a
// Python environment on the PATH; else with python3.
int runData(std::vector<std::string> words) {
  const char *stated = std::getenv("DTC_PYTHON");
  bool isStated = stated && *stated;
  if (!isStated && llvm::sys::findProgramByName("dtc-data")) {
    words.insert(words.begin(), "dtc-data");
    return become(words);
  }
  if (std::string folder = packageFolder(); !folder.empty()) {
    const char *path = std::getenv("PYTHONPATH");
    std::string all = path && *path ? folder + ":" + path : folder;
    ::setenv("PYTHONPATH", all.c_str(), 1);
  }
  std::string python = isStated ? stated : "python3";
  words.insert(words.begin(), {python, "-m", "dtc_data"});
  return become(words);
}

} // namespace

void addData(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "data", "Makes token files of text: JSON lines, Parquet files, plain text\n\nExample:\n  dtc "
              "data build corpus.jsonl.gz --tokenizer tokenizer.json -o tokens\n  dtc data build "
              "--help");
  // All words are those of dtc_data, --help as well.
  command->set_help_flag();
  command->prefix_command();
  command->callback([command, &exitCode] { exitCode = runData(command->remaining()); });
}

} // namespace dtc
