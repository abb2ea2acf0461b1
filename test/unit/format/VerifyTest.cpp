// Corrupts one field of a good file at a time. The verifier must report it and name it.
#include "runtime/format/Verify.h"

#include "runtime/format/Header.h"
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

namespace dtc::format {
namespace {

rt::Status verify(const std::vector<uint8_t> &file) {
  const Manifest *manifest = nullptr;
  return verifyExecutable(file, "m.dte", manifest);
}

struct Corruption {
  const char *name;
  std::function<void(ManifestT &)> apply;
  const char *message; // part of the verifier's message
};

// Prints the name for GoogleTest. NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const Corruption &corruption, std::ostream *out) { *out << corruption.name; }

class ManifestCorruption : public testing::TestWithParam<Corruption> {};

TEST_P(ManifestCorruption, IsNamed) {
  test::ProgramBuilder builder = test::sampleProgram(2, {1, 2, 3});
  builder.file(); // sets sums and segments
  ManifestT &manifest = builder.manifest;
  // writeUnchecked would correct some fields, so the manifest is encoded here.
  GetParam().apply(manifest);
  flatbuffers::FlatBufferBuilder encoder;
  FinishManifestBuffer(encoder, CreateManifest(encoder, &manifest));
  rt::Status status = verifyManifest(*GetManifest(encoder.GetBufferPointer()), "m.dte");
  EXPECT_EQ(status.statusCode(), rt::StatusCode::InvalidArgument);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
  EXPECT_EQ(status.message().find("m.dte: "), 0u) << status.message();
  EXPECT_NE(status.message().find("; recompile with dtc"), std::string::npos) << status.message();
}

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr uint64_t huge = ~uint64_t(0);

ProgramT &program(ManifestT &m) { return *m.programs[0]; }
BufferT &buffer(ManifestT &m, size_t i) { return *program(m).buffers[i]; }
TensorT &tensor(ManifestT &m, size_t i) { return *program(m).parameters[i]; }
InputT &input(ManifestT &m, size_t i) { return *program(m).inputs[i]; }

// Changes the program to one for GPUs.
ManifestT &forSimt(ManifestT &m) {
  m.device = "simt";
  m.segments[0]->kind = SegmentKind::simt;
  return m;
}
ManifestT &forCuda(ManifestT &m) {
  m.device = "cuda";
  m.gpu_arch = "sm_90";
  m.segments[0]->kind = SegmentKind::ptx;
  return m;
}

const Corruption manifestCorruptions[] = {
    {"Version", [](ManifestT &m) { m.format_version = 1; }, "manifest version is 1, wanted 7"},
    {"LearningRateNan", [](ManifestT &m) { m.default_lr = nan; }, "default_lr is nan"},
    {"FlopsNegative", [](ManifestT &m) { m.model_flops_per_step = -1; },
     "model_flops_per_step is -1"},
    {"PeakInfinite", [](ManifestT &m) { m.peak_flops_per_device = INFINITY; },
     "peak_flops_per_device is inf"},
    {"SequenceHuge", [](ManifestT &m) { m.sequence_length = huge; },
     "sequence_length is 18446744073709551615"},
    {"ModelNameControl", [](ManifestT &m) { m.model_name = "a\nb"; },
     "model_name contains a control character"},
    {"ModelNameLong", [](ManifestT &m) { m.model_name = std::string(5000, 'x'); },
     "model_name has 5000 bytes, wanted at most 4096"},
    {"ConfigLong", [](ManifestT &m) { m.config = std::string(1 << 21, ' '); },
     "config has 2097152 bytes, wanted at most 1048576"},
    {"AxisEmpty", [](ManifestT &m) { m.mesh[0]->size = 0; }, "mesh axis 'dp' has size 0"},
    {"AxisHuge", [](ManifestT &m) { m.mesh[0]->size = ~0u; }, "more than 1048576 ranks"},
    {"AxisTwice",
     [](ManifestT &m) {
       m.mesh.push_back(std::make_unique<AxisT>());
       m.mesh[1]->name = "dp";
       m.mesh[1]->size = 1;
     },
     "mesh axes 0 and 1 are both called 'dp'"},
    {"AxesMany",
     [](ManifestT &m) {
       for (int i = 0; i < 20; ++i) {
         m.mesh.push_back(std::make_unique<AxisT>());
         m.mesh.back()->size = 1;
       }
     },
     "the mesh has 21 axes, wanted at most 16"},
    {"RanksFew", [](ManifestT &m) { m.rank_program = {0}; },
     "rank_program has 1 entries, wanted 2, the product of the mesh"},
    {"RankProgram",
     [](ManifestT &m) {
       m.rank_program = {0, 1};
     },
     "rank 1 runs program 1, there are 1"},
    {"PlacesFew", [](ManifestT &m) { m.place_ranks = {0}; },
     "place_ranks has 1 entries, wanted 2, the product of the mesh"},
    {"PlaceTwice",
     [](ManifestT &m) {
       m.place_ranks = {1, 1};
     },
     "place 1 of the mesh has rank 1, wanted each of 2 ranks at one place"},
    {"PlaceHuge",
     [](ManifestT &m) {
       m.place_ranks = {2, 0};
     },
     "place 0 of the mesh has rank 2"},
    {"GroupEmpty", [](ManifestT &m) { m.groups[0]->size = 0; },
     "group 0 'dp' has 2 ranks in lists of 0, wanted whole lists of 1 rank or more"},
    {"GroupOdd", [](ManifestT &m) { m.groups[0]->ranks = {0}; },
     "group 0 'dp' has 1 ranks in lists of 2"},
    {"GroupRank",
     [](ManifestT &m) {
       m.groups[0]->ranks = {0, 2};
     },
     "group 0 'dp' has rank 2, there are 2"},
    {"GroupRankTwice",
     [](ManifestT &m) {
       m.groups[0]->ranks = {1, 1};
     },
     "group 0 'dp' has rank 1 twice"},
    {"GroupsMany",
     [](ManifestT &m) {
       for (int i = 0; i < 5000; ++i)
         m.groups.push_back(std::make_unique<GroupT>());
     },
     "there are 5001 groups, wanted at most 4096"},
    {"RankOutsideOfItsGroup", [](ManifestT &m) { m.groups[0]->ranks.clear(); },
     "not all ranks of the program are in the group"},
    {"MicroBatchesNone", [](ManifestT &m) { m.num_micro_batches = 0; },
     "num_micro_batches is 0, wanted 1 to 1048576"},
    {"SlotsNone", [](ManifestT &m) { buffer(m, 0).slots = 0; }, "has 0 slots, wanted 1 to 65536"},
    {"SlotsMany", [](ManifestT &m) { buffer(m, 0).slots = 65537; },
     "has 65537 slots, wanted 1 to 65536"},
    {"SlotBeyondTheArena",
     [](ManifestT &m) {
       buffer(m, 0).slots = 2;
       m.programs[0]->buffers[0]->slot_stride = huge / 4 * 4;
     },
     "beyond the arena's end"},
    {"SlotStrideOdd", [](ManifestT &m) { m.programs[0]->buffers[0]->slot_stride = 3; },
     "moves on by 3 bytes, wanted a multiple of 4 bytes"},
    {"ParameterThatMoves",
     [](ManifestT &m) {
       ProgramT &p = *m.programs[0];
       p.buffers[p.parameters[0]->buffer]->slot_stride = 4;
     },
     "which moves with the slot, the micro-batch or the layer"},
    {"ParameterThatMovesWithTheLayer",
     [](ManifestT &m) {
       ProgramT &p = *m.programs[0];
       p.buffers[p.parameters[0]->buffer]->layer_stride = -4;
     },
     "which moves with the slot, the micro-batch or the layer"},
    {"LayerStrideOfNoElement", [](ManifestT &m) { buffer(m, 0).layer_stride = -6; },
     "moves on by -6 bytes with the layer, wanted a multiple of"},
    {"RepeatOfNothing", [](ManifestT &m) { program(m).tasks[0]->repeats = {Repeat(1, 1, 2)}; },
     "task 'step' repeats instructions 1 to 1, wanted some of those from 0 to 28"},
    {"RepeatPastTheEnd", [](ManifestT &m) { program(m).tasks[0]->repeats = {Repeat(1, 29, 2)}; },
     "repeats instructions 1 to 29, wanted some of those from 0 to 28"},
    {"RepeatsThatOverlap",
     [](ManifestT &m) {
       program(m).tasks[0]->repeats = {Repeat(0, 2, 1), Repeat(1, 3, 1)};
     },
     "repeats instructions 1 to 3, wanted some of those from 2 to 28"},
    {"RepeatNever", [](ManifestT &m) { program(m).tasks[0]->repeats = {Repeat(0, 1, 0)}; },
     "repeats instructions 0 to 1 0 times, wanted 1 to 65536"},
    {"RepeatEndlessly", [](ManifestT &m) { program(m).tasks[0]->repeats = {Repeat(0, 1, ~0u)}; },
     "repeats instructions 0 to 1 4294967295 times, wanted 1 to 65536"},
    {"ProgramName", [](ManifestT &m) { m.programs[0]->name = "a\nb"; },
     "the name of a program contains a control character"},
    {"TaskName", [](ManifestT &m) { m.programs[0]->tasks[0]->name = "a\nb"; },
     "the name of a task contains a control character"},
    {"EntryNone", [](ManifestT &m) { m.programs[0]->entries.clear(); },
     "there is no entry 'train'"},
    {"EntryKind", [](ManifestT &m) { m.programs[0]->entries[0]->kind = static_cast<EntryKind>(7); },
     "an entry has kind 7, wanted at most 2"},
    {"EntryTwice",
     [](ManifestT &m) { m.programs[0]->entries.push_back(std::make_unique<EntryT>()); },
     "entry 'train' is there twice"},
    {"RunTask", [](ManifestT &m) { m.programs[0]->entries[0]->order = {Run(1, 0)}; },
     "entry 'train' runs task 1, there are 1"},
    {"RunMicroBatch", [](ManifestT &m) { m.programs[0]->entries[0]->order = {Run(0, 1)}; },
     "entry 'train' has micro-batch 1, there are 1"},
    {"RunTwice",
     [](ManifestT &m) {
       m.programs[0]->entries[0]->order = {Run(0, 0), Run(0, 0)};
     },
     "entry 'train' runs task 0 twice for micro-batch 0"},
    {"ProgramIdle", [](ManifestT &m) { m.programs.push_back(std::make_unique<ProgramT>()); },
     "program 1 is run by no rank"},
    {"KernelSymbol", [](ManifestT &m) { m.kernels[0]->symbol = ""; }, "kernel 0 '' has no symbol"},
    {"KernelResults", [](ManifestT &m) { m.kernels[0]->num_results = 1000; }, "writes 1000 of "},
    {"KernelMinBytes", [](ManifestT &m) { m.kernels[0]->min_bytes = {1}; },
     "has 1 entries in min_bytes for 2 buffers"},
    {"KernelOperands", [](ManifestT &m) { m.kernels[0]->num_scalars = 5000; },
     "takes 2 buffers and 5000 scalars, wanted at most 1024"},
    {"KernelPoints", [](ManifestT &m) { m.kernels[0]->unit_points = 0; },
     "kernel 0 'mean_square' has units of 0 points, wanted 1 to 281474976710656"},
    {"KernelSegment", [](ManifestT &m) { m.kernels[1]->code_segment = 1; },
     "kernel 1 'decay' is in segment 1, there are 1"},
    {"KernelInConstants", [](ManifestT &m) { m.segments[0]->kind = SegmentKind::constants; },
     "is in segment 0, which is constants, wanted code, ptx or simt"},
    {"KernelThreads", [](ManifestT &m) { forSimt(m).kernels[0]->threads = 48; },
     "kernel 0 'mean_square' has blocks of 48 threads, wanted 0 or whole warps of 32 up to 1024"},
    {"KernelThreadsMany", [](ManifestT &m) { forSimt(m).kernels[0]->threads = 1056; },
     "has blocks of 1056 threads"},
    {"KernelThreadsOnHost", [](ManifestT &m) { m.kernels[0]->threads = 32; },
     "kernel 0 'mean_square' has blocks of 32 threads, and is code of the host, wanted 0"},
    {"KernelParameters", [](ManifestT &m) { forSimt(m).kernels[0]->num_scalars = 510; },
     "kernel 0 'mean_square' has 513 parameters, of which a GPU passes at most 512"},
    {"KernelMergedOnHost", [](ManifestT &m) { m.kernels[0]->merged = "m"; },
     "kernel 0 'mean_square' cannot have launches merged, as it is none of a GPU"},
    {"KernelMergedScalars",
     [](ManifestT &m) {
       forSimt(m).kernels[0]->merged = "m";
       m.kernels[0]->num_results = 1;
       m.kernels[0]->num_scalars = 1;
     },
     "kernel 0 'mean_square' cannot have launches merged, as it has scalars"},
    {"KernelMergedResults",
     [](ManifestT &m) {
       forSimt(m).kernels[0]->merged = "m";
       m.kernels[0]->num_results = 0;
     },
     "kernel 0 'mean_square' cannot have launches merged, as it has no results"},
    {"Device", [](ManifestT &m) { m.device = "tpu"; },
     "device is 'tpu', wanted cpu, cuda or simt"},
    {"DeviceArch", [](ManifestT &m) { m.gpu_arch = "sm_90"; },
     "gpu_arch is 'sm_90' for device 'cpu', which has none"},
    {"DeviceNoArch", [](ManifestT &m) { forCuda(m).gpu_arch = ""; },
     "gpu_arch is '', wanted sm_80, sm_90 or sm_100"},
    {"DeviceOldArch", [](ManifestT &m) { forSimt(m).gpu_arch = "sm_35"; },
     "gpu_arch is 'sm_35', wanted sm_80, sm_90 or sm_100"},
    {"SegmentOfAnother", [](ManifestT &m) { m.segments[0]->kind = SegmentKind::ptx; },
     "segment 0 is ptx, which device 'cpu' does not run"},
    {"SegmentSimt", [](ManifestT &m) { forCuda(m).segments[0]->kind = SegmentKind::simt; },
     "segment 0 is simt, which device 'cuda' does not run"},
    {"SegmentCubin", [](ManifestT &m) { forSimt(m).segments[0]->kind = SegmentKind::cubin; },
     "segment 0 is cubin, which device 'simt' does not run"},
    {"SegmentCubinFirst", [](ManifestT &m) { forCuda(m).segments[0]->kind = SegmentKind::cubin; },
     "segment 0 is cubin, wanted one behind the ptx that it is made of"},
    {"KernelOfHost", [](ManifestT &m) { forSimt(m).segments[0]->kind = SegmentKind::code; },
     "the kernel is in a segment of kind code, and its buffers in the memory of the device, wanted "
     "simt"},
    {"LocationControl", [](ManifestT &m) { m.locations[0]->file = "\x1b[2J"; },
     "the file of a location contains a control character"},
    {"Feature",
     [](ManifestT &m) {
       m.cpu_features = {"avx2", "avx1024"};
     },
     "cpu_features asks for 'avx1024'"},
    {"PeakMemory", [](ManifestT &m) { m.peak_memory_bytes += 1; }, "peak_memory_bytes is"},
    {"PeakHost", [](ManifestT &m) { m.peak_host_bytes = 1; },
     "peak_host_bytes is 1, wanted 0, the largest arena of the host's memory"},
    {"HostArenaHuge",
     [](ManifestT &m) { m.peak_host_bytes = program(m).host_bytes = uint64_t(1) << 49; },
     "the arena has 562949953421312 bytes"},
    {"BufferSpace", [](ManifestT &m) { buffer(m, 0).space = static_cast<MemorySpace>(2); },
     "'embed.weight' (buffer 0) is in memory 2, wanted at most 1"},
    {"BufferBeyondHost", [](ManifestT &m) { buffer(m, 3).space = MemorySpace::host; },
     "of the host's memory, beyond the arena's end at 0"},
    {"ParameterOnHost",
     [](ManifestT &m) {
       m.peak_host_bytes = program(m).host_bytes = program(m).arena_bytes;
       buffer(m, 0).space = MemorySpace::host;
     },
     "parameter 'embed.weight' is in 'embed.weight' (buffer 0) of the host's memory, wanted one of "
     "the device's"},
    {"Streams", [](ManifestT &m) { program(m).num_streams = 0; },
     "num_streams is 0, wanted 1 to 16"},
    {"StreamsMany", [](ManifestT &m) { program(m).num_streams = 17; }, "num_streams is 17"},
    {"EventsMany", [](ManifestT &m) { program(m).num_events = ~0u; }, "num_events is 4294967295"},
    {"ArenaHuge",
     [](ManifestT &m) { m.peak_memory_bytes = program(m).arena_bytes = uint64_t(1) << 49; },
     "the arena has 562949953421312 bytes"},
    {"ArenaSmall", [](ManifestT &m) { m.peak_memory_bytes = program(m).arena_bytes -= 1; },
     "beyond the arena's end"},
    {"BufferOffset", [](ManifestT &m) { buffer(m, 0).offset = huge - 3; },
     "'embed.weight' (buffer 0) has 512 bytes from byte 18446744073709551612, beyond"},
    {"BufferBytes", [](ManifestT &m) { buffer(m, 3).bytes = huge; }, "beyond the arena's end"},
    {"BufferMisaligned", [](ManifestT &m) { buffer(m, 2).offset += 2; },
     "wanted a multiple of 4 bytes, its element"},
    {"BufferType", [](ManifestT &m) { buffer(m, 0).dtype = static_cast<DType>(6); },
     "has dtype 6, wanted at most 5"},
    {"BufferKind", [](ManifestT &m) { buffer(m, 0).kind = static_cast<BufferKind>(99); },
     "has kind 99"},
    {"TensorBuffer", [](ManifestT &m) { tensor(m, 0).buffer = 1000; },
     "parameter 'embed.weight' is in buffer 1000, there are"},
    {"TensorName", [](ManifestT &m) { tensor(m, 1).name = "embed.weight"; },
     "the name of another tensor"},
    {"TensorType", [](ManifestT &m) { tensor(m, 0).dtype = DType::bf16; },
     "has dtype 1, 'embed.weight' (buffer 0) has 0"},
    {"TensorLocal",
     [](ManifestT &m) {
       tensor(m, 1).local_shape = {8, 8};
     },
     "has local size 8 on dim 0, wanted 4 for 8 over 2"},
    {"TensorGlobal", [](ManifestT &m) { tensor(m, 0).global_shape[1] = 0; },
     "global size 0 on dim 1"},
    {"TensorStored",
     [](ManifestT &m) {
       tensor(m, 0).stored_shape = {16, 9};
     },
     "different numbers of elements in global_shape and stored_shape"},
    {"TensorHuge",
     [](ManifestT &m) {
       TensorT &t = tensor(m, 0);
       t.global_shape = t.stored_shape = t.local_shape = {uint64_t(1) << 40, uint64_t(1) << 40};
     },
     "or more than"},
    {"TensorRank", [](ManifestT &m) { tensor(m, 0).local_shape = {128}; },
     "has 1 dims in local_shape and 2 in global_shape"},
    {"TensorDims", [](ManifestT &m) { tensor(m, 0).stored_shape.assign(13, 1); },
     "has more than 12 dims"},
    {"ShardDim", [](ManifestT &m) { tensor(m, 1).shards[0]->dim = 2; },
     "is sharded on dim 2, it has 2"},
    {"ShardAxis", [](ManifestT &m) { tensor(m, 1).shards[0]->axis = 1; },
     "is sharded over axis 1, the mesh has 1"},
    {"ShardTwice",
     [](ManifestT &m) {
       tensor(m, 1).shards.push_back(std::make_unique<ShardedDimT>());
       tensor(m, 1).shards[1]->dim = 1;
     },
     "twice in its shards"},
    {"InitKind", [](ManifestT &m) { tensor(m, 0).init = static_cast<InitKind>(4); }, "has init 4"},
    {"InitDeviation", [](ManifestT &m) { tensor(m, 0).stddev = -1; }, "mean 0 and stddev -1"},
    {"InitMean", [](ManifestT &m) { tensor(m, 0).mean = nan; }, "initial mean nan"},
    {"GradientOfNothing",
     [](ManifestT &m) {
       program(m).gradients.push_back(std::make_unique<TensorT>(tensor(m, 1)));
       program(m).gradients[0]->name = "x";
     },
     "gradient 'x' is of no parameter of its name and shape"},
    {"GradientOfOtherShape",
     [](ManifestT &m) {
       program(m).gradients.push_back(std::make_unique<TensorT>(tensor(m, 1)));
       program(m).gradients[0]->name = tensor(m, 0).name;
     },
     "is of no parameter of its name and shape"},
    {"GradientInParameter",
     [](ManifestT &m) { program(m).gradients.push_back(std::make_unique<TensorT>(tensor(m, 1))); },
     "hold parameters, gradients or optimizer state and overlap"},
    {"ParameterIsACopy", [](ManifestT &m) { tensor(m, 0).copy_of = "head.weight"; },
     "is a copy, wanted none but of state"},
    {"CopyOfNothing",
     [](ManifestT &m) {
       program(m).optimizer_state.push_back(std::make_unique<TensorT>(tensor(m, 1)));
       program(m).optimizer_state[0]->name = "master";
       program(m).optimizer_state[0]->copy_of = "x";
     },
     "optimizer state 'master' is a copy of 'x', which is no parameter here"},
    {"CopyOfOtherShape",
     [](ManifestT &m) {
       program(m).optimizer_state.push_back(std::make_unique<TensorT>(tensor(m, 1)));
       program(m).optimizer_state[0]->name = "master";
       program(m).optimizer_state[0]->copy_of = tensor(m, 0).name;
     },
     "of another shape, or not in f32"},
    {"TensorsOverlap", [](ManifestT &m) { buffer(m, tensor(m, 1).buffer).offset = 256; },
     "hold parameters, gradients or optimizer state and overlap"},
    {"InputTwice", [](ManifestT &m) { input(m, 1).name = "tokens"; },
     "input 'tokens' has an empty name or the name of another input"},
    {"InputNameEmpty", [](ManifestT &m) { input(m, 1).name = ""; }, "has an empty name"},
    {"InputNameControl", [](ManifestT &m) { input(m, 1).name = "a\tb"; },
     "the name of an input contains a control character"},
    {"InputType", [](ManifestT &m) { input(m, 0).dtype = DType::i64; },
     "input 'tokens' has dtype 4, wanted f32 or i32"},
    {"InputBufferType",
     [](ManifestT &m) {
       input(m, 0).dtype = DType::f32;
       input(m, 0).below = 0;
     },
     "input 'tokens' has dtype 0"},
    {"InputBelow", [](ManifestT &m) { input(m, 0).below = (uint64_t(1) << 31) + 1; },
     "input 'tokens' is below 2147483649, wanted at most 2147483648"},
    {"InputIgnored", [](ManifestT &m) { input(m, 1).ignored = int64_t(1) << 31; },
     "input 'targets' ignores 2147483648, wanted an i32"},
    {"InputShape", [](ManifestT &m) { input(m, 0).shape = {8}; }, "has 1 dims, wanted"},
    {"InputSampleShape",
     [](ManifestT &m) {
       input(m, 0).sample_shape = {4, 1};
     },
     "has 3 dims, wanted micro-batches, batch and the 2 of a sample"},
    {"InputSequence",
     [](ManifestT &m) {
       input(m, 0).shape = {1, 2, 5};
     },
     "has size 5 on dim 2, wanted this rank's part of 4"},
    {"InputEmpty",
     [](ManifestT &m) {
       input(m, 0).shape = {1, 2, 0};
       input(m, 0).sample_shape = {0};
     },
     "has size 0 on dim 2"},
    {"InputMicroBatches",
     [](ManifestT &m) {
       input(m, 1).shape = {2, 1, 4};
     },
     "input 'targets' has 2 micro-batches of 1, wanted 1 of 2"},
    {"InputShard", [](ManifestT &m) { input(m, 0).shards[0]->dim = 3; },
     "is sharded on dim 3, it has 3"},
    {"InputMicroBatchShard", [](ManifestT &m) { input(m, 0).shards[0]->dim = 0; },
     "wanted whole micro-batches"},
    {"InputBuffer", [](ManifestT &m) { buffer(m, input(m, 0).buffer).bytes = 28; },
     "input 'tokens' needs 32 bytes"},
    {"InputUnsplit", [](ManifestT &m) { input(m, 1).shards.clear(); }, "global_batch is 4, wanted"},
    {"ScalarRole", [](ManifestT &m) { program(m).scalars[0]->role = static_cast<ScalarRole>(4); },
     "a scalar has role 4"},
    {"ScalarTwice", [](ManifestT &m) { program(m).scalars[1]->role = ScalarRole::step; },
     "scalar 'step' is there twice"},
    {"ScalarType", [](ManifestT &m) { program(m).scalars[0]->role = ScalarRole::seed; },
     "scalar 'seed' has dtype 4"},
    {"ScalarBuffer", [](ManifestT &m) { program(m).scalars[0]->buffer = 77; },
     "scalar 'step' is in buffer 77"},
    {"GlobalBatch", [](ManifestT &m) { m.global_batch = 5; }, "global_batch is 5, wanted"},
    {"OutputRole", [](ManifestT &m) { program(m).outputs[0]->role = static_cast<OutputRole>(9); },
     "has role 9"},
    {"OutputTwice", [](ManifestT &m) { program(m).outputs[1]->role = OutputRole::loss; },
     "output 'loss' is there twice"},
    {"OutputBuffer", [](ManifestT &m) { program(m).outputs[0]->buffer = 77; },
     "output 'loss' is in buffer 77"},
};

INSTANTIATE_TEST_SUITE_P(Verify, ManifestCorruption, testing::ValuesIn(manifestCorruptions),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Verify, AcceptsTheSampleOnEveryNumberOfRanks) {
  for (uint32_t ranks : {1u, 2u, 4u, 8u}) {
    rt::Status status = verify(test::sampleProgram(ranks, {1, 2, 3}).file());
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(Verify, RejectsEveryByteThatChanges) {
  std::vector<uint8_t> file = test::sampleProgram(1, std::vector<uint8_t>(300, 1)).file();
  for (size_t i = 0; i < file.size(); ++i) {
    std::vector<uint8_t> changed = file;
    changed[i] ^= 1;
    ASSERT_FALSE(verify(changed).ok()) << "byte " << i;
  }
}

TEST(Verify, RejectsEveryLengthButTheRightOne) {
  std::vector<uint8_t> file = test::sampleProgram(1, {1, 2, 3}).file();
  for (size_t bytes = 0; bytes < file.size(); bytes += 7)
    ASSERT_FALSE(verify({file.begin(), file.begin() + static_cast<long>(bytes)}).ok()) << bytes;
  file.push_back(0);
  EXPECT_FALSE(verify(file).ok());
}

// The target of the file decides which segments it must have.
TEST(Verify, TakesFilesForGpus) {
  test::ProgramBuilder cpu = test::sampleProgram(2, {1, 2, 3});
  cpu.manifest.device = "cpu";
  EXPECT_EQ(verify(cpu.file()).message(), "");

  test::ProgramBuilder simt = test::sampleProgram(2, {1, 2, 3});
  simt.segments[0].kind = SegmentKind::simt;
  simt.manifest.device = "simt";
  simt.manifest.kernels[0]->threads = 1024;
  EXPECT_EQ(verify(simt.file()).message(), "");
  simt.manifest.gpu_arch = "sm_80";
  EXPECT_EQ(verify(simt.file()).message(), "");

  test::ProgramBuilder cuda = test::sampleProgram(2, {1, 2, 3});
  cuda.segments[0].kind = SegmentKind::ptx;
  cuda.segments.push_back({SegmentKind::cubin, {4}});
  cuda.segments.push_back({SegmentKind::code, {5}});
  cuda.segments.push_back({SegmentKind::constants, {6}});
  cuda.manifest.device = "cuda";
  cuda.manifest.gpu_arch = "sm_100";
  EXPECT_EQ(verify(cuda.file()).message(), "");
  std::swap(cuda.segments[1], cuda.segments[2]);
  EXPECT_NE(verify(cuda.file()).message().find("segment 2 is cubin, wanted one behind the ptx"),
            std::string::npos);
}

// Launches in the host's memory run on the host, even if the device is a GPU.
TEST(Verify, WantsCodeOfTheHostForItsMemory) {
  test::ProgramBuilder builder = test::sampleProgram(1, {1, 2, 3});
  builder.segments[0].kind = SegmentKind::simt;
  builder.segments.push_back({SegmentKind::code, {4}});
  builder.manifest.device = "simt";
  uint32_t onHost = builder.buffer("on_host", 1);
  builder.program().buffers[onHost]->space = MemorySpace::host;
  builder.program().buffers[onHost]->offset = 0;
  builder.program().host_bytes = 64;
  uint32_t kernel = builder.kernel("count", {4}, 1);
  LaunchT launch;
  launch.kernel = kernel;
  launch.buffers = {onHost};
  launch.range = 1;
  builder.add(std::move(launch));
  EXPECT_NE(verify(builder.file())
                .message()
                .find("the kernel is in a segment of kind simt, and its buffers in the memory of "
                      "the host, wanted code"),
            std::string::npos)
      << verify(builder.file()).message();
  builder.manifest.kernels[kernel]->code_segment = 1;
  EXPECT_EQ(verify(builder.file()).message(), "");
}

// Writes a header with correct hashes around changed manifest bytes.
std::vector<uint8_t> resign(std::vector<uint8_t> file) {
  Header header;
  EXPECT_TRUE(readHeader(file, "f", header).ok());
  header.manifestHash =
      hash128(std::span<const uint8_t>(file).subspan(headerBytes, header.manifestBytes));
  writeHeader(header, std::span<uint8_t, headerBytes>(file.data(), headerBytes));
  return file;
}

TEST(Verify, NamesAManifestThatIsNoFlatBuffer) {
  std::vector<uint8_t> file = test::sampleProgram(1, {1, 2, 3}).file();
  std::vector<uint8_t> changed = file;
  std::memset(changed.data() + headerBytes, 0xff, 4);
  EXPECT_NE(verify(resign(changed)).message().find("not a sound FlatBuffers table"),
            std::string::npos);
  changed = file;
  changed[headerBytes + 4] = 'X';
  EXPECT_NE(verify(resign(changed)).message().find("identifier 'DTE1'"), std::string::npos);
}

TEST(Verify, NamesASegmentThatIsWrong) {
  struct {
    std::function<void(SegmentT &)> apply;
    const char *message;
  } const cases[] = {
      {[](SegmentT &s) { s.offset += 64; }, "segment 0 starts at byte"},
      {[](SegmentT &s) { s.offset = 0; }, "before the end of what precedes it"},
      {[](SegmentT &s) { s.bytes = ~uint64_t(0); }, "beyond the file's end"},
      {[](SegmentT &s) { s.bytes -= 1; }, "segment 0 does not match its hash"},
      {[](SegmentT &s) { s.kind = static_cast<SegmentKind>(5); }, "segment 0 has kind 5"},
  };
  for (const auto &each : cases) {
    test::ProgramBuilder builder = test::sampleProgram(1, {1, 2, 3});
    std::vector<uint8_t> file = builder.file();
    each.apply(*builder.manifest.segments[0]);
    flatbuffers::FlatBufferBuilder encoder;
    encoder.ForceDefaults(true);
    FinishManifestBuffer(encoder, CreateManifest(encoder, &builder.manifest));
    std::memcpy(file.data() + headerBytes, encoder.GetBufferPointer(), encoder.GetSize());
    rt::Status status = verify(resign(file));
    EXPECT_EQ(status.statusCode(), rt::StatusCode::DataLoss);
    EXPECT_NE(status.message().find(each.message), std::string::npos) << status.message();
  }
}

// 10 rows over both axes are 3 per rank; two pieces of ceil(10 / 8) if one axis is zigzag.
TEST(Verify, CountsAllAxesOfADim) {
  auto message = [](std::vector<uint64_t> local, bool first, bool second) {
    test::ProgramBuilder builder({{"dp", 2}, {"tp", 2}});
    builder.parameter("w", {10}, true, 0, 1);
    TensorT &tensor = *builder.program().parameters[0];
    tensor.shards.push_back(std::make_unique<ShardedDimT>());
    tensor.shards[0]->zigzag = first;
    tensor.shards[1]->axis = 1;
    tensor.shards[1]->zigzag = second;
    tensor.local_shape = std::move(local);
    return verify(builder.file()).message();
  };
  EXPECT_EQ(message({3}, false, false), "");
  EXPECT_EQ(message({4}, false, true), "");
  EXPECT_NE(message({5}, false, false).find("has local size 5 on dim 0, wanted 3"),
            std::string::npos);
  EXPECT_NE(message({3}, true, false).find("wanted 4 for 10 over 4 ranks of 2 pieces"),
            std::string::npos);
  EXPECT_NE(message({4}, true, true).find("sharded zigzag on dim 0 over axes 0 and 1"),
            std::string::npos);
}

// Samples of 8 tokens are split over 2 ranks, 4 of them zigzag as well as in one run. Samples
// themselves are read in one run.
TEST(Verify, TakesInputsThatAreSplitInSamples) {
  auto message = [](uint32_t dim, std::vector<uint64_t> shape, uint64_t length, bool zigzag) {
    test::ProgramBuilder builder = test::sampleProgram(2, {1, 2, 3});
    for (std::unique_ptr<InputT> &input : builder.program().inputs) {
      input->shape = shape;
      input->sample_shape = {length};
      input->shards[0]->dim = dim;
      input->shards[0]->zigzag = zigzag;
    }
    builder.manifest.global_batch = dim == 1 ? 4 : 2;
    return verify(builder.file()).message();
  };
  EXPECT_EQ(message(1, {1, 2, 4}, 4, false), "");
  EXPECT_EQ(message(2, {1, 2, 4}, 8, false), "");
  EXPECT_EQ(message(2, {1, 2, 4}, 8, true), "");
  EXPECT_NE(message(2, {1, 2, 3}, 6, true)
                .find("has size 3 on dim 2, wanted this rank's part of 6, "
                      "1 or more in each of 2 pieces"),
            std::string::npos);
  EXPECT_NE(message(1, {1, 2, 4}, 4, true).find("is sharded zigzag on dim 1"), std::string::npos);
}

} // namespace
} // namespace dtc::format
