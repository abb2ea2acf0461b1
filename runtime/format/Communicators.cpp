// Finds the communicators that programs use, and the memory of their buffers.
#include "runtime/format/Communicators.h"

#include "runtime/format/Operands.h"

#include <algorithm>

namespace dtc::format {

std::optional<CommunicatorKey> communicatorOf(const Manifest &manifest,
                                              const Instruction &instruction) {
  if (const Collective *op = instruction.op_as_Collective())
    return CommunicatorKey{op->group(), false, instruction.stream()};
  const Transfer *op = instruction.op_as_Transfer();
  if (!op)
    return std::nullopt;
  uint32_t size = manifest.groups()->Get(op->group())->size();
  return CommunicatorKey{op->group(), true,
                         op->kind() == TransferKind::send ? op->shift() : size - op->shift()};
}

// True if operations of the key may wait beside other work of a rank.
static bool isBeside(const CommunicatorKey &key) {
  return key.isTransfer || key.streamOrShift != 0;
}

uint32_t mostBlocksOf(const CommunicatorKey &key, const CommunicatorUse &use, uint32_t besides) {
  if (!key.isTransfer && use.mostBytes <= fewBytes)
    return 1;
  if (!isBeside(key))
    return 0;
  uint32_t share = mostBlocksBeside / std::max<uint32_t>(besides, 1);
  return std::clamp<uint32_t>(share, 1,
                              key.isTransfer ? mostBlocksOfTransfers : mostBlocksOfCollectives);
}

uint64_t bufferBytesOf(const Communicator &communicator) {
  // NCCL takes 16 to 32 blocks on the links of GPUs where it may.
  constexpr uint64_t likelyBlocks = 24, mostHeads = 8, ofTree = 2;
  constexpr uint64_t ofConnection = uint64_t(10) << 20, ofHead = uint64_t(2) << 20;
  uint64_t blocks = communicator.blocks != 0 ? communicator.blocks : likelyBlocks;
  uint64_t others = communicator.ranks - 1;
  uint64_t connections = 1 + std::min(others, ofTree);
  if (communicator.exchanges)
    connections += others;
  if (communicator.isTransfer)
    return blocks * ofConnection * (connections + (communicator.receives ? 1 : 0));
  return blocks *
         (ofConnection * connections + ofHead * std::min<uint64_t>(communicator.ranks, mostHeads));
}

Communicators::Communicators(const Manifest &file)
    : manifest(file), ofPrograms(file.programs()->size()) {
  for (uint32_t p = 0; p < ofPrograms.size(); ++p) {
    for (const Task *task : *manifest.programs()->Get(p)->tasks())
      for (const Instruction *instruction : *task->instructions()) {
        std::optional<CommunicatorKey> key = communicatorOf(manifest, *instruction);
        if (!key)
          continue;
        CommunicatorUse found;
        if (const Collective *op = instruction->op_as_Collective()) {
          found.exchanges = op->kind() == CollectiveKind::all_to_all;
          found.mostBytes = op->count() * format::bytesOf(op->dtype()) *
                            manifest.groups()->Get(op->group())->size();
        } else {
          bool sends = instruction->op_as_Transfer()->kind() == TransferKind::send;
          found.sends = sends;
          found.receives = !sends;
        }
        for (CommunicatorUse *use : {&uses[*key], &ofPrograms[p][*key]}) {
          use->exchanges |= found.exchanges;
          use->sends |= found.sends;
          use->receives |= found.receives;
          use->mostBytes = std::max(use->mostBytes, found.mostBytes);
        }
      }
    uint32_t count = 0;
    for (const auto &[key, use] : ofPrograms[p])
      if (isBeside(key) && manifest.groups()->Get(key.group)->size() > 1)
        count += key.isTransfer ? static_cast<uint32_t>(use.sends) + use.receives : 1;
    besides = std::max(besides, count);
  }
}

CommunicatorUse Communicators::useOf(uint32_t program, const CommunicatorKey &key) const {
  auto found = ofPrograms[program].find(key);
  return found == ofPrograms[program].end() ? CommunicatorUse() : found->second;
}

uint32_t Communicators::blocksOf(const CommunicatorKey &key) const {
  return mostBlocksOf(key, uses.at(key), besides);
}

std::vector<Communicator> Communicators::of(uint32_t program) const {
  std::vector<Communicator> made;
  for (const auto &[key, use] : ofPrograms[program]) {
    uint32_t ranks = manifest.groups()->Get(key.group)->size();
    if (ranks == 1)
      continue;
    uint32_t blocks = blocksOf(key);
    if (!key.isTransfer)
      made.push_back({ranks, blocks, false, uses.at(key).exchanges, false});
    if (use.sends)
      made.push_back({2, blocks, true, false, false});
    if (use.receives)
      made.push_back({2, blocks, true, false, true});
  }
  return made;
}

uint64_t Communicators::bytesOf(uint32_t program) const {
  uint64_t bytes = 0;
  for (const Communicator &each : of(program))
    bytes += bufferBytesOf(each);
  return bytes;
}

} // namespace dtc::format
