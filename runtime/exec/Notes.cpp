#include "runtime/exec/Notes.h"

#include "runtime/format/InstructionText.h"

#include <algorithm>

namespace dtc::rt {
namespace {

void noteCommunication(const format::Manifest &manifest, const BoundInstruction &instruction,
                       NotedInstruction &note) {
  const format::Instruction &source = *instruction.command.source;
  std::optional<format::Communication> communication = format::communicationOf(source);
  if (!communication)
    return;
  note.group = static_cast<uint32_t>(instruction.command.group);
  note.name = communication->name ? communication->name->str() : "";
  if (const format::Transfer *op = source.op_as_Transfer()) {
    note.kind = EnumNameTransferKind(op->kind());
    note.dtype = EnumNameDType(op->dtype());
    note.inElements = note.outElements = op->count();
    note.bytes = op->count() * format::bytesOf(op->dtype());
    return;
  }
  const format::Collective &op = *source.op_as_Collective();
  uint64_t ranks = manifest.groups()->Get(op.group())->size();
  auto blocks = [&](format::CollectiveKind one) {
    bool isWhole = op.kind() == one || op.kind() == format::CollectiveKind::all_to_all;
    return op.kind() == format::CollectiveKind::all_reduce || !isWhole ? op.count()
                                                                       : op.count() * ranks;
  };
  note.kind = EnumNameCollectiveKind(op.kind());
  note.dtype = EnumNameDType(op.dtype());
  note.inElements = blocks(format::CollectiveKind::reduce_scatter);
  note.outElements = blocks(format::CollectiveKind::all_gather);
  note.bytes = std::max(note.inElements, note.outElements) * format::bytesOf(op.dtype());
}

NotedInstruction noteInstruction(const format::Manifest &manifest, const format::Task &task,
                                 const BoundInstruction &instruction) {
  const format::Instruction &source = *instruction.command.source;
  NotedInstruction note;
  note.words = format::describe(manifest, source);
  note.task = task.name()->str();
  note.index = instruction.index;
  note.layers = instruction.layers;
  note.meets = meetsOf(source);
  bool isEvent = source.op_type() == format::Op::Record || source.op_type() == format::Op::Wait;
  note.kind = isEvent ? "wait" : "";
  if (source.location() < format::sizeOf(manifest.locations())) {
    const format::Location &location = *manifest.locations()->Get(source.location());
    note.file = location.file() ? location.file()->str() : "";
    note.op = location.name() ? location.name()->str() : "";
    note.line = location.line();
  }
  noteCommunication(manifest, instruction, note);
  return note;
}

} // namespace

Meets meetsOf(const format::Instruction &instruction) {
  if (instruction.op_as_Collective())
    return Meets::Collective;
  const format::Transfer *op = instruction.op_as_Transfer();
  return !op                                        ? Meets::Nobody
         : op->kind() == format::TransferKind::send ? Meets::Send
                                                    : Meets::Receive;
}

ProgramNotes noteProgram(const format::Manifest &manifest, uint32_t rank, const Groups &groups,
                         const BoundProgram &bound) {
  ProgramNotes notes;
  notes.groups = groups.notes();
  const auto &tasks = *manifest.programs()->Get(manifest.rank_program()->Get(rank))->tasks();
  std::vector<uint32_t> firsts; // index of each task's first instruction among all
  for (uint32_t task = 0; task < bound.tasks.size(); ++task) {
    firsts.push_back(static_cast<uint32_t>(notes.instructions.size()));
    for (const BoundInstruction &instruction : bound.tasks[task].instructions)
      notes.instructions.push_back(noteInstruction(manifest, *tasks.Get(task), instruction));
  }
  for (const auto &[kind, entry] : bound.entries) {
    if (static_cast<size_t>(kind) >= ProgramNotes::kEntries)
      continue;
    std::vector<NotedIssue> &issues = notes.issues[static_cast<size_t>(kind)];
    for (const Issue &issue : entry.issues) {
      const BoundRun &run = entry.runs[issue.run];
      issues.push_back({firsts[run.task] + issue.instruction, run.microBatch, issue.layer});
    }
  }
  return notes;
}

} // namespace dtc::rt
