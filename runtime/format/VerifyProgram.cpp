// Checks what a program declares: arena, buffers, tensors, inputs, scalars, outputs, and the runs
// of its entries.
#include "runtime/format/VerifyProgram.h"

#include "runtime/format/Limits.h"
#include "runtime/format/VerifyContext.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace dtc::format {
namespace {

using Shards = flatbuffers::Vector<flatbuffers::Offset<ShardedDim>>;

rt::Status verifyBuffers(const ProgramContext &context) {
  const Program &program = context.program;
  for (uint64_t bytes : {program.arena_bytes(), program.host_bytes()})
    if (bytes > maxArenaBytes)
      return context.failHere("the arena has ", bytes, " bytes, wanted at most ", maxArenaBytes);
  for (uint32_t i = 0; i < context.numBuffers(); ++i) {
    const Buffer &buffer = context.buffer(i);
    DTC_RETURN_IF_ERROR(context.checkName("the name of a buffer", buffer.name()));
    if (buffer.dtype() > DType::MAX)
      return context.failHere(context.bufferName(i), " has dtype ",
                              static_cast<int>(buffer.dtype()), ", wanted at most ",
                              static_cast<int>(DType::MAX));
    if (buffer.kind() > BufferKind::MAX)
      return context.failHere(context.bufferName(i), " has kind ", static_cast<int>(buffer.kind()),
                              ", wanted at most ", static_cast<int>(BufferKind::MAX));
    if (buffer.space() > MemorySpace::MAX)
      return context.failHere(context.bufferName(i), " is in memory ",
                              static_cast<int>(buffer.space()), ", wanted at most ",
                              static_cast<int>(MemorySpace::MAX));
    if (buffer.slots() == 0 || buffer.slots() > maxSlots)
      return context.failHere(context.bufferName(i), " has ", buffer.slots(),
                              " slots, wanted 1 to ", maxSlots);
    Checked reach = context.reachOf(buffer);
    if (!(Checked(buffer.offset()) + reach + buffer.bytes()).atMost(context.arenaOf(buffer)))
      return context.failHere(
          context.bufferName(i), " has ", buffer.bytes(), " bytes from byte ", buffer.offset(),
          reach.ok() && reach.value() > 0 ? text(" and moves on by up to ", reach.value())
                                          : std::string(),
          buffer.space() == MemorySpace::host ? " of the host's memory" : "",
          ", beyond the arena's end at ", context.arenaOf(buffer));
    for (uint64_t stride : {buffer.slot_stride(), buffer.micro_batch_stride()})
      if (stride % bytesOf(buffer.dtype()) != 0)
        return context.failHere(context.bufferName(i), " moves on by ", stride,
                                " bytes, wanted a multiple of ", bytesOf(buffer.dtype()),
                                " bytes, its element");
    if (buffer.layer_stride() % static_cast<int64_t>(bytesOf(buffer.dtype())) != 0)
      return context.failHere(context.bufferName(i), " moves on by ", buffer.layer_stride(),
                              " bytes with the layer, wanted a multiple of ",
                              bytesOf(buffer.dtype()), " bytes, its element");
    if (buffer.offset() % bytesOf(buffer.dtype()) != 0)
      return context.failHere(context.bufferName(i), " starts at byte ", buffer.offset(),
                              ", wanted a multiple of ", bytesOf(buffer.dtype()),
                              " bytes, its element");
  }
  return {};
}

// Checks a sharding: dims and axes exist, no axis is used twice, and at most one axis of a dim is
// zigzag.
rt::Status verifyShards(const ProgramContext &context, const std::string &what,
                        const Shards *shards, uint32_t dims) {
  for (uint32_t i = 0; i < sizeOf(shards); ++i) {
    const ShardedDim &shard = *shards->Get(i);
    if (shard.dim() >= dims)
      return context.failHere(what, " is sharded on dim ", shard.dim(), ", it has ", dims);
    if (shard.axis() >= context.manifest.mesh()->size())
      return context.failHere(what, " is sharded over axis ", shard.axis(), ", the mesh has ",
                              context.manifest.mesh()->size());
    for (uint32_t k = 0; k < i; ++k) {
      const ShardedDim &before = *shards->Get(k);
      if (before.axis() == shard.axis())
        return context.failHere(what, " names axis ", shard.axis(), " twice in its shards");
      if (before.dim() == shard.dim() && before.zigzag() && shard.zigzag())
        return context.failHere(what, " is sharded zigzag on dim ", shard.dim(), " over axes ",
                                before.axis(), " and ", shard.axis(), ", wanted one at most");
    }
  }
  return {};
}

// The sharding of a dim: over `ranks`, each of which has `pieces`.
struct DimShards {
  Checked ranks = 1;
  uint64_t pieces = 1;

