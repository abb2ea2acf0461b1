#include "runtime/cuda/NcclVersion.h"

#include "runtime/base/Text.h"

#include <charconv>
#include <cstddef>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dtc::rt::cu {

using format::text;

// Reads a number at the beginning of `bytes` and removes it; returns -1 if there is none.
static int takeNumber(std::string_view &bytes) {
  int number = -1;
  auto [end, error] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), number);
  if (error != std::errc() || number < 0)
    return -1;
  bytes.remove_prefix(static_cast<size_t>(end - bytes.data()));
  return number;
}

static bool takeWord(std::string_view &bytes, std::string_view word) {
  if (!bytes.starts_with(word))
    return false;
  bytes.remove_prefix(word.size());
  return true;
}

int toolkitIn(std::string_view bytes) {
  constexpr std::string_view before = "NCCL version ";
  constexpr size_t longest = 64; // of what follows
  for (size_t at = bytes.find(before); at != std::string_view::npos;
       at = bytes.find(before, at + 1)) {
    std::string_view rest = bytes.substr(at + before.size(), longest);
    if (takeNumber(rest) < 0 || !takeWord(rest, ".") || takeNumber(rest) < 0 ||
        !takeWord(rest, ".") || takeNumber(rest) < 0)
      continue;
    size_t cuda = rest.find("+cuda"), end = rest.find('\0');
    if (cuda == std::string_view::npos || cuda > end)
      continue;
    rest.remove_prefix(cuda);
    (void)takeWord(rest, "+cuda");
    int major = takeNumber(rest), minor = takeWord(rest, ".") ? takeNumber(rest) : -1;
    if (major >= 0 && minor >= 0 && major < 1000 && minor < 100)
      return 1000 * major + 10 * minor;
  }
  return 0;
}

int toolkitOf(const void *function) {
  Dl_info info{};
  if (::dladdr(function, &info) == 0 || !info.dli_fname)
    return 0;
  int file = ::open(info.dli_fname, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  struct stat facts {};
  int toolkit = 0;
  if (::fstat(file, &facts) == 0 && facts.st_size > 0) {
    auto size = static_cast<size_t>(facts.st_size);
    void *bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes != MAP_FAILED) {
      toolkit = toolkitIn({static_cast<const char *>(bytes), size});
      (void)::munmap(bytes, size);
    }
  }
  (void)::close(file);
  return toolkit;
}

NcclConfig configOf(int ncclVersion) {
  NcclConfig config;
  config.bytes = ncclVersion >= leastNcclForGraphUsage ? sizeof(NcclConfig)
                                                       : offsetof(NcclConfig, networkChannels);
  config.version = static_cast<unsigned>(ncclVersion);
  return config;
}

Status checkVersions(const Nccl &nccl, int driverVersion) {
  auto ofCuda = [](int version) { return text(version / 1000, ".", version % 1000 / 10); };
  std::string what =
      text("NCCL, by which ranks on several GPUs exchange data, is version ", nccl.version / 10000,
           ".", nccl.version / 100 % 100, ".", nccl.version % 100);
  const char *advice = ", or name its folder in LD_LIBRARY_PATH";
  if (nccl.version < leastNccl)
    return Status::unavailable(text(what, ", which deadlocks pipelines: install NVIDIA's NCCL ",
                                    "2.27.3 or later", advice));
  if (nccl.toolkit != 0 && nccl.toolkit < leastNcclToolkit)
    return Status::unavailable(text(what, " built with CUDA ", ofCuda(nccl.toolkit),
                                    ", which deadlocks pipelines: install a build of CUDA 12.3 or "
                                    "later",
                                    advice));
  if (nccl.toolkit / 1000 > driverVersion / 1000)
    return Status::unavailable(text(what, " built with CUDA ", ofCuda(nccl.toolkit),
                                    ", and the driver is of CUDA ", ofCuda(driverVersion),
                                    ": update the NVIDIA driver, or install the build of NCCL for "
                                    "CUDA ",
                                    driverVersion / 1000, advice));
  return {};
}

} // namespace dtc::rt::cu
