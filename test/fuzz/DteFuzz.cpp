// dte-fuzz FILE: changes bytes of a .dte file many times and checks that each result is refused
// with a clear error or runs.
//
// Even mutations change raw bytes and must be refused. Odd ones change the manifest and sign it
// again; those that still pass the verifier run one step in a process of their own, and a crash or
// a hang is a failure. A file whose description of its machine code was changed is not run, as the
// runtime trusts the compiler's code.
#include "runtime/format/Verify.h"
#include "test/fuzz/Mutate.h"
#include "test/fuzz/RunOnce.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace dtc::fuzz {
namespace {

struct Settings {
  std::string file;
  uint64_t mutations = 10000;
  uint64_t seed = 1;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  unsigned limitSeconds = 20;
  std::string saveFolder = ".";
};

struct Counts {
  uint64_t raw = 0, manifest = 0, rejected = 0, ran = 0, refused = 0, notRun = 0, failures = 0;
};

using Bytes = std::vector<uint8_t>;

bool sameKernels(const format::Manifest &a, const format::Manifest &b) {
  std::unique_ptr<format::ManifestT> left(a.UnPack()), right(b.UnPack());
  return left->kernels.size() == right->kernels.size() &&
         std::equal(left->kernels.begin(), left->kernels.end(), right->kernels.begin(),
                    [](const auto &x, const auto &y) { return *x == *y; });
}

// Returns the fault of a verifier's message; empty if there is none.
std::string faultOf(const std::string &message) {
  if (message.rfind("fuzz.dte: ", 0) != 0)
    return "the error does not begin with the file's name";
  for (char c : message)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return "the error contains a control character";
  return message.size() > 16384 ? "the error is longer than 16 kB" : "";
}

class Fuzzer {
public:
  Fuzzer(const Settings &settings, const Bytes &original, const format::Manifest &manifest)
      : settings(settings), original(original), manifest(manifest) {}

  // Runs the mutations that are `job` modulo the number of jobs.
  Counts run(unsigned job) {
    for (uint64_t i = job; i < settings.mutations; i += settings.jobs)
      runOne(i);
    return counts;
  }

private:
  void runOne(uint64_t index);
  void execute(uint64_t index, const Bytes &file);
  void fail(uint64_t index, const Bytes &file, const std::string &what);

  const Settings &settings;
  const Bytes &original;
  const format::Manifest &manifest;
  Counts counts;
};

void Fuzzer::fail(uint64_t index, const Bytes &file, const std::string &what) {
  ++counts.failures;
  std::string path = settings.saveFolder + "/fuzz-" + std::to_string(settings.seed) + "-" +
                     std::to_string(index) + ".dte";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()),
             static_cast<std::streamsize>(file.size()));
  std::fprintf(stderr, "dte-fuzz: mutation %llu: %s; the file is %s\n",
               static_cast<unsigned long long>(index), what.c_str(), path.c_str());
}

void Fuzzer::execute(uint64_t index, const Bytes &file) {
  RunResult result = runOnce(file, settings.limitSeconds);
  switch (result.runStatus) {
  case RunStatus::Ran:
    ++counts.ran;
    return;
  case RunStatus::Refused:
    ++counts.refused;
    return;
  case RunStatus::Crashed:
    return fail(index, file, "crashed: " + result.what);
  case RunStatus::Hung:
    return fail(index, file, "hung");
  }
}

void Fuzzer::runOne(uint64_t index) {
  Random random(settings.seed * 1000003 + index);
  bool raw = index % 2 == 0;
  Bytes file = raw ? mutateRaw(original, random) : mutateSigned(original, random);
  ++(raw ? counts.raw : counts.manifest);
  const format::Manifest *changed = nullptr;
  rt::Status status = format::verifyExecutable(file, "fuzz.dte", changed);
  if (!status.ok()) {
    ++counts.rejected;
    std::string fault = faultOf(status.message());
    if (!fault.empty())
      fail(index, file, fault + ": " + status.message());
    return;
  }
  if (raw && file != original)
    return fail(index, file, "accepted although bytes changed and hashes did not");
  if (!sameKernels(manifest, *changed)) {
    ++counts.notRun;
    return;
  }
  execute(index, file);
}

