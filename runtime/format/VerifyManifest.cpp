// Checks the tables of a manifest that are outside of programs: mesh, ranks, kernels, locations,
// numbers of the model.
#include "runtime/format/VerifyManifest.h"

#include "runtime/format/Grid.h"
#include "runtime/format/Header.h"
#include "runtime/format/Limits.h"
#include "runtime/format/Target.h"
#include "runtime/format/VerifyContext.h"

#include <algorithm>
#include <string_view>

namespace dtc::format {
namespace {

constexpr std::string_view knownFeatures[] = {
#define DTC_CPU_FEATURE(name, builtin) name,
#include "runtime/format/CpuFeatures.def"
#undef DTC_CPU_FEATURE
};

rt::Status verifyNumbers(const VerifyContext &context) {
  const Manifest &manifest = context.manifest;
  if (manifest.format_version() != formatVersion)
    return context.fail("manifest version is ", manifest.format_version(), ", wanted ",
                        formatVersion);
  DTC_RETURN_IF_ERROR(context.checkName("producer", manifest.producer()));
  DTC_RETURN_IF_ERROR(context.checkName("model_name", manifest.model_name()));
  constexpr size_t kMostConfigBytes = 1 << 20;
  if (manifest.config() && manifest.config()->size() > kMostConfigBytes)
    return context.fail("config has ", manifest.config()->size(), " bytes, wanted at most ",
                        kMostConfigBytes);
  struct {
    const char *name;
    double value;
  } const rates[] = {{"default_lr", manifest.default_lr()},
                     {"model_flops_per_step", manifest.model_flops_per_step()},
                     {"peak_flops_per_device", manifest.peak_flops_per_device()}};
  for (const auto &rate : rates)
    if (!std::isfinite(rate.value) || rate.value < 0)
      return context.fail(rate.name, " is ", rate.value, ", wanted a finite number of at least 0");
  // Sizes of a step are multiplied, three at a time: they are bounded once, here.
  struct {
    const char *name;
    uint64_t value, limit;
  } const counts[] = {{"sequence_length", manifest.sequence_length(), uint64_t(1) << 31},
                      {"global_batch", manifest.global_batch(), uint64_t(1) << 31},
                      {"micro_batch", manifest.micro_batch(), uint64_t(1) << 31},
                      {"num_micro_batches", manifest.num_micro_batches(), uint64_t(1) << 31}};
  for (const auto &count : counts)
    if (count.value > count.limit)
      return context.fail(count.name, " is ", count.value, ", wanted at most ", count.limit);
  return {};
}

rt::Status verifyMesh(const VerifyContext &context, uint64_t &ranks) {
  const auto &mesh = *context.manifest.mesh();
  if (mesh.size() > maxAxes)
    return context.fail("the mesh has ", mesh.size(), " axes, wanted at most ", maxAxes);
  ranks = 1;
  for (uint32_t i = 0; i < mesh.size(); ++i) {
    DTC_RETURN_IF_ERROR(context.checkName("the name of a mesh axis", mesh[i]->name()));
    std::string_view name = mesh[i]->name()->string_view();
    for (uint32_t k = 0; k < i; ++k)
      if (mesh[k]->name()->string_view() == name)
        return context.fail("mesh axes ", k, " and ", i, " are both called '", name, "'");
    if (mesh[i]->size() == 0)
      return context.fail("mesh axis '", name, "' has size 0, wanted at least 1");
    ranks *= mesh[i]->size();
    if (ranks > maxRanks)
      return context.fail("the mesh has more than ", maxRanks, " ranks");
  }
  return {};
}

// Checks that the positions of ranks are absent, or a permutation.
rt::Status verifyMeshRanks(const VerifyContext &context, uint64_t ranks) {
  const auto *placed = context.manifest.place_ranks();
  if (!placed)
    return {};
  if (placed->size() != ranks)
    return context.fail("place_ranks has ", placed->size(), " entries, wanted ", ranks,
                        ", the product of the mesh");
  std::vector<bool> seen(ranks);
  for (uint32_t position = 0; position < ranks; ++position) {
    uint32_t rank = placed->Get(position);
    if (rank >= ranks || seen[rank])
      return context.fail("place ", position, " of the mesh has rank ", rank, ", wanted each of ",
                          ranks, " ranks at one place");
    seen[rank] = true;
  }
  return {};
}

rt::Status verifyRanks(const VerifyContext &context, uint64_t ranks) {
  const auto &assigned = *context.manifest.rank_program();
  uint32_t programs = context.manifest.programs()->size();
  if (assigned.size() != ranks)
    return context.fail("rank_program has ", assigned.size(), " entries, wanted ", ranks,
                        ", the product of the mesh");
  std::vector<bool> used(programs);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    if (assigned[rank] >= programs)
      return context.fail("rank ", rank, " runs program ", assigned[rank], ", there are ",
                          programs);
    used[assigned[rank]] = true;
  }
  auto idle = std::find(used.begin(), used.end(), false);
  if (idle != used.end())
    return context.fail("program ", idle - used.begin(), " is run by no rank");
  return verifyMeshRanks(context, ranks);
}

rt::Status verifyGroups(const VerifyContext &context, uint64_t ranks) {
  const Manifest &manifest = context.manifest;
  if (sizeOf(manifest.groups()) > maxGroups)
    return context.fail("there are ", sizeOf(manifest.groups()), " groups, wanted at most ",
                        maxGroups);
  for (uint32_t i = 0; i < sizeOf(manifest.groups()); ++i) {
    const Group &group = *manifest.groups()->Get(i);
    DTC_RETURN_IF_ERROR(context.checkName("the name of a group", group.name()));
    std::string name = text("group ", i, " '", group.name()->string_view(), "'");
    if (group.size() == 0 || group.ranks()->size() % group.size() != 0)
      return context.fail(name, " has ", group.ranks()->size(), " ranks in lists of ", group.size(),
                          ", wanted whole lists of 1 rank or more");
    std::vector<bool> seen(ranks);
    for (uint32_t rank : *group.ranks()) {
      if (rank >= ranks)
        return context.fail(name, " has rank ", rank, ", there are ", ranks);
      if (seen[rank])
        return context.fail(name, " has rank ", rank, " twice");
      seen[rank] = true;
    }
  }
  return {};
}

rt::Status verifyTarget(const VerifyContext &context) {
  const Manifest &manifest = context.manifest;
  DTC_RETURN_IF_ERROR(context.checkName("device", manifest.device()));
  DTC_RETURN_IF_ERROR(context.checkName("gpu_arch", manifest.gpu_arch()));
  std::string_view device = deviceOf(manifest);
  if (device != cpuDevice && device != cudaDevice && device != simtDevice)
    return context.fail("device is '", device, "', wanted cpu, cuda or simt");
  std::string_view arch =
      manifest.gpu_arch() ? manifest.gpu_arch()->string_view() : std::string_view();
  if (device == cpuDevice && !arch.empty())
    return context.fail("gpu_arch is '", arch, "' for device 'cpu', which has none");
  bool isKnown = std::find(std::begin(gpuArchs), std::end(gpuArchs), arch) != std::end(gpuArchs);
  if (!isKnown && (device == cudaDevice || !arch.empty()))
    return context.fail("gpu_arch is '", arch, "', wanted sm_80, sm_90 or sm_100");
  return {};
}

// Checks segments: code of the host may be in any file, of GPUs only that of the file's device.
rt::Status verifySegments(const VerifyContext &context) {
  std::string_view device = deviceOf(context.manifest);
  const auto *segments = context.manifest.segments();
  for (uint32_t i = 0; i < sizeOf(segments); ++i) {
    SegmentKind kind = segments->Get(i)->kind();
    bool isGpuCode = kind != SegmentKind::code && kind != SegmentKind::constants;
    bool fits =
        kind == kernelSegments(device) || (kind == SegmentKind::cubin && device == cudaDevice);
    if (isGpuCode && !fits)
      return context.fail("segment ", i, " is ", EnumNameSegmentKind(kind), ", which device '",
                          device, "' does not run");
    if (kind == SegmentKind::cubin && (i == 0 || segments->Get(i - 1)->kind() != SegmentKind::ptx))
      return context.fail("segment ", i, " is cubin, wanted one behind the ptx that it is made of");
  }
  return {};
}

// Checks the segment of a kernel, and the limits of threads and parameters that follow from it.
rt::Status verifySegment(const VerifyContext &context, const Kernel &kernel,
                         const std::string &name) {
  const auto *segments = context.manifest.segments();
  if (kernel.code_segment() >= sizeOf(segments))
    return context.fail(name, " is in segment ", kernel.code_segment(), ", there are ",
                        sizeOf(segments));
  SegmentKind kind = segments->Get(kernel.code_segment())->kind();
  if (kind == SegmentKind::constants || kind == SegmentKind::cubin)
    return context.fail(name, " is in segment ", kernel.code_segment(), ", which is ",
                        EnumNameSegmentKind(kind), ", wanted code, ptx or simt");
  if (kind == SegmentKind::code && kernel.threads() != 0)
    return context.fail(name, " has blocks of ", kernel.threads(),
                        " threads, and is code of the host, wanted 0");
  if (kernel.threads() % warpThreads != 0 || kernel.threads() > maxBlockThreads)
    return context.fail(name, " has blocks of ", kernel.threads(), " threads, wanted 0 or whole ",
                        "warps of ", warpThreads, " up to ", maxBlockThreads);
  uint64_t parameters = uint64_t(kernel.num_buffers()) + kernel.num_scalars() + 1;
  if (kind != SegmentKind::code && parameters > maxGpuParameters)
    return context.fail(name, " has ", parameters, " parameters, of which a GPU passes at most ",
                        maxGpuParameters);
  return {};
}

// Checks a kernel that does several launches at once.
rt::Status verifyMerged(const VerifyContext &context, const Kernel &kernel,
                        const std::string &name) {
  if (!kernel.merged())
    return {};
  DTC_RETURN_IF_ERROR(context.checkName("the merged kernel of a kernel", kernel.merged()));
  SegmentKind kind = context.manifest.segments()->Get(kernel.code_segment())->kind();
  if (kernel.merged()->size() == 0 || kind == SegmentKind::code || kernel.num_results() == 0 ||
      kernel.num_scalars() != 0)
    return context.fail(name, " cannot have launches merged, as it ",
                        kernel.merged()->size() == 0 ? "names no kernel for that"
                        : kind == SegmentKind::code  ? "is none of a GPU"
                        : kernel.num_results() == 0  ? "has no results"
                                                     : "has scalars");
  return {};
}

rt::Status verifyKernels(const VerifyContext &context) {
  const Manifest &manifest = context.manifest;
  for (uint32_t i = 0; i < sizeOf(manifest.kernels()); ++i) {
    const Kernel &kernel = *manifest.kernels()->Get(i);
    DTC_RETURN_IF_ERROR(context.checkName("the symbol of a kernel", kernel.symbol()));
    std::string name = text("kernel ", i, " '", kernel.symbol()->string_view(), "'");
    if (kernel.symbol()->size() == 0)
      return context.fail(name, " has no symbol");
    if (kernel.num_results() > kernel.num_buffers())
      return context.fail(name, " writes ", kernel.num_results(), " of ", kernel.num_buffers(),
                          " buffers");
    if (kernel.num_buffers() > maxKernelOperands || kernel.num_scalars() > maxKernelOperands)
      return context.fail(name, " takes ", kernel.num_buffers(), " buffers and ",
                          kernel.num_scalars(), " scalars, wanted at most ", maxKernelOperands);
    if (!isAligned(kernel.min_bytes()))
      return context.fail("min_bytes of ", name, " is not aligned to 8 bytes");
    if (sizeOf(kernel.min_bytes()) != kernel.num_buffers())
      return context.fail(name, " has ", sizeOf(kernel.min_bytes()), " entries in min_bytes for ",
                          kernel.num_buffers(), " buffers");
    DTC_RETURN_IF_ERROR(verifySegment(context, kernel, name));
    DTC_RETURN_IF_ERROR(verifyMerged(context, kernel, name));
    if (kernel.range() > maxArenaBytes)
      return context.fail(name, " has range ", kernel.range(), ", wanted at most ", maxArenaBytes);
    if (kernel.unit_points() == 0 || kernel.unit_points() > maxArenaBytes)
      return context.fail(name, " has units of ", kernel.unit_points(), " points, wanted 1 to ",
                          maxArenaBytes);
  }
  return {};
}

rt::Status verifyLocations(const VerifyContext &context) {
  const auto *locations = context.manifest.locations();
  for (uint32_t i = 0; i < sizeOf(locations); ++i) {
    DTC_RETURN_IF_ERROR(context.checkName("the file of a location", locations->Get(i)->file()));
    DTC_RETURN_IF_ERROR(context.checkName("the name of a location", locations->Get(i)->name()));
  }
  return {};
}

rt::Status verifyFeatures(const VerifyContext &context) {
  const auto *features = context.manifest.cpu_features();
  for (uint32_t i = 0; i < sizeOf(features); ++i) {
    DTC_RETURN_IF_ERROR(context.checkName("a name in cpu_features", features->Get(i)));
    std::string_view name = features->Get(i)->string_view();
    if (std::find(std::begin(knownFeatures), std::end(knownFeatures), name) ==
        std::end(knownFeatures))
      return context.fail("cpu_features asks for '", name, "', which this program cannot look for");
  }
  return {};
}

} // namespace

