#include "tools/dtrun/Parameters.h"

#include "runtime/base/Fill.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Elements.h"
#include "runtime/comm/Agree.h"
#include "runtime/exec/Binding.h"

#include <algorithm>
#include <map>

namespace dtc::rt {
namespace {

using Tensors = flatbuffers::Vector<flatbuffers::Offset<format::Tensor>>;

// Of parameters, which files hold in f32.
Status specsOf(const Tensors *tensors, std::vector<TensorSpec> &specs) {
  for (uint32_t i = 0; i < format::sizeOf(tensors); ++i) {
    const format::Tensor &tensor = *tensors->Get(i);
    specs.push_back(tensorSpec(tensor));
    if (tensor.dtype() != format::DType::f32)
      return Status::unavailable(format::text(
          "parameter '", specs.back().name, "' is ", format::EnumNameDType(tensor.dtype()),
          ", this release keeps parameters in f32; compile with --precision f32"));
  }
  return {};
}

// The parameters of all programs: what has one name is one tensor, of which the loader knows that all
// programs say the same. Each knows which ranks have it, unless all have.
Status specsOfJob(const format::Manifest &manifest, std::vector<TensorSpec> &specs) {
  const auto &rankProgram = *manifest.rank_program();
  std::vector<std::vector<uint32_t>> ranksOf(manifest.programs()->size());
  for (uint32_t rank = 0; rank < rankProgram.size(); ++rank)
    ranksOf[rankProgram.Get(rank)].push_back(rank);
  std::map<std::string, size_t> known;
  for (uint32_t p = 0; p < ranksOf.size(); ++p) {
    std::vector<TensorSpec> ofProgram;
    DTC_RETURN_IF_ERROR(specsOf(manifest.programs()->Get(p)->parameters(), ofProgram));
    for (TensorSpec &spec : ofProgram) {
      auto [entry, isNew] = known.try_emplace(spec.name, specs.size());
      if (isNew)
        specs.push_back(std::move(spec));
      std::vector<uint32_t> &holders = specs[entry->second].holders;
      holders.insert(holders.end(), ranksOf[p].begin(), ranksOf[p].end());
    }
  }
  for (TensorSpec &spec : specs) {
    std::sort(spec.holders.begin(), spec.holders.end());
    if (spec.holders.size() == rankProgram.size())
      spec.holders.clear();
  }
  return {};
}

// Of a parameter that this rank has.
char *addressOf(const Executor &executor, const std::string &name) {
  const auto &parameters = *executor.program().parameters();
  auto found = std::find_if(parameters.begin(), parameters.end(), [&](const auto *tensor) {
    return tensor->name()->string_view() == name;
  });
  return executor.address(found->buffer());
}

Status initialise(const Tensors *tensors, const std::vector<uint32_t> &mesh, Executor &executor,
                  Device &device, uint64_t seed, int threads) {
  std::vector<float> local;
  for (uint32_t i = 0; i < format::sizeOf(tensors); ++i) {
    const format::Tensor &tensor = *tensors->Get(i);
    TensorSpec spec = tensorSpec(tensor);
    local.resize(elementCount(spec.localShape));
    DTC_RETURN_IF_ERROR(initialiseTensor(spec, seed, mesh, executor.coordinates(), local, threads));
    std::vector<std::byte> bytes = encode(tensor.dtype(), local);
    DTC_RETURN_IF_ERROR(
        device.copyIn(executor.address(tensor.buffer()), bytes.data(), bytes.size()));
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
  DTC_RETURN_IF_ERROR(specsOfJob(executable.manifest(), specs));
  return loadParameters(init, specs, mesh, executor.coordinates(),
                        [&](size_t index, std::span<const float> local) {
                          return device.copyIn(addressOf(executor, specs[index].name), local.data(),
                                               local.size_bytes());
                        });
}

Status openDump(const Executable &executable, Control &world, const std::string &path,
                std::unique_ptr<Dump> &dump) {
  auto opened = std::make_unique<Dump>();
  DTC_RETURN_IF_ERROR(agree(world, specsOfJob(executable.manifest(), opened->specs)));
  opened->file =
      std::make_unique<ParameterDump>(opened->specs, meshSizes(executable.manifest()), world);
  DTC_RETURN_IF_ERROR(opened->file->open(path));
  dump = std::move(opened);
  return {};
}

Status writeDump(Dump &dump, const Executor &executor, Device &device) {
  return dump.file->write([&](size_t index, std::span<float> local) {
    return device.copyOut(local.data(), addressOf(executor, dump.specs[index].name),
                          local.size_bytes());
  });
}

} // namespace dtc::rt
