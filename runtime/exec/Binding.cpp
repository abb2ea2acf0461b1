#include "runtime/exec/Binding.h"

#include "runtime/format/Description.h"

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
        codeSegments(codeSegments), device(device), records(program.num_events()) {}

  Status bind(uint32_t index, BoundInstruction &bound);

private:
  void bindBuffers(const format::Instruction &instruction, Command &command);
  Status findKernel(uint32_t kernel, int &symbol);

  const format::Manifest &manifest;
  const format::Program &program;
  const std::vector<uint32_t> &coordinates;
  const Groups &groups;
  const std::vector<int> &codeSegments;
  Device &device;
  std::vector<int> records;        // per event, of the instructions bound so far
  std::map<uint32_t, int> symbols; // per kernel
  format::Description description;
};

void Binder::bindBuffers(const format::Instruction &instruction, Command &command) {
  command.source = &instruction;
  format::describe(instruction, description);
  for (const format::Operand &operand : description.operands) {
    bool absent = operand.buffer == format::noBuffer;
    const format::Buffer *buffer = absent ? nullptr : program.buffers()->Get(operand.buffer);
    command.buffers.push_back(absent ? nullptr : device.arena() + buffer->offset());
    command.bytes += absent ? 0 : buffer->bytes();
  }
  for (const format::Description::Scalar &each : description.scalars)
    command.scalars.push_back(resolve(each.scalar, coordinates));
  if (const format::StridedCopy *copy = instruction.op_as_StridedCopy()) {
    auto elementBytes = static_cast<int64_t>(format::bytesOf(copy->dtype()));
    command.buffers[0] += command.scalars[0] * elementBytes;
    command.buffers[1] += command.scalars[1] * elementBytes;
  }
}

Status Binder::findKernel(uint32_t kernel, int &symbol) {
  auto [entry, isNew] = symbols.try_emplace(kernel, -1);
  if (isNew) {
    const format::Kernel &description = *manifest.kernels()->Get(kernel);
    DTC_RETURN_IF_ERROR(device.findSymbol(codeSegments[description.code_segment()],
                                          description.symbol()->str(), entry->second));
  }
  symbol = entry->second;
  return {};
}

Status Binder::bind(uint32_t index, BoundInstruction &bound) {
  const format::Instruction &instruction = *program.instructions()->Get(index);
  bound.index = index;
  bound.stream = instruction.stream();
  bound.timeClass = format::kindOf(instruction.op_type()).timeClass;
  bindBuffers(instruction, bound.command);
  if (const format::Launch *launch = instruction.op_as_Launch())
    DTC_RETURN_IF_ERROR(findKernel(launch->kernel(), bound.command.symbol));
  if (const format::Collective *collective = instruction.op_as_Collective())
    bound.comm = &groups.find(*collective, instruction.stream());
  if (const format::Record *record = instruction.op_as_Record()) {
    bound.event = static_cast<int>(record->event());
    ++records[record->event()];
  }
  if (const format::Wait *wait = instruction.op_as_Wait()) {
    bound.event = static_cast<int>(wait->event());
    bound.ordinal = records[wait->event()];
  }
  return {};
}

} // namespace

std::vector<uint32_t> meshSizes(const format::Manifest &manifest) {
  std::vector<uint32_t> sizes;
  for (const format::Axis *axis : *manifest.mesh())
    sizes.push_back(axis->size());
  return sizes;
}

TensorSpec tensorSpec(const format::Tensor &tensor) {
  static_assert(static_cast<int>(format::InitKind::normal) == static_cast<int>(InitKind::Normal));
  TensorSpec spec;
  spec.name = tensor.name()->str();
  spec.globalShape = toVector(tensor.global_shape());
  spec.storedShape = toVector(tensor.stored_shape());
  spec.localShape = toVector(tensor.local_shape());
  for (uint32_t i = 0; i < format::sizeOf(tensor.shards()); ++i)
    spec.shards.push_back({tensor.shards()->Get(i)->dim(), tensor.shards()->Get(i)->axis(),
                           tensor.shards()->Get(i)->zigzag()});
  spec.init = static_cast<InitKind>(tensor.init());
  spec.mean = tensor.mean();
  spec.stddev = tensor.stddev();
  spec.initKey = tensor.init_key();
  return spec;
}

DataType dataType(format::DType type) {
  static_assert(static_cast<int>(format::DType::bf16) == static_cast<int>(DataType::Bf16) &&
                static_cast<int>(format::DType::i32) == static_cast<int>(DataType::I32) &&
                static_cast<int>(format::DType::u8) == static_cast<int>(DataType::U8));
  return static_cast<DataType>(type);
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
  bound.streams.resize(program.num_streams());
  bound.instructions.resize(program.instructions()->size());
  for (uint32_t i = 0; i < program.instructions()->size(); ++i) {
    DTC_RETURN_IF_ERROR(binder.bind(i, bound.instructions[i]));
    bound.streams[static_cast<size_t>(bound.instructions[i].stream)].push_back(i);
  }
  return {};
}

} // namespace dtc::rt
