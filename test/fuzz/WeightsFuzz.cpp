// Reads weights of Hugging Face: the index and two files of a folder, or the first file alone if
// there is no index. Accepted weights must give a valid checkpoint, which can be written out again.
#include "runtime/checkpoint/Folder.h"
#include "runtime/checkpoint/HuggingFaceExport.h"
#include "runtime/checkpoint/HuggingFaceImport.h"
#include "runtime/checkpoint/LoadParameters.h"
#include "runtime/checkpoint/MatchWeights.h"
#include "runtime/checkpoint/ParameterDump.h"
#include "runtime/checkpoint/Reader.h"
#include "runtime/checkpoint/Verify.h"
#include "runtime/checkpoint/WeightFiles.h"
#include "runtime/checkpoint/WrittenWeights.h"
#include "test/fuzz/Outside.h"

#include <cstdlib>
#include <filesystem>

namespace dtc::fuzz {
namespace {

using rt::Status;

rt::TensorSpec specOf(const char *name, const std::vector<uint64_t> &shape) {
  rt::TensorSpec spec;
  spec.name = name;
  spec.globalShape = spec.storedShape = spec.localShape = shape;
  return spec;
}

// Returns a small model with every kind of name: prefixes, a parameter in several tensors, no
// dimensions, no elements.
std::vector<rt::TensorSpec> model() {
  return {specOf("transformer.wte.weight", {4, 2}), specOf("h.0.w", {2, 3}),
          specOf("h.0.experts.*.w", {2, 3}), specOf("scale", {}), specOf("none", {0})};
}

// Writes the folder of an input and returns its path.
std::string writeFolder(Bytes bytes) {
  std::vector<std::string_view> parts =
      splitParts({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, 3);
  std::filesystem::remove_all(folder() + "/weights");
  std::filesystem::create_directory(folder() + "/weights");
  if (parts[0].empty()) {
    (void)write(std::string("weights/") + rt::kWeightsFile, bytesOf(parts[1]));
  } else {
    (void)write(std::string("weights/") + rt::kWeightsIndex, bytesOf(parts[0]));
    (void)write("weights/a.safetensors", bytesOf(parts[1]));
    (void)write("weights/b.safetensors", bytesOf(parts[2]));
  }
  return folder() + "/weights";
}

void mustBeFine(const Status &status) {
  if (!status.ok())
    std::abort();
}

// Writes the weights out again, in files of at most 40 bytes, and reads them back.
void writeAgain(rt::CheckpointReader &reader) {
  std::string out = folder() + "/exported";
  rt::WrittenWeights written;
  mustBeFine(rt::exportHuggingFace(reader, {.config = "{}", .architecture = "", .folder = ""}, out,
                                   /*mostBytes=*/40, written));
  rt::WeightFiles files;
  std::vector<rt::StoredTensor> stored;
  mustBeFine(files.open(out));
  mustBeFine(matchWeights(files, model(), stored));
  std::filesystem::remove_all(out);
}

} // namespace

void readWeights(Bytes bytes) {
  std::string from = writeFolder(bytes), into = folder() + "/imported";
  rt::WrittenWeights written;
  Status imported = rt::importHuggingFace(from, "m", "{}", model(), into, written);
  check(imported, from);
  std::vector<rt::TensorSpec> tensors = model();
  format::RankMesh one(std::vector<uint32_t>{1});
  Status loaded = rt::loadParameters(from, tensors, one, 0,
                                     [](size_t, std::span<const float>) { return Status(); });
  check(loaded, from);
  if (!imported.ok())
    return;
  mustBeFine(loaded);
  rt::CheckpointReader reader;
  std::vector<std::string> problems;
  rt::verifyCheckpoint(into + "/step-0", reader, problems);
  if (!problems.empty())
    std::abort();
  writeAgain(reader);
  std::filesystem::remove_all(into);
}

} // namespace dtc::fuzz