  // Returns the part of `size` elements that a rank holds, padding included.
  Checked localSize(uint64_t size) const {
    Checked all = ranks * pieces;
    return all.ok() ? Checked(size / all.value() + (size % all.value() != 0)) * pieces : all;
  }
};

DimShards shardsOf(const ProgramContext &context, const Shards *shards, uint32_t dim) {
  DimShards result;
  for (uint32_t i = 0; i < sizeOf(shards); ++i) {
    const ShardedDim &shard = *shards->Get(i);
    uint32_t size = context.manifest.mesh()->Get(shard.axis())->size();
    if (shard.dim() != dim || size == 1)
      continue;
    result.ranks = result.ranks * size;
    result.pieces *= shard.zigzag() ? 2 : 1;
  }
  return result;
}

// Checks that a buffer exists, does not move, is in the device's memory unless the host's is
// allowed, has the type, and holds `elements` of it.
rt::Status verifyHolds(const ProgramContext &context, const std::string &what, uint32_t index,
                       DType type, Checked elements, bool mayBeOnHost = false) {
  if (index >= context.numBuffers())
    return context.failHere(what, " is in buffer ", index, ", there are ", context.numBuffers());
  const Buffer &buffer = context.buffer(index);
  if (buffer.slot_stride() != 0 || buffer.micro_batch_stride() != 0 || buffer.layer_stride() != 0)
    return context.failHere(what, " is in ", context.bufferName(index),
                            ", which moves with the slot, the micro-batch or the layer");
  if (buffer.space() == MemorySpace::host && !mayBeOnHost)
    return context.failHere(what, " is in ", context.bufferName(index),
                            " of the host's memory, wanted one of the device's");
  if (type > DType::MAX || context.buffer(index).dtype() != type)
    return context.failHere(what, " has dtype ", static_cast<int>(type), ", ",
                            context.bufferName(index), " has ",
                            static_cast<int>(context.buffer(index).dtype()));
  Checked bytes = elements * bytesOf(type);
  if (!bytes.atMost(context.buffer(index).bytes()))
    return context.failHere(what, " needs ",
                            bytes.ok() ? text(bytes.value(), " bytes") : "over 2^64 bytes", ", ",
                            context.bufferName(index), " has ", context.buffer(index).bytes());
  return {};
}

rt::Status verifyShapes(const ProgramContext &context, const std::string &what,
                        const Tensor &tensor) {
  uint32_t dims = sizeOf(tensor.global_shape());
  if (!isAligned(tensor.global_shape()) || !isAligned(tensor.stored_shape()) ||
      !isAligned(tensor.local_shape()))
    return context.failHere("a shape of ", what, " is not aligned to 8 bytes");
  if (dims > maxDims || sizeOf(tensor.stored_shape()) > maxDims)
    return context.failHere(what, " has more than ", maxDims, " dims");
  if (sizeOf(tensor.local_shape()) != dims)
    return context.failHere(what, " has ", sizeOf(tensor.local_shape()),
                            " dims in local_shape and ", dims, " in global_shape");
  DTC_RETURN_IF_ERROR(verifyShards(context, what, tensor.shards(), dims));
  for (uint32_t dim = 0; dim < dims; ++dim) {
    uint64_t global = tensor.global_shape()->Get(dim);
    DimShards parts = shardsOf(context, tensor.shards(), dim);
    Checked wanted = parts.localSize(global);
    if (global == 0)
      return context.failHere(what, " has global size 0 on dim ", dim, ", wanted at least 1");
    if (!wanted.ok() || tensor.local_shape()->Get(dim) != wanted.value())
      return context.failHere(what, " has local size ", tensor.local_shape()->Get(dim), " on dim ",
                              dim, ", wanted ", wanted.ok() ? wanted.value() : 0, " for ", global,
                              " over ", parts.ranks.value(), " ranks of ", parts.pieces,
                              parts.pieces == 1 ? " piece" : " pieces");
  }
  Checked elements = elementsOf(tensor.global_shape());
  Checked stored = elementsOf(tensor.stored_shape());
  if (!elements.atMost(maxArenaBytes) || !stored.ok() || stored.value() != elements.value())
    return context.failHere(what,
                            " has different numbers of elements in global_shape and "
                            "stored_shape, or more than ",
                            maxArenaBytes);
  return {};
}

rt::Status verifyTensor(const ProgramContext &context, const char *list, const Tensor &tensor,
                        std::unordered_set<std::string_view> &names, bool mayBeOnHost = false) {
  DTC_RETURN_IF_ERROR(context.checkName("the name of a tensor", tensor.name()));
  std::string what = text(list, " '", tensor.name()->string_view(), "'");
  if (tensor.name()->size() == 0 || !names.insert(tensor.name()->string_view()).second)
    return context.failHere(what, " has an empty name or the name of another tensor");
  DTC_RETURN_IF_ERROR(verifyShapes(context, what, tensor));
  DTC_RETURN_IF_ERROR(verifyHolds(context, what, tensor.buffer(), tensor.dtype(),
                                  elementsOf(tensor.local_shape()), mayBeOnHost));
  if (tensor.init() > InitKind::MAX)
    return context.failHere(what, " has init ", static_cast<int>(tensor.init()),
                            ", wanted at most ", static_cast<int>(InitKind::MAX));
  if (!std::isfinite(tensor.mean()) || !std::isfinite(tensor.stddev()) || tensor.stddev() < 0)
    return context.failHere(what, " has initial mean ", tensor.mean(), " and stddev ",
                            tensor.stddev(), ", wanted finite numbers and a stddev of at least 0");
  return {};
}

bool sameSizes(const flatbuffers::Vector<uint64_t> *a, const flatbuffers::Vector<uint64_t> *b) {
  return sizeOf(a) == sizeOf(b) && (sizeOf(a) == 0 || std::equal(a->begin(), a->end(), b->begin()));
}

// Checks a copy: of a parameter of the program, in f32 and with its shapes.
rt::Status verifyCopy(const ProgramContext &context, const Tensor &state) {
  std::string_view name = state.copy_of()->string_view();
  std::string what = text("optimizer state '", state.name()->string_view(), "'");
  for (const Tensor *parameter : *context.program.parameters())
    if (parameter->name()->string_view() == name) {
      if (state.dtype() == DType::f32 &&
          sameSizes(state.global_shape(), parameter->global_shape()) &&
          sameSizes(state.stored_shape(), parameter->stored_shape()))
        return {};
      return context.failHere(what, " is a copy of '", name,
                              "' of another shape, or not in f32, wanted f32 and its shapes");
    }
  return context.failHere(what, " is a copy of '", name, "', which is no parameter here");
}

// Checks that parameters, optimizer state and gradients share no memory.
rt::Status verifyDisjoint(const ProgramContext &context) {
  struct Range {
    uint64_t begin, end;
    uint32_t buffer;
  };
  std::vector<Range> ranges;
  auto add = [&](const flatbuffers::Vector<flatbuffers::Offset<Tensor>> *tensors) {
    for (uint32_t i = 0; i < sizeOf(tensors); ++i) {
      uint32_t index = tensors->Get(i)->buffer();
      const Buffer &buffer = context.buffer(index);
      ranges.push_back({addressOf(buffer), addressOf(buffer) + buffer.bytes(), index});
    }
  };
  add(context.program.parameters());
  add(context.program.optimizer_state());
  add(context.program.gradients());
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end)
      return context.failHere(context.bufferName(ranges[i].buffer), " and ",
                              context.bufferName(ranges[i - 1].buffer),
                              " hold parameters, gradients or optimizer state and overlap");
  return {};
}

