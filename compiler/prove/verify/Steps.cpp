#include "compiler/prove/verify/Steps.h"

#include "runtime/format/Description.h"
#include "runtime/format/InstructionText.h"

#include <numeric>
#include <set>
#include <tuple>

namespace dtc {

Steps::Steps(const format::Manifest &manifest, uint32_t index, format::EntryKind kind)
    : manifest(manifest), index(index), program(*manifest.programs()->Get(index)),
      entry(*format::findEntry(program, kind)), runs(format::countRuns(program, entry)) {
  while (manifest.rank_program()->Get(rank) != index)
    ++rank;
  for (uint32_t t = 0; t < program.tasks()->size(); ++t) {
    const format::Task &task = *program.tasks()->Get(t);
    std::vector<Accesses> &all = instructions.emplace_back();
    std::vector<Executed> &order = orders.emplace_back();
    if (runs[t] == 0)
      continue;
    for (const format::Instruction *instruction : *task.instructions())
      all.push_back(accessesOf(manifest, program, *instruction));
    std::vector<uint32_t> every(all.size());
    std::iota(every.begin(), every.end(), 0u);
    format::visitLayers(task, every, [&](uint32_t i, uint32_t layer) {
      order.push_back({i, layer});
      return true;
    });
  }
  collectSegments();
  noteSpans();
}

Steps::Range Steps::rangeOf(const Touch &touch, const Piece &piece, const format::Run &run,
                            uint32_t layer) const {
  const format::Buffer &buffer = *program.buffers()->Get(touch.buffer);
  int64_t begin = static_cast<int64_t>(format::addressOf(buffer) +
                                       buffer.slot_stride() * (run.micro_batch() % buffer.slots()) +
                                       buffer.micro_batch_stride() * run.micro_batch()) +
                  (buffer.layer_stride() + touch.layerShift) * layer +
                  touch.microBatchShift * run.micro_batch() + piece.begin;
  return {begin, begin + piece.bytes};
}

uint64_t Steps::storageOf(uint32_t index, const format::Run &run, uint32_t layer) const {
  const format::Buffer &buffer = *program.buffers()->Get(index);
  uint64_t storage = format::sizeOf(buffer.layer_storages()) > 0
                         ? buffer.layer_storages()->Get(layer)
                         : buffer.storage();
  return storage << 20 | (buffer.slot_stride() > 0 ? run.micro_batch() % buffer.slots() : 0);
}

bool Steps::movesOn(const Touch &touch) const {
  return touch.microBatchShift != 0 ||
         program.buffers()->Get(touch.buffer)->micro_batch_stride() != 0;
}

// Runs of a task touch the same bytes, but of buffers that have several slots or move with the
// micro-batch.
void Steps::collectSegments() {
  struct Use {
    const Touch *touch;
    uint32_t layer;
  };
  struct OfTask {
    std::map<uint32_t, std::vector<Use>> bySlots;
    std::vector<Use> moving;
  };
  std::vector<OfTask> tasks(orders.size());
  for (size_t t = 0; t < orders.size(); ++t)
    for (const Executed &each : orders[t])
      for (const Touch &touch : instructions[t][each.instruction].touches) {
        uint32_t slots = program.buffers()->Get(touch.buffer)->slots();
        (movesOn(touch) ? tasks[t].moving : tasks[t].bySlots[slots])
            .push_back({&touch, each.layer});
      }
  auto add = [&](const Use &use, const format::Run &run) {
    for (const Piece &piece : use.touch->pieces) {
      Range range = rangeOf(*use.touch, piece, run, use.layer);
      segments.add(range.begin, range.end);
    }
  };
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> seen; // task, slots, slot
  for (const format::Run *run : *entry.order()) {
    for (const auto &[slots, uses] : tasks[run->task()].bySlots)
      if (seen.insert({run->task(), slots, run->micro_batch() % slots}).second)
        for (const Use &use : uses)
          add(use, *run);
    for (const Use &use : tasks[run->task()].moving)
      add(use, *run);
  }
  auto addBuffer = [&](uint32_t index) {
    const format::Buffer &buffer = *program.buffers()->Get(index);
    auto begin = static_cast<int64_t>(format::addressOf(buffer));
    segments.add(begin, begin + static_cast<int64_t>(buffer.bytes()));
  };
  for (const auto *tensors : {program.parameters(), program.optimizer_state()})
    for (uint32_t i = 0; i < format::sizeOf(tensors); ++i)
      addBuffer(tensors->Get(i)->buffer());
  for (const format::Input *input : *program.inputs())
    addBuffer(input->buffer());
  for (uint32_t i = 0; i < format::sizeOf(program.scalars()); ++i)
    addBuffer(program.scalars()->Get(i)->buffer());
  for (const format::Output *output : *program.outputs())
    addBuffer(output->buffer());
  for (uint32_t i = 0; i < format::sizeOf(program.gradients()); ++i)
    addBuffer(program.gradients()->Get(i)->buffer());
  segments.cut();
}

// Notes the segments of touches, except touches that no run makes, and none at all if the table
// would take too much memory.
void Steps::noteSpans() {
  constexpr size_t kMostNoted = size_t(1) << 24;
  for (size_t t = 0; t < instructions.size(); ++t) {
    std::vector<uint32_t> layers(instructions[t].size());
    for (const Executed &each : orders[t])
      layers[each.instruction] = std::max(layers[each.instruction], each.layer + 1);
    for (size_t i = 0; i < instructions[t].size(); ++i)
      for (Touch &touch : instructions[t][i].touches) {
        const format::Buffer &buffer = *program.buffers()->Get(touch.buffer);
        size_t spans = size_t(layers[i]) * buffer.slots() * touch.pieces.size();
        if (movesOn(touch) || buffer.slots() > runs[t] || noted.size() + spans > kMostNoted)
          continue;
        touch.slots = buffer.slots();
        auto first = static_cast<uint32_t>(noted.size());
        for (uint32_t layer = 0; layer < layers[i]; ++layer)
          for (uint32_t slot = 0; slot < touch.slots; ++slot)
            for (size_t piece = 0; piece < touch.pieces.size(); ++piece)
              noted.push_back(
                  spanOf(touch, piece, format::Run(static_cast<uint32_t>(t), slot), layer));
        touch.noted = first;
      }
  }
}

std::string Steps::bufferName(uint32_t buffer) const {
  const auto *name = program.buffers()->Get(buffer)->name();
  return format::text("'", name ? name->string_view() : "", "' (buffer ", buffer, ")");
}

std::string Steps::describe(const format::Run &run, const Executed &executed) const {
  const format::Task &task = *program.tasks()->Get(run.task());
  return format::text("task '", task.name()->string_view(), "', micro-batch ", run.micro_batch(),
                      ", instruction ", executed.instruction,
                      executed.layer > 0 ? format::text(" in layer ", executed.layer) : "", ", ",
                      format::describe(manifest, *task.instructions()->Get(executed.instruction)));
}

Fault Steps::fault(const format::Run &run, const Executed &executed, const char *check,
                   std::string message, std::string note) const {
  const format::Task &task = *program.tasks()->Get(run.task());
  const format::Instruction &instruction = *task.instructions()->Get(executed.instruction);
  Fault fault;
  fault.check = check;
  fault.entry = format::EnumNameEntryKind(entry.kind());
  fault.program = index;
  fault.rank = rank;
  fault.task = task.name()->str();
  fault.microBatch = run.micro_batch();
  fault.instruction = executed.instruction;
  fault.layer = executed.layer;
  fault.op = format::describe(manifest, instruction);
  if (instruction.location() < format::sizeOf(manifest.locations()))
    if (const auto *name = manifest.locations()->Get(instruction.location())->name())
      fault.source = name->str();
  fault.message = std::move(message);
  fault.note = std::move(note);
  return fault;
}

} // namespace dtc