// Runs one process for each job, which sends its counts through a pipe.
Counts runJobs(const Settings &settings, const Bytes &original, const format::Manifest &manifest) {
  int ends[2];
  if (::pipe(ends) != 0)
    return Counts{.failures = 1};
  for (unsigned job = 0; job < settings.jobs; ++job)
    if (::fork() == 0) {
      if (!warmUp(original))
        ::_exit(1);
      Counts counts = Fuzzer(settings, original, manifest).run(job);
      bool sent = ::write(ends[1], &counts, sizeof(counts)) == sizeof(counts);
      ::_exit(sent ? 0 : 1);
    }
  ::close(ends[1]);
  Counts total, part;
  unsigned reports = 0;
  while (::read(ends[0], &part, sizeof(part)) == sizeof(part)) {
    total.raw += part.raw;
    total.manifest += part.manifest;
    total.rejected += part.rejected;
    total.ran += part.ran;
    total.refused += part.refused;
    total.notRun += part.notRun;
    total.failures += part.failures;
    ++reports;
  }
  while (::wait(nullptr) > 0)
    ;
  if (reports != settings.jobs) {
    std::fprintf(stderr, "dte-fuzz: %u of %u jobs ended early: the verifier crashed\n",
                 settings.jobs - reports, settings.jobs);
    ++total.failures;
  }
  return total;
}

int run(const Settings &settings) {
  std::ifstream in(settings.file, std::ios::binary);
  Bytes original((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const format::Manifest *manifest = nullptr;
  rt::Status status = format::verifyExecutable(original, settings.file, manifest);
  if (!status.ok()) {
    std::fprintf(stderr, "dte-fuzz: %s\n", status.message().c_str());
    return 1;
  }
  RunResult untouched = runOnce(original, settings.limitSeconds);
  if (untouched.runStatus != RunStatus::Ran) {
    std::fprintf(stderr, "dte-fuzz: %s does not run as it is %s\n", settings.file.c_str(),
                 untouched.what.c_str());
    return 1;
  }
  auto begin = std::chrono::steady_clock::now();
  Counts counts = runJobs(settings, original, *manifest);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  auto print = [](uint64_t count) { return static_cast<unsigned long long>(count); };
  std::printf("dte-fuzz: %llu mutations (%llu raw, %llu signed), seed %llu: %llu rejected, %llu "
              "ran, %llu ended in an error, %llu not run (kernels described anew), %llu failures, "
              "%.1f s\n",
              print(counts.raw + counts.manifest), print(counts.raw), print(counts.manifest),
              print(settings.seed), print(counts.rejected), print(counts.ran),
              print(counts.refused), print(counts.notRun), print(counts.failures), seconds);
  return counts.failures == 0 ? 0 : 1;
}

} // namespace
} // namespace dtc::fuzz

int main(int argc, char **argv) {
  // Libraries that start threads read these when they are loaded; see warmUp().
  const char *omp = std::getenv("OMP_NUM_THREADS"), *blas = std::getenv("OPENBLAS_NUM_THREADS");
  if (!omp || !blas || std::strcmp(omp, "1") != 0 || std::strcmp(blas, "1") != 0) {
    ::setenv("OMP_NUM_THREADS", "1", 1);
    ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
    ::execv("/proc/self/exe", argv);
  }
  dtc::fuzz::Settings settings;
  CLI::App app("Fuzzes the check of .dte files. Example: dte-fuzz model.dte --mutations 100000");
  app.add_option("file", settings.file, "a .dte file that is good")->required();
  app.add_option("--mutations", settings.mutations, "how many");
  app.add_option("--seed", settings.seed, "of the mutations");
  app.add_option("--jobs", settings.jobs, "processes; default: one a core")
      ->check(CLI::Range(1, 256));
  app.add_option("--limit", settings.limitSeconds, "seconds after which a step counts as hung")
      ->check(CLI::Range(1, 3600));
  app.add_option("--save", settings.saveFolder, "where files that fail are kept");
  CLI11_PARSE(app, argc, argv);
  return dtc::fuzz::run(settings);
}