rt::Status verifyTables(const VerifyContext &context) {
  uint64_t ranks = 0;
  DTC_RETURN_IF_ERROR(verifyNumbers(context));
  DTC_RETURN_IF_ERROR(verifyMesh(context, ranks));
  DTC_RETURN_IF_ERROR(verifyRanks(context, ranks));
  DTC_RETURN_IF_ERROR(verifyGroups(context, ranks));
  DTC_RETURN_IF_ERROR(verifyTarget(context));
  DTC_RETURN_IF_ERROR(verifySegments(context));
  DTC_RETURN_IF_ERROR(verifyKernels(context));
  DTC_RETURN_IF_ERROR(verifyLocations(context));
  DTC_RETURN_IF_ERROR(verifyFeatures(context));
  uint64_t peak = 0, onHost = 0;
  for (const Program *program : *context.manifest.programs()) {
    peak = std::max(peak, program->arena_bytes());
    onHost = std::max(onHost, program->host_bytes());
  }
  if (context.manifest.peak_memory_bytes() != peak)
    return context.fail("peak_memory_bytes is ", context.manifest.peak_memory_bytes(), ", wanted ",
                        peak, ", the largest arena");
  if (context.manifest.peak_host_bytes() != onHost)
    return context.fail("peak_host_bytes is ", context.manifest.peak_host_bytes(), ", wanted ",
                        onHost, ", the largest arena of the host's memory");
  return {};
}

} // namespace dtc::format
