#include "runtime/metrics/MetricsServer.h"

#include "runtime/base/Env.h"
#include "runtime/base/Text.h"
#include "runtime/metrics/HttpServer.h"

#include <climits>
#include <dlfcn.h>
#include <mutex>
#include <unistd.h>

namespace dtc::rt {
namespace {

using format::text;

// Returns the paths at which the plugin may lie, best first, as for libdtc_mpi.so
// (runtime/comm/Bootstrap.cpp).
std::vector<std::string> pluginPaths() {
  if (std::string chosen = envText(EnvVar::MetricsLibrary); !chosen.empty())
    return {chosen};
  std::vector<std::string> paths;
  char program[PATH_MAX];
  ssize_t length = ::readlink("/proc/self/exe", program, sizeof(program));
  if (length > 0 && static_cast<size_t>(length) < sizeof(program)) {
    std::string folder(program, static_cast<size_t>(length));
    folder.resize(folder.rfind('/'));
    paths = {folder + "/libdtc_metrics.so", folder + "/../lib/libdtc_metrics.so",
             folder + "/../lib/dtc/libdtc_metrics.so"};
  }
  paths.push_back("libdtc_metrics.so");
  return paths;
}

// Opens the plugin, which stays open until the process ends.
Status openPlugin(MetricsText *&write) {
  std::string tried;
  for (const std::string &path : pluginPaths()) {
    if (path.find('/') != std::string::npos && ::access(path.c_str(), F_OK) != 0) {
      tried += text(tried.empty() ? "" : ", ", path, " (no such file)");
      continue;
    }
    void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      tried += text(tried.empty() ? "" : ", ", ::dlerror());
      continue;
    }
    auto *version =
        reinterpret_cast<MetricsPluginVersion *>(::dlsym(library, kMetricsPluginVersionSymbol));
    write = reinterpret_cast<MetricsText *>(::dlsym(library, kMetricsTextSymbol));
    if (!version || !write || version() != kMetricsPluginVersion)
      return Status::unavailable(text("loading the metrics plugin '", path,
                                      "': it is of another version of dtc; wanted version ",
                                      kMetricsPluginVersion, "; rebuild target dtc_metrics"));
    return {};
  }
  return Status::unavailable(text("loading the metrics plugin libdtc_metrics.so: ", tried,
                                  "; build target dtc_metrics (prometheus-cpp-dev), set ",
                                  envInfo(EnvVar::MetricsLibrary).name,
                                  ", or leave out --metrics-port"));
}

class Server : public MetricsServer {
public:
  explicit Server(MetricsText *write) : write(write) {}

  Status open(const std::string &address, int port) {
    return HttpServer::listen(
        address, port, [this] { return page(); }, http);
  }
  int port() const override { return http->port(); }
  void set(std::vector<Metric> next) override {
    std::lock_guard lock(mutex);
    metrics.swap(next);
  }

private:
  std::string page() {
    std::vector<Metric> current;
    {
      std::lock_guard lock(mutex);
      current = metrics;
    }
    std::string result;
    write(current, result);
    return result;
  }

  MetricsText *write;
  std::mutex mutex;
  std::vector<Metric> metrics;
  // Last member, so that it ends before the data that its thread reads.
  std::unique_ptr<HttpServer> http;
};

} // namespace

Status serveMetrics(const std::string &address, int port, std::unique_ptr<MetricsServer> &server) {
  MetricsText *write = nullptr;
  DTC_RETURN_IF_ERROR(openPlugin(write));
  auto made = std::make_unique<Server>(write);
  DTC_RETURN_IF_ERROR(made->open(address, port));
  server = std::move(made);
  return {};
}

} // namespace dtc::rt
