#include "runtime/exec/Groups.h"

#include <set>

namespace dtc::rt {

std::optional<Groups::Key> Groups::keyOf(const format::Manifest &manifest,
                                         const format::Instruction &instruction) {
  if (const format::Collective *op = instruction.op_as_Collective())
    return Key{op->group(), false, instruction.stream()};
  const format::Transfer *op = instruction.op_as_Transfer();
  if (!op)
    return std::nullopt;
  uint32_t size = manifest.groups()->Get(op->group())->size();
  return Key{op->group(), true,
             op->kind() == format::TransferKind::send ? op->shift() : size - op->shift()};
}

Status Groups::create(const format::Manifest &file, Control &control, Device &device) {
  manifest = &file;
  std::set<Key> exchanging, sending, receiving;
  uint32_t mine = file.rank_program()->Get(static_cast<uint32_t>(control.rank()));
  for (uint32_t p = 0; p < file.programs()->size(); ++p)
    for (const format::Task *task : *file.programs()->Get(p)->tasks())
      for (const format::Instruction *instruction : *task->instructions())
        if (std::optional<Key> key = keyOf(file, *instruction)) {
          groups[*key] = -1;
          const format::Collective *op = instruction->op_as_Collective();
          if (op && op->kind() == format::CollectiveKind::all_to_all)
            exchanging.insert(*key);
          if (const format::Transfer *transfer = instruction->op_as_Transfer();
              transfer && p == mine)
            (transfer->kind() == format::TransferKind::send ? sending : receiving).insert(*key);
        }
  auto isBeside = [](const Key &key) { return key.isTransfer || key.streamOrShift != 0; };
  uint32_t numBeside = 0;
  for (const auto &[key, number] : groups)
    numBeside += isBeside(key) ? (key.isTransfer ? 2 : 1) : 0;

  for (auto &[key, number] : groups) {
    const format::Group &group = *file.groups()->Get(key.group);
    GroupSpec spec{.name = group.name()->str(),
                   .ranks = {group.ranks()->data(), group.ranks()->size()},
                   .size = group.size(),
                   .shift = key.isTransfer ? key.streamOrShift : 0,
                   .exchanges = exchanging.count(key) > 0,
                   .sends = sending.count(key) > 0,
                   .receives = receiving.count(key) > 0,
                   .isBeside = isBeside(key),
                   .numBeside = numBeside};
    DTC_RETURN_IF_ERROR(device.createGroup(control, spec, number));
  }
  return {};
}

int Groups::find(const format::Instruction &instruction) const {
  if (!manifest) // no group was made
    return -1;
  std::optional<Key> key = keyOf(*manifest, instruction);
  return key ? groups.at(*key) : -1;
}

std::vector<NotedGroup> Groups::notes() const {
  std::vector<NotedGroup> notes;
  for (const auto &[key, number] : groups) {
    auto index = static_cast<size_t>(number);
    if (notes.size() <= index)
      notes.resize(index + 1);
    const format::Group &group = *manifest->groups()->Get(key.group);
    notes[index] = {group.name()->str(),
                    group.size(),
                    key.isTransfer ? key.streamOrShift : 0,
                    {group.ranks()->begin(), group.ranks()->end()}};
  }
  return notes;
}

} // namespace dtc::rt
