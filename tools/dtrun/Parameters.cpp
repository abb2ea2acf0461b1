#include "tools/dtrun/Parameters.h"

#include "runtime/base/Fill.h"
#include "runtime/base/Text.h"
#include "runtime/comm/Agree.h"
#include "runtime/exec/Binding.h"

namespace dtc::rt {
namespace {

using Tensors = flatbuffers::Vector<flatbuffers::Offset<format::Tensor>>;

Status specsOf(const Tensors *tensors, std::vector<TensorSpec> &specs) {
  for (uint32_t i = 0; i < format::sizeOf(tensors); ++i) {
    const format::Tensor &tensor = *tensors->Get(i);
    specs.push_back(tensorSpec(tensor));
    if (tensor.dtype() != format::DType::f32)
      return Status::unavailable(format::text(
          "tensor '", specs.back().name, "' is ", format::EnumNameDType(tensor.dtype()),
          ", this release keeps parameters and optimizer state in f32; compile with "
          "--precision f32"));
  }
  return {};
}

Status initialise(const Tensors *tensors, const std::vector<uint32_t> &mesh, Executor &executor,
                  Device &device, uint64_t seed, int threads) {
  std::vector<TensorSpec> specs;
  DTC_RETURN_IF_ERROR(specsOf(tensors, specs));
  std::vector<float> local;
  for (uint32_t i = 0; i < specs.size(); ++i) {
    local.resize(elementCount(specs[i].localShape));
    DTC_RETURN_IF_ERROR(
        initialiseTensor(specs[i], seed, mesh, executor.coordinates(), local, threads));
    DTC_RETURN_IF_ERROR(device.copyIn(executor.address(tensors->Get(i)->buffer()), local.data(),
                                      local.size() * sizeof(float)));
  }
  return {};
}

} // namespace

Status fillParameters(const Executable &executable, Executor &executor, Device &device,
                      uint64_t seed, const std::string &init, int threads) {
  const format::Program &program = executor.program();
  std::vector<uint32_t> mesh = meshSizes(executable.manifest());
  DTC_RETURN_IF_ERROR(initialise(program.optimizer_state(), mesh, executor, device, seed, threads));
  if (init.empty())
    return initialise(program.parameters(), mesh, executor, device, seed, threads);
  std::vector<TensorSpec> specs;
  DTC_RETURN_IF_ERROR(specsOf(program.parameters(), specs));
  return loadParameters(
      init, specs, mesh, executor.coordinates(), [&](size_t index, std::span<const float> local) {
        auto i = static_cast<uint32_t>(index);
        uint32_t buffer = program.parameters()->Get(i)->buffer();
        return device.copyIn(executor.address(buffer), local.data(), local.size_bytes());
      });
}

Status openDump(const Executable &executable, const Executor &executor, Control &world,
                const std::string &path, std::unique_ptr<ParameterDump> &dump) {
  std::vector<TensorSpec> specs;
  DTC_RETURN_IF_ERROR(agree(world, specsOf(executor.program().parameters(), specs)));
  dump = std::make_unique<ParameterDump>(std::move(specs), meshSizes(executable.manifest()), world);
  return dump->open(path);
}

Status writeDump(ParameterDump &dump, const Executor &executor, Device &device) {
  return dump.write([&](size_t index, std::span<float> local) {
    auto i = static_cast<uint32_t>(index);
    uint32_t buffer = executor.program().parameters()->Get(i)->buffer();
    return device.copyOut(local.data(), executor.address(buffer), local.size_bytes());
  });
}

} // namespace dtc::rt
