#include "compiler/prove/verify/InitialTensors.h"

#include "runtime/format/RestTensor.h"

#include <set>

namespace dtc {
namespace {

constexpr uint32_t kSamples = 1; // the dim of inputs that has samples

// Returns the names of the parameters and state of all programs but one.
std::set<std::string> persistentElsewhere(const format::Manifest &manifest, uint32_t program) {
  std::set<std::string> names;
  for (uint32_t p = 0; p < manifest.programs()->size(); ++p) {
    if (p == program)
      continue;
    const format::Program &other = *manifest.programs()->Get(p);
    for (const auto *all : {other.parameters(), other.optimizer_state()})
      for (uint32_t i = 0; i < format::sizeOf(all); ++i)
        names.insert(all->Get(i)->name()->str());
  }
  return names;
}

// Returns the axes that split a dim of an input from `first` to `last`, in any program.
AxisSet axesOfInputs(const format::Manifest &manifest, uint32_t first, uint32_t last) {
  AxisSet axes = 0;
  for (const format::Program *program : *manifest.programs())
    for (const format::Input *input : *program->inputs())
      for (uint32_t i = 0; i < format::sizeOf(input->shards()); ++i)
        if (uint32_t dim = input->shards()->Get(i)->dim(); dim >= first && dim <= last)
          axes |= static_cast<AxisSet>(1u << input->shards()->Get(i)->axis());
  return axes;
}

// Returns the axes of context parallelism, which split dims of samples in any program. Parts of
// inputs along other axes are no samples of a rank's own.
AxisSet contextAxesOf(const format::Manifest &manifest) {
  AxisSet axes = 0, split = axesOfInputs(manifest, kSamples + 1, UINT32_MAX);
  for (uint32_t axis = 0; axis < 8 * sizeof(AxisSet); ++axis)
    if (auto one = static_cast<AxisSet>(1u << axis);
        (split & one) && axisNames(manifest, one) == "cp")
      axes |= one;
  return axes;
}

} // namespace

InitialTensors::InitialTensors(const Steps &steps, const GroupAxes &groups)
    : steps(steps), varying(groups.varying(steps.index)),
      batch(axesOfInputs(steps.manifest, kSamples, kSamples) & varying),
      context(contextAxesOf(steps.manifest) & varying) {
  batch |= context;
  addPersistent();
  for (const format::Input *input : *steps.program.inputs()) {
    InitialTensor tensor{input->buffer(), input->name()->str(), shardsOf(input->shards())};
    tensor.isInput = true;
    add(std::move(tensor));
  }
  for (uint32_t i = 0; i < format::sizeOf(steps.program.scalars()); ++i)
    add({steps.program.scalars()->Get(i)->buffer(), "a scalar"});
}

void InitialTensors::addPersistent() {
  std::set<std::string> elsewhere = persistentElsewhere(steps.manifest, steps.index);
  for (const auto *all : {steps.program.parameters(), steps.program.optimizer_state()})
    for (uint32_t i = 0; i < format::sizeOf(all); ++i) {
      const format::Tensor &tensor = *all->Get(i);
      InitialTensor added{tensor.buffer(), tensor.name()->str(), shardsOf(tensor.shards())};
      added.isRest = std::string_view(added.name).ends_with(format::kRestSuffix);
      added.isShared = elsewhere.count(added.name) > 0;
      added.tensor = &tensor;
      add(std::move(added));
    }
}

void InitialTensors::add(InitialTensor tensor) {
  const format::Buffer &buffer = *steps.program.buffers()->Get(tensor.buffer);
  tensor.elements = buffer.bytes() / format::bytesOf(buffer.dtype());
  tensors.push_back(std::move(tensor));
}

AxisSet InitialTensors::shardsOf(
    const flatbuffers::Vector<flatbuffers::Offset<format::ShardedDim>> *shards) const {
  AxisSet axes = 0;
  for (uint32_t i = 0; i < format::sizeOf(shards); ++i)
    axes |= static_cast<AxisSet>(1u << shards->Get(i)->axis());
  return axes & varying;
}

SegmentSpan InitialTensors::spanOf(uint32_t buffer) const {
  const format::Buffer &of = *steps.program.buffers()->Get(buffer);
  auto begin = static_cast<int64_t>(format::addressOf(of));
  return steps.segments.find(begin, begin + static_cast<int64_t>(of.bytes()));
}

} // namespace dtc
