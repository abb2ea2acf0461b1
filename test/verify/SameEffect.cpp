#include "test/verify/SameEffect.h"

#include "compiler/prove/verify/Accesses.h"
#include "runtime/format/Instructions.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>

namespace dtc::mutate {
namespace {

using namespace format;

// A range of bytes of the arena that one instruction wrote last.
struct Cell {
  int64_t end;
  uint32_t writer;            // number of the event
  int64_t shift;              // address minus the offset in the data that the writer wrote
  std::set<uint32_t> readers; // since that write
  // Hash of the writer's name. Of a sum, the hashes of what began it and of all addends, added up:
  // the order of addends does not matter.
  size_t content;
};

// The dependences of one program in one entry: which instruction reads the data of which.
class History {
public:
  History(const Manifest &manifest, const Program &program, EntryKind kind)
      : manifest(manifest), program(program) {
    std::vector<uint32_t> left = countRuns(program, *findEntry(program, kind)), done(left.size());
    last.resize(program.num_streams(), -1);
    for (const Run *run : *findEntry(program, kind)->order()) {
      const Task &task = *program.tasks()->Get(run->task());
      bool isFirst = done[run->task()]++ == 0, isLast = left[run->task()]-- == 1;
      std::vector<uint32_t> all(task.instructions()->size());
      std::iota(all.begin(), all.end(), 0u);
      visitLayers(task, all, [&](uint32_t i, uint32_t layer) {
        const Instruction &instruction = *task.instructions()->Get(i);
        if (isLast || instruction.runs() != Runs::last)
          add(*run, instruction, layer, isFirst);
        return true;
      });
    }
    for (auto &[begin, cell] : cells)
      kept.emplace_back(begin, cell.end, cell.content, cell.shift);
  }

  bool isOrdered = true;
  // The reads of each instruction, by its name. A read is (offset in the data that it reads, bytes,
  // content of the bytes, offset in the writer's data).
  using Reads = std::set<std::tuple<int64_t, int64_t, size_t, int64_t>>;
  std::map<std::string, Reads> reads;
  std::map<std::string, std::vector<std::string>> channels; // in order
  // Ranges that a step leaves behind: begin, end, content, shift.
  std::vector<std::tuple<int64_t, int64_t, size_t, int64_t>> kept;

private:
  using Bits = std::vector<uint64_t>;

  std::string nameOf(const Run &run, const Instruction &instruction, const Accesses &accesses,
                     uint32_t layer) {
    // An instruction that runs once a step belongs to no micro-batch, whichever is the last one.
    bool isOfStep = instruction.runs() == Runs::last;
    std::string name = std::to_string(run.task()) + "/" +
                       (isOfStep ? "step" : std::to_string(run.micro_batch())) + "/" +
                       std::to_string(layer) + "/" + opName(instruction.op_type());
    for (const Touch &touch : accesses.touches)
      name += " " + std::to_string(touch.buffer) + (touch.writes ? "w" : "r") +
              std::to_string(touch.pieces.empty() ? 0 : touch.pieces[0].begin) + "+" +
              std::to_string(touch.pieces.size());
    return name + "#" + std::to_string(seen[name]++);
  }

  bool meetsOtherPrograms(uint32_t index) const {
    const Group &group = *manifest.groups()->Get(index);
    for (uint32_t site = 0; site < group.ranks()->size(); ++site)
      if (manifest.rank_program()->Get(group.ranks()->Get(site)) !=
          manifest.rank_program()->Get(group.ranks()->Get(site / group.size() * group.size())))
        return true;
    return false;
  }

  // Returns the name of the channel of a transfer. Transfers are matched by their ends, on any
  // streams.
  static std::string channelOf(const Communication &communication, const Instruction &instruction) {
    std::string group = std::to_string(communication.group) + "/";
    if (const Transfer *op = instruction.op_as_Transfer())
      return group + EnumNameTransferKind(op->kind()) + std::to_string(op->shift());
    return group + std::to_string(instruction.stream());
  }

  bool comesBefore(uint32_t a, uint32_t b) const {
    return a == b || (before[b][a / 64] >> a % 64 & 1);
  }

