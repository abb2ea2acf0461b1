#include "test/verify/ExpertMutations.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

namespace dtc::mutate {
namespace {

using namespace format;

// A change of one instruction.
using Change = std::function<void()>;

bool pickOne(const std::vector<Change> &all, Random &random) {
  if (all.empty())
    return false;
  notePlanted("");
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

// Calls visit(task, position) for each instruction of the programs that have experts.
void visitExperts(ManifestT &manifest, const std::function<void(TaskT &, size_t)> &visit) {
  for (auto &program : manifest.programs)
    if (hasExperts(*program))
      for (auto &task : program->tasks)
        for (size_t i = 0; i < task->instructions.size(); ++i)
          visit(*task, i);
}

// Returns the buffers of a program that have choices or indices of rows: integers that cut no
// product into groups.
std::set<uint32_t> indicesOf(const ProgramT &program) {
  std::set<uint32_t> counts, found;
  for (auto &task : program.tasks)
    for (auto &each : task->instructions)
      if (const GroupedGemmT *op = each->op.AsGroupedGemm())
        counts.insert(program.buffers[op->counts]->storage);
  for (uint32_t i = 0; i < program.buffers.size(); ++i)
    if (program.buffers[i]->dtype == DType::i32 && !counts.count(program.buffers[i]->storage))
      found.insert(i);
  return found;
}

// Puts an instruction behind another one.
void insertBehind(TaskT &task, size_t index, InstructionT added) {
  task.instructions.insert(task.instructions.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                           std::make_unique<InstructionT>(std::move(added)));
  for (Repeat &each : task.repeats)
    each = Repeat(each.begin() + (each.begin() > index), each.end() + (each.end() > index),
                  each.count());
}

bool isInRepeat(const TaskT &task, size_t index) {
  return std::any_of(task.repeats.begin(), task.repeats.end(), [&](const Repeat &each) {
    return each.begin() <= index && index < each.end();
  });
}

// Returns true for a group whose ranks exchange rows of experts.
bool exchangesRows(const ManifestT &manifest, uint32_t group) {
  for (auto &program : manifest.programs)
    for (auto &task : program->tasks)
      for (auto &each : task->instructions)
        if (const CollectiveT *op = each->op.AsCollective();
            op && op->role == CollectiveRole::expert && op->group == group)
          return true;
  return false;
}

} // namespace

bool readOtherIndices(ManifestT &manifest, Random &random) {
  std::vector<Change> changes;
  for (auto &program : manifest.programs) {
    std::set<uint32_t> indices = indicesOf(*program);
    for (auto &task : program->tasks) {
      if (!hasExperts(*program))
        continue;
      for (auto &one : task->instructions)
        for (auto &other : task->instructions) {
          LaunchT *a = one->op.AsLaunch();
          const LaunchT *b = other->op.AsLaunch();
          // A kernel that reads nothing else makes a correction of a load; which layer's load moves
          // which correction is not followed.
          if (!a || !b || a->kernel != b->kernel || a->buffers.size() <= 2)
            continue;
          // The results of a kernel are its last buffers, of which rows are the only ones here.
          for (size_t i = 0; i + 1 < a->buffers.size(); ++i)
            if (a->buffers[i] != b->buffers[i] && indices.count(a->buffers[i]) &&
                program->buffers[a->buffers.back()]->dtype != DType::i32)
              changes.push_back([=, name = program->buffers[a->buffers[i]]->name,
                                 other = program->buffers[b->buffers[i]]->name] {
                a->buffers[i] = b->buffers[i];
                notePlanted("'" + other + "' in place of '" + name + "'");
              });
        }
    }
  }
  return pickOne(changes, random);
}

namespace {

// Makes a product of groups read an operand of another product of equal sizes in the same task.
bool readOfOtherProduct(ManifestT &manifest, Random &random, uint32_t GroupedGemmT::*operand,
                        bool ofSums) {
  std::vector<Change> changes;
  visitExperts(manifest, [&](TaskT &task, size_t i) {
    GroupedGemmT *op = task.instructions[i]->op.AsGroupedGemm();
    if (!op || (ofSums && !op->sums_rows))
      return;
    for (auto &each : task.instructions) {
      const GroupedGemmT *other = each->op.AsGroupedGemm();
      if (other && other->sums_rows == op->sums_rows && other->counts != op->counts &&
          other->k == op->k && other->n == op->n && other->*operand != op->*operand)
        changes.push_back([=] { op->*operand = other->*operand; });
    }
  });
  return pickOne(changes, random);
}

} // namespace

bool readOtherCounts(ManifestT &manifest, Random &random) {
  return readOfOtherProduct(manifest, random, &GroupedGemmT::counts, /*ofSums=*/false);
}

bool multiplyOtherRows(ManifestT &manifest, Random &random) {
  return readOfOtherProduct(manifest, random, &GroupedGemmT::a, /*ofSums=*/true);
}

bool leaveRowsOut(ManifestT &manifest, Random &random) {
  std::vector<Change> changes;
  visitExperts(manifest, [&](TaskT &task, size_t i) {
    if (GroupedGemmT *op = task.instructions[i]->op.AsGroupedGemm())
      for (uint64_t rows : {op->rows / 2, op->rows - 1})
        changes.push_back([=] { op->rows = rows; });
  });
  return pickOne(changes, random);
}

bool countRowsTwice(ManifestT &manifest, Random &random) {
  std::vector<Change> changes;
  visitExperts(manifest, [&](TaskT &task, size_t i) {
    const GroupedGemmT *op = task.instructions[i]->op.AsGroupedGemm();
    if (op && op->sums_rows && op->accumulate)
      changes.push_back([&task, i] {
        InstructionT added = *task.instructions[i];
        added.starts_sum = false;
        insertBehind(task, i, std::move(added));
      });
  });
  return pickOne(changes, random);
}

bool addBiasOnEachRank(ManifestT &manifest, Random &random) {
  std::vector<Change> changes;
  visitExperts(manifest, [&](TaskT &task, size_t i) {
    const CollectiveT *op = task.instructions[i]->op.AsCollective();
    if (!op || op->role != CollectiveRole::activation || op->kind != CollectiveKind::all_reduce ||
        i == 0 || i + 1 >= task.instructions.size() || isInRepeat(task, i))
      return;
    const LaunchT *next = task.instructions[i + 1]->op.AsLaunch();
    if (next && next->buffers.front() == op->dst && next->buffers.back() == op->dst)
      changes.push_back([&task, i] { std::swap(task.instructions[i], task.instructions[i + 1]); });
  });
  return pickOne(changes, random);
}

bool sumExpertsTwice(ManifestT &manifest, Random &random) {
  std::vector<Change> changes;
  visitExperts(manifest, [&](TaskT &task, size_t i) {
    const InstructionT &at = *task.instructions[i];
    const GroupedGemmT *op = at.op.AsGroupedGemm();
    if (!op || !op->sums_rows)
      return;
    for (uint32_t group = 0; group < manifest.groups.size(); ++group)
      if (manifest.groups[group]->size > 1 && exchangesRows(manifest, group))
        changes.push_back([&task, i, group, sum = *op, location = at.location] {
          CollectiveT collective;
          collective.kind = CollectiveKind::all_reduce;
          collective.reduce = ReduceKind::sum;
          collective.role = CollectiveRole::gradient;
          collective.group = group;
          collective.src = collective.dst = sum.c;
          collective.count = sum.groups * sum.k * sum.n;
          collective.dtype = sum.result_dtype;
          collective.name = "sum over experts";
          InstructionT added;
          added.location = location;
          added.runs = Runs::last;
          added.op.Set(std::move(collective));
          insertBehind(task, i, std::move(added));
        });
  });
  return pickOne(changes, random);
}

bool loseRouterGradient(ManifestT &manifest, Random &random) {
  std::vector<Change> changes;
  for (auto &program : manifest.programs) {
    auto isOfRouter = [&](uint32_t buffer) {
      const std::string &name = program->buffers[buffer]->name;
      return name.rfind("grad ", 0) == 0 && (name.find("gate.weight") != std::string::npos ||
                                             name.find("router") != std::string::npos);
    };
    // Returns true if a buffer has the bytes of a router's gradient.
    auto holdsOne = [&](uint32_t buffer) {
      const BufferT &bucket = *program->buffers[buffer];
      for (uint32_t i = 0; i < program->buffers.size(); ++i)
        if (const BufferT &each = *program->buffers[i];
            isOfRouter(i) && each.offset >= bucket.offset &&
            each.offset + each.bytes <= bucket.offset + bucket.bytes)
          return true;
      return false;
    };
    for (auto &task : program->tasks)
      for (size_t i = 0; i < task->instructions.size(); ++i) {
        const StridedCopyT *copy = task->instructions[i]->op.AsStridedCopy();
        const CollectiveT *op = task->instructions[i]->op.AsCollective();
        bool isLost = copy ? isOfRouter(copy->src)
                           : op && op->role == CollectiveRole::gradient &&
                                 manifest.groups[op->group]->size > 1 && holdsOne(op->src);
        if (isLost && !isInRepeat(*task, i))
          changes.push_back([&task, i] {
            task->instructions.erase(task->instructions.begin() + static_cast<std::ptrdiff_t>(i));
            for (Repeat &each : task->repeats)
              each = Repeat(each.begin() - (each.begin() > i), each.end() - (each.end() > i),
                            each.count());
          });
      }
  }
  return pickOne(changes, random);
}

bool countLoadOfFew(ManifestT &manifest, Random &random) {
  std::vector<Change> changes;
  visitExperts(manifest, [&](TaskT &task, size_t i) {
    CollectiveT *op = task.instructions[i]->op.AsCollective();
    if (!op || op->role != CollectiveRole::control || op->count < 2)
      return;
    for (uint32_t group = 0; group < manifest.groups.size(); ++group)
      if (manifest.groups[group]->size < manifest.groups[op->group]->size)
        changes.push_back([=] { op->group = group; });
  });
  return pickOne(changes, random);
}

bool sendToOtherExperts(ManifestT &manifest, Random &random) {
  std::vector<Change> changes;
  visitExperts(manifest, [&](TaskT &task, size_t i) {
    CollectiveT *op = task.instructions[i]->op.AsCollective();
    if (!op || op->role != CollectiveRole::expert || manifest.groups[op->group]->size < 2)
      return;
    changes.push_back([&manifest, op] {
      auto group = std::make_unique<GroupT>(*manifest.groups[op->group]);
      group->name = "rotated";
      for (size_t begin = 0; begin < group->ranks.size(); begin += group->size) {
        auto list = group->ranks.begin() + static_cast<std::ptrdiff_t>(begin);
        std::rotate(list, list + 1, list + group->size);
      }
      op->group = static_cast<uint32_t>(manifest.groups.size());
      manifest.groups.push_back(std::move(group));
    });
  });
  return pickOne(changes, random);
}

bool exchangeOtherRoom(ManifestT &manifest, Random &random) {
  std::vector<Change> changes;
  visitExperts(manifest, [&](TaskT &task, size_t i) {
    CollectiveT *op = task.instructions[i]->op.AsCollective();
    if (op && op->role == CollectiveRole::expert && manifest.groups[op->group]->size > 1)
      for (uint64_t count : {op->count / 2, op->count - 1, 2 * op->count})
        changes.push_back([=] { op->count = count; });
  });
  return pickOne(changes, random);
}

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
