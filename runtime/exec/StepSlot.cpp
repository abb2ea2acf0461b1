#include "runtime/exec/StepSlot.h"

#include "runtime/format/Operands.h"

#include <cstring>

namespace dtc::rt {

// Returns true if the tasks of the entry compute the output.
static bool reports(format::EntryKind entry, const format::Output &output) {
  return entry == format::EntryKind::train || output.role() == format::OutputRole::loss ||
         output.role() == format::OutputRole::loss_weight ||
         output.role() == format::OutputRole::loss_beside ||
         (entry == format::EntryKind::gradients &&
          output.role() == format::OutputRole::gradient_scale);
}

Status StepSlot::create(const format::Program &of, Device &device, size_t issues) {
  program = &of;
  arena = device.arena(format::MemorySpace::device); // inputs and outputs of steps are there
  times.resize(issues);
  constexpr uint64_t alignment = 64;
  uint64_t total = 0;
  std::vector<uint64_t> offsets;
  auto add = [&](std::vector<Piece> &pieces, uint32_t buffer) {
    const format::Buffer &from = *program->buffers()->Get(buffer);
    pieces.push_back({nullptr, from.offset(), from.bytes()});
    offsets.push_back(total);
    total += (from.bytes() + alignment - 1) / alignment * alignment;
  };
  for (const format::Input *input : *program->inputs())
    add(inputs, input->buffer());
  for (uint32_t i = 0; i < format::sizeOf(program->scalars()); ++i)
    add(scalars, program->scalars()->Get(i)->buffer());
  for (const format::Output *output : *program->outputs())
    add(outputs, output->buffer());
  char *memory = nullptr;
  DTC_RETURN_IF_ERROR(device.allocateHost(total, memory));
  size_t next = 0;
  for (std::vector<Piece> *pieces : {&inputs, &scalars, &outputs})
    for (Piece &piece : *pieces)
      piece.host = memory + offsets[next++];
  return {};
}

void StepSlot::setScalar(format::ScalarRole role, float value) {
  for (uint32_t i = 0; i < scalars.size(); ++i)
    if (program->scalars()->Get(i)->role() == role) {
      std::memcpy(scalars[i].host, &value, sizeof(value));
      scalars[i].isSet = true;
    }
}

void StepSlot::setScalars(const StepScalars &values) {
  setScalar(format::ScalarRole::step, static_cast<float>(values.step));
  setScalar(format::ScalarRole::base_lr, values.baseLr);
  setScalar(format::ScalarRole::total_steps, static_cast<float>(values.totalSteps));
  for (uint32_t i = 0; i < scalars.size(); ++i)
    if (program->scalars()->Get(i)->role() == format::ScalarRole::seed) {
      std::memcpy(scalars[i].host, &values.seed, sizeof(values.seed));
      scalars[i].isSet = true;
    }
}

void StepSlot::writeInput(uint32_t input, std::span<const std::byte> values) {
  if (!values.empty())
    std::memcpy(inputs[input].host, values.data(), values.size());
  inputs[input].isSet = true;
}

Status StepSlot::enqueueIn(Device &device, const Mark &mark) {
  for (std::vector<Piece> *pieces : {&scalars, &inputs})
    for (Piece &piece : *pieces) {
      if (piece.isSet)
        DTC_RETURN_IF_ERROR(
            device.enqueueCopyIn(0, arena + piece.offset, piece.host, piece.bytes, mark));
      piece.isSet = false;
    }
  return {};
}

Status StepSlot::enqueueOut(format::EntryKind kind, Device &device, const Mark &mark) {
  for (uint32_t i = 0; i < outputs.size(); ++i)
    if (reports(kind, *program->outputs()->Get(i)))
      DTC_RETURN_IF_ERROR(device.enqueueCopyOut(0, outputs[i].host, arena + outputs[i].offset,
                                                outputs[i].bytes, mark));
  return {};
}

void StepSlot::readOutputs(format::EntryKind kind, StepResult &result) const {
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const format::Output &output = *program->outputs()->Get(i);
    if (!reports(kind, output))
      continue;
    for (const StepOutput &known : stepOutputs) {
      if (known.role != output.role())
        continue;
      result.*known.isThere = true;
      std::memcpy(&(result.*known.value), outputs[i].host, sizeof(float));
    }
  }
}

} // namespace dtc::rt
