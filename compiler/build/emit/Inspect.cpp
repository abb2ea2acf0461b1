// Prints executables for people: what `dtc inspect model.dte` shows.
#include "compiler/build/emit/Inspect.h"

#include "compiler/build/emit/Communication.h"
#include "compiler/build/emit/InspectJson.h"
#include "compiler/build/emit/InspectParts.h"
#include "runtime/format/Communicators.h"
#include "runtime/format/Counted.h"
#include "runtime/format/Operands.h"
#include "runtime/format/Printable.h"
#include "runtime/format/Target.h"
#include "runtime/format/Verify.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace dtc {

using llvm::formatv;

namespace {
// Most ranks shown in the line of a group.
constexpr uint32_t kShownRanks = 32;

void printSummary(const format::Manifest &manifest, std::span<const uint8_t> file,
                  llvm::raw_ostream &out) {
  out << "model        " << textOf(manifest.model_name());
  if (manifest.sequence_length() > 0)
    out << formatv(", {0} tokens a sample", manifest.sequence_length());
  out << '\n';
  out << formatv("written by   {0}\n", textOf(manifest.producer()));
  std::string_view device = format::deviceOf(manifest);
  std::string arch = textOf(manifest.gpu_arch());
  out << formatv("device       {0}{1}{2}\n", llvm::StringRef(device), arch.empty() ? "" : ", ",
                 arch);
  if (format::sizeOf(manifest.cpu_features()) > 0) {
    out << "processors  ";
    for (uint32_t i = 0; i < format::sizeOf(manifest.cpu_features()); ++i)
      out << " " << textOf(manifest.cpu_features()->Get(i));
    out << '\n';
  }
  out << "mesh        ";
  for (const format::Axis *axis : *manifest.mesh())
    out << formatv(" {0} {1}", textOf(axis->name()), axis->size());
  out << formatv(", {0} ranks\n", manifest.rank_program()->size());
  if (const auto *ranks = manifest.place_ranks()) {
    out << "at places   ";
    for (uint32_t position = 0; position < std::min(ranks->size(), kShownRanks); ++position)
      out << ' ' << ranks->Get(position);
    out << (ranks->size() > kShownRanks ? " ...\n" : "\n");
  }
  out << formatv("batch        {0} samples: {1} micro-batches of {2} a rank\n",
                 manifest.global_batch(), manifest.num_micro_batches(), manifest.micro_batch());
  out << "model flops " << llvm::format(" %.4g", manifest.model_flops_per_step()) << " a step\n";
  out << formatv("kernels      {0}\n", format::sizeOf(manifest.kernels()));
  for (uint32_t i = 0; i < format::sizeOf(manifest.segments()); ++i) {
    const format::Segment &segment = *manifest.segments()->Get(i);
    out << formatv("segment {0}    {1}, {2} bytes at {3}\n", i, EnumNameSegmentKind(segment.kind()),
                   segment.bytes(), segment.offset());
    auto calls = callsOf(segment, file);
    if (calls && *calls)
      out << formatv("  {0,-14} {1}\n", "calls",
                     (*calls)->empty() ? "nothing" : llvm::join(**calls, ", "));
    else if (calls)
      out << formatv("  {0,-14} {1}\n", "refused", format::printable(calls->error().message));
  }
}

// "[8, 64]"
std::string shapeText(const flatbuffers::Vector<uint64_t> *shape) {
  std::string text;
  for (uint32_t dim = 0; dim < format::sizeOf(shape); ++dim)
    text += (dim ? ", " : "") + std::to_string(shape->Get(dim));
  return "[" + text + "]";
}

void printInputs(const format::Program &program, llvm::raw_ostream &out) {
  for (const format::Input *input : *program.inputs()) {
    out << formatv("input        {0}, {1} {2} a sample", textOf(input->name()),
                   EnumNameDType(input->dtype()), shapeText(input->sample_shape()));
    if (input->below() > 0)
      out << formatv(", below {0}", input->below());
    if (input->ignored())
      out << formatv(", {0} is ignored", *input->ignored());
    out << '\n';
  }
}

void printTraffic(const std::vector<Traffic> &all, llvm::raw_ostream &out) {
  if (all.empty())
    return;
  out << "communication (group, kind, role, count and bytes that a rank sends in a step)\n";
  for (const Traffic &traffic : all)
    out << formatv("  {0,-8} {1,-14} {2,-10} {3,6} {4,14}\n", traffic.group, traffic.kind,
                   EnumNameCollectiveRole(traffic.role), traffic.count, traffic.bytes);
}

// "0, 2 to 5": ranks that run a program.
std::string classText(const format::Manifest &manifest, uint32_t program) {
  std::string text;
  const auto &all = *manifest.rank_program();
  for (uint32_t rank = 0; rank < all.size(); ++rank) {
    if (all.Get(rank) != program)
      continue;
    uint32_t last = rank;
    while (last + 1 < all.size() && all.Get(last + 1) == program)
      ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
    if (last > rank)
      text += " to " + std::to_string(last);
    rank = last;
  }
  return text;
}

// One program for all ranks, and groups of mesh axes, which their names say, go without saying.
void printClass(const format::Manifest &manifest, uint32_t index, llvm::raw_ostream &out) {
  if (manifest.programs()->size() > 1)
    out << formatv("\nprogram {0}    {1} on ranks {2}\n", index,
                   textOf(manifest.programs()->Get(index)->name()), classText(manifest, index));
}

void printGroups(const format::Manifest &manifest, llvm::raw_ostream &out) {
  if (manifest.programs()->size() == 1)
    return;
  for (uint32_t i = 0; i < format::sizeOf(manifest.groups()); ++i) {
    const format::Group &group = *manifest.groups()->Get(i);
    uint32_t lists = group.ranks()->size() / group.size();
    out << formatv("group        {0}, {1} {2} of {3}:", textOf(group.name()), lists,
                   lists == 1 ? "list" : "lists", group.size());
    for (uint32_t k = 0; k < std::min(group.ranks()->size(), kShownRanks); ++k)
      out << (k > 0 && k % group.size() == 0 ? ", " : " ") << group.ranks()->Get(k);
    out << (group.ranks()->size() > kShownRanks ? " ...\n" : "\n");
  }
}

void printProgram(const format::Manifest &manifest, uint32_t index,
                  const format::Communicators &communicators, llvm::raw_ostream &out) {
  const format::Program &program = *manifest.programs()->Get(index);
  printInputs(program, out);
  out << formatv("arena        {0} bytes, {1} buffers\n", program.arena_bytes(),
                 program.buffers()->size());
  if (program.host_bytes() > 0)
    out << formatv("host arena   {0} bytes\n", program.host_bytes());
  if (size_t made = communicators.of(index).size(); made > 0 && format::isForGpu(manifest))
    out << formatv("communicators {0} of NCCL, some {1} bytes beside the arena\n", made,
                   communicators.bytesOf(index));
  auto bytes = bytesByKind(program);
  for (size_t kind = 0; kind < bytes.size(); ++kind)
    if (bytes[kind] > 0)
      out << formatv("  {0,-14} {1} bytes\n",
                     EnumNameBufferKind(static_cast<format::BufferKind>(kind)), bytes[kind]);
  auto numFrozen = llvm::count_if(*program.parameters(), [&](const format::Tensor *parameter) {
    return !format::isTrained(program, *parameter);
  });
  std::string frozen = numFrozen > 0 ? formatv(" ({0} frozen)", numFrozen).str() : "";
  out << formatv("tensors      {0}{1}, {2} of optimizer state\n",
                 format::counted(program.parameters()->size(), "parameter"), frozen,
                 format::sizeOf(program.optimizer_state()));
  out << formatv("instructions {0} on {1}, {2}; tasks {3}, slots {4}\n", countInstructions(program),
                 format::counted(program.num_streams(), "stream"),
                 format::counted(program.num_events(), "event"), program.tasks()->size(),
                 mostSlots(program));
  if (size_t unrolled = countUnrolled(program); unrolled != countInstructions(program))
    out << formatv("  {0,-14} {1}\n", "with repeats", unrolled);
  for (const auto &[name, count] : countOps(program))
    out << formatv("  {0,-14} {1}\n", name, count);
  printTraffic(trafficOf(manifest, program), out);
}

void printTask(const format::Manifest &manifest, const format::Program &program,
               const format::Task &task, const std::vector<int64_t> &coordinates,
               llvm::raw_ostream &out) {
  uint32_t index = 0, nextRepeat = 0;
  for (const format::Instruction *instruction : *task.instructions()) {
    if (nextRepeat < format::sizeOf(task.repeats()) &&
        task.repeats()->Get(nextRepeat)->begin() == index) {
      const format::Repeat &repeat = *task.repeats()->Get(nextRepeat++);
      out << formatv("  repeat {0} to {1} for {2} layers\n", index, repeat.end() - 1,
                     repeat.count());
    }
    out << formatv("  {0,5} s{1} {2,-14} {3}", index++, static_cast<int>(instruction->stream()),
                   opNameOf(instruction->op_type()),
                   detailsOf(manifest, *instruction, coordinates));
    if (instruction->starts_sum())
      out << " starts_sum";
    if (instruction->runs() == format::Runs::last)
      out << " last run only";
    for (const OperandText &operand : operandsOf(program, *instruction))
      out << formatv(" {0}={1}", operand.role, operand.name);
    out << '\n';
  }
}

void printRank(const format::Manifest &manifest, uint32_t rank, llvm::raw_ostream &out) {
  const format::Program &program = *manifest.programs()->Get(manifest.rank_program()->Get(rank));
  std::vector<int64_t> coordinates = coordinatesOf(manifest, rank);
  out << formatv("\nrank {0} at", rank);
  for (size_t axis = 0; axis < coordinates.size(); ++axis)
    out << formatv(" {0}={1}", textOf(manifest.mesh()->Get(axis)->name()), coordinates[axis]);
  out << "\nmemory (offset, bytes, kind, name), the host's last\n";
  std::vector<const format::Buffer *> buffers(program.buffers()->begin(), program.buffers()->end());
  std::sort(buffers.begin(), buffers.end(), [](const auto *a, const auto *b) {
    return std::pair(format::addressOf(*a), a) <
           std::pair(format::addressOf(*b), b); // ties in the order of the file
  });
  for (const format::Buffer *buffer : buffers) {
    out << formatv("  {0,12} {1,12} {2,-13} {3}", buffer->offset(), buffer->bytes(),
                   EnumNameBufferKind(buffer->kind()), textOf(buffer->name()));
    if (buffer->layer_stride() != 0)
      out << formatv(" + {0} * layer", buffer->layer_stride());
    if (buffer->space() == format::MemorySpace::host)
      out << " on the host";
    out << '\n';
  }
  std::vector<uint32_t> runs =
      format::countRuns(program, *format::findEntry(program, format::EntryKind::train));
  for (uint32_t task = 0; task < program.tasks()->size(); ++task) {
    out << formatv("task {0}, run {1} time{2} a training step (stream, op, details, buffers)\n",
                   textOf(program.tasks()->Get(task)->name()), runs[task],
                   runs[task] == 1 ? "" : "s");
    printTask(manifest, program, *program.tasks()->Get(task), coordinates, out);
  }
}
} // namespace

Status inspectExecutable(std::span<const uint8_t> file, const std::string &name,
                         const InspectOptions &options, llvm::raw_ostream &out) {
  const format::Manifest *manifest = nullptr;
  rt::Status status = format::verifyExecutable(file, name, manifest);
  if (!status.ok())
    return UserError(status.message());
  uint32_t ranks = manifest->rank_program()->size();
  if (options.rank && *options.rank >= ranks)
    return UserError(formatv("inspecting '{0}': it has no rank {1}", name, *options.rank).str(),
                     formatv("ranks go from 0 to {0}", ranks - 1).str());
  if (options.json) {
    printJson(*manifest, file, options.rank, out);
    return {};
  }
  printSummary(*manifest, file, out);
  printGroups(*manifest, out);
  format::Communicators communicators(*manifest);
  for (uint32_t i = 0; i < manifest->programs()->size(); ++i) {
    printClass(*manifest, i, out);
    printProgram(*manifest, i, communicators, out);
  }
  if (options.rank)
    printRank(*manifest, *options.rank, out);
  return {};
}

} // namespace dtc