// Checks that each gradient belongs to a parameter and has its shape.
rt::Status verifyGradients(const ProgramContext &context) {
  std::unordered_map<std::string_view, const Tensor *> parameters;
  for (const Tensor *parameter : *context.program.parameters())
    parameters[parameter->name()->string_view()] = parameter;
  std::unordered_set<std::string_view> names;
  for (uint32_t i = 0; i < sizeOf(context.program.gradients()); ++i) {
    const Tensor &gradient = *context.program.gradients()->Get(i);
    DTC_RETURN_IF_ERROR(verifyTensor(context, "gradient", gradient, names));
    auto of = parameters.find(gradient.name()->string_view());
    if (of == parameters.end() || !sameSizes(gradient.global_shape(), of->second->global_shape()))
      return context.failHere("gradient '", gradient.name()->string_view(),
                              "' is of no parameter of its name and shape");
  }
  return {};
}

rt::Status verifyTensors(const ProgramContext &context) {
  std::unordered_set<std::string_view> names;
  for (const Tensor *tensor : *context.program.parameters()) {
    DTC_RETURN_IF_ERROR(verifyTensor(context, "parameter", *tensor, names));
    if (tensor->copy_of())
      return context.failHere("parameter '", tensor->name()->string_view(),
                              "' is a copy, wanted none but of state");
  }
  for (uint32_t i = 0; i < sizeOf(context.program.optimizer_state()); ++i) {
    const Tensor &state = *context.program.optimizer_state()->Get(i);
    DTC_RETURN_IF_ERROR(
        verifyTensor(context, "optimizer state", state, names, /*mayBeOnHost=*/true));
    if (!state.copy_of())
      continue;
    DTC_RETURN_IF_ERROR(context.checkName("what a state is a copy of", state.copy_of()));
    DTC_RETURN_IF_ERROR(verifyCopy(context, state));
  }
  DTC_RETURN_IF_ERROR(verifyGradients(context));
  return verifyDisjoint(context);
}

