#include "test/verify/ExpertMutations.h"

#include <algorithm>
#include <functional>

namespace dtc::mutate {
namespace {

using namespace format;

// A change of one instruction.
using Change = std::function<void()>;

bool pickOne(const std::vector<Change> &all, Random &random) {
  if (all.empty())
    return false;
  all[random() % all.size()]();
  return true;
}

bool hasExperts(const ProgramT &program) {
  return std::any_of(program.tasks.begin(), program.tasks.end(), [](const auto &task) {
    return std::any_of(task->instructions.begin(), task->instructions.end(),
                       [](const auto &each) { return each->op.type == Op::GroupedGemm; });
  });
}

// Adds changes of the instruction by which it reads `from` where it reads `to`.
void replaceReads(InstructionT &instruction, uint32_t to, uint32_t from,
                  std::vector<Change> &changes) {
  if (GroupedGemmT *op = instruction.op.AsGroupedGemm())
    for (uint32_t *operand : {&op->a, &op->b, &op->counts})
      if (*operand == to)
        changes.push_back([=] { *operand = from; });
  if (LaunchT *op = instruction.op.AsLaunch())
    for (uint32_t &buffer : op->buffers)
      if (buffer == to)
        changes.push_back([site = &buffer, from] { *site = from; });
}

// Makes an instruction behind an exchange read what it sends.
bool readWhatIsSent(ManifestT &manifest, Random &random, bool ofNumbers) {
  std::vector<Change> changes;
  for (auto &program : manifest.programs)
    for (auto &task : program->tasks) {
      auto &all = task->instructions;
      for (size_t i = 0; i < all.size(); ++i) {
        const CollectiveT *op = all[i]->op.AsCollective();
        if (!op || op->kind != CollectiveKind::all_to_all || op->role != CollectiveRole::expert ||
            (op->dtype == DType::i32) != ofNumbers)
          continue;
        // The buffer may hold something else later.
        for (size_t j = i + 1; j < all.size(); ++j) {
          const CollectiveT *next = all[j]->op.AsCollective();
          if (next && next->dst == op->dst)
            break;
          replaceReads(*all[j], op->dst, op->src, changes);
        }
      }
    }
  return pickOne(changes, random);
}

// Gives a sum of gradients the largest or the smallest group of ranks instead of its own.
bool regroup(ManifestT &manifest, Random &random, bool toAll) {
  std::vector<Change> changes;
  for (auto &program : manifest.programs) {
    if (!hasExperts(*program))
      continue;
    for (auto &task : program->tasks)
      for (auto &each : task->instructions) {
        CollectiveT *op = each->op.AsCollective();
        if (!op || op->role != CollectiveRole::gradient)
          continue;
        uint32_t size = manifest.groups[op->group]->size;
        for (uint32_t group = 0; group < manifest.groups.size(); ++group) {
          uint32_t other = manifest.groups[group]->size;
          if (toAll ? other > size : other > 1 && other < size)
            changes.push_back([=] { op->group = group; });
        }
      }
  }
  return pickOne(changes, random);
}

} // namespace

bool readOwnNumbers(ManifestT &manifest, Random &random) {
  return readWhatIsSent(manifest, random, /*ofNumbers=*/true);
}

bool readOwnRows(ManifestT &manifest, Random &random) {
  return readWhatIsSent(manifest, random, /*ofNumbers=*/false);
}

bool sumExpertsOverAll(ManifestT &manifest, Random &random) {
  return regroup(manifest, random, /*toAll=*/true);
}

bool sumOthersOverFew(ManifestT &manifest, Random &random) {
  return regroup(manifest, random, /*toAll=*/false);
}

} // namespace dtc::mutate
