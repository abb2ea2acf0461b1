#include "runtime/cuda/AttentionCheck.h"

#include "runtime/base/HalfFloats.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dtc::rt {
namespace {

using cuda::AttentionParams;
using cuda::HeadStrides;

// A result of an attention: rows of 16-bit numbers by batch, token and head, or one f32 per row for
// lse.
struct Result {
  const char *name = "";
  char *at = nullptr;
  int64_t tokens = 0, heads = 0;
  HeadStrides strides{};
  int64_t elements = 0; // per row
  uint64_t elementBytes = sizeof(uint16_t);
  bool cancels = false; // rows are sums of numbers that cancel

  // Returns the elements of one batch, from the first to the last one.
  int64_t batchElements() const {
    return (tokens - 1) * strides.token + (heads - 1) * strides.head + elements;
  }
  uint64_t batchBytes() const { return static_cast<uint64_t>(batchElements()) * elementBytes; }
  // Returns the bytes of `batches` batches.
  uint64_t bytes(int64_t batches) const {
    return static_cast<uint64_t>((batches - 1) * strides.batch) * elementBytes + batchBytes();
  }
};

using Batches = std::vector<int64_t>;

// Returns the batches that are copied and compared: the first, the middle and the last one. All
// batches do the same work at other addresses, and copying all would take longer than trying all
// plans.
Batches comparedBatches(const AttentionCase &attention) {
  int64_t batches = attention.params.batch;
  Batches compared = {0, batches / 2, batches - 1};
  compared.erase(std::unique(compared.begin(), compared.end()), compared.end());
  return compared;
}

std::vector<Result> resultsOf(const AttentionCase &attention) {
  const AttentionParams &p = attention.params;
  auto ofQueries = [&](const char *name, void *at, const HeadStrides &strides) {
    return Result{.name = name,
                  .at = static_cast<char *>(at),
                  .tokens = p.queries,
                  .heads = p.heads,
                  .strides = strides,
                  .elements = p.headDim,
                  .cancels = attention.isGradient};
  };
  auto ofKeys = [&](const char *name, void *at, const HeadStrides &strides) {
    return Result{.name = name,
                  .at = static_cast<char *>(at),
                  .tokens = p.keys,
                  .heads = p.kvHeads,
                  .strides = strides,
                  .elements = p.headDim};
  };
  if (attention.isGradient)
    return {ofQueries("dq", p.dq, p.dqStrides), ofKeys("dk", p.dk, p.dkStrides),
            ofKeys("dv", p.dv, p.dvStrides)};
  int64_t queries = p.queries;
  Result lse = ofQueries("lse", p.lse, {p.heads * queries, 1, queries});
  lse.elements = 1;
  lse.elementBytes = sizeof(float);
  return {ofQueries("out", p.out, p.outStrides), lse};
}

// Calls `visit` with the first element of each copied row.
template <typename Visit>
void forEachRow(const Result &result, const Batches &batches, const Visit &visit) {
  int64_t first = 0;
  for (int64_t batch : batches) {
    for (int64_t token = 0; token < result.tokens; ++token)
      for (int64_t head = 0; head < result.heads; ++head)
        visit(batch, token, head,
              first + token * result.strides.token + head * result.strides.head);
    first += result.batchElements();
  }
}

template <ElementType kType> float read(const char *from, int64_t element) {
  switch (kType) {
  case ElementType::F32: {
    float value = 0;
    std::memcpy(&value, from + element * 4, sizeof(value));
    return value;
  }
  case ElementType::BF16:
  case ElementType::F16: {
    uint16_t bits = 0;
    std::memcpy(&bits, from + element * 2, sizeof(bits));
    return kType == ElementType::F16 ? fromF16(bits) : fromBf16(bits);
  }
  }
  __builtin_unreachable();
}

// Returns the largest relative error of rounding to a type.
double unitOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return 0x1p-24;
  case ElementType::BF16:
    return 0x1p-8;
  case ElementType::F16:
    return 0x1p-11;
  }
  __builtin_unreachable();
}

// Returns the norm of x, or of x - y.
template <ElementType kType> float norm(const char *x, const char *y, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    float value = read<kType>(x, i) - (y ? read<kType>(y, i) : 0);
    sum += value * value;
  }
  return std::sqrt(sum);
}