// Checks the shape that a rank reads: it follows from the sample's, the shards, and the manifest's
// figures of the whole job.
rt::Status verifyInputShape(const ProgramContext &context, const std::string &what,
                            const Input &input) {
  const Manifest &manifest = context.manifest;
  if (!isAligned(input.shape()) || !isAligned(input.sample_shape()))
    return context.failHere("a shape of ", what, " is not aligned to 8 bytes");
  uint32_t dims = sizeOf(input.shape());
  if (dims > maxDims || dims != sizeOf(input.sample_shape()) + 2)
    return context.failHere(what, " has ", dims, " dims, wanted micro-batches, batch and the ",
                            sizeOf(input.sample_shape()), " of a sample, ", maxDims, " at most");
  DTC_RETURN_IF_ERROR(verifyShards(context, what, input.shards(), dims));
  DimShards batch = shardsOf(context, input.shards(), 1);
  if (shardsOf(context, input.shards(), 0).ranks.value() != 1)
    return context.failHere(what, " is sharded on dim 0, wanted whole micro-batches");
  if (batch.pieces != 1)
    return context.failHere(what, " is sharded zigzag on dim 1, wanted one run of samples");
  if (input.shape()->Get(0) != manifest.num_micro_batches() ||
      input.shape()->Get(1) != manifest.micro_batch())
    return context.failHere(what, " has ", input.shape()->Get(0), " micro-batches of ",
                            input.shape()->Get(1), ", wanted ", manifest.num_micro_batches(),
                            " of ", manifest.micro_batch());
  for (uint32_t dim = 2; dim < dims; ++dim) {
    uint64_t size = input.sample_shape()->Get(dim - 2), local = input.shape()->Get(dim);
    DimShards parts = shardsOf(context, input.shards(), dim);
    Checked whole = Checked(local) * parts.ranks;
    if (size == 0 || !whole.ok() || whole.value() != size || local % parts.pieces != 0)
      return context.failHere(what, " has size ", local, " on dim ", dim,
                              ", wanted this rank's part of ", size, ", 1 or more in each of ",
                              parts.pieces, parts.pieces == 1 ? " piece" : " pieces");
  }
  Checked samples =
      Checked(manifest.num_micro_batches()) * manifest.micro_batch() * batch.ranks.value();
  if (!samples.ok() || samples.value() != manifest.global_batch() || samples.value() == 0)
    return context.failHere("global_batch is ", manifest.global_batch(),
                            ", wanted micro-batches * micro-batch * ranks that split ", what, ": ",
                            manifest.num_micro_batches(), " * ", manifest.micro_batch(), " * ",
                            batch.ranks.value());
  return {};
}

