// Translates exec ops to tables of the manifest, one to one.
#include "compiler/build/emit/ManifestBuilder.h"

#include "compiler/build/emit/Dtypes.h"
#include "compiler/build/emit/InstructionWriter.h"

#include "runtime/format/MeshGroups.h"
#include "runtime/format/Operands.h"

#include "mlir/IR/Location.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace dtc;

namespace {
std::unique_ptr<format::RankScalarT> tableOf(exec::RankScalarAttr scalar) {
  auto table = std::make_unique<format::RankScalarT>();
  table->base = scalar.getBase();
  for (auto [axis, stride] : llvm::enumerate(scalar.getStrides()))
    if (stride != 0)
      table->terms.emplace_back(stride, static_cast<uint32_t>(axis));
  table->micro_batch_stride = scalar.getMicroBatchStride();
  table->layer_stride = scalar.getLayerStride();
  return table;
}

// Null for 0, as most of them are.
std::unique_ptr<format::RankScalarT> scalarOf(exec::RankScalarAttr scalar) {
  return scalar.getBase() == 0 && scalar.isConstant() ? nullptr : tableOf(scalar);
}

template <typename To> std::vector<To> vectorOf(ArrayRef<int64_t> values) {
  return {values.begin(), values.end()};
}

std::vector<std::unique_ptr<format::ShardedDimT>> shardsOf(const exec::Splits &splits) {
  std::vector<std::unique_ptr<format::ShardedDimT>> shards;
  for (auto [dim, axes] : llvm::enumerate(splits.axes))
    for (int64_t axis : axes) {
      auto shard = std::make_unique<format::ShardedDimT>();
      shard->dim = static_cast<uint32_t>(dim);
      shard->axis = static_cast<uint32_t>(axis);
      shard->zigzag = splits.isZigzag(axis);
      shards.push_back(std::move(shard));
    }
  return shards;
}
} // namespace

void ManifestBuilder::add(exec::ProgramOp added) {
  program = added;
  buffers.clear();
  storages.clear();
  tasks.clear();
  if (manifest.programs.empty())
    addMesh();
  for (int64_t rank : program.getClass())
    manifest.rank_program[rankAt(rank)] = static_cast<uint32_t>(manifest.programs.size());
  manifest.programs.push_back(std::make_unique<format::ProgramT>());
  out = manifest.programs.back().get();
  out->name = program.getSymName().str();
  out->arena_bytes = program.getArenaBytes().value_or(0);
  out->host_bytes = program.getHostBytes();
  out->num_streams = static_cast<uint32_t>(program.getStreams());
  out->num_events = static_cast<uint32_t>(program.getEvents());
  manifest.num_micro_batches = program.getMicroBatches();
  manifest.peak_memory_bytes = std::max(manifest.peak_memory_bytes, out->arena_bytes);
  manifest.peak_host_bytes = std::max(manifest.peak_host_bytes, out->host_bytes);
  addLocation(UnknownLoc::get(program.getContext()));
  for (Operation &op : program.getBody().front())
    llvm::TypeSwitch<Operation *>(&op)
        .Case<exec::BufferOp, exec::ViewOp, exec::PerLayerOp>(
            [&](auto buffer) { addBuffer(buffer); })
        .Case([&](exec::KernelOp kernel) { addKernel(kernel); })
        .Case([&](exec::ParameterOp parameter) { addTensor(parameter, out->parameters); })
        .Case([&](exec::StateOp state) { addTensor(state, out->optimizer_state); })
        .Case([&](exec::GradientOp gradient) { addTensor(gradient, out->gradients); })
        .Case([&](exec::InputOp input) { addInput(input); })
        .Case([&](exec::ScalarOp scalar) {
          auto table = std::make_unique<format::StepScalarT>();
          table->role = static_cast<format::ScalarRole>(scalar.getRole());
          table->buffer = indexOf(scalar.getBuffer());
          out->scalars.push_back(std::move(table));
        })
        .Case([&](exec::OutputOp output) {
          auto table = std::make_unique<format::OutputT>();
          table->role = static_cast<format::OutputRole>(output.getRole());
          table->buffer = indexOf(output.getBuffer());
          out->outputs.push_back(std::move(table));
        })
        .Case([&](exec::TaskOp task) { addTask(task); })
        .Case([&](exec::EntryOp entry) { addEntry(entry); });
}

void ManifestBuilder::addMesh() {
  for (auto [name, size] :
       llvm::zip(program.getAxisNames().getAsValueRange<StringAttr>(), program.getAxisSizes())) {
    auto axis = std::make_unique<format::AxisT>();
    axis->name = name.str();
    axis->size = static_cast<uint32_t>(size);
    manifest.mesh.push_back(std::move(axis));
  }
  manifest.rank_program.assign(program.getNumRanks(), ~uint32_t(0));
}

