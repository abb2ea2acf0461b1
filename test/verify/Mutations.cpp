#include "test/verify/Mutations.h"
#include "test/verify/ExpertMutations.h"

#include "runtime/format/Operands.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace dtc::mutate {
namespace {

using namespace format;

struct Site {
  ProgramT *program;
  TaskT *task;
  size_t index;
  InstructionT &operator*() const { return *task->instructions[index]; }
  CollectiveT *collective() const { return (**this).op.AsCollective(); }
  TransferT *transfer() const { return (**this).op.AsTransfer(); }
  bool meets() const { return collective() || transfer(); }
};

uint64_t below(Random &random, uint64_t limit) { return random() % limit; }
template <typename T> T pick(Random &random, const std::vector<T> &all) {
  return all[below(random, all.size())];
}
std::string lastSite;
Site pick(Random &random, const std::vector<Site> &all) {
  Site site = all[below(random, all.size())];
  lastSite = site.task->name + ", instruction " + std::to_string(site.index);
  if (const CollectiveT *op = site.collective())
    lastSite += " '" + op->name + "'";
  return site;
}

// Returns the instructions of tasks that some entry runs.
std::vector<Site> sitesOf(ManifestT &manifest, const std::function<bool(const Site &)> &belongs) {
  std::vector<Site> all;
  for (auto &program : manifest.programs)
    for (size_t t = 0; t < program->tasks.size(); ++t)
      for (size_t i = 0; i < program->tasks[t]->instructions.size(); ++i)
        if (Site site{program.get(), program->tasks[t].get(), i}; belongs(site))
          all.push_back(site);
  return all;
}

// Returns true for communication between ranks; a group of one rank sends nothing.
bool meetsOthers(const ManifestT &manifest, const Site &site) {
  if (const CollectiveT *op = site.collective())
    return manifest.groups[op->group]->size > 1;
  return site.transfer() != nullptr;
}
bool reducesGradients(const ManifestT &manifest, const Site &site) {
  const CollectiveT *op = site.collective();
  return op && op->role == CollectiveRole::gradient && meetsOthers(manifest, site);
}

void erase(const Site &site) {
  auto at = static_cast<uint32_t>(site.index);
  site.task->instructions.erase(site.task->instructions.begin() + at);
  std::vector<Repeat> repeats;
  for (const Repeat &each : site.task->repeats) {
    uint32_t begin = each.begin() - (each.begin() > at), end = each.end() - (each.end() > at);
    if (begin < end)
      repeats.emplace_back(begin, end, each.count());
  }
  site.task->repeats = repeats;
}

void insert(TaskT &task, size_t index, std::unique_ptr<InstructionT> instruction) {
  task.instructions.insert(task.instructions.begin() + static_cast<std::ptrdiff_t>(index),
                           std::move(instruction));
  for (Repeat &each : task.repeats)
    each = Repeat(each.begin() + (each.begin() >= index), each.end() + (each.end() > index - 1),
                  each.count());
}

// Returns the repeat that an instruction is in, or the instruction's number if it is in none.
size_t repeatOf(const TaskT &task, size_t index) {
  for (size_t i = 0; i < task.repeats.size(); ++i)
    if (task.repeats[i].begin() <= index && index < task.repeats[i].end())
      return i;
  return task.repeats.size();
}

bool dropCommunication(ManifestT &manifest, Random &random) {
  std::vector<Site> sites =
      sitesOf(manifest, [&](const Site &site) { return meetsOthers(manifest, site); });
  if (sites.empty())
    return false;
  erase(pick(random, sites));
  return true;
}

bool duplicateCommunication(ManifestT &manifest, Random &random) {
  std::vector<Site> sites =
      sitesOf(manifest, [&](const Site &site) { return meetsOthers(manifest, site); });
  if (sites.empty())
    return false;
  Site site = pick(random, sites);
  insert(*site.task, site.index + 1, std::make_unique<InstructionT>(*site));
  return true;
}

bool swapCommunications(ManifestT &manifest, Random &random) {
  std::vector<std::pair<Site, Site>> pairs;
  std::vector<Site> sites =
      sitesOf(manifest, [&](const Site &site) { return meetsOthers(manifest, site); });
  for (size_t i = 0; i < sites.size(); ++i)
    for (size_t j = i + 1; j < sites.size(); ++j)
      if (sites[i].task == sites[j].task && (*sites[i]).stream == (*sites[j]).stream &&
          (*sites[i]).runs == (*sites[j]).runs &&
          repeatOf(*sites[i].task, sites[i].index) == repeatOf(*sites[j].task, sites[j].index))
        pairs.emplace_back(sites[i], sites[j]);
  if (pairs.empty())
    return false;
  auto [a, b] = pick(random, pairs);
  lastSite = a.task->name + ", instructions " + std::to_string(a.index) + " and " +
             std::to_string(b.index);
  std::swap(a.task->instructions[a.index], b.task->instructions[b.index]);
  return true;
}

// Divides the ranks of a group into lists of half as many, or joins two lists into one.
bool changeGroup(ManifestT &manifest, Random &random) {
  std::vector<Site> sites = sitesOf(
      manifest, [&](const Site &site) { return site.collective() && meetsOthers(manifest, site); });
  if (sites.empty())
    return false;
  CollectiveT &op = *pick(random, sites).collective();
  std::vector<uint32_t> others;
  for (uint32_t g = 0; g < manifest.groups.size(); ++g)
    if (manifest.groups[g]->ranks != manifest.groups[op.group]->ranks ||
        manifest.groups[g]->size != manifest.groups[op.group]->size)
      others.push_back(g);
  auto addGroup = [&](uint32_t size) {
    auto group = std::make_unique<GroupT>(*manifest.groups[op.group]);
    group->name = "wrong";
    group->size = size;
    others.push_back(static_cast<uint32_t>(manifest.groups.size()));
    manifest.groups.push_back(std::move(group));
  };
  const GroupT &group = *manifest.groups[op.group];
  uint32_t size = group.size;
  if (group.ranks.size() % (2 * size) == 0)
    addGroup(2 * size);
  if (size % 2 == 0 && size > 2)
    addGroup(size / 2);
  if (others.empty())
    return false;
  op.group = pick(random, others);
  return true;
}

bool changeKind(ManifestT &manifest, Random &random) {
  std::vector<Site> sites =
      sitesOf(manifest, [&](const Site &site) { return meetsOthers(manifest, site); });
  if (sites.empty())
    return false;
  Site site = pick(random, sites);
  if (TransferT *op = site.transfer()) {
    op->kind = op->kind == TransferKind::send ? TransferKind::receive : TransferKind::send;
    return true;
  }
  auto kind = static_cast<unsigned>(site.collective()->kind);
  site.collective()->kind = static_cast<CollectiveKind>((kind + 1 + below(random, 3)) % 4);
  return true;
}

bool changeReduction(ManifestT &manifest, Random &random) {
  std::vector<Site> sites =
      sitesOf(manifest, [&](const Site &site) { return reducesGradients(manifest, site); });
  if (sites.empty())
    return false;
  pick(random, sites).collective()->reduce = ReduceKind::max;
  return true;
}

bool changeSize(ManifestT &manifest, Random &random) {
  std::vector<Site> sites =
      sitesOf(manifest, [&](const Site &site) { return meetsOthers(manifest, site); });
  if (sites.empty())
    return false;
  Site site = pick(random, sites);
  uint64_t &count = site.transfer() ? site.transfer()->count : site.collective()->count;
  count = pick<uint64_t>(random, {count - 1, count / 2, count + 1, 2 * count});
  return true;
}

// Returns true if two ranks have different samples, and therefore different activations.
bool haveOtherSamples(const ManifestT &manifest, uint32_t a, uint32_t b) {
  std::set<uint32_t> axes;
  for (auto &program : manifest.programs)
    for (auto &input : program->inputs)
      for (auto &shard : input->shards)
        if (shard->dim == 1)
          axes.insert(shard->axis);
  for (size_t axis = manifest.mesh.size(); axis-- > 0;) {
    uint32_t size = manifest.mesh[axis]->size;
    if (a % size != b % size && axes.count(static_cast<uint32_t>(axis)))
      return true;
    a /= size;
    b /= size;
  }
  return false;
}

// Replaces a peer by the next rank, or swaps the peers of two ranks so that each gets the data of
// the other.
bool changePeer(ManifestT &manifest, Random &random) {
  std::vector<Site> sites =
      sitesOf(manifest, [](const Site &site) { return site.transfer() != nullptr; });
  if (sites.empty())
    return false;
  TransferT &op = *pick(random, sites).transfer();
  GroupT &group = *manifest.groups[op.group];
  if (group.ranks.size() >= 2 * group.size && below(random, 2)) {
    size_t site = below(random, group.size), lists = group.ranks.size() / group.size;
    size_t a = below(random, lists), b = (a + 1 + below(random, lists - 1)) % lists;
    uint32_t &first = group.ranks[a * group.size + site],
             &second = group.ranks[b * group.size + site];
    if (!haveOtherSamples(manifest, first, second))
      return false;
    std::swap(first, second);
  } else {
    op.shift += 1;
  }
  return true;
}

bool dropWait(ManifestT &manifest, Random &random) {
  std::vector<Site> sites =
      sitesOf(manifest, [](const Site &site) { return (*site).op.type == Op::Wait; });
  if (sites.empty())
    return false;
  erase(pick(random, sites));
  return true;
}

bool isMoved(const BufferT &buffer) {
  return buffer.layer_stride != 0 || buffer.slot_stride != 0 || buffer.micro_batch_stride != 0;
}

// Returns the range of the arena that all views of a buffer's storage cover.
std::pair<uint64_t, uint64_t> rangeOf(const ProgramT &program, const BufferT &buffer) {
  uint64_t begin = buffer.offset, end = begin + buffer.bytes;
  for (auto &each : program.buffers)
    if (each->storage == buffer.storage && each->space == buffer.space) {
      begin = std::min(begin, each->offset);
      end = std::max(end, each->offset + each->bytes);
    }
  return {begin, end};
}

// Moves one buffer onto another.
bool overlapBuffers(ManifestT &manifest, Random &random) {
  ProgramT &program = *pick<ProgramT *>(random, [&] {
    std::vector<ProgramT *> all;
    for (auto &each : manifest.programs)
      all.push_back(each.get());
    return all;
  }());
  std::vector<BufferT *> movable;
  for (auto &buffer : program.buffers)
    if (!isMoved(*buffer))
      movable.push_back(buffer.get());
  for (int tries = 0; tries < 100; ++tries) {
    BufferT *a = pick(random, movable), *b = pick(random, movable);
    if (a->storage == b->storage || a->space != b->space || a->offset == b->offset ||
        b->offset + a->bytes >
            (a->space == MemorySpace::host ? program.host_bytes : program.arena_bytes))
      continue;
    // A view may read any bytes of its own storage that are written, since the file does not name
    // them.
    auto [begin, end] = rangeOf(program, *a);
    if (begin <= b->offset && b->offset + a->bytes <= end)
      continue;
    // The loader refuses a parameter that is moved alone.
    if (a->kind == BufferKind::parameter || a->kind == BufferKind::optimizer ||
        a->kind == BufferKind::input)
      continue;
    lastSite = "'" + a->name + "' over '" + b->name + "'";
    a->offset = b->offset;
    return true;
  }
  return false;
}

// Moves a buffer to the other memory: alone, or with all that share its bytes.
bool changeMemory(ManifestT &manifest, Random &random) {
  std::vector<std::pair<ProgramT *, BufferT *>> all;
  for (auto &program : manifest.programs)
    for (auto &buffer : program->buffers)
      if (program->host_bytes > 0 && buffer->layer_storages.empty())
        all.emplace_back(program.get(), buffer.get());
  if (all.empty())
    return false;
  auto [program, buffer] = pick(random, all);
  lastSite = "'" + buffer->name + "'";
  MemorySpace other = buffer->space == MemorySpace::host ? MemorySpace::device : MemorySpace::host;
  bool alone = below(random, 2);
  for (auto &each : program->buffers)
    if (each.get() == buffer ||
        (!alone && each->layer_storages.empty() && each->storage == buffer->storage))
      each->space = other;
  return true;
}

// Moves a wait behind the instruction that it protects, or uses received data in the task before.
bool useBeforeArrival(ManifestT &manifest, Random &random) {
  std::vector<Site> sites = sitesOf(manifest, [](const Site &site) {
    const auto &all = site.task->instructions;
    return (*site).op.type == Op::Wait && site.index + 1 < all.size() &&
           all[site.index + 1]->stream == (*site).stream &&
           all[site.index + 1]->op.type != Op::Wait &&
           repeatOf(*site.task, site.index) == repeatOf(*site.task, site.index + 1);
  });
  std::vector<std::pair<EntryT *, size_t>> runs;
  for (auto &program : manifest.programs)
    for (auto &entry : program->entries)
      for (size_t i = 0; i + 1 < entry->order.size(); ++i) {
        const auto &task = program->tasks[entry->order[i].task()]->instructions;
        bool receives = std::any_of(task.begin(), task.end(), [](const auto &each) {
          const TransferT *op = each->op.AsTransfer();
          return op && op->kind == TransferKind::receive;
        });
        if (receives)
          runs.emplace_back(entry.get(), i);
      }
  if (sites.empty() && runs.empty())
    return false;
  if (uint64_t at = below(random, sites.size() + runs.size()); at < sites.size()) {
    Site site = sites[at];
    lastSite = site.task->name + ", instruction " + std::to_string(site.index);
    std::swap(site.task->instructions[site.index], site.task->instructions[site.index + 1]);
  } else {
    auto [entry, i] = runs[at - sites.size()];
    lastSite = "runs " + std::to_string(i) + " and " + std::to_string(i + 1) + " of entry '" +
               format::EnumNameEntryKind(entry->kind) + "'";
    std::swap(entry->order[i], entry->order[i + 1]);
  }
  return true;
}

// Removes a gradient reduction, so that its result is the rank's own gradient.
bool loseBucket(ManifestT &manifest, Random &random) {
  std::vector<Site> sites =
      sitesOf(manifest, [&](const Site &site) { return reducesGradients(manifest, site); });
  if (sites.empty())
    return false;
  Site site = pick(random, sites);
  CollectiveT op = *site.collective();
  if (op.src == op.dst) {
    erase(site);
    return true;
  }
  StridedCopyT copy;
  copy.src = op.src;
  copy.dst = op.dst;
  copy.dtype = op.dtype;
  copy.sizes = {op.count};
  copy.src_strides = copy.dst_strides = {1};
  (*site).op.Set(std::move(copy));
  return true;
}

void visitBuffers(const InstructionT &instruction, const std::function<void(uint32_t)> &visit) {
  if (const LaunchT *op = instruction.op.AsLaunch())
    for (uint32_t buffer : op->buffers)
      visit(buffer);
  if (const GemmT *op = instruction.op.AsGemm())
    for (uint32_t buffer : {op->a, op->b, op->c, op->addend, op->bias, op->aux})
      if (buffer != noBuffer)
        visit(buffer);
  if (const StridedCopyT *op = instruction.op.AsStridedCopy())
    for (uint32_t buffer : {op->src, op->dst})
      visit(buffer);
  if (const CollectiveT *op = instruction.op.AsCollective())
    for (uint32_t buffer : {op->src, op->dst})
      visit(buffer);
}

// Gives the memory of a buffer to another one that is first used before the last use of the former.
bool freeEarly(ManifestT &manifest, Random &random) {
  for (int tries = 0; tries < 200; ++tries) {
    ProgramT &program = *manifest.programs[below(random, manifest.programs.size())];
    TaskT &task = *program.tasks[below(random, program.tasks.size())];
    std::map<uint32_t, std::pair<size_t, size_t>> used; // storage -> first, last place
    std::map<uint32_t, std::vector<uint32_t>> buffers;  // storage -> buffers
    std::set<uint32_t> elsewhere;
    for (auto &each : program.tasks)
      for (size_t i = 0; i < each->instructions.size(); ++i)
        visitBuffers(*each->instructions[i], [&](uint32_t buffer) {
          uint32_t storage = program.buffers[buffer]->storage;
          if (isMoved(*program.buffers[buffer]) || each.get() != &task)
            elsewhere.insert(storage);
          auto [entry, isNew] = used.try_emplace(storage, i, i);
          entry->second.second = i;
        });
    for (uint32_t i = 0; i < program.buffers.size(); ++i) {
      const BufferT &buffer = *program.buffers[i];
      buffers[buffer.storage].push_back(i);
      if (buffer.kind == BufferKind::parameter || buffer.kind == BufferKind::optimizer ||
          buffer.kind == BufferKind::input || buffer.kind == BufferKind::output ||
          buffer.space == MemorySpace::host || isMoved(buffer))
        elsewhere.insert(buffer.storage);
    }
    std::vector<std::pair<uint32_t, uint32_t>> pairs; // kept, given
    for (auto &[kept, life] : used)
      for (auto &[given, other] : used)
        if (kept != given && !elsewhere.count(kept) && !elsewhere.count(given) &&
            life.first < other.first && other.first < life.second)
          pairs.emplace_back(kept, given);
    if (pairs.empty())
      continue;
    auto [kept, given] = pick(random, pairs);
    auto startOf = [&](uint32_t storage) {
      uint64_t start = ~uint64_t(0);
      for (uint32_t buffer : buffers[storage])
        start = std::min(start, program.buffers[buffer]->offset);
      return start;
    };
    uint64_t from = startOf(given), to = startOf(kept), end = 0;
    for (uint32_t buffer : buffers[given])
      end = std::max(end,
                     program.buffers[buffer]->offset - from + to + program.buffers[buffer]->bytes);
    if (from == to || end > program.arena_bytes)
      continue;
    for (uint32_t buffer : buffers[given])
      program.buffers[buffer]->offset += to - from;
    lastSite = "'" + program.buffers[buffers[given][0]]->name + "' in the memory of '" +
               program.buffers[buffers[kept][0]]->name + "'";
    return true;
  }
  return false;
}

// Keeps fewer slots of a buffer than micro-batches need, or makes its slots overlap.
bool changeSlot(ManifestT &manifest, Random &random) {
  std::vector<BufferT *> buffers;
  for (auto &program : manifest.programs)
    for (auto &buffer : program->buffers)
      if (buffer->slots > 1)
        buffers.push_back(buffer.get());
  if (buffers.empty())
    return false;
  BufferT *buffer = pick(random, buffers);
  lastSite = "'" + buffer->name + "' of " + std::to_string(buffer->slots) + " slots";
  if (below(random, 2))
    buffer->slots -= 1;
  else
    buffer->slot_stride /= 2;
  return true;
}

// Swaps the micro-batches of two runs of a task.
bool changeMicroBatch(ManifestT &manifest, Random &random) {
  std::vector<std::pair<Run *, Run *>> pairs;
  // Evaluation may add up losses in any order, and so may a task that does nothing but add up
  // gradients.
  for (auto &program : manifest.programs)
    for (auto &entry : program->entries)
      for (Run &a : entry->order)
        for (Run &b : entry->order)
          if (entry->kind == EntryKind::train && a.task() == b.task() &&
              a.micro_batch() < b.micro_batch() &&
              program->tasks[a.task()]->name.rfind("weight_gradients", 0) != 0)
            pairs.emplace_back(&a, &b);
  if (pairs.empty())
    return false;
  auto [a, b] = pick(random, pairs);
  lastSite = "task " + std::to_string(a->task()) + ", micro-batches " +
             std::to_string(a->micro_batch()) + " and " + std::to_string(b->micro_batch());
  Run was = *a;
  *a = Run(a->task(), b->micro_batch());
  *b = Run(b->task(), was.micro_batch());
  return true;
}

bool changeStream(ManifestT &manifest, Random &random) {
  std::vector<Site> sites = sitesOf(manifest, [](const Site &site) {
    return site.program->num_streams > 1 && (*site).op.type != Op::Wait &&
           (*site).op.type != Op::Record;
  });
  if (sites.empty())
    return false;
  Site site = pick(random, sites);
  auto streams = static_cast<uint8_t>(site.program->num_streams);
  (*site).stream =
      static_cast<uint8_t>(((*site).stream + 1 + below(random, streams - 1u)) % streams);
  return true;
}

// Makes an addend of a sum over micro-batches overwrite the sum, or makes the sum start from the
// value of the last step.
bool loseAddend(ManifestT &manifest, Random &random) {
  if (manifest.num_micro_batches == 1)
    return false;
  std::vector<Site> sites = sitesOf(manifest, [](const Site &site) { return (*site).starts_sum; });
  if (sites.empty())
    return false;
  Site site = pick(random, sites);
  (*site).starts_sum = false;
  if (GemmT *op = (*site).op.AsGemm(); op && below(random, 2))
    op->beta = 0;
  if (StridedCopyT *op = (*site).op.AsStridedCopy(); op && below(random, 2))
    op->accumulate = false;
  return true;
}

// Returns the number of elements of a row that a copy writes; 0 if it writes no rows with gaps.
int64_t rowOf(const StridedCopyT &op) {
  std::vector<std::pair<int64_t, int64_t>> dims; // stride, size
  for (size_t i = 0; i < op.sizes.size(); ++i)
    if (op.sizes[i] > 1)
      dims.emplace_back(std::abs(op.dst_strides[i]), static_cast<int64_t>(op.sizes[i]));
  std::sort(dims.begin(), dims.end());
  int64_t row = 1;
  for (auto [stride, size] : dims) {
    if (stride != row)
      return stride > row ? row : 0;
    row *= size;
  }
  return 0;
}

// Writes rows of a tensor to the columns of the next or previous tile.
bool changeColumns(ManifestT &manifest, Random &random) {
  std::vector<std::function<void()>> all;
  int64_t sign = below(random, 2) ? 1 : -1;
  for (auto &program : manifest.programs) {
    std::set<uint32_t> zeroed; // a row of zeros may be written anywhere in these
    for (auto &task : program->tasks)
      for (auto &each : task->instructions)
        if (const ZeroT *op = each->op.AsZero())
          zeroed.insert(program->buffers[op->dst]->storage);
    auto moveBuffer = [&](uint32_t index, uint64_t elements, uint64_t stride, DType type) {
      BufferT *buffer = program->buffers[index].get();
      if (stride <= elements || isMoved(*buffer) || zeroed.count(buffer->storage))
        return;
      uint64_t bytes = elements * bytesOf(type);
      all.push_back([=] {
        lastSite = "rows of '" + buffer->name + "'";
        buffer->offset += sign > 0 ? bytes : -bytes;
      });
    };
    for (auto &task : program->tasks)
      for (size_t i = 0; i < task->instructions.size(); ++i) {
        InstructionT &each = *task->instructions[i];
        if (const AttentionGradT *op = each.op.AsAttentionGrad()) {
          const AttentionT &forward = *op->forward;
          uint64_t query = forward.heads * forward.head_dim;
          uint64_t key = forward.kv_heads * forward.head_dim;
          moveBuffer(op->dq, query, op->dq_row, forward.dtype);
          moveBuffer(op->dk, key, op->dk_row, forward.dtype);
          moveBuffer(op->dv, key, op->dv_row, forward.dtype);
        }
        if (const GemmT *op = each.op.AsGemm(); op && op->m > 1 && op->batch == 1)
          moveBuffer(op->c, op->n, op->ldc, op->result_dtype);
        if (StridedCopyT *op = each.op.AsStridedCopy())
          if (int64_t row = rowOf(*op);
              row > 0 && !zeroed.count(program->buffers[op->dst]->storage))
            all.push_back([=, name = task->name] {
              lastSite = name + ", instruction " + std::to_string(i);
              if (!op->dst_offset)
                op->dst_offset = std::make_unique<RankScalarT>();
              op->dst_offset->base += sign * row;
            });
      }
  }
  if (all.empty())
    return false;
  pick(random, all)();
  return true;
}

} // namespace

