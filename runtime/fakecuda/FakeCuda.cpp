#include "runtime/fakecuda/FakeCuda.h"

#include "runtime/base/Text.h"
#include "runtime/cuda/NcclVersion.h"
#include "runtime/fakecuda/FakeBlasLt.h"
#include "runtime/fakecuda/FakeCudaOptions.h"
#include "runtime/fakecuda/FakeCudnn.h"
#include "runtime/fakecuda/FakeDriver.h"
#include "runtime/fakecuda/FakeNccl.h"
#include "runtime/fakecuda/Machine.h"

#include <cstdio>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

namespace dtc::rt {
namespace {

using format::text;

class FakeCudaImpl : public FakeCuda {
public:
  explicit FakeCudaImpl(const FakeCudaOptions &options) : machine(options) {
    fake::fillDriver(driverTable);
    fake::fillBlasLt(blasTable);
    fake::fillCudnn(cudnnTable);
    fake::fillNccl(ncclTable);
    ncclTable.version = options.ncclVersion;
    ncclTable.toolkit = options.ncclToolkit;
  }
  ~FakeCudaImpl() override {
    std::unique_lock lock(machine.mutex);
    machine.isEnding = true;
    while (machine.stuck > 0)
      machine.rest(lock);
    if (machine.options.report)
      std::fprintf(stderr, "emulated GPU: %s\n",
                   text(machine.launches, " kernels ran",
                        machine.options.cudnnVersion == 0
                            ? ""
                            : text(", cuDNN ran ", machine.cudnnGraphs, " graphs"))
                       .c_str());
  }

  Status driver(const cu::Driver *&table) override {
    table = &driverTable;
    return {};
  }
  Status blasLt(const cu::BlasLt *&table) override {
    table = &blasTable;
    return {};
  }
  Status cudnn(const cu::Cudnn *&table) override {
    if (machine.options.cudnnVersion == 0)
      return Status::unavailable("there is no cuDNN");
    table = &cudnnTable;
    return {};
  }
  Status nccl(const cu::Nccl *&table) override {
    if (!machine.options.nccl)
      return Status::unavailable("there is no NCCL");
    {
      std::lock_guard lock(machine.mutex);
      for (std::string &message : prepareNcclEnvironment(environment()))
        messages.push_back(std::move(message));
    }
    DTC_RETURN_IF_ERROR(cu::checkVersions(ncclTable, machine.options.driverVersion));
    table = &ncclTable;
    return {};
  }
  // Returns the variables of the emulated machine. The caller holds its mutex where threads may
  // change them.
  Environment environment() override {
    std::map<std::string, std::string> &variables = machine.options.environment;
    return {[&](const char *name) {
              auto found = variables.find(name);
              return found == variables.end() ? std::nullopt : std::optional(found->second);
            },
            [&](const char *name, const std::string &value) { variables[name] = value; },
            [&](const char *name) { variables.erase(name); }};
  }
  std::vector<std::string> takeMessages() override {
    std::lock_guard lock(machine.mutex);
    return std::exchange(messages, {});
  }
  int process() const override {
    return machine.options.apart
               ? static_cast<int>(std::hash<std::thread::id>()(std::this_thread::get_id()))
               : 1;
  }
  uint64_t numCalls() const override { return machine.calls; }
  std::map<uint64_t, uint64_t> products(int gpu) const override {
    return machine.gpus[static_cast<size_t>(gpu)]->products;
  }
  std::map<int64_t, uint64_t> cudnnRuns(int gpu) const override {
    return machine.gpus[static_cast<size_t>(gpu)]->cudnnRuns;
  }
  uint64_t numLaunches() const override { return machine.launches; }
  std::string leaks() const override {
    std::string list;
    // Communicators cannot end in good order after a fault.
    auto isExcused = [this](const std::string &kind) {
      return machine.fault != cu::success && (kind == "communicator" || kind == "registration");
    };
    for (const auto &[kind, count] : machine.alive)
      if (count != 0 && !isExcused(kind))
        list += text(list.empty() ? "" : ", ", count, " ", kind, count == 1 ? "" : "s");
    return list;
  }

private:
  fake::Machine machine;
  std::vector<std::string> messages;
  cu::Driver driverTable;
  cu::BlasLt blasTable;
  cu::Cudnn cudnnTable;
  cu::Nccl ncclTable;
};

} // namespace

std::unique_ptr<FakeCuda> makeFakeCuda(const FakeCudaOptions &options) {
  return std::make_unique<FakeCudaImpl>(options);
}

} // namespace dtc::rt