uint32_t ManifestBuilder::groupOf(ArrayRef<int64_t> axes) {
  auto next = static_cast<uint32_t>(manifest.groups.size());
  auto [entry, isNew] = groups.try_emplace(axes.vec(), next);
  if (isNew)
    manifest.groups.push_back(
        format::groupOfAxes(manifest.mesh, vectorOf<uint32_t>(axes), manifest.place_ranks));
  return entry->second;
}

uint32_t ManifestBuilder::groupOf(exec::RanksAttr ranks) {
  auto [entry, isNew] = lists.try_emplace(ranks, static_cast<uint32_t>(manifest.groups.size()));
  if (isNew) {
    auto group = std::make_unique<format::GroupT>();
    group->name = ranks.getName().str();
    group->size = static_cast<uint32_t>(ranks.getSize());
    for (int64_t member : ranks.getMembers())
      group->ranks.push_back(rankAt(member));
    manifest.groups.push_back(std::move(group));
  }
  return entry->second;
}

// Returns true if all instructions that use a buffer, by its name over all layers, are in repeats.
static bool isOnlyPerLayer(Value buffer) {
  bool any = false;
  for (Operation *user : buffer.getUsers()) {
    if (!isa<exec::PerLayerOp, exec::ViewOp>(user))
      return false;
    any |= isa<exec::PerLayerOp>(user);
  }
  return any;
}

uint32_t ManifestBuilder::storageOf(Value root) {
  return storages.try_emplace(root, static_cast<uint32_t>(storages.size())).first->second;
}

void ManifestBuilder::addBuffer(Value buffer) {
  if (isOnlyPerLayer(buffer))
    return;
  exec::BufferRange range = exec::getRange(buffer);
  auto root = range.root.getDefiningOp<exec::BufferOp>();
  auto table = std::make_unique<format::BufferT>();
  auto perLayer = buffer.getDefiningOp<exec::PerLayerOp>();
  table->name = (perLayer ? perLayer.getName() : exec::getName(buffer)).str();
  table->offset = root.getOffset().value_or(0) + range.offset;
  table->bytes = range.bytes;
  table->slots = static_cast<uint32_t>(root.getSlots().value_or(1));
  table->slot_stride = table->slots > 1 ? root.getSlotStride() : 0;
  table->micro_batch_stride = range.microBatchStride;
  table->layer_stride = perLayer ? perLayer.getStride() : 0;
  table->kind = static_cast<format::BufferKind>(root.getKind());
  table->dtype = dtypeOf(exec::getDtype(buffer));
  table->space = root.getHost() ? format::MemorySpace::host : format::MemorySpace::device;
  if (!perLayer)
    table->storage = storageOf(root);
  else
    for (Value each : perLayer.getBuffers())
      table->layer_storages.push_back(storageOf(exec::getRange(each).root));
  buffers[buffer] = static_cast<uint32_t>(out->buffers.size());
  out->buffers.push_back(std::move(table));
}

void ManifestBuilder::addKernel(exec::KernelOp kernel) {
  if (kernels.contains(kernel.getSymName())) // another program declares it, too
    return;
  auto table = std::make_unique<format::KernelT>();
  table->symbol = kernel.getSymName().str();
  table->min_bytes = vectorOf<uint64_t>(kernel.getBuffers());
  table->num_buffers = static_cast<uint32_t>(table->min_bytes.size());
  table->num_scalars = static_cast<uint32_t>(kernel.getScalars());
  table->unit_points = static_cast<uint64_t>(kernel.getPoints());
  table->combines = kernel.getCombines();
  if (code.onHost.count(table->symbol))
    table->code_segment = code.hostSegment;
  if (auto threads = code.blockThreads.find(table->symbol); threads != code.blockThreads.end())
    table->threads = threads->second;
  if (auto name = code.merged.find(table->symbol); name != code.merged.end())
    table->merged = name->second;
  kernels[kernel.getSymName()] = static_cast<uint32_t>(manifest.kernels.size());
  manifest.kernels.push_back(std::move(table));
}

