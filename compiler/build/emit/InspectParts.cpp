#include "compiler/build/emit/InspectParts.h"

#include "runtime/format/CodeObject.h"
#include "runtime/format/Description.h"
#include "runtime/format/Grid.h"
#include "runtime/format/Instructions.h"
#include "runtime/format/Operands.h"
#include "runtime/format/RankMesh.h"
#include "runtime/format/Repeats.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <cmath>

namespace dtc {

using llvm::formatv;

std::optional<Result<std::vector<std::string>>> callsOf(const format::Segment &segment,
                                                        std::span<const uint8_t> file) {
  if (!format::isHostCode(segment.kind()))
    return std::nullopt;
  format::CodeFacts facts;
  rt::Status status = format::readCode(file.subspan(segment.offset(), segment.bytes()), facts);
  if (!status.ok())
    return UserError(status.message());
  return std::move(facts.imports);
}

std::vector<int64_t> coordinatesOf(const format::Manifest &manifest, uint32_t rank) {
  std::vector<uint32_t> coordinates = format::RankMesh(manifest).coordinatesOf(rank);
  return {coordinates.begin(), coordinates.end()};
}

std::string valueOf(const format::RankScalar *scalar, const std::vector<int64_t> &coordinates) {
  int64_t value = scalar ? scalar->base() : 0;
  for (uint32_t i = 0; scalar && i < format::sizeOf(scalar->terms()); ++i)
    value += scalar->terms()->Get(i)->stride() * coordinates[scalar->terms()->Get(i)->axis()];
  std::string text = std::to_string(value);
  if (scalar && scalar->micro_batch_stride() != 0)
    text += formatv(" + {0} * micro_batch", scalar->micro_batch_stride()).str();
  if (scalar && scalar->layer_stride() != 0)
    text += formatv(" + {0} * layer", scalar->layer_stride()).str();
  return text;
}

// Per buffer, in how many layers a repeat uses it at most; 1 outside of repeats.
static std::vector<uint32_t> layersOfBuffers(const format::Program &program) {
  std::vector<uint32_t> result(program.buffers()->size(), 1);
  format::Description description;
  for (const format::Task *task : *program.tasks()) {
    std::vector<uint32_t> layers = format::countLayers(*task);
    for (uint32_t i = 0; i < layers.size(); ++i) {
      format::describe(*task->instructions()->Get(i), description);
      for (const format::Operand &operand : description.operands)
        if (operand.access != format::Access::None)
          result[operand.buffer] = std::max(result[operand.buffer], layers[i]);
    }
  }
  return result;
}

std::array<uint64_t, kNumBufferKinds> bytesByKind(const format::Program &program) {
  std::array<uint64_t, kNumBufferKinds> result{};
  std::vector<uint32_t> layers = layersOfBuffers(program);
  for (size_t kind = 0; kind < kNumBufferKinds; ++kind) {
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    for (uint32_t i = 0; i < program.buffers()->size(); ++i) {
      const format::Buffer &buffer = *program.buffers()->Get(i);
      if (static_cast<size_t>(buffer.kind()) != kind)
        continue;
      for (uint64_t slot = 0; slot < buffer.slots(); ++slot)
        for (uint32_t layer = 0; layer < (buffer.layer_stride() ? layers[i] : 1); ++layer) {
          uint64_t begin = format::addressOf(buffer) + slot * buffer.slot_stride() +
                           static_cast<uint64_t>(buffer.layer_stride()) * layer;
          ranges.emplace_back(begin, begin + buffer.bytes());
        }
    }
    std::sort(ranges.begin(), ranges.end());
    uint64_t end = 0;
    for (auto [first, last] : ranges) {
      if (last > end)
        result[kind] += last - std::max(first, end);
      end = std::max(end, last);
    }
  }
  return result;
}

std::string opNameOf(format::Op op) { return format::opName(op); }

std::vector<std::pair<std::string, size_t>> countOps(const format::Program &program) {
  std::vector<std::pair<std::string, size_t>> counts;
  auto add = [&](const format::Instruction *instruction) {
    std::string name = opNameOf(instruction->op_type());
    auto found = std::find_if(counts.begin(), counts.end(),
                              [&](const auto &count) { return count.first == name; });
    if (found == counts.end())
      counts.emplace_back(name, 1);
    else
      ++found->second;
  };
  for (const format::Task *task : *program.tasks())
    std::for_each(task->instructions()->begin(), task->instructions()->end(), add);
  return counts;
}

uint32_t mostSlots(const format::Program &program) {
  uint32_t most = 1;
  for (const format::Buffer *buffer : *program.buffers())
    most = std::max(most, buffer->slots());
  return most;
}

size_t countInstructions(const format::Program &program) {
  size_t count = 0;
  for (const format::Task *task : *program.tasks())
    count += task->instructions()->size();
  return count;
}

size_t countUnrolled(const format::Program &program) {
  size_t count = 0;
  for (const format::Task *task : *program.tasks())
    for (uint32_t layers : format::countLayers(*task))
      count += layers;
  return count;
}

std::vector<OperandText> operandsOf(const format::Program &program,
                                    const format::Instruction &instruction) {
  format::Description description;
  format::describe(instruction, description);
  std::vector<OperandText> result;
  for (const format::Operand &operand : description.operands) {
    if (operand.access == format::Access::None)
      continue;
    const format::Buffer &buffer = *program.buffers()->Get(operand.buffer);
    std::string name = textOf(buffer.name());
    result.push_back({operand.name, name, buffer.offset(), buffer.bytes()});
  }
  return result;
}

std::string textOf(const flatbuffers::String *string) {
  return string ? llvm::json::fixUTF8(string->string_view()) : "";
}

namespace {
template <typename Vector> std::string list(const Vector *values) {
  std::string text;
  for (uint32_t i = 0; i < format::sizeOf(values); ++i)
    text += (i ? "x" : "") + std::to_string(values->Get(i));
  return text;
}

} // namespace

// Fields in the order of the instruction's description; a launch, a copy, a collective and a
// transfer say what that does not have, too.
std::string detailsOf(const format::Manifest &manifest, const format::Instruction &instruction,
                      const std::vector<int64_t> &at) {
  std::string text;
  if (const auto *op = instruction.op_as_Launch()) {
    const format::Kernel &kernel = *manifest.kernels()->Get(op->kernel());
    text = formatv("{0} range {1} {2}{3}", textOf(kernel.symbol()), op->range(),
                   format::describe(format::gridOf(kernel, op->range())),
                   kernel.combines() ? " that combine" : "");
  }
  if (const auto *op = instruction.op_as_StridedCopy())
    text = "box " + list(op->sizes());
  if (const auto *op = instruction.op_as_Collective())
    text = formatv("{0} {1} over {2}", EnumNameCollectiveKind(op->kind()),
                   EnumNameCollectiveRole(op->role()), format::groupName(manifest, op->group()));
  if (const auto *op = instruction.op_as_Transfer())
    text = formatv("{0} {1} over {2}", EnumNameTransferKind(op->kind()),
                   EnumNameCollectiveRole(op->role()), format::groupName(manifest, op->group()));
  auto append = [&](const llvm::Twine &word) { text += ((text.empty() ? "" : " ") + word).str(); };
  format::Description description;
  format::describe(instruction, description);
  for (const format::Description::Field &field : description.fields)
    if (!field.isFlag)
      append(formatv("{0} {1}", field.name,
                     llvm::format(field.value == std::floor(field.value) ? "%.0f" : "%.7g",
                                  field.value))
                 .str());
    else if (field.value != 0)
      append(field.name);
  for (const format::Description::Scalar &scalar : description.scalars)
    append(formatv("{0} {1}", scalar.name, valueOf(scalar.scalar, at)).str());
  if (std::optional<format::Communication> communication = format::communicationOf(instruction))
    append("'" + textOf(communication->name) + "'");
  return text;
}

} // namespace dtc