rt::Status verifyInput(const ProgramContext &context, const Input &input,
                       std::unordered_set<std::string_view> &names) {
  DTC_RETURN_IF_ERROR(context.checkName("the name of an input", input.name()));
  std::string what = text("input '", input.name()->string_view(), "'");
  if (input.name()->size() == 0 || !names.insert(input.name()->string_view()).second)
    return context.failHere(what, " has an empty name or the name of another input");
  if (input.dtype() != DType::f32 && input.dtype() != DType::i32)
    return context.failHere(what, " has dtype ", static_cast<int>(input.dtype()),
                            ", wanted f32 or i32");
  constexpr uint64_t most = uint64_t(1) << 31; // past the largest i32
  if (input.below() > (input.dtype() == DType::i32 ? most : 0))
    return context.failHere(what, " is below ", input.below(), ", wanted at most ", most,
                            " for i32 and 0 for f32");
  if (input.ignored() && *input.ignored() != static_cast<int32_t>(*input.ignored()))
    return context.failHere(what, " ignores ", *input.ignored(), ", wanted an i32");
  DTC_RETURN_IF_ERROR(verifyInputShape(context, what, input));
  return verifyHolds(context, what, input.buffer(), input.dtype(), elementsOf(input.shape()));
}

rt::Status verifyScalar(const ProgramContext &context, const StepScalar &scalar, uint32_t &seen) {
  if (scalar.role() > ScalarRole::MAX)
    return context.failHere("a scalar has role ", static_cast<int>(scalar.role()),
                            ", wanted at most ", static_cast<int>(ScalarRole::MAX));
  std::string what = text("scalar '", EnumNameScalarRole(scalar.role()), "'");
  uint32_t bit = 1u << static_cast<int>(scalar.role());
  if (seen & bit)
    return context.failHere(what, " is there twice");
  seen |= bit;
  DType type = scalar.role() == ScalarRole::seed ? DType::i64 : DType::f32;
  return verifyHolds(context, what, scalar.buffer(), type, 1);
}

rt::Status verifyOutput(const ProgramContext &context, const Output &output, uint32_t &seen) {
  if (output.role() > OutputRole::MAX)
    return context.failHere("an output has role ", static_cast<int>(output.role()),
                            ", wanted at most ", static_cast<int>(OutputRole::MAX));
  std::string what = text("output '", EnumNameOutputRole(output.role()), "'");
  uint32_t bit = 1u << static_cast<int>(output.role());
  if (seen & bit)
    return context.failHere(what, " is there twice");
  seen |= bit;
  return verifyHolds(context, what, output.buffer(), DType::f32, 1);
}

// Checks that repeats are in range, in order, and bounded. `unrolled`: the number of instructions
// that the task executes.
rt::Status verifyRepeats(const ProgramContext &context, const Task &task, uint64_t &unrolled) {
  std::string what = text("task '", task.name()->string_view(), "'");
  uint32_t size = task.instructions()->size(), last = 0;
  Checked all = size;
  for (uint32_t i = 0; i < sizeOf(task.repeats()); ++i) {
    const Repeat &repeat = *task.repeats()->Get(i);
    if (repeat.begin() < last || repeat.end() <= repeat.begin() || repeat.end() > size)
      return context.failHere(what, " repeats instructions ", repeat.begin(), " to ", repeat.end(),
                              ", wanted some of those from ", last, " to ", size);
    if (repeat.count() == 0 || repeat.count() > maxLayers)
      return context.failHere(what, " repeats instructions ", repeat.begin(), " to ", repeat.end(),
                              " ", repeat.count(), " times, wanted 1 to ", maxLayers);
    all = all + Checked(repeat.count() - 1) * (repeat.end() - repeat.begin());
    last = repeat.end();
  }
  if (!all.atMost(maxUnrolled))
    return context.failHere(what, " runs more than ", maxUnrolled, " instructions at once");
  unrolled = all.value();
  return {};
}