template <typename Op>
void ManifestBuilder::addTensor(Op op, std::vector<std::unique_ptr<format::TensorT>> &tensors) {
  auto table = std::make_unique<format::TensorT>();
  table->name = op.getName().str();
  table->buffer = indexOf(op.getBuffer());
  table->dtype = dtypeOf(exec::getDtype(op.getBuffer()));
  table->global_shape = vectorOf<uint64_t>(op.getGlobalShape());
  table->stored_shape = vectorOf<uint64_t>(op.getStoredShape());
  table->local_shape = vectorOf<uint64_t>(op.getLocalShape());
  table->shards = shardsOf(exec::Splits(op.getAxes(), op.getZigzag()));
  table->init = static_cast<format::InitKind>(op.getInit());
  table->mean = op.getMean().convertToDouble();
  table->stddev = op.getStddev().convertToDouble();
  table->init_key = op.getInitKey();
  if constexpr (std::is_same_v<Op, exec::StateOp>)
    table->copy_of = op.getCopyOf().value_or("").str();
  tensors.push_back(std::move(table));
}

void ManifestBuilder::addInput(exec::InputOp input) {
  auto table = std::make_unique<format::InputT>();
  table->name = input.getName().str();
  table->buffer = indexOf(input.getBuffer());
  table->dtype = dtypeOf(exec::getDtype(input.getBuffer()));
  table->shape = vectorOf<uint64_t>(input.getShape());
  exec::Splits splits(input.getAxes(), input.getZigzag());
  table->shards = shardsOf(splits);
  table->below = input.getBelow();
  if (input.getIgnored())
    table->ignored = *input.getIgnored();
  ArrayRef<int64_t> shape = input.getShape(), mesh = program.getAxisSizes();
  for (size_t dim = 2; dim < shape.size(); ++dim)
    table->sample_shape.push_back(shape[dim] * splits.getParts(dim, mesh));
  out->inputs.push_back(std::move(table));
  manifest.micro_batch = shape[1];
  manifest.global_batch = shape[0] * shape[1] * splits.getParts(1, mesh);
}

uint32_t ManifestBuilder::addLocation(Location location) {
  std::string file, name;
  uint32_t line = 0, column = 0;
  location->walk([&](Location part) {
    if (auto sourceLocation = dyn_cast<FileLineColLoc>(part); sourceLocation && file.empty()) {
      // The directory is left out so that the file does not depend on where it was compiled.
      file = llvm::sys::path::filename(sourceLocation.getFilename().getValue()).str();
      line = sourceLocation.getLine();
      column = sourceLocation.getColumn();
    }
    if (auto named = dyn_cast<NameLoc>(part); named && name.empty())
      name = named.getName().str();
    return WalkResult::advance();
  });
  auto next = static_cast<uint32_t>(manifest.locations.size());
  auto [entry, isNew] = locations.try_emplace({file, line, column, name}, next);
  if (!isNew)
    return entry->second;
  auto table = std::make_unique<format::LocationT>();
  table->file = file;
  table->line = line;
  table->column = column;
  table->name = name;
  manifest.locations.push_back(std::move(table));
  return next;
}

void ManifestBuilder::addTask(exec::TaskOp task) {
  auto table = std::make_unique<format::TaskT>();
  table->name = task.getSymName().str();
  tasks[task.getSymName()] = static_cast<uint32_t>(out->tasks.size());
  out->tasks.push_back(std::move(table));
  for (Operation &op : task.getBody().front())
    if (auto repeat = dyn_cast<exec::RepeatOp>(op))
      addRepeat(repeat);
    else
      addInstruction(cast<exec::InstructionOpInterface>(op));
}

void ManifestBuilder::addRepeat(exec::RepeatOp repeat) {
  format::TaskT &task = *out->tasks.back();
  auto begin = static_cast<uint32_t>(task.instructions.size());
  for (Operation &op : repeat.getBody().front())
    addInstruction(cast<exec::InstructionOpInterface>(op));
  task.repeats.emplace_back(begin, static_cast<uint32_t>(task.instructions.size()),
                            static_cast<uint32_t>(repeat.getCount()));
}

void ManifestBuilder::addEntry(exec::EntryOp entry) {
  auto table = std::make_unique<format::EntryT>();
  table->kind = static_cast<format::EntryKind>(entry.getKind());
  for (auto [task, microBatch] :
       llvm::zip(entry.getTasks().getAsRange<FlatSymbolRefAttr>(), entry.getMicroBatches()))
    table->order.emplace_back(tasks.lookup(task.getValue()),
                              static_cast<uint32_t>(std::max<int64_t>(microBatch, 0)));
  out->entries.push_back(std::move(table));
}

void ManifestBuilder::addInstruction(exec::InstructionOpInterface instruction) {
  auto table = std::make_unique<format::InstructionT>();
  table->stream = static_cast<uint8_t>(instruction.getInstructionStream());
  table->location = addLocation(instruction->getLoc());
  table->runs = instruction.runsLastOnly() ? format::Runs::last : format::Runs::every;
  table->starts_sum = instruction.startsSum();
  llvm::TypeSwitch<Operation *>(instruction)
      .Case<exec::LaunchOp, exec::GemmOp, exec::CollectiveOp, exec::SendOp, exec::ReceiveOp>(
          [&](auto op) { fill(op, table->op); })
      .Default([&](Operation *) {
        table->op = writeInstruction(
            instruction, {[&](Value buffer) { return indexOf(buffer); }, scalarOf, dtypeOf});
      });
  out->tasks.back()->instructions.push_back(std::move(table));
}

