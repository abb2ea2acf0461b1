// Finds buffers of a program that can share memory.
#include "passes/schedule/BufferAssignment.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

using namespace dtc;

BufferAssignment::BufferAssignment(const AccessList &program)
    : program(program), accesses(program.buffers.size()) {
  for (unsigned buffer = 0; buffer < program.buffers.size(); ++buffer) {
    locations.push_back({buffer, 0});
    carried.push_back(program.buffers[buffer].carried);
  }
  for (unsigned i = 0; i < program.instructions.size(); ++i) {
    const AccessList::Instruction &instruction = program.instructions[i];
    for (auto [index, use] : llvm::enumerate(instruction.reads))
      accesses[use.buffer].push_back(
          {i, false, static_cast<unsigned>(index), use.offset, use.offset + use.bytes});
    for (auto [index, use] : llvm::enumerate(instruction.writes))
      accesses[use.buffer].push_back(
          {i, true, static_cast<unsigned>(index), use.offset, use.offset + use.bytes});
  }
}

void BufferAssignment::run() {
  unsigned count = program.instructions.size();
  for (unsigned i = count; i-- > 0;) // step 1
    if (program.instructions[i].isCopy)
      joinCopy(i);
  for (unsigned i = 0; i < count; ++i) // step 2
    for (auto [write, read] : program.instructions[i].inPlace)
      joinInPlace(i, write, read);
}

BufferAssignment::Location BufferAssignment::getLocation(unsigned buffer) const {
  Location location{buffer, 0};
  while (locations[location.buffer].buffer != location.buffer) {
    location.offset += locations[location.buffer].offset;
    location.buffer = locations[location.buffer].buffer;
  }
  return location;
}

AccessList::Use BufferAssignment::resolve(const AccessList::Use &use) const {
  Location location = getLocation(use.buffer);
  return {location.buffer, use.offset + location.offset, use.bytes};
}

bool BufferAssignment::isRedundant(unsigned instruction) const {
  if (!program.instructions[instruction].isCopy)
    return false;
  AccessList::Use src = resolve(program.instructions[instruction].reads[0]);
  AccessList::Use dst = resolve(program.instructions[instruction].writes[0]);
  return src.buffer == dst.buffer && src.offset == dst.offset;
}

void BufferAssignment::join(unsigned from, unsigned into, int64_t offset) {
  locations[from] = {into, offset};
  carried[into] = carried[into] || carried[from];
  std::vector<Access> moved = std::move(accesses[from]);
  accesses[from].clear();
  for (Access &access : moved) {
    access.begin += offset;
    access.end += offset;
  }
  std::vector<Access> &all = accesses[into];
  all.insert(all.end(), moved.begin(), moved.end());
  llvm::sort(all, [](const Access &a, const Access &b) {
    return std::tie(a.instruction, a.write, a.index) < std::tie(b.instruction, b.write, b.index);
  });
}

bool BufferAssignment::mayShare(unsigned instruction, const Access &write,
                                const Access &read) const {
  return write.write && !read.write &&
         llvm::is_contained(program.instructions[instruction].inPlace,
                            std::pair(write.index, read.index));
}

// True if all accesses of `instruction` to the source may be in the memory of its access to the
// destination.
bool BufferAssignment::inPlaceAt(unsigned instruction, const std::vector<Access> &source,
                                 const Access &destination) const {
  return llvm::all_of(source, [&](const Access &access) {
    return access.instruction != instruction || mayShare(instruction, access, destination);
  });
}

bool BufferAssignment::joinCopy(unsigned instruction) {
  const AccessList::Instruction &copy = program.instructions[instruction];
  AccessList::Use src = resolve(copy.reads[0]), dst = resolve(copy.writes[0]);
  if (src.buffer == dst.buffer || src.offset != 0 || !inOneMemory(src.buffer, dst.buffer) ||
      src.bytes != program.buffers[src.buffer].bytes || program.buffers[src.buffer].persistent)
    return false;
  const std::vector<Access> &source = accesses[src.buffer];
  unsigned first = source.front().instruction, last = source.back().instruction;
  for (const Access &access : source)
    if (access.write && access.instruction >= instruction)
      return false;
  if (!source.front().write || first == instruction)
    return false; // there is no producer to redirect
  if (carried[dst.buffer] && program.instructions[first].isRepeated)
    return false;
  unsigned live = carried[src.buffer] ? 0 : first;
  for (const Access &access : accesses[dst.buffer]) {
    if (access.end <= dst.offset || access.begin >= dst.offset + dst.bytes ||
        access.instruction == instruction || access.instruction < live)
      continue;
    if (access.instruction == first && inPlaceAt(first, source, access))
      continue;
    bool after = access.instruction > instruction;
    if (after && (!access.write || access.instruction > last))
      continue;
    return false;
  }
  join(src.buffer, dst.buffer, dst.offset);
  return true;
}

bool BufferAssignment::joinInPlace(unsigned instruction, unsigned write, unsigned read) {
  const AccessList::Instruction &op = program.instructions[instruction];
  AccessList::Use result = resolve(op.writes[write]), operand = resolve(op.reads[read]);
  auto whole = [&](const AccessList::Use &use) {
    return use.offset == 0 && use.bytes == program.buffers[use.buffer].bytes &&
           !program.buffers[use.buffer].persistent;
  };
  if (result.buffer == operand.buffer || !inOneMemory(result.buffer, operand.buffer) ||
      !whole(result) || !whole(operand) || result.bytes != operand.bytes ||
      carried[result.buffer] || (carried[operand.buffer] && op.isRepeated))
    return false;
  for (const Access &access : accesses[operand.buffer]) {
    if (access.instruction > instruction)
      return false; // the operand is read later
    if (access.instruction == instruction &&
        !inPlaceAt(instruction, accesses[result.buffer], access))
      return false;
  }
  for (const Access &access : accesses[result.buffer])
    if (access.instruction < instruction)
      return false;
  join(result.buffer, operand.buffer, 0);
  return true;
}
