// dtc checkpoint: shows and checks what dtrun saves.
#include "runtime/checkpoint/Verify.h"
#include "tools/dtc/Commands.h"

#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/Reader.h"
#include "runtime/format/Counted.h"
#include "runtime/trust/TrustedKeys.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <sys/stat.h>

namespace dtc {
namespace {

bool isFolder(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

void describe(const rt::CheckpointManifest &manifest) {
  llvm::outs() << "step " << manifest.run.step << " of '" << manifest.model << "'";
  for (size_t i = 0; i < manifest.mesh.size(); ++i)
    llvm::outs() << (i ? " x " : " (") << manifest.mesh[i].first << " " << manifest.mesh[i].second;
  llvm::outs() << (manifest.mesh.empty() ? ": " : "): ")
               << format::counted(manifest.tensors.size(), "tensor") << " in "
               << format::counted(manifest.shards.size(), "shard") << ", " << manifest.bytes()
               << " bytes\n";
}

// Returns true if the checkpoint is good, and prints what is wrong otherwise.
bool verifyOne(const std::string &folder, const rt::TrustedKeys *trusted) {
  rt::CheckpointReader reader;
  std::vector<std::string> problems;
  rt::verifyCheckpoint(folder, reader, problems, trusted);
  if (problems.empty()) {
    llvm::outs() << folder << ": good, ";
    describe(reader.manifest());
    return true;
  }
  llvm::outs() << folder << ": damaged\n";
  constexpr size_t shown = 10;
  for (size_t i = 0; i < std::min(problems.size(), shown); ++i)
    llvm::errs() << "error: " << problems[i] << "\n";
  if (problems.size() > shown)
    llvm::errs() << "error: and " << problems.size() - shown << " more\n";
  return false;
}

int runVerify(const std::string &path, const std::string &trust) {
  rt::TrustedKeys keys;
  if (rt::Status read = trust.empty() ? rt::Status() : keys.load(trust); !read.ok()) {
    llvm::errs() << "error: " << read.message() << "\n";
    return 1;
  }
  const rt::TrustedKeys *trusted = trust.empty() ? nullptr : &keys;
  if (!isFolder(path)) {
    llvm::errs() << "error: '" << path
                 << "' is no folder; wanted the folder of --checkpoint-dir, or "
                 << "a step-N of it\n";
    return 1;
  }
  std::vector<uint64_t> steps;
  if (rt::Status status = rt::CheckpointFolder::steps(path, steps); !status.ok()) {
    llvm::errs() << "error: " << status.message() << "\n";
    return 1;
  }
  struct stat info;
  bool isOne = ::stat((path + "/" + rt::kManifestFile).c_str(), &info) == 0 ||
               ::stat((path + "/" + rt::kMarkerFile).c_str(), &info) == 0;
  if (steps.empty() && !isOne) {
    llvm::errs() << "error: '" << path
                 << "' has no checkpoints; wanted the folder of --checkpoint-dir, "
                 << "or a step-N of it\n";
    return 1;
  }
  if (steps.empty())
    return verifyOne(path, trusted) ? 0 : 1;
  bool allGood = true;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    allGood &= verifyOne(rt::CheckpointFolder::stepPath(path, *step), trusted);
  return allGood ? 0 : 1;
}

} // namespace

void addCheckpoint(CLI::App &app, int &exitCode) {
  CLI::App *group = app.add_subcommand(
      "checkpoint",
      "Checks the checkpoints of dtrun, and converts them to and from Hugging Face "
      "folders\n\nExamples:\n  dtc checkpoint verify checkpoints/\n  dtc checkpoint export "
      "checkpoints/ -o gpt2-trained\n  dtc checkpoint import gpt2 -o checkpoints");
  group->require_subcommand(1);
  auto path = std::make_shared<std::string>();
  CLI::App *verify = group->add_subcommand(
      "verify", "Reads all bytes of checkpoints, checks hashes, sizes and that each element of "
                "each tensor is there once, and names file and bytes of every fault");
  verify->add_option("DIR", *path, "the folder of dtrun --checkpoint-dir, or one step-N of it")
      ->required()
      ->check(notEmpty());
  auto trust = std::make_shared<std::string>();
  verify
      ->add_option("--trust", *trust,
                   "also check that a key of this file has signed them ('dtc sign')")
      ->check(notEmpty())
      ->type_name("KEYS");
  verify->callback([path, trust, &exitCode] { exitCode = runVerify(*path, *trust); });
  addCheckpointExport(*group, exitCode);
  addCheckpointImport(*group, exitCode);
}

} // namespace dtc
