#include "test/unit/format/Sample.h"

#include "runtime/format/Verify.h"

#include "runtime/base/File.h"
#include "runtime/format/MeshGroups.h"
#include "runtime/format/Operands.h"

#include <algorithm>
#include <cstdio>

namespace dtc::test {

using namespace format;

namespace {

constexpr uint64_t tokensPerRank = 8, width = 8, words = 16;

AttentionT sampleAttention(uint32_t x, uint32_t out, uint32_t lse, uint32_t seed, uint32_t step,
                           uint32_t lengths) {
  AttentionT op;
  op.q = op.k = op.v = x;
  op.out = out;
  op.lse = lse;
  op.batch = 2;
  op.queries = op.keys = 4;
  op.heads = 2;
  op.kv_heads = 2;
  op.head_dim = 4;
  op.causal = true;
  op.scale = 0.5f;
  op.dropout = 0.125f;
  op.seed = seed;
  op.step = step;
  op.dropout_id = rankScalar(3, {});
  op.first_batch = rankScalar(0, {{2, 0}});
  op.first_head = rankScalar(0);
  op.total_heads = 2;
  op.window = 3;
  op.soft_cap = 20;
  op.value_dim = 4;
  op.lengths = op.documents = lengths;
  op.bias = op.slopes = x;
  op.bias_sizes = {1, 2, 4, 1};
  return op;
}

GemmT sampleGemm(uint32_t a, uint32_t b, uint32_t c) {
  GemmT op;
  op.a = a;
  op.b = b;
  op.c = c;
  op.m = tokensPerRank;
  op.n = op.k = op.lda = op.ldb = op.ldc = width;
  return op;
}

LaunchT launch(uint32_t kernel, std::vector<uint32_t> buffers, uint64_t range) {
  LaunchT op;
  op.kernel = kernel;
  op.buffers = std::move(buffers);
  op.range = range;
  return op;
}

EmbeddingT lookUp(uint32_t table, uint32_t ids, uint32_t out) {
  EmbeddingT op;
  op.table_ = table;
  op.ids = ids;
  op.out = out;
  op.rows = words;
  op.columns = width;
  op.tokens = tokensPerRank;
  op.first_row = rankScalar(0);
  return op;
}

EmbeddingGradT scatter(uint32_t grad, uint32_t ids, uint32_t dout) {
  EmbeddingGradT op;
  op.grad = grad;
  op.ids = ids;
  op.dout = dout;
  op.rows = words;
  op.columns = width;
  op.tokens = tokensPerRank;
  op.accumulate = true;
  op.padding = 3;
  return op;
}

// Adds the product of 8 rows by the matrices of two groups, and the sums over these rows.
void addGroupedOps(ProgramBuilder &builder, uint32_t rows, uint32_t matrices, uint32_t counts,
                   uint32_t result, uint32_t sums, SampleIndices &indices) {
  GroupedGemmT op;
  op.a = rows;
  op.b = matrices;
  op.counts = counts;
  op.c = result;
  op.groups = 2;
  op.samples = 4;
  op.rows = tokensPerRank;
  op.k = op.n = width;
  op.trans_b = true;
  indices.groupedGemm = builder.add(GroupedGemmT(op));
  op.b = result;
  op.c = sums;
  op.trans_b = false;
  op.sums_rows = op.accumulate = true;
  indices.groupedSums = builder.add(std::move(op));
}

// Returns the copy dst = transpose of src, both [width, width].
StridedCopyT transpose(uint32_t src, uint32_t dst) {
  StridedCopyT op;
  op.src = src;
  op.dst = dst;
  op.sizes = {width, width};
  op.src_strides = {1, static_cast<int64_t>(width)};
  op.dst_strides = {static_cast<int64_t>(width), 1};
  return op;
}

// Returns a convolution of two images of two channels and 4 x 4 pixels, with a kernel of 3 x 3 for
// each of 4 filters.
std::unique_ptr<Conv2dShapeT> sampleConvolution() {
  auto shape = std::make_unique<Conv2dShapeT>();
  shape->batch = shape->channels = 2;
  shape->filters = 4;
  shape->groups = 1;
  shape->height = shape->width = 4;
  shape->kernel_height = shape->kernel_width = 3;
  shape->stride_height = shape->stride_width = 1;
  shape->padding_height = shape->padding_width = 1;
  shape->dilation_height = shape->dilation_width = 1;
  return shape;
}

// Returns the pooling of the same images in windows of 2 x 2.
std::unique_ptr<Pool2dShapeT> samplePool(bool max) {
  auto shape = std::make_unique<Pool2dShapeT>();
  shape->batch = shape->channels = 2;
  shape->height = shape->width = 4;
  shape->kernel_height = shape->kernel_width = 2;
  shape->stride_height = shape->stride_width = 2;
  shape->max = max;
  return shape;
}

// x and dx are images, y and dy are results of convolution, and small are those of pooling.
struct ImageBuffers {
  uint32_t x, dx, weight, y, dweight, sums, small;
};

void addImageOps(ProgramBuilder &builder, const ImageBuffers &at, SampleIndices &indices) {
  Conv2dT forward;
  forward.x = at.x;
  forward.weight = at.weight;
  forward.y = at.y;
  forward.shape = sampleConvolution();
  indices.conv2d = builder.add(std::move(forward));
  Conv2dInputGradT inputGrad;
  inputGrad.dy = at.y;
  inputGrad.weight = at.weight;
  inputGrad.dx = at.dx;
  inputGrad.shape = sampleConvolution();
  indices.conv2dInputGrad = builder.add(std::move(inputGrad));
  Conv2dWeightGradT weightGrad;
  weightGrad.x = at.x;
  weightGrad.dy = at.y;
  weightGrad.dweight = at.dweight;
  weightGrad.scratch = at.sums;
  weightGrad.pieces = 2;
  weightGrad.accumulate = true;
  weightGrad.shape = sampleConvolution();
  indices.conv2dWeightGrad = builder.add(std::move(weightGrad));
  for (bool max : {false, true}) {
    Pool2dT pool;
    pool.x = at.x;
    pool.y = at.small;
    pool.shape = samplePool(max);
    indices.pool2d = builder.add(std::move(pool));
    Pool2dGradT grad;
    grad.x = max ? at.x : noBuffer;
    grad.dy = at.small;
    grad.dx = at.dx;
    grad.shape = samplePool(max);
    indices.pool2dGrad = builder.add(std::move(grad));
  }
}

void describeModel(ManifestT &manifest, uint32_t ranks) {
  manifest.producer = "test";
  manifest.model_name = "sample";
  manifest.cpu_features = {"sse2"};
  manifest.sequence_length = 4;
  manifest.global_batch = 2 * ranks;
  manifest.micro_batch = 2;
  manifest.num_micro_batches = 1;
  manifest.default_lr = 0.125f;
  manifest.model_flops_per_step = 1e6;
  manifest.peak_flops_per_device = 1e9;
  auto location = std::make_unique<LocationT>();
  location->file = "sample.mlir";
  location->line = 3;
  location->column = 5;
  location->name = "block";
  manifest.locations.push_back(std::move(location));
}

} // namespace

ProgramBuilder::ProgramBuilder(const std::vector<std::pair<std::string, uint32_t>> &mesh) {
  for (const auto &[name, size] : mesh) {
    auto axis = std::make_unique<AxisT>();
    axis->name = name;
    axis->size = size;
    manifest.mesh.push_back(std::move(axis));
    ranks *= size;
  }
  manifest.rank_program.assign(ranks, 0);
  manifest.programs.push_back(std::make_unique<ProgramT>());
  manifest.num_micro_batches = 1;
  program().num_streams = 1;
  program().tasks.push_back(std::make_unique<TaskT>());
  program().tasks[0]->name = "step";
  program().entries.push_back(std::make_unique<EntryT>());
  program().entries[0]->order = {Run(0, 0)};
}

uint32_t ProgramBuilder::buffer(const std::string &name, uint64_t elements, DType type) {
  auto buffer = std::make_unique<BufferT>();
  buffer->name = name;
  buffer->offset = (program().arena_bytes + 63) / 64 * 64;
  buffer->bytes = elements * bytesOf(type);
  buffer->dtype = type;
  buffer->kind = BufferKind::temporary;
  program().arena_bytes = buffer->offset + buffer->bytes;
  program().buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(program().buffers.size() - 1);
}

uint32_t ProgramBuilder::parameter(const std::string &name, std::vector<uint64_t> shape,
                                   bool sharded, float mean, float stddev) {
  auto tensor = std::make_unique<TensorT>();
  tensor->name = name;
  tensor->global_shape = tensor->stored_shape = tensor->local_shape = shape;
  if (sharded) {
    uint64_t parts = manifest.mesh[0]->size;
    tensor->local_shape[0] = (shape[0] + parts - 1) / parts;
    tensor->shards.push_back(std::make_unique<ShardedDimT>());
  }
  uint64_t elements = 1;
  for (uint64_t size : tensor->local_shape)
    elements *= size;
  tensor->init = InitKind::normal;
  tensor->mean = mean;
  tensor->stddev = stddev;
  tensor->init_key = program().parameters.size();
  tensor->buffer = buffer(name, elements);
  program().buffers.back()->kind = BufferKind::parameter;
  program().parameters.push_back(std::move(tensor));
  return program().parameters.back()->buffer;
}

void ProgramBuilder::input(const std::string &name, uint32_t index, DType type,
                           std::vector<uint64_t> shape, uint64_t below) {
  auto input = std::make_unique<InputT>();
  input->name = name;
  input->buffer = index;
  input->dtype = type;
  input->sample_shape.assign(shape.begin() + 2, shape.end());
  input->shape = std::move(shape);
  input->below = below;
  input->shards.push_back(std::make_unique<ShardedDimT>());
  input->shards.back()->dim = 1;
  program().inputs.push_back(std::move(input));
}

void ProgramBuilder::scalar(ScalarRole role, uint32_t index) {
  auto scalar = std::make_unique<StepScalarT>();
  scalar->role = role;
  scalar->buffer = index;
  program().scalars.push_back(std::move(scalar));
}

void ProgramBuilder::output(OutputRole role, uint32_t index) {
  auto output = std::make_unique<OutputT>();
  output->role = role;
  output->buffer = index;
  program().outputs.push_back(std::move(output));
}

uint32_t ProgramBuilder::group(const std::vector<uint32_t> &axes) {
  auto [entry, isNew] = groups.try_emplace(axes, static_cast<uint32_t>(manifest.groups.size()));
  if (isNew)
    manifest.groups.push_back(groupOfAxes(manifest.mesh, axes));
  return entry->second;
}

uint32_t ProgramBuilder::kernel(const std::string &symbol, std::vector<uint64_t> minBytes,
                                uint64_t range) {
  auto kernel = std::make_unique<KernelT>();
  kernel->symbol = symbol;
  kernel->num_buffers = static_cast<uint32_t>(minBytes.size());
  kernel->min_bytes = std::move(minBytes);
  kernel->range = range;
  manifest.kernels.push_back(std::move(kernel));
  return static_cast<uint32_t>(manifest.kernels.size() - 1);
}

std::vector<uint8_t> ProgramBuilder::file() {
  manifest.peak_memory_bytes = 0;
  manifest.peak_host_bytes = 0;
  for (const auto &each : manifest.programs) {
    manifest.peak_memory_bytes = std::max(manifest.peak_memory_bytes, each->arena_bytes);
    manifest.peak_host_bytes = std::max(manifest.peak_host_bytes, each->host_bytes);
  }
  return writeUnchecked(manifest, segments);
}

std::unique_ptr<RankScalarT> rankScalar(int64_t base, std::vector<RankTerm> terms) {
  auto scalar = std::make_unique<RankScalarT>();
  scalar->base = base;
  scalar->terms = std::move(terms);
  return scalar;
}

CollectiveT collective(CollectiveKind kind, uint32_t group, uint32_t src, uint32_t dst,
                       uint64_t count) {
  CollectiveT op;
  op.kind = kind;
  op.group = group;
  op.src = src;
  op.dst = dst;
  op.count = count;
  return op;
}

TransferT transfer(TransferKind kind, uint32_t group, uint32_t shift, uint32_t buffer,
                   uint64_t count) {
  TransferT op;
  op.kind = kind;
  op.group = group;
  op.shift = shift;
  op.buffer = buffer;
  op.count = count;
  op.role = CollectiveRole::pipeline;
  op.name = "y";
  return op;
}

StridedCopyT copy(uint32_t src, uint32_t dst, uint64_t elements) {
  StridedCopyT op;
  op.src = src;
  op.dst = dst;
  op.sizes = {elements};
  op.src_strides = op.dst_strides = {1};
  return op;
}

ZeroT zero(uint32_t dst) {
  ZeroT op;
  op.dst = dst;
  return op;
}

RecordT record(uint32_t event) {
  RecordT op;
  op.event = event;
  return op;
}

WaitT wait(uint32_t event) {
  WaitT op;
  op.event = event;
  return op;
}

ProgramBuilder sampleProgram(uint32_t ranks, std::vector<uint8_t> object, SampleIndices *indices) {
  ProgramBuilder builder({{"dp", ranks}});
  describeModel(builder.manifest, ranks);
  builder.segments.push_back({SegmentKind::code, std::move(object)});
  builder.program().num_streams = 2;
  builder.program().num_events = 2;
  uint32_t meanSquare = builder.kernel("mean_square", {256, 4}, 1);
  uint32_t decay = builder.kernel("decay", {512, 4}, 128);

  SampleIndices at;
  at.embed = builder.parameter("embed.weight", {words, width}, false, 0, 1);
  at.head = builder.parameter("head.weight", {width, width}, true, 0.5f, 0.25f);
  uint32_t tokens = at.tokens = builder.buffer("tokens", tokensPerRank, DType::i32);
  uint32_t targets = builder.buffer("targets", tokensPerRank, DType::i32);
  uint32_t step = builder.buffer("step", 1);
  uint32_t lr = builder.buffer("base_lr", 1);
  uint32_t seed = builder.buffer("seed", 1, DType::i64);
  builder.input("tokens", tokens, DType::i32, {1, 2, 4}, words);
  builder.input("targets", targets, DType::i32, {1, 2, 4}, words);
  builder.scalar(ScalarRole::step, step);
  builder.scalar(ScalarRole::base_lr, lr);
  builder.scalar(ScalarRole::seed, seed);
  at.x = builder.buffer("x", 64);
  uint32_t mixed = builder.buffer("mixed", 64), lse = builder.buffer("lse", 16);
  uint32_t head = builder.buffer("head", 64), z = builder.buffer("z", 64);
  at.loss = builder.buffer("loss", 1);
  uint32_t grad = builder.buffer("grad", 128), dx = builder.buffer("dx", 64);
  uint32_t dk = builder.buffer("dk", 64), dv = builder.buffer("dv", 64);
  uint32_t scratch = builder.buffer("scratch", 16);
  uint32_t part = builder.buffer("part", 128 / ranks), swapped = builder.buffer("swapped", 128);
  uint32_t dweight = builder.buffer("dweight", 72), sums = builder.buffer("sums", 144);
  uint32_t dbias = builder.buffer("dbias", 8);
  builder.output(OutputRole::loss, at.loss);
  builder.output(OutputRole::learning_rate, lr);

  at.zero = builder.add(zero(grad));
  builder.add(
      collective(CollectiveKind::all_gather, builder.group({0}), at.head, head, 64 / ranks));
  at.embedding = builder.add(lookUp(at.embed, tokens, at.x));
  AttentionT forward = sampleAttention(at.x, mixed, lse, seed, step, tokens);
  forward.sinks = at.x;
  at.attention = builder.add(std::move(forward));
  at.gemm = builder.add(sampleGemm(mixed, head, z));
  at.launch = builder.add(launch(meanSquare, {z, at.loss}, 1));
  at.record = builder.add(record(0));
  at.wait = builder.add(wait(0), 1);
  at.allReduce = builder.add(
      collective(CollectiveKind::all_reduce, builder.group({0}), at.loss, at.loss, 1), 1);
  builder.instructions().back()->op.AsCollective()->name = "loss";
  builder.add(record(1), 1);
  AttentionGradT backward;
  backward.forward =
      std::make_unique<AttentionT>(sampleAttention(at.x, mixed, lse, seed, step, tokens));
  backward.dout = z;
  backward.dq = dx;
  backward.dk = dk;
  backward.dv = dv;
  backward.scratch = scratch;
  backward.dlse = lse;
  backward.dbias = dbias;
  at.attentionGrad = builder.add(std::move(backward));
  StridedCopyT sum = copy(dk, dx, 64);
  sum.accumulate = true;
  builder.add(std::move(sum));
  at.embeddingGrad = builder.add(scatter(grad, tokens, dx));
  at.copy = builder.add(transpose(head, dv));
  builder.add(
      collective(CollectiveKind::reduce_scatter, builder.group({0}), grad, part, 128 / ranks));
  builder.add(collective(CollectiveKind::all_gather, builder.group({0}), part, grad, 128 / ranks));
  builder.add(
      collective(CollectiveKind::all_to_all, builder.group({0}), grad, swapped, 128 / ranks));
  addGroupedOps(builder, at.x, swapped, tokens, dx, grad, at);
  addImageOps(builder, {at.x, dx, swapped, grad, dweight, sums, scratch}, at);
  builder.add(launch(decay, {at.embed, lr}, 128));
  builder.add(wait(1));
  if (indices)
    *indices = at;
  return builder;
}

rt::Status verify(const ManifestT &manifest) {
  flatbuffers::FlatBufferBuilder encoder;
  FinishManifestBuffer(encoder, CreateManifest(encoder, &manifest));
  return verifyManifest(*GetManifest(encoder.GetBufferPointer()), "m.dte");
}

std::vector<uint8_t> readBytes(const std::string &path) {
  std::vector<uint8_t> bytes;
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return bytes;
  uint8_t block[1 << 16];
  for (size_t count; (count = std::fread(block, 1, sizeof(block), file)) > 0;)
    bytes.insert(bytes.end(), block, block + count);
  std::fclose(file);
  return bytes;
}

rt::Status writeBytes(const std::string &path, std::span<const uint8_t> bytes) {
  rt::AtomicFile file;
  DTC_RETURN_IF_ERROR(file.open(path));
  DTC_RETURN_IF_ERROR(file.write(bytes.data(), bytes.size()));
  return file.commit();
}

} // namespace dtc::test
