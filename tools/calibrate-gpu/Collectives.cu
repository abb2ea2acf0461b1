// Measures NCCL between the devices of this machine. This one process drives them all.
#include "Collectives.h"

#include <algorithm>
#include <cstdio>

#ifndef DTC_WITH_NCCL

std::vector<MeasuredCollective> measureCollectives(const Settings & /*settings*/) {
  int devices = 0;
  CHECK_CUDA(cudaGetDeviceCount(&devices));
  if (devices > 1)
    std::fprintf(stderr, "left out: collectives, for this was built without NCCL (no nccl.h)\n");
  return {};
}

#else

#include <nccl.h>

#define CHECK_NCCL(call)                                                                           \
  do {                                                                                             \
    ncclResult_t checkedStatus = (call);                                                           \
    if (checkedStatus != ncclSuccess)                                                              \
      die(#call, ncclGetErrorString(checkedStatus), __FILE__, __LINE__);                           \
  } while (false)

namespace {

const char *const kinds[] = {"all-reduce", "all-gather", "reduce-scatter",
                             "all-to-all", "broadcast",  "send-receive"};
constexpr int numKinds = 6;

struct Rank {
  int device = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  char *in = nullptr, *out = nullptr;
};

class Group {
public:
  Group(int size, int64_t bytes);
  ~Group();
  Group(const Group &) = delete;
  Group &operator=(const Group &) = delete;

  // Returns the seconds of one collective out of `batch`, on the slowest device.
  double sample(int kind, int64_t bytes, int batch);
  void synchronize();

private:
  void enqueue(int kind, int64_t bytes);
  void call(int kind, size_t index, size_t count);

  std::vector<Rank> ranks;
};

Group::Group(int size, int64_t bytes) : ranks(size_t(size)) {
  std::vector<int> devices;
  std::vector<ncclComm_t> comms(ranks.size());
  for (int i = 0; i < size; ++i)
    devices.push_back(i);
  CHECK_NCCL(ncclCommInitAll(comms.data(), size, devices.data()));
  for (int i = 0; i < size; ++i) {
    Rank &rank = ranks[size_t(i)];
    rank.device = i;
    rank.comm = comms[size_t(i)];
    CHECK_CUDA(cudaSetDevice(i));
    CHECK_CUDA(cudaStreamCreateWithFlags(&rank.stream, cudaStreamNonBlocking));
    CHECK_CUDA(cudaEventCreate(&rank.begin));
    CHECK_CUDA(cudaEventCreate(&rank.end));
    CHECK_CUDA(cudaMalloc(reinterpret_cast<void **>(&rank.in), size_t(bytes)));
    CHECK_CUDA(cudaMalloc(reinterpret_cast<void **>(&rank.out), size_t(bytes)));
    CHECK_CUDA(cudaMemset(rank.in, 0, size_t(bytes)));
  }
}

Group::~Group() {
  for (Rank &rank : ranks) {
    (void)cudaSetDevice(rank.device);
    (void)ncclCommDestroy(rank.comm);
    (void)cudaFree(rank.in);
    (void)cudaFree(rank.out);
    (void)cudaEventDestroy(rank.begin);
    (void)cudaEventDestroy(rank.end);
    (void)cudaStreamDestroy(rank.stream);
  }
  (void)cudaSetDevice(0);
}

void Group::synchronize() {
  for (Rank &rank : ranks) {
    CHECK_CUDA(cudaSetDevice(rank.device));
    CHECK_CUDA(cudaStreamSynchronize(rank.stream));
  }
}

// Enqueues one collective. `count` is the number of bf16 elements of the whole tensor.
void Group::call(int kind, size_t index, size_t count) {
  Rank &rank = ranks[index];
  size_t size = ranks.size(), part = count / size;
  constexpr ncclDataType_t type = ncclBfloat16;
  switch (kind) {
  case 0:
    CHECK_NCCL(ncclAllReduce(rank.in, rank.out, count, type, ncclSum, rank.comm, rank.stream));
    break;
  case 1:
    CHECK_NCCL(ncclAllGather(rank.in, rank.out, part, type, rank.comm, rank.stream));
    break;
  case 2:
    CHECK_NCCL(ncclReduceScatter(rank.in, rank.out, part, type, ncclSum, rank.comm, rank.stream));
    break;
  case 3:
    for (size_t peer = 0; peer < size; ++peer) {
      CHECK_NCCL(
          ncclSend(rank.in + 2 * peer * part, part, type, int(peer), rank.comm, rank.stream));
      CHECK_NCCL(
          ncclRecv(rank.out + 2 * peer * part, part, type, int(peer), rank.comm, rank.stream));
    }
    break;
  case 4:
    CHECK_NCCL(ncclBroadcast(rank.in, rank.out, count, type, 0, rank.comm, rank.stream));
    break;
  default: // sends to the next rank, as between the stages of a pipeline
    CHECK_NCCL(ncclSend(rank.in, count, type, int((index + 1) % size), rank.comm, rank.stream));
    CHECK_NCCL(
        ncclRecv(rank.out, count, type, int((index + size - 1) % size), rank.comm, rank.stream));
    break;
  }
}

void Group::enqueue(int kind, int64_t bytes) {
  CHECK_NCCL(ncclGroupStart());
  for (size_t i = 0; i < ranks.size(); ++i)
    call(kind, i, size_t(bytes) / 2);
  CHECK_NCCL(ncclGroupEnd());
}

double Group::sample(int kind, int64_t bytes, int batch) {
  synchronize();
  for (Rank &rank : ranks) {
    CHECK_CUDA(cudaSetDevice(rank.device));
    CHECK_CUDA(cudaEventRecord(rank.begin, rank.stream));
  }
  for (int i = 0; i < batch; ++i)
    enqueue(kind, bytes);
  for (Rank &rank : ranks) {
    CHECK_CUDA(cudaSetDevice(rank.device));
    CHECK_CUDA(cudaEventRecord(rank.end, rank.stream));
  }
  double slowest = 0;
  for (Rank &rank : ranks) {
    CHECK_CUDA(cudaSetDevice(rank.device));
    CHECK_CUDA(cudaEventSynchronize(rank.end));
    float milliseconds = 0;
    CHECK_CUDA(cudaEventElapsedTime(&milliseconds, rank.begin, rank.end));
    slowest = std::max(slowest, double(milliseconds) * 1e-3 / batch);
  }
  return slowest;
}

void measureGroup(int size, const Settings &settings, std::vector<MeasuredCollective> &measured) {
  std::vector<int64_t> sizes;
  for (int64_t bytes : collectiveSizes(settings.quick))
    if (bytes <= settings.mostBytes)
      sizes.push_back(std::max<int64_t>(1, bytes / (2 * size)) * 2 * size);
  if (sizes.empty())
    return;
  Group group(size, sizes.back());
  struct Entry {
    int kind;
    int64_t bytes;
    int batch;
    std::vector<double> samples;
  };
  std::vector<Entry> entries;
  for (int kind = 0; kind < numKinds; ++kind)
    for (int64_t bytes : sizes) {
      (void)group.sample(kind, bytes, warmUps);
      double one = std::max(group.sample(kind, bytes, 3), 1e-7);
      entries.push_back({kind, bytes, std::clamp(int(2e-3 / one), 1, 50), {}});
    }
  for (int round = 0; round < settings.rounds; ++round)
    for (Entry &entry : entries)
      for (int i = 0; i < settings.samples; ++i)
        entry.samples.push_back(group.sample(entry.kind, entry.bytes, entry.batch));
  for (Entry &entry : entries)
    measured.push_back({kinds[entry.kind], size, entry.bytes, summarize(std::move(entry.samples))});
}

} // namespace

std::vector<MeasuredCollective> measureCollectives(const Settings &settings) {
  int devices = 0;
  CHECK_CUDA(cudaGetDeviceCount(&devices));
  std::vector<MeasuredCollective> measured;
  for (int size = 2; size <= devices;
       size = size < devices ? std::min(2 * size, devices) : size + 1)
    measureGroup(size, settings, measured);
  return measured;
}

#endif