// Checks that the runs of an entry exist, and that no task runs twice for one micro-batch.
rt::Status verifyEntry(const ProgramContext &context, const Entry &entry,
                       const std::vector<uint64_t> &unrolled) {
  std::string what = text("entry '", EnumNameEntryKind(entry.kind()), "'");
  uint64_t executed = 0;
  std::unordered_set<uint64_t> seen;
  for (uint32_t i = 0; i < sizeOf(entry.order()); ++i) {
    const Run &run = *entry.order()->Get(i);
    if (run.task() >= context.program.tasks()->size())
      return context.failHere(what, " runs task ", run.task(), ", there are ",
                              context.program.tasks()->size());
    if (run.micro_batch() >= context.manifest.num_micro_batches())
      return context.failHere(what, " has micro-batch ", run.micro_batch(), ", there are ",
                              context.manifest.num_micro_batches());
    if (!seen.insert(uint64_t(run.task()) << 32 | run.micro_batch()).second)
      return context.failHere(what, " runs task ", run.task(), " twice for micro-batch ",
                              run.micro_batch());
    executed += unrolled[run.task()];
    if (executed > maxExecuted)
      return context.failHere(what, " runs more than ", maxExecuted, " instructions");
  }
  return {};
}

rt::Status verifyTasks(const ProgramContext &context) {
  std::vector<uint64_t> unrolled;
  for (const Task *task : *context.program.tasks()) {
    DTC_RETURN_IF_ERROR(context.checkName("the name of a task", task->name()));
    DTC_RETURN_IF_ERROR(verifyRepeats(context, *task, unrolled.emplace_back()));
  }
  uint32_t seen = 0;
  for (const Entry *entry : *context.program.entries()) {
    if (entry->kind() > EntryKind::MAX)
      return context.failHere("an entry has kind ", static_cast<int>(entry->kind()),
                              ", wanted at most ", static_cast<int>(EntryKind::MAX));
    uint32_t bit = 1u << static_cast<int>(entry->kind());
    if (seen & bit)
      return context.failHere("entry '", EnumNameEntryKind(entry->kind()), "' is there twice");
    seen |= bit;
    DTC_RETURN_IF_ERROR(verifyEntry(context, *entry, unrolled));
  }
  if (!(seen & 1u << static_cast<int>(EntryKind::train)))
    return context.failHere("there is no entry 'train'");
  return {};
}

} // namespace

rt::Status verifyProgram(const ProgramContext &context) {
  const Program &program = context.program;
  DTC_RETURN_IF_ERROR(context.checkName("the name of a program", program.name()));
  if (program.num_streams() == 0 || program.num_streams() > maxStreams)
    return context.failHere("num_streams is ", program.num_streams(), ", wanted 1 to ", maxStreams);
  if (program.num_events() > maxEvents)
    return context.failHere("num_events is ", program.num_events(), ", wanted at most ", maxEvents);
  const Manifest &manifest = context.manifest;
  if (manifest.num_micro_batches() == 0 || manifest.num_micro_batches() > maxMicroBatches)
    return context.fail("num_micro_batches is ", manifest.num_micro_batches(), ", wanted 1 to ",
                        maxMicroBatches);
  DTC_RETURN_IF_ERROR(verifyBuffers(context));
  DTC_RETURN_IF_ERROR(verifyTensors(context));
  std::unordered_set<std::string_view> names;
  for (const Input *input : *program.inputs())
    DTC_RETURN_IF_ERROR(verifyInput(context, *input, names));
  uint32_t seen = 0;
  for (uint32_t i = 0; i < sizeOf(program.scalars()); ++i)
    DTC_RETURN_IF_ERROR(verifyScalar(context, *program.scalars()->Get(i), seen));
  seen = 0;
  for (const Output *output : *program.outputs())
    DTC_RETURN_IF_ERROR(verifyOutput(context, *output, seen));
  return verifyTasks(context);
}

} // namespace dtc::format
