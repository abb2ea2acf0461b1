#include "tools/dtrun/Parameters.h"

#include "runtime/base/Fill.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/LoadParameters.h"
#include "runtime/comm/Agree.h"
#include "runtime/exec/Binding.h"
#include "runtime/format/Operands.h"

#include <algorithm>
#include <map>

namespace dtc::rt {
namespace {

using Tensors = flatbuffers::Vector<flatbuffers::Offset<format::Tensor>>;

const Tensors *tensorsOf(const format::Program &program, DumpedTensors which) {
  return which == DumpedTensors::Parameters ? program.parameters() : program.gradients();
}

const format::Tensor *findTensor(const Tensors *tensors, std::string_view name) {
  for (uint32_t i = 0; i < format::sizeOf(tensors); ++i)
    if (tensors->Get(i)->name()->string_view() == name)
      return tensors->Get(i);
  return nullptr;
}

// Returns the tensors of one program. If the loss does not depend on a trained parameter, the
// program has no gradient for it. That gradient is then zero, with the shape of the parameter. A
// frozen parameter has no gradient.
std::vector<TensorSpec> specsOf(const format::Program &program, DumpedTensors which) {
  std::vector<TensorSpec> specs;
  const Tensors *tensors = tensorsOf(program, which);
  for (uint32_t i = 0; i < format::sizeOf(tensors); ++i)
    specs.push_back(tensorSpec(*tensors->Get(i)));
  for (const format::Tensor *parameter : *program.parameters())
    if (!findTensor(tensors, parameter->name()->string_view()) &&
        format::isTrained(program, *parameter)) {
      specs.push_back(tensorSpec(*parameter));
      specs.back().dtype = "F32";
    }
  return specs;
}

// Lists the parameters, or gradients, of all programs. Tensors of one name are one tensor: the
// loader has checked that all programs describe it in the same way, except for the type of a
// gradient, which is taken from the first program. Each tensor lists its ranks, unless all ranks
// have it.
Status specsOfJob(const format::Manifest &manifest, DumpedTensors which,
                  std::vector<TensorSpec> &specs) {
  const auto &rankProgram = *manifest.rank_program();
  std::vector<std::vector<uint32_t>> ranksOf(manifest.programs()->size());
  for (uint32_t rank = 0; rank < rankProgram.size(); ++rank)
    ranksOf[rankProgram.Get(rank)].push_back(rank);
  std::map<std::string, size_t> known;
  bool isThere = which == DumpedTensors::Parameters;
  for (const format::Program *program : *manifest.programs())
    isThere |= format::sizeOf(program->gradients()) > 0;
  if (!isThere)
    return Status::notFound("the program says of no gradient where it is; recompile the model "
                            "with dtc");
  for (uint32_t p = 0; p < ranksOf.size(); ++p) {
    for (TensorSpec &spec : specsOf(*manifest.programs()->Get(p), which)) {
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

// Finds a tensor of this rank. Returns null for a gradient that is zero.
const format::Tensor *tensorOf(const Executor &executor, DumpedTensors which,
                               const std::string &name) {
  return findTensor(tensorsOf(executor.program(), which), name);
}

Status fill(const format::Tensor &tensor, std::span<const float> local, Executor &executor,
            Device &device) {
  if (tensor.dtype() == format::DType::f32)
    return device.copyIn(executor.address(tensor.buffer()), local.data(), local.size_bytes());
  std::vector<std::byte> bytes = encode(tensor.dtype(), local);
  return device.copyIn(executor.address(tensor.buffer()), bytes.data(), bytes.size());
}

// Returns true if both describe the same numbers, whatever their types.
bool haveEqualSpecs(const TensorSpec &a, const TensorSpec &b) {
  auto sameShard = [](const ShardedDim &x, const ShardedDim &y) {
    return x.dim == y.dim && x.axis == y.axis && x.zigzag == y.zigzag;
  };
  return a.init == b.init && a.initKey == b.initKey && a.mean == b.mean && a.stddev == b.stddev &&
         a.globalShape == b.globalShape && a.localShape == b.localShape &&
         std::equal(a.shards.begin(), a.shards.end(), b.shards.begin(), b.shards.end(), sameShard);
}

// Skips tensors that begin as zeros, because the arena is zero. If a rank has the same part of a
// parameter and of its trained copy in another type, both are drawn once: drawing takes longer than
// the rest of a start.
Status initialise(const format::Program &program, bool isDrawn, const std::vector<uint32_t> &mesh,
                  Executor &executor, Device &device, uint64_t seed, int threads) {
  std::map<std::string, const format::Tensor *> parameters;
  for (uint32_t i = 0; isDrawn && i < format::sizeOf(program.parameters()); ++i)
    parameters.emplace(program.parameters()->Get(i)->name()->str(), program.parameters()->Get(i));
  std::vector<float> local;
  auto draw = [&](const format::Tensor &tensor, const format::Tensor *copy) -> Status {
    TensorSpec spec = tensorSpec(tensor);
    if (spec.init == InitKind::Zeros)
      return {};
    local.resize(elementCount(spec.localShape));
    DTC_RETURN_IF_ERROR(initialiseTensor(spec, seed, mesh, executor.coordinates(), local, threads));
    DTC_RETURN_IF_ERROR(fill(tensor, local, executor, device));
    return copy ? fill(*copy, local, executor, device) : Status();
  };
  for (uint32_t i = 0; i < format::sizeOf(program.optimizer_state()); ++i) {
    const format::Tensor &state = *program.optimizer_state()->Get(i);
    if (!isDrawn && state.copy_of())
      continue; // it comes from the same place as the parameters
    auto original = state.copy_of() ? parameters.find(state.copy_of()->str()) : parameters.end();
    bool isBoth = original != parameters.end() &&
                  haveEqualSpecs(tensorSpec(state), tensorSpec(*original->second));
    DTC_RETURN_IF_ERROR(draw(state, isBoth ? original->second : nullptr));
    if (isBoth)
      parameters.erase(original);
  }
  for (const auto &[name, tensor] : parameters)
    DTC_RETURN_IF_ERROR(draw(*tensor, nullptr));
  return {};
}

} // namespace

Status fillParameters(const Executable &executable, Executor &executor, Device &device,
                      uint64_t seed, const std::string &init, int threads) {
  const format::Program &program = executor.program();
  const format::RankMesh mesh(executable.manifest());
  DTC_RETURN_IF_ERROR(
      initialise(program, /*isDrawn=*/init.empty(), mesh.sizes(), executor, device, seed, threads));
  if (init.empty())
    return {};
  std::vector<TensorSpec> specs;
  DTC_RETURN_IF_ERROR(specsOfJob(executable.manifest(), DumpedTensors::Parameters, specs));
  size_t numParameters = specs.size();
  // The trained copy of a parameter of a narrow type gets the values of the file before they are
  // rounded.
  std::vector<const format::Tensor *> copies;
  for (uint32_t i = 0; i < format::sizeOf(program.optimizer_state()); ++i)
    if (const format::Tensor *state = program.optimizer_state()->Get(i); state->copy_of()) {
      copies.push_back(state);
      specs.push_back(tensorSpec(*state));
      specs.back().name = state->copy_of()->str();
    }
  return loadParameters(
      init, specs, mesh, mesh.rankAt(executor.coordinates()),
      [&](size_t index, std::span<const float> local) {
        return fill(index < numParameters
                        ? *tensorOf(executor, DumpedTensors::Parameters, specs[index].name)
                        : *copies[index - numParameters],
                    local, executor, device);
      });
}

Status openDump(const Executable &executable, Control &world, const std::string &path,
                DumpedTensors which, std::unique_ptr<Dump> &dump) {
  auto opened = std::make_unique<Dump>();
  opened->which = which;
  DTC_RETURN_IF_ERROR(agree(world, specsOfJob(executable.manifest(), which, opened->specs)));
  opened->file = std::make_unique<ParameterDump>(opened->specs,
                                                 format::RankMesh(executable.manifest()), world);
  DTC_RETURN_IF_ERROR(opened->file->open(path));
  dump = std::move(opened);
  return {};
}

Status writeDump(Dump &dump, const Executor &executor, Device &device, float scale) {
  return dump.file->write([&](size_t index, std::span<float> local) {
    const format::Tensor *tensor = tensorOf(executor, dump.which, dump.specs[index].name);
    if (!tensor) {
      std::fill(local.begin(), local.end(), 0.0F);
      return Status();
    }
    std::vector<std::byte> bytes(local.size() * format::bytesOf(tensor->dtype()));
    DTC_RETURN_IF_ERROR(
        device.copyOut(bytes.data(), executor.address(tensor->buffer()), bytes.size()));
    decode(tensor->dtype(), bytes, local);
    if (scale != 1)
      for (float &value : local)
        value *= scale;
    return Status();
  });
}

} // namespace dtc::rt