void ManifestBuilder::fill(exec::LaunchOp op, format::OpUnion &result) {
  format::LaunchT table;
  table.kernel = kernels.lookup(op.getKernel());
  table.range = op.getRange();
  for (Value buffer : op.getOperands())
    table.buffers.push_back(indexOf(buffer));
  if (op.getScalars())
    for (auto scalar : op.getScalars()->getAsRange<exec::RankScalarAttr>())
      table.scalars.push_back(tableOf(scalar));
  for (int64_t axes : op.getShares().value_or(ArrayRef<int64_t>()))
    table.shares.push_back(static_cast<uint32_t>(axes));
  format::KernelT &kernel = *manifest.kernels[table.kernel];
  kernel.range = std::max(kernel.range, table.range);
  kernel.num_results = static_cast<uint32_t>(op.getOutputs().size());
  result.Set(std::move(table));
}

static format::Epilogue epilogueOf(exec::GemmOp op) {
  if (op.getGeluOf())
    return format::Epilogue::dgelu;
  if (op.getGelu())
    return op.getGeluInput() ? format::Epilogue::gelu_aux_bias : format::Epilogue::gelu_bias;
  return op.getBias() ? format::Epilogue::bias : format::Epilogue::none;
}

void ManifestBuilder::fill(exec::GemmOp op, format::OpUnion &result) {
  format::GemmT table;
  table.a = indexOf(op.getA());
  table.b = indexOf(op.getB());
  table.c = indexOf(op.getC());
  table.m = op.getSizes()[0];
  table.n = op.getSizes()[1];
  table.k = op.getSizes()[2];
  table.lda = op.getStrides()[0];
  table.ldb = op.getStrides()[1];
  table.ldc = op.getStrides()[2];
  table.trans_a = op.getTransA();
  table.trans_b = op.getTransB();
  table.alpha = op.getAlpha().convertToFloat();
  table.beta = op.getBeta().convertToFloat();
  table.batch = op.getBatch();
  table.dtype = dtypeOf(exec::getDtype(op.getA()));
  table.result_dtype = dtypeOf(exec::getDtype(op.getC()));
  if (!op.getBatchStrides().empty()) {
    table.stride_a = op.getBatchStrides()[0];
    table.stride_b = op.getBatchStrides()[1];
    table.stride_c = op.getBatchStrides()[2];
  }
  auto optional = [&](Value buffer) { return buffer ? indexOf(buffer) : format::noBuffer; };
  table.epilogue = epilogueOf(op);
  table.addend = optional(op.getAddend());
  table.bias = optional(op.getBias());
  table.aux = optional(op.getGeluOf() ? op.getGeluOf() : op.getGeluInput());
  result.Set(table);
}

void ManifestBuilder::fill(exec::CollectiveOp op, format::OpUnion &result) {
  format::CollectiveT table;
  table.kind = static_cast<format::CollectiveKind>(op.getKind());
  table.reduce = static_cast<format::ReduceKind>(op.getReduce());
  table.group = op.getOver() ? groupOf(*op.getOver()) : groupOf(op.getAxes());
  table.dtype = dtypeOf(exec::getDtype(op.getSrc()));
  table.src = indexOf(op.getSrc());
  table.dst = indexOf(op.getDst());
  table.count = op.getCount();
  table.name = op.getName().str();
  table.role = static_cast<format::CollectiveRole>(op.getRole());
  result.Set(std::move(table));
}

template <typename Op>
format::TransferT ManifestBuilder::transfer(format::TransferKind kind, Op op) {
  format::TransferT table;
  table.kind = kind;
  table.group = groupOf(op.getOver());
  table.shift = static_cast<uint32_t>(op.getShift());
  table.dtype = dtypeOf(exec::getDtype(op.getBuffer()));
  table.buffer = indexOf(op.getBuffer());
  table.count = exec::getBytes(op.getBuffer()) / format::bytesOf(table.dtype);
  table.name = op.getName().str();
  table.role = static_cast<format::CollectiveRole>(op.getRole());
  return table;
}

void ManifestBuilder::fill(exec::SendOp op, format::OpUnion &result) {
  result.Set(transfer(format::TransferKind::send, op));
}

void ManifestBuilder::fill(exec::ReceiveOp op, format::OpUnion &result) {
  result.Set(transfer(format::TransferKind::receive, op));
}
