#include "runtime/exec/Binding.h"

#include "runtime/format/Description.h"
#include "runtime/format/ElementTypes.h"
#include "runtime/format/Instructions.h"
#include "runtime/format/RankMesh.h"
#include "runtime/format/Repeats.h"

#include <map>

namespace dtc::rt {
namespace {

template <typename T> std::vector<T> toVector(const flatbuffers::Vector<T> *values) {
  return values ? std::vector<T>(values->begin(), values->end()) : std::vector<T>();
}

class Binder {
public:
  Binder(const format::Manifest &manifest, const format::Program &program,
         const std::vector<uint32_t> &coordinates, const Groups &groups,
         const std::vector<int> &codeSegments, Device &device)
      : manifest(manifest), program(program), coordinates(coordinates), groups(groups),
        codeSegments(codeSegments), device(device) {}

  Status bind(const format::Task &task, BoundTask &bound);
  BoundEntry bind(const format::Entry &entry, const std::vector<BoundTask> &tasks) const;

private:
  Status bind(const format::Instruction &instruction, BoundInstruction &bound);
  void bindOperands(const format::Instruction &instruction, BoundInstruction &bound);
  Status findKernel(uint32_t kernel, int &symbol);

  const format::Manifest &manifest;
  const format::Program &program;
  const std::vector<uint32_t> &coordinates;
  const Groups &groups;
  const std::vector<int> &codeSegments;
  Device &device;
  std::map<uint32_t, int> symbols; // per kernel
  format::Description description;
};

void Binder::bindOperands(const format::Instruction &instruction, BoundInstruction &bound) {
  Command &command = bound.command;
  command.source = &instruction;
  format::describe(instruction, description);
  std::vector<Moving> addresses;
  for (const format::Operand &operand : description.operands) {
    bool absent = operand.buffer == format::noBuffer;
    const format::Buffer *buffer = absent ? nullptr : program.buffers()->Get(operand.buffer);
    char *arena = absent ? nullptr : device.arena(buffer->space());
    command.buffers.push_back(absent ? nullptr : arena + buffer->offset());
    command.bytes += absent ? 0 : buffer->bytes();
    Moving address{.index = static_cast<uint32_t>(addresses.size())};
    if (buffer) {
      address.slotStride = static_cast<int64_t>(buffer->slot_stride());
      address.slots = buffer->slots();
      address.microBatchStride = static_cast<int64_t>(buffer->micro_batch_stride());
      address.layerStride = buffer->layer_stride();
      address.base = static_cast<int64_t>(buffer->offset());
      address.arena = arena;
    }
    addresses.push_back(address);
  }
  for (const format::Description::Scalar &each : description.scalars) {
    command.scalars.push_back(resolve(each.scalar, coordinates));
    Moving moving{.isScalar = true,
                  .index = static_cast<uint32_t>(command.scalars.size() - 1),
                  .microBatchStride = each.scalar ? each.scalar->micro_batch_stride() : 0,
                  .layerStride = each.scalar ? each.scalar->layer_stride() : 0,
                  .base = command.scalars.back()};
    if (moving.moves())
      bound.moving.push_back(moving);
  }
  if (const format::StridedCopy *copy = instruction.op_as_StridedCopy()) {
    auto elementBytes = static_cast<int64_t>(format::bytesOf(copy->dtype()));
    for (size_t side : {0, 1}) {
      const format::RankScalar *offset = description.scalars[side].scalar;
      addresses[side].base += command.scalars[side] * elementBytes;
      addresses[side].microBatchStride += offset ? offset->micro_batch_stride() * elementBytes : 0;
      addresses[side].layerStride += offset ? offset->layer_stride() * elementBytes : 0;
      command.buffers[side] = addresses[side].arena + addresses[side].base;
    }
  }
  for (const Moving &address : addresses)
    if (address.moves())
      bound.moving.push_back(address);
}

Status Binder::findKernel(uint32_t kernel, int &symbol) {
  auto [entry, isNew] = symbols.try_emplace(kernel, -1);
  if (isNew) {
    const format::Kernel &description = *manifest.kernels()->Get(kernel);
    KernelSpec spec{.name = description.symbol()->str(),
                    .threads = format::blockThreads(description),
                    .buffers = description.num_buffers(),
                    .scalars = description.num_scalars(),
                    .results = description.num_results(),
                    .range = description.range(),
                    .bytes = {description.min_bytes()->begin(), description.min_bytes()->end()},
                    .merged = description.merged() ? description.merged()->str() : ""};
    DTC_RETURN_IF_ERROR(
        device.findSymbol(codeSegments[description.code_segment()], spec, entry->second));
  }
  symbol = entry->second;
  return {};
}

Status Binder::bind(const format::Instruction &instruction, BoundInstruction &bound) {
  bound.stream = instruction.stream();
  bound.timeClass = format::kindOf(instruction.op_type()).timeClass;
  bindOperands(instruction, bound);
  if (const format::Launch *launch = instruction.op_as_Launch())
    DTC_RETURN_IF_ERROR(findKernel(launch->kernel(), bound.command.symbol));
  bound.command.group = groups.find(instruction);
  if (const format::Record *record = instruction.op_as_Record()) {
    bound.event = static_cast<int>(record->event());
    bound.eventStride = record->layer_stride();
    bound.eventSlots = record->slots();
  }
  if (const format::Wait *wait = instruction.op_as_Wait()) {
    bound.event = static_cast<int>(wait->event());
    bound.eventStride = wait->layer_stride();
    bound.eventSlots = wait->slots();
  }
  return {};
}

Status Binder::bind(const format::Task &task, BoundTask &bound) {
  bound.instructions.resize(task.instructions()->size());
  bound.source = &task;
  std::vector<uint32_t> layers = format::countLayers(task);
  for (uint32_t i = 0; i < task.instructions()->size(); ++i) {
    BoundInstruction &instruction = bound.instructions[i];
    instruction.index = i;
    instruction.layers = layers[i];
    DTC_RETURN_IF_ERROR(bind(*task.instructions()->Get(i), instruction));
  }
  return {};
}

BoundEntry Binder::bind(const format::Entry &entry, const std::vector<BoundTask> &tasks) const {
  BoundEntry bound;
  bound.streams.resize(program.num_streams());
  std::vector<uint32_t> left = format::countRuns(program, entry), done(left.size());
  for (const format::Run *each : *entry.order()) {
    BoundRun run;
    run.task = each->task();
    run.microBatch = each->micro_batch();
    run.isFirst = done[run.task]++ == 0;
    run.isLast = --left[run.task] == 0;
    const BoundTask &task = tasks[run.task];
    std::vector<uint32_t> taken;
    for (const BoundInstruction &instruction : task.instructions)
      if (instruction.command.source->runs() != format::Runs::last || run.isLast) {
        taken.push_back(instruction.index);
        bound.streams[static_cast<size_t>(instruction.stream)] = true;
      }
    format::visitLayers(*task.source, taken, [&](uint32_t i, uint32_t layer) {
      bound.issues.push_back({static_cast<uint32_t>(bound.runs.size()), i, layer});
      return true;
    });
    bound.runs.push_back(run);
  }
  return bound;
}

} // namespace

std::vector<uint32_t> meshSizes(const format::Manifest &manifest) {
  return format::RankMesh(manifest).sizes();
}

TensorSpec tensorSpec(const format::Tensor &tensor) {
  static_assert(static_cast<int>(format::InitKind::normal) == static_cast<int>(InitKind::Normal));
  TensorSpec spec;
  spec.name = tensor.name()->str();
  spec.globalShape = toVector(tensor.global_shape());
  spec.storedShape = toVector(tensor.stored_shape());
  spec.localShape = toVector(tensor.local_shape());
  spec.dtype = format::storedName(tensor.dtype());
  for (uint32_t i = 0; i < format::sizeOf(tensor.shards()); ++i)
    spec.shards.push_back({tensor.shards()->Get(i)->dim(), tensor.shards()->Get(i)->axis(),
                           tensor.shards()->Get(i)->zigzag()});
  spec.init = static_cast<InitKind>(tensor.init());
  spec.mean = tensor.mean();
  spec.stddev = tensor.stddev();
  spec.initKey = tensor.init_key();
  return spec;
}

int64_t resolve(const format::RankScalar *scalar, const std::vector<uint32_t> &coordinates) {
  int64_t value = scalar ? scalar->base() : 0;
  for (uint32_t i = 0; scalar && i < format::sizeOf(scalar->terms()); ++i) {
    const format::RankTerm &term = *scalar->terms()->Get(i);
    value += term.stride() * coordinates[term.axis()];
  }
  return value;
}

Status bindProgram(const format::Manifest &manifest, const format::Program &program,
                   const std::vector<uint32_t> &coordinates, const Groups &groups,
                   const std::vector<int> &codeSegments, Device &device, BoundProgram &bound) {
  Binder binder(manifest, program, coordinates, groups, codeSegments, device);
  for (const format::Task *task : *program.tasks())
    DTC_RETURN_IF_ERROR(binder.bind(*task, bound.tasks.emplace_back()));
  for (const format::Entry *entry : *program.entries())
    bound.entries[entry->kind()] = binder.bind(*entry, bound.tasks);
  return {};
}

void moveTo(const BoundRun &run, uint32_t layer, BoundInstruction &instruction) {
  instruction.command.startsSum = instruction.command.source->starts_sum() && run.isFirst;
  for (const Moving &address : instruction.moving) {
    int64_t value = address.base + address.slotStride * (run.microBatch % address.slots) +
                    address.microBatchStride * run.microBatch + address.layerStride * layer;
    if (address.isScalar)
      instruction.command.scalars[address.index] = value;
    else
      instruction.command.buffers[address.index] = address.arena + value;
  }
}

} // namespace dtc::rt
