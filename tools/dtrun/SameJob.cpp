#include "tools/dtrun/SameJob.h"

#include "runtime/base/File.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/FolderFiles.h"
#include "runtime/checkpoint/WeightFiles.h"
#include "runtime/comm/Agree.h"
#include "tools/dtrun/RunFiles.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <span>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace dtc::rt {
namespace {

using format::text;

std::string hexOf(XXH64_hash_t hash) {
  char digits[20];
  std::snprintf(digits, sizeof(digits), "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

// Hashes up to 16 MiB of a file, in pieces at even distances. Two different files rarely agree in
// all pieces, and a large file takes no longer.
Status hashFile(const std::string &path, std::string &hash) {
  constexpr uint64_t pieceBytes = 64 << 10, mostPieces = 256;
  InputFile file;
  DTC_RETURN_IF_ERROR(file.open(path));
  uint64_t pieces = std::min((file.size() + pieceBytes - 1) / pieceBytes, mostPieces);
  std::vector<uint8_t> piece(std::min(file.size(), pieceBytes));
  XXH64_hash_t sum = file.size();
  for (uint64_t i = 0; i < pieces; ++i) {
    // The first piece is at the start of the file, and the last piece at its end.
    uint64_t room = file.size() - piece.size();
    DTC_RETURN_IF_ERROR(file.read(pieces < 2 ? 0 : room / (pieces - 1) * i, piece));
    sum = XXH3_64bits_withSeed(piece.data(), piece.size(), sum);
  }
  hash = hexOf(sum);
  return {};
}

std::string exactly(float value) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "%.9g", static_cast<double>(value));
  return digits;
}

// A library that this process has loaded. `id` is the build id that its linker noted in it, in
// hexadecimal digits, or empty if it did not.
struct Library {
  std::string path, id;
};

// Reads the build id from the notes of a loaded object.
std::string buildIdOf(const dl_phdr_info &object) {
  using Part = ElfW(Phdr);
  for (const Part &part : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    if (part.p_type != PT_NOTE)
      continue;
    const auto *at = reinterpret_cast<const uint8_t *>(object.dlpi_addr + part.p_vaddr);
    const uint8_t *end = at + part.p_memsz;
    auto padded = [](size_t bytes) { return (bytes + 3) / 4 * 4; };
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto &note = *reinterpret_cast<const ElfW(Nhdr) *>(at);
      const uint8_t *name = at + sizeof(note), *bytes = name + padded(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && bytes + note.n_descsz <= end &&
          std::memcmp(name, "GNU", 4) == 0) {
        std::string digits;
        for (uint8_t byte : std::span(bytes, note.n_descsz)) {
          digits += "0123456789abcdef"[byte >> 4];
          digits += "0123456789abcdef"[byte & 15];
        }
        return digits;
      }
      at = bytes + padded(note.n_descsz);
    }
  }
  return {};
}

// Returns the library that this process has loaded and whose name begins with `begin`; its path is
// empty if there is none.
Library loadedLibrary(const std::string &begin) {
  struct Search {
    const std::string &begin;
    Library found;
  } search{begin, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto &search = *static_cast<Search *>(data);
        std::string path = info->dlpi_name ? info->dlpi_name : "";
        size_t slash = path.rfind('/');
        std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
        if (name.rfind(search.begin, 0) == 0)
          search.found = {path, buildIdOf(*info)};
        return search.found.path.empty() ? 0 : 1;
      },
      &search);
  return search.found;
}

// Adds the libraries that multiply matrices: their version and the processor type that they were
// told to use. If ranks differ in either, replicas differ in their last bits. A build id tells
// builds apart without reading tens of megabytes.
Status addLibraries(std::vector<Trait> &traits) {
  for (const char *library : {"libopenblas", "libdnnl"}) {
    auto [path, id] = loadedLibrary(library);
    const char *kind = id.empty() ? "hash" : "build id";
    if (!path.empty() && id.empty())
      DTC_RETURN_IF_ERROR(hashFile(path, id));
    traits.push_back({library, path.empty() ? "none" : id,
                      path.empty() ? "none" : text("'", path, "' (", kind, " ", id, ")")});
  }
  for (const char *variable : {"OPENBLAS_CORETYPE", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
    const char *value = std::getenv(variable);
    traits.push_back({variable, value && *value ? value : "unset", {}});
  }
  return {};
}

} // namespace

Status checkSameDtrun(Control &world) {
  std::string hash;
  Status read = hashFile("/proc/self/exe", hash);
  Trait dtrun{"dtrun", read.ok() ? hash : "", text(kVersion, " (build ", hash, ")")};
  return agreeOnTraits(world, {&dtrun, 1});
}

// Hashes a file, or the weights in a folder.
static Status hashInit(const std::string &path, std::string &hash) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return hashFile(path, hash);
  std::vector<std::string> names;
  DTC_RETURN_IF_ERROR(namesIn(path, names));
  std::sort(names.begin(), names.end());
  std::string all, one;
  for (const std::string &name : names)
    if (name.ends_with(".safetensors") || name == kWeightsIndex) {
      DTC_RETURN_IF_ERROR(hashFile(text(path, "/", name), one));
      all += text(name, " ", one, "\n");
    }
  hash = hexOf(XXH3_64bits(all.data(), all.size()));
  return {};
}

Status checkSameJob(Control &world, const Options &options, const Executable &executable,
                    const TrustedKeys &trusted) {
  std::span<const uint8_t> bytes = executable.bytes();
  std::string program = hexOf(XXH3_64bits(bytes.data(), bytes.size()));
  float rate = options.hasLearningRate ? options.learningRate : executable.manifest().default_lr();
  std::string init;
  Status status = options.init.empty() ? Status() : hashInit(options.init, init);
  std::vector<Trait> libraries;
  if (status.ok())
    status = addLibraries(libraries);
  DTC_RETURN_IF_ERROR(agree(world, status));
  std::string gradients;
  for (const auto &[step, path] : gradientFiles(options))
    gradients += text(gradients.empty() ? "" : ",", path);
  std::vector<Trait> traits = {
      {"program", program, text("'", executable.name(), "' (hash ", program, ")")},
      {"--seed", text(options.seed), {}},
      {"--steps", text(options.steps), {}},
      {"--eval-data", options.evalData.empty() ? "none" : "some", {}},
      {"--eval-every", options.hasEvalEvery ? text(options.evalEvery) : "none", {}},
      {"--lr", exactly(rate), {}},
      {"--init", init.empty() ? "none" : init,
       init.empty() ? "none" : text("'", options.init, "' (hash ", init, ")")},
      {"--dump-params", options.dumpParams.empty() ? "none" : options.dumpParams, {}},
      {"--dump-grads", gradients.empty() ? "none" : gradients, {}},
      {"--checkpoint-dir", options.checkpointDir.empty() ? "none" : options.checkpointDir, {}},
      {"--checkpoint-every", text(options.checkpointEvery), {}},
      {"--trust", options.trust.empty() ? "none" : trusted.names(), {}},
      {"--sign-key", options.signKey.empty() ? "none" : "some", {}},
      {"--resume", text(options.resume), {}},
      {"--dry-run", text(options.dryRun), {}},
      {"--spike-factor", options.hasSpikeFactor ? text(options.spikeFactor) : "none", {}},
      {"--check-replicas", text(options.checkReplicas), {}},
      {"--norms-every", options.hasNormsEvery ? text(options.normsEvery) : "none", {}},
  };
  traits.insert(traits.end(), libraries.begin(), libraries.end());
  return agreeOnTraits(world, traits);
}

} // namespace dtc::rt