const std::vector<Mutation> &allMutations() {
  static const std::vector<Mutation> all = {
      {"dropped collective or transfer", dropCommunication, false},
      {"duplicated collective or transfer", duplicateCommunication, false},
      {"swapped collectives or transfers", swapCommunications, true},
      {"wrong group", changeGroup, false},
      {"wrong kind", changeKind, false},
      {"wrong reduction of gradients", changeReduction, false},
      {"wrong size", changeSize, false},
      {"wrong peer", changePeer, false},
      {"missing wait", dropWait, true},
      {"overlapping buffers", overlapBuffers, true},
      {"use before arrival", useBeforeArrival, true},
      {"lost bucket", loseBucket, false},
      {"early free", freeEarly, true},
      {"wrong slot", changeSlot, true},
      {"wrong micro-batch", changeMicroBatch, true},
      {"wrong stream", changeStream, true},
      {"lost addend", loseAddend, false},
      {"wrong memory", changeMemory, true},
      {"wrong columns", changeColumns, true},
      {"numbers of rows before their exchange", readOwnNumbers, false},
      {"rows of experts before their exchange", readOwnRows, false},
      {"gradients of experts over all ranks", sumExpertsOverAll, false},
      {"other gradients over equal experts", sumOthersOverFew, false},
      {"indices of another layer or round", readOtherIndices, false},
      {"numbers of rows of another routing", readOtherCounts, false},
      {"gradient over rows of another routing", multiplyOtherRows, false},
      {"fewer rows than the room", leaveRowsOut, false},
      {"rows counted twice", countRowsTwice, false},
      {"bias on each rank of tp", addBiasOnEachRank, false},
      {"gradients of experts ep times too large", sumExpertsTwice, false},
      {"gradient of a router not summed", loseRouterGradient, false},
      {"load of experts over too few ranks", countLoadOfFew, false},
      {"rows to the wrong expert's rank", sendToOtherExperts, false},
      {"room of another rank", exchangeOtherRoom, false},
  };
  return all;
}

void notePlanted(std::string site) { lastSite = std::move(site); }
const std::string &lastPlanted() { return lastSite; }

} // namespace dtc::mutate