  void add(const Run &run, const Instruction &instruction, uint32_t layer, bool isFirst) {
    Accesses accesses = accessesOf(manifest, program, instruction);
    auto event = static_cast<uint32_t>(names.size());
    names.push_back(nameOf(run, instruction, accesses, layer));
    hashes.push_back(std::hash<std::string>()(names.back()));
    Bits &bits = before.emplace_back(event / 64 + 1);
    auto follow = [&](int64_t earlier) {
      if (earlier < 0)
        return;
      const Bits &other = before[static_cast<size_t>(earlier)];
      for (size_t i = 0; i < other.size(); ++i)
        bits[i] |= other[i];
      bits[static_cast<size_t>(earlier) / 64] |= uint64_t(1) << earlier % 64;
    };
    uint8_t stream = instruction.stream();
    follow(last[stream]);
    if (const Wait *op = instruction.op_as_Wait()) {
      auto found = recorded.find(eventOf(*op, layer, run.micro_batch()));
      follow(found == recorded.end() ? -1 : found->second);
    }
    last[stream] = event;
    if (const Record *op = instruction.op_as_Record())
      recorded[eventOf(*op, layer, run.micro_batch())] = event;
    if (std::optional<Communication> communication = communicationOf(instruction))
      if (meetsOtherPrograms(communication->group))
        channels[channelOf(*communication, instruction)].push_back(names.back());
    bool adds = accesses.accumulates && !(instruction.starts_sum() && isFirst);
    bool sums = adds && isAddition(instruction);
    for (const Touch &touch : accesses.touches)
      if ((touch.reads || adds) && !(touch.writes && sums))
        for (const Piece &piece : rowsOf(touch))
          read(event, touch, piece, run, layer);
    for (const Touch &touch : accesses.touches)
      if (touch.writes)
        for (const Piece &piece : rowsOf(touch))
          sums ? addTo(event, touch, piece, run, layer) : write(event, touch, piece, run, layer);
  }

  // Returns true for instructions that accumulate by plain addition.
  static bool isAddition(const Instruction &instruction) {
    const Gemm *op = instruction.op_as_Gemm();
    return !op || op->beta() == 1;
  }

  // Returns each row of a touch by itself, or its pieces if it has no rows.
  static std::vector<Piece> rowsOf(const Touch &touch) {
    if (!touch.columns)
      return touch.pieces;
    std::vector<Piece> rows;
    for (const Piece &piece : touch.pieces)
      for (int64_t row = 0; row < piece.bytes; row += touch.columns->stride)
        for (const Column &column : touch.columns->columns)
          if (int64_t bytes = std::min(column.end, piece.bytes - row) - column.begin; bytes > 0)
            rows.push_back({piece.begin + row + column.begin, bytes});
    return rows;
  }

  int64_t offsetOf(const Touch &touch, const Piece &piece, const Run &run, uint32_t layer) const {
    const Buffer &buffer = *program.buffers()->Get(touch.buffer);
    return static_cast<int64_t>(addressOf(buffer)) + buffer.layer_stride() * layer +
           static_cast<int64_t>(buffer.slot_stride()) * (run.micro_batch() % buffer.slots()) +
           static_cast<int64_t>(buffer.micro_batch_stride()) * run.micro_batch() +
           touch.layerShift * layer + touch.microBatchShift * run.micro_batch() + piece.begin;
  }

  // Splits the cell that contains `at`, so that a cell begins there.
  void cut(int64_t at) {
    auto after = cells.upper_bound(at);
    if (after == cells.begin())
      return;
    auto cell = std::prev(after);
    if (cell->first < at && at < cell->second.end) {
      Cell rest = cell->second;
      cell->second.end = at;
      cells.emplace(at, rest);
    }
  }

  void read(uint32_t event, const Touch &touch, const Piece &piece, const Run &run,
            uint32_t layer) {
    int64_t begin = offsetOf(touch, piece, run, layer), end = begin + piece.bytes;
    cut(begin);
    cut(end);
    Reads &all = reads[names[event]];
    for (auto cell = cells.lower_bound(begin); cell != cells.end() && cell->first < end; ++cell) {
      isOrdered &= comesBefore(cell->second.writer, event);
      cell->second.readers.insert(event);
      all.insert({piece.begin + cell->first - begin, cell->second.end - cell->first,
                  cell->second.content, cell->first - cell->second.shift});
    }
  }

  void write(uint32_t event, const Touch &touch, const Piece &piece, const Run &run,
             uint32_t layer) {
    int64_t begin = offsetOf(touch, piece, run, layer), end = begin + piece.bytes;
    cut(begin);
    cut(end);
    auto first = cells.lower_bound(begin), past = cells.lower_bound(end);
    for (auto cell = first; cell != past; ++cell)
      checkReplaced(cell->second, event);
    cells.erase(first, past);
    cells[begin] = {end, event, begin - piece.begin, {}, hashes[event]};
  }

