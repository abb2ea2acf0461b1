// Cold: operands rotate through at least four times the second-level cache. Warm: each run is
// repeated before it is timed. Clocks and power are not changed. All measurements of one kind take
// turns in several rounds. The result is the median over all rounds.
#include "Collectives.h"
#include "CurvesFile.h"
#include "Device.h"
#include "Memory.h"
#include "Products.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

namespace {

struct Options {
  bool dryRun = false, quick = false;
  int device = 0, rounds = 0;
  std::string only, out, level = "nvlink";
};

constexpr const char *usage =
    "usage: measure [--dry-run] [--quick] [--device N] [--rounds N]\n"
    "               [--only launch,memory,products,collectives] [--level NAME] [--out FILE]\n"
    "Measures one GPU, and the collectives of all of this machine. --dry-run lists the shapes and\n"
    "needs no device. --level names the level of the topology file that joins the GPUs of a "
    "machine\n"
    "('nvlink'). The curves go to FILE or stdout.\n";

[[noreturn]] void refuse(const std::string &why) {
  std::fprintf(stderr, "calibrate-gpu: %s\n%s", why.c_str(), usage);
  std::exit(2);
}

int wholeNumber(const char *flag, const char *text, int least, int most) {
  char *end = nullptr;
  long value = std::strtol(text, &end, 10);
  if (end == text || *end || value < least || value > most)
    refuse(std::string(flag) + " wants a whole number from " + std::to_string(least) + " to " +
           std::to_string(most) + ", found '" + text + "'");
  return int(value);
}

void checkKinds(const std::string &only) {
  for (size_t at = 0; at <= only.size();) {
    size_t comma = std::min(only.find(',', at), only.size());
    std::string kind = only.substr(at, comma - at);
    if (kind != "launch" && kind != "memory" && kind != "products" && kind != "collectives")
      refuse("--only names '" + kind + "', wanted launch, memory, products or collectives");
    at = comma + 1;
  }
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag == "--help" || flag == "-h") {
      std::fputs(usage, stdout);
      std::exit(0);
    }
    if (flag == "--dry-run" || flag == "--quick") {
      (flag == "--quick" ? options.quick : options.dryRun) = true;
      continue;
    }
    if (flag != "--device" && flag != "--rounds" && flag != "--only" && flag != "--level" &&
        flag != "--out")
      refuse("'" + flag + "' is no flag");
    if (i + 1 == argc)
      refuse(flag + " wants a value");
    const char *value = argv[++i];
    if (flag == "--device")
      options.device = wholeNumber("--device", value, 0, 1023);
    else if (flag == "--rounds")
      options.rounds = wholeNumber("--rounds", value, 1, 1000);
    else if (flag == "--only")
      checkKinds(options.only = value);
    else if (flag == "--level")
      options.level = value;
    else
      options.out = value;
  }
  return options;
}

bool wants(const Options &options, const char *kind) {
  return options.only.empty() || options.only.find(kind) != std::string::npos;
}

int listShapes(const Options &options) {
  double flops = 0;
  std::vector<Product> products = trainingProducts(options.quick);
  for (const Product &product : products) {
    std::printf("product %s %s %lld x %lld x %lld  %s\n", nameOf(product.type),
                nameOf(product.form), static_cast<long long>(product.m),
                static_cast<long long>(product.n), static_cast<long long>(product.k),
                product.layer.c_str());
    flops += product.flops();
  }
  for (const char *pattern : {"copy", "triad", "pointwise"})
    for (int64_t bytes : memorySizes(options.quick))
      std::printf("memory %s %lld bytes\n", pattern, static_cast<long long>(bytes));
  for (int64_t bytes : collectiveSizes(options.quick))
    std::printf("collectives %lld bytes\n", static_cast<long long>(bytes));
  std::printf("%zu products of %.4g flop together\n", products.size(), flops);
  return 0;
}

std::string today() {
  char date[16] = "";
  std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  if (gmtime_r(&seconds, &parts))
    (void)std::strftime(date, sizeof(date), "%Y-%m-%d", &parts);
  return date;
}

void write(const std::string &path, const std::string &text) {
  std::FILE *file = path.empty() ? stdout : std::fopen(path.c_str(), "w");
  std::string what = "writing '" + path + "'";
  if (!file)
    die(what.c_str(), std::strerror(errno), __FILE__, __LINE__);
  bool failed = std::fwrite(text.data(), 1, text.size(), file) != text.size();
  failed |= std::fflush(file) != 0;
  if (file != stdout)
    failed |= std::fclose(file) != 0;
  if (failed)
    die(what.c_str(), std::strerror(errno), __FILE__, __LINE__);
}

int measure(const Options &options) {
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || options.device >= count) {
    std::fprintf(stderr,
                 "calibrate-gpu: looking for GPU %d: %s; --dry-run lists what would be measured\n",
                 options.device,
                 status != cudaSuccess ? cudaGetErrorString(status) : "this machine has fewer");
    return 1;
  }
  CHECK_CUDA(cudaSetDevice(options.device));
  CurvesHead head;
  head.facts = factsOf(options.device);
  head.before = momentOf(options.device);
  head.date = today();
  head.level = options.level;
  Settings settings;
  settings.quick = options.quick;
  settings.rounds = options.rounds ? options.rounds : options.quick ? 3 : 5;
  settings.coldBytes = std::max<int64_t>(4 * head.facts.cacheBytes, int64_t(64) << 20);
  // five types of operands and one of results each have a pool
  settings.mostBytes = head.facts.freeBytes / 8;
  std::fprintf(stderr, "measuring %s, %d rounds\n", head.facts.name.c_str(), settings.rounds);

  // The launches run first, while the device is still idle.
  MeasuredPoints points;
  if (wants(options, "launch"))
    points.launches = measureLaunch(settings);
  if (wants(options, "memory"))
    points.memory = measureMemory(settings);
  if (wants(options, "products"))
    points.products = measureProducts(settings, head.facts);
  head.after = momentOf(options.device);
  if (wants(options, "collectives"))
    points.collectives = measureCollectives(settings);
  write(options.out, curvesText(head, points));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options = parse(argc, argv);
  return options.dryRun ? listShapes(options) : measure(options);
}
