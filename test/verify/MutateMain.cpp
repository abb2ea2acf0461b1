// dte-mutate [FILE.dte...] [--places N] [--seed S] [--only KIND]: plants faults into valid
// programs, the given ones and a pipeline of two stages, and checks that 'dtc verify' finds each.
// Prints a table with a row for each kind. Exits with 0 only if every fault is found, or shown to
// change nothing. With --write 'KIND' OUT.dte, one fault of the kind that the proof finds is
// planted into the first file, and the result is written.
#include "compiler/prove/verify/VerifyFile.h"
#include "runtime/format/Verify.h"
#include "runtime/format/Write.h"
#include "test/unit/schedule/TwoStages.h"
#include "test/verify/Mutations.h"
#include "test/verify/Packed.h"
#include "test/verify/SameEffect.h"

#include "llvm/Support/Format.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

namespace {

using namespace dtc;

struct Subject {
  std::string name;
  std::vector<uint8_t> file;
  const format::Manifest *manifest = nullptr;
};

// Counts of the faults of one kind, by how they were found.
struct Row {
  int planted = 0, byLoader = 0, byProof = 0, harmless = 0, missed = 0;
};

enum class End { NoSite, ByLoader, ByProof, Harmless, Missed };

End plant(const mutate::Mutation &mutation, const Subject &subject, mutate::Random &random) {
  std::unique_ptr<format::ManifestT> manifest(subject.manifest->UnPack());
  if (!mutation.plant(*manifest, random))
    return End::NoSite;
  test::Packed packed(*manifest);
  if (!format::verifyManifest(*packed, subject.name).ok())
    return End::ByLoader;
  if (verifyPrograms(*packed).fault)
    return End::ByProof;
  // The fault is in a program that the proof skipped.
  if (verifyPrograms(*packed, /*skips=*/false).fault)
    return End::Missed;
  if (mutation.mayBeHarmless && mutate::haveSameEffect(*subject.manifest, *packed))
    return End::Harmless;
  return End::Missed;
}

std::vector<Subject> readSubjects(const std::vector<std::string> &files,
                                  mlir::MLIRContext &context) {
  std::vector<Subject> subjects;
  for (const std::string &name : files) {
    std::ifstream in(name, std::ios::binary);
    subjects.push_back({name, {std::istreambuf_iterator<char>(in), {}}});
  }
  for (int64_t dp : {1, 2})
    subjects.push_back(
        {"two stages, dp " + std::to_string(dp), test::TwoStages(context, dp).pipeline()});
  return subjects;
}

// Writes the file with one fault that the loader lets pass and the proof finds.
int writeFault(const std::string &kind, const Subject &subject, mutate::Random &random,
               const std::string &output) {
  for (const mutate::Mutation &mutation : mutate::allMutations())
    for (int tries = 0; mutation.name == kind && tries < 1000; ++tries) {
      std::unique_ptr<format::ManifestT> manifest(subject.manifest->UnPack());
      if (!mutation.plant(*manifest, random))
        continue;
      test::Packed packed(*manifest);
      if (!format::verifyManifest(*packed, subject.name).ok() || !verifyPrograms(*packed).fault)
        continue;
      std::vector<format::SegmentBytes> segments;
      for (const format::Segment *segment : *subject.manifest->segments()) {
        auto begin = subject.file.begin() + static_cast<std::ptrdiff_t>(segment->offset());
        segments.push_back(
            {segment->kind(), {begin, begin + static_cast<std::ptrdiff_t>(segment->bytes())}});
      }
      std::vector<uint8_t> file = format::writeUnchecked(*manifest, segments);
      std::ofstream(output, std::ios::binary)
          .write(reinterpret_cast<const char *>(file.data()),
                 static_cast<std::streamsize>(file.size()));
      return 0;
    }
  llvm::errs() << "no fault '" << kind << "' was planted\n";
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> files;
  int sites = 100;
  uint64_t seed = 1;
  std::string kind, only, output;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--places" && i + 1 < argc)
      sites = std::atoi(argv[++i]);
    else if (argument == "--write" && i + 2 < argc) {
      kind = argv[++i];
      output = argv[++i];
    } else if (argument == "--only" && i + 1 < argc)
      only = argv[++i];
    else if (argument == "--seed" && i + 1 < argc)
      seed = std::strtoull(argv[++i], nullptr, 10);
    else
      files.push_back(argument);
  }
  mlir::MLIRContext context;
  context.loadDialect<exec::ExecDialect, graph::GraphDialect>();
  std::vector<Subject> subjects = readSubjects(files, context);
  bool good = true;
  for (Subject &subject : subjects) {
    if (rt::Status status = format::verifyExecutable(subject.file, subject.name, subject.manifest);
        !status.ok()) {
      llvm::errs() << status.message() << "\n";
      return 1;
    }
    if (std::optional<Fault> fault = verifyPrograms(*subject.manifest).fault) {
      llvm::errs() << "refused without a fault: " << faultError(*fault, subject.name).text()
                   << "\n";
      return 1;
    }
  }
  mutate::Random random(seed);
  if (!output.empty())
    return writeFault(kind, subjects.front(), random, output);
  llvm::outs() << "fault                                planted  loader   proof  harmless  missed  "
                  "seconds\n";
  for (const mutate::Mutation &mutation : mutate::allMutations()) {
    if (!only.empty() && mutation.name != only)
      continue;
    Row row;
    std::set<std::string> missed;
    auto start = std::chrono::steady_clock::now();
    // Takes the programs that have a place for the fault in turn.
    for (int tries = 0; row.planted < sites && tries < 20 * sites; ++tries) {
      const Subject &subject = subjects[static_cast<size_t>(tries) % subjects.size()];
      End end = plant(mutation, subject, random);
      if (end == End::Missed)
        missed.insert(subject.name + ": " + mutate::lastPlanted());
      row.planted += end != End::NoSite;
      row.byLoader += end == End::ByLoader;
      row.byProof += end == End::ByProof;
      row.harmless += end == End::Harmless;
      row.missed += end == End::Missed;
    }
    std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    llvm::outs() << llvm::format("%-36s %7d %7d %7d  %8d %7d  %7.1f", mutation.name.c_str(),
                                 row.planted, row.byLoader, row.byProof, row.harmless, row.missed,
                                 seconds.count())
                 << "\n";
    for (const std::string &site : missed)
      llvm::outs() << "  missed in " << site << "\n";
    good &= row.missed == 0 && row.planted >= sites;
  }
  return good ? 0 : 1;
}
