#include "runtime/exec/Groups.h"

namespace dtc::rt {

Status Groups::create(const format::Manifest &file, Control &control, Device &device) {
  manifest = &file;
  format::Communicators communicators(file);
  uint32_t mine = file.rank_program()->Get(static_cast<uint32_t>(control.rank()));
  for (const auto &[key, use] : communicators.all()) {
    const format::Group &group = *file.groups()->Get(key.group);
    format::CommunicatorUse own = communicators.useOf(mine, key);
    GroupSpec spec{.name = group.name()->str(),
                   .ranks = {group.ranks()->data(), group.ranks()->size()},
                   .size = group.size(),
                   .shift = key.isTransfer ? key.streamOrShift : 0,
                   .exchanges = use.exchanges,
                   .sends = own.sends,
                   .receives = own.receives,
                   .mostBlocks = communicators.blocksOf(key),
                   .numBeside = communicators.numBeside()};
    DTC_RETURN_IF_ERROR(device.createGroup(control, spec, groups[key]));
  }
  return {};
}

int Groups::find(const format::Instruction &instruction) const {
  if (!manifest) // no group was made
    return -1;
  std::optional<format::CommunicatorKey> key = format::communicatorOf(*manifest, instruction);
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