// Returns the distance that is allowed for a row whose numbers cancel.
template <ElementType kType>
double floorOf(const Result &result, const Batches &batches, const std::vector<char> &ours,
               double unit) {
  if (kType == ElementType::F32)
    return unit / 4;
  double squares = 0, largest = 0;
  forEachRow(result, batches, [&](int64_t, int64_t, int64_t, int64_t first) {
    auto each = static_cast<double>(norm<kType>(ours.data() + first * 2, nullptr, result.elements));
    squares += each * each;
    largest = std::max(largest, each);
  });
  auto rows =
      static_cast<double>(batches.size()) * static_cast<double>(result.tokens * result.heads);
  return result.cancels ? unit * largest : unit / 16 * std::sqrt(squares / rows);
}

template <ElementType kType>
std::string findDifference(const Result &result, const Batches &batches, double unit,
                           const std::vector<char> &ours, const std::vector<char> &other) {
  double floor = floorOf<kType>(result, batches, ours, unit);
  std::string found;
  forEachRow(result, batches, [&](int64_t batch, int64_t token, int64_t head, int64_t first) {
    if (!found.empty())
      return;
    int64_t byte = first * static_cast<int64_t>(result.elementBytes);
    const char *x = ours.data() + byte, *y = other.data() + byte;
    double own = kType == ElementType::F32
                     ? 0
                     : static_cast<double>(norm<kType>(x, nullptr, result.elements));
    auto away = static_cast<double>(norm<kType>(x, y, result.elements));
    if (!(away <= 4 * unit * own + floor)) // also true if one of both is NaN
      found = format::text("row ", token, " of head ", head, " of batch ", batch, " of '",
                           result.name, "' is ", away, " away, at a norm of ", own);
  });
  return found;
}

std::string findDifference(const AttentionCase &attention, const Result &result,
                           const std::vector<char> &ours, const std::vector<char> &other) {
  Batches batches = comparedBatches(attention);
  double unit = unitOf(attention.type);
  ElementType type = result.elementBytes == sizeof(float) ? ElementType::F32 : attention.type;
  switch (type) {
  case ElementType::F32:
    return findDifference<ElementType::F32>(result, batches, unit, ours, other);
  case ElementType::BF16:
    return findDifference<ElementType::BF16>(result, batches, unit, ours, other);
  case ElementType::F16:
    return findDifference<ElementType::F16>(result, batches, unit, ours, other);
  }
  __builtin_unreachable();
}

} // namespace

Status readResults(const cu::Driver &driver, const AttentionCase &attention,
                   CudnnResults &results) {
  DTC_CUDA(driver, cuCtxSynchronize);
  results.clear();
  for (const Result &result : resultsOf(attention)) {
    Batches batches = comparedBatches(attention);
    std::vector<char> &bytes = results.emplace_back(batches.size() * result.batchBytes());
    char *to = bytes.data();
    for (int64_t batch : batches) {
      const char *from =
          result.at + batch * result.strides.batch * static_cast<int64_t>(result.elementBytes);
      DTC_CUDA(driver, cuMemcpyDtoH, to, reinterpret_cast<uintptr_t>(from), result.batchBytes());
      to += result.batchBytes();
    }
  }
  return {};
}

Status spoilResults(const cu::Driver &driver, const AttentionCase &attention, cu::Stream stream) {
  for (const Result &result : resultsOf(attention))
    DTC_CUDA(driver, cuMemsetD8Async, reinterpret_cast<uintptr_t>(result.at), 0xff,
             result.bytes(attention.params.batch), stream);
  return {};
}

bool areSame(const AttentionCase &attention, const CudnnResults &x, const CudnnResults &y) {
  bool same = true;
  std::vector<Result> results = resultsOf(attention);
  for (size_t i = 0; i < results.size(); ++i)
    forEachRow(results[i], comparedBatches(attention),
               [&](int64_t, int64_t, int64_t, int64_t first) {
                 size_t from = static_cast<size_t>(first) * results[i].elementBytes,
                        bytes = static_cast<size_t>(results[i].elements) * results[i].elementBytes;
                 same = same && std::memcmp(x[i].data() + from, y[i].data() + from, bytes) == 0;
               });
  return same;
}

std::string findDifference(const AttentionCase &attention, const CudnnResults &ours,
                           const CudnnResults &other) {
  std::vector<Result> results = resultsOf(attention);
  for (size_t i = 0; i < results.size(); ++i)
    if (std::string found = findDifference(attention, results[i], ours[i], other[i]);
        !found.empty())
      return found;
  return "";
}

} // namespace dtc::rt