  void checkReplaced(const Cell &cell, uint32_t event) {
    isOrdered &= comesBefore(cell.writer, event);
    for (uint32_t reader : cell.readers)
      isOrdered &= comesBefore(reader, event);
  }

  // Adds the event's data to a range. Bytes that nothing has written have what the last step left.
  void addTo(uint32_t event, const Touch &touch, const Piece &piece, const Run &run,
             uint32_t layer) {
    constexpr size_t kLastStep = 1;
    int64_t begin = offsetOf(touch, piece, run, layer), end = begin + piece.bytes;
    int64_t shift = begin - piece.begin;
    cut(begin);
    cut(end);
    std::map<int64_t, Cell> sums;
    auto first = cells.lower_bound(begin), past = cells.lower_bound(end);
    int64_t at = begin;
    for (auto cell = first; cell != past; ++cell) {
      checkReplaced(cell->second, event);
      if (at < cell->first)
        sums[at] = {cell->first, event, shift, {}, kLastStep + hashes[event]};
      // Addends that are no neighbours in their data make other sums.
      size_t moved = std::hash<int64_t>()(cell->second.shift - shift);
      sums[cell->first] = {
          cell->second.end, event, shift, {}, cell->second.content + hashes[event] + moved};
      at = cell->second.end;
    }
    if (at < end)
      sums[at] = {end, event, shift, {}, kLastStep + hashes[event]};
    cells.erase(first, past);
    cells.insert(sums.begin(), sums.end());
  }

  const Manifest &manifest;
  const Program &program;
  std::vector<std::string> names; // per event
  std::vector<size_t> hashes;     // hashes of these names
  std::map<std::string, int> seen;
  std::vector<Bits> before; // the events that happen before each event
  std::vector<int64_t> last;
  std::map<uint32_t, int64_t> recorded;
  std::map<int64_t, Cell> cells;
};

// Returns the bytes that a step leaves in parameters, state and outputs.
std::set<std::tuple<int64_t, int64_t, size_t, int64_t>>
keptBy(const History &history, const Program &program, EntryKind kind) {
  std::set<std::pair<int64_t, int64_t>> ranges;
  auto addBuffer = [&](uint32_t index) {
    const Buffer &buffer = *program.buffers()->Get(index);
    ranges.emplace(addressOf(buffer), addressOf(buffer) + buffer.bytes());
  };
  for (const auto *all : {program.parameters(), program.optimizer_state()})
    for (uint32_t i = 0; i < sizeOf(all); ++i)
      addBuffer(all->Get(i)->buffer());
  for (const Output *output : *program.outputs())
    if (kind == EntryKind::train || output->role() == OutputRole::loss ||
        output->role() == OutputRole::loss_weight || output->role() == OutputRole::loss_beside ||
        (kind == EntryKind::gradients && output->role() == OutputRole::gradient_scale))
      addBuffer(output->buffer());
  for (uint32_t i = 0; kind == EntryKind::gradients && i < sizeOf(program.gradients()); ++i)
    addBuffer(program.gradients()->Get(i)->buffer());
  std::set<std::tuple<int64_t, int64_t, size_t, int64_t>> kept;
  for (auto &[begin, end, content, shift] : history.kept)
    for (auto [first, last] : ranges)
      if (begin < last && first < end)
        kept.emplace(std::max(begin, first) - first, std::min(end, last) - first, content,
                     std::max(begin, first) - shift);
  return kept;
}

} // namespace

bool haveSameEffect(const Manifest &before, const Manifest &after) {
  for (uint32_t p = 0; p < before.programs()->size(); ++p)
    for (EntryKind kind : EnumValuesEntryKind()) {
      const Program &a = *before.programs()->Get(p), &b = *after.programs()->Get(p);
      if (!findEntry(a, kind))
        continue;
      History was(before, a, kind), is(after, b, kind);
      if (!is.isOrdered || was.reads != is.reads || keptBy(was, a, kind) != keptBy(is, b, kind))
        return false;
      // Ranks of another program still issue the matching operations one after another.
      if (before.programs()->size() > 1 && was.channels != is.channels)
        return false;
    }
  return true;
}

} // namespace dtc::mutate
