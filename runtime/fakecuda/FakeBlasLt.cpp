// Stand-in for cuBLASLt: the matrix products that CudaGemm asks for, computed on the host with f32
// sums, column-major.
#include "runtime/fakecuda/FakeBlasLt.h"

#include "runtime/base/HalfFloats.h"
#include "runtime/fakecuda/Machine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace dtc::rt::fake {
namespace {

using cu::BlasStatus;
using Lock = std::unique_lock<std::mutex>;

constexpr BlasStatus executionFailed = 13, internalError = 14;

// Algorithms are numbers. The first one offered takes three times as long as the fastest; the
// fastest depends on the GPU, so that ranks which measure for themselves do not agree. The third
// adds up from the other end. The fourth is offered and fails; the fifth runs and is not offered,
// as it may add up in 16 bits.
enum Algorithm : uint64_t { Slow = 1, FastOnEven, FastOnOdd, Failing, Narrow, numAlgorithms };

double secondsOf(uint64_t algorithm, int gpu) {
  constexpr double second = 1e-5;
  return algorithm == Slow                                      ? 3 * second
         : algorithm == (gpu % 2 == 0 ? FastOnEven : FastOnOdd) ? second
                                                                : 2 * second;
}

struct Desc {
  int32_t transposeA = 0, transposeB = 0;
  uint32_t epilogue = cu::blasEpilogueNone;
  const char *bias = nullptr;
  char *aux = nullptr;
  int64_t auxPitch = 0;
  int32_t biasType = -1, auxType = -1; // -1: that of the result

  bool hasBias() const {
    return epilogue == cu::blasEpilogueBias || epilogue == cu::blasEpilogueGeluBias ||
           epilogue == cu::blasEpilogueGeluAuxBias;
  }
  bool hasAux() const { return readsAux() || writesAux(); }
  bool readsAux() const { return epilogue == cu::blasEpilogueDgelu; }
  bool writesAux() const { return epilogue == cu::blasEpilogueGeluAuxBias; }
  bool takesGelu() const {
    return epilogue == cu::blasEpilogueGeluBias || epilogue == cu::blasEpilogueGeluAuxBias;
  }
};

struct Layout {
  int type = cu::blasF32;
  uint64_t rows = 0, columns = 0;
  int64_t pitch = 0;
  int32_t batches = 1;
  int64_t batchStride = 0;

  uint64_t elementBytes() const { return type == cu::blasF32 ? 4 : 2; }
  // Returns the bytes from the first element to the end of the last.
  uint64_t bytes() const {
    return ((columns - 1) * static_cast<uint64_t>(pitch) + rows +
            static_cast<uint64_t>(batches - 1) * static_cast<uint64_t>(batchStride)) *
           elementBytes();
  }
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t reductions = ~uint32_t(0); // a mask: all
};

#define DTC_FAKE_ENTER                                                                             \
  Machine &m = machine();                                                                          \
  Lock lock(m.mutex);                                                                              \
  if (m.enter() != cu::success)                                                                    \
    return internalError;

template <typename T> BlasStatus make(const char *kind, void **object) {
  DTC_FAKE_ENTER
  ++m.alive[kind];
  *object = new T;
  return 0;
}

template <typename T> BlasStatus destroy(const char *kind, void *object) {
  Machine &m = machine();
  Lock lock(m.mutex);
  delete static_cast<T *>(object);
  --m.alive[kind];
  return m.enterFree() == cu::success ? 0 : internalError;
}

const char *cublasLtGetStatusString(BlasStatus status) {
  return status == cu::blasInvalidValue   ? "an unsupported value or parameter was passed"
         : status == cu::blasNotSupported ? "the functionality requested is not supported"
                                          : "an internal operation failed";
}

size_t cublasLtGetVersion() { return machine().options.blasLtVersion; }

BlasStatus cublasLtCreate(cu::BlasHandle *handle) { return make<int>("cublasLt handle", handle); }
BlasStatus cublasLtDestroy(cu::BlasHandle handle) {
  return destroy<int>("cublasLt handle", handle);
}
BlasStatus cublasLtMatmulDescCreate(cu::BlasDesc *desc, int compute, int scale) {
  if (compute != cu::blasComputeF32 || scale != cu::blasF32)
    return cu::blasNotSupported;
  return make<Desc>("product", desc);
}
BlasStatus cublasLtMatmulDescDestroy(cu::BlasDesc desc) { return destroy<Desc>("product", desc); }
BlasStatus cublasLtMatrixLayoutDestroy(cu::BlasLayout layout) {
  return destroy<Layout>("matrix layout", layout);
}
BlasStatus cublasLtMatmulPreferenceCreate(cu::BlasPreference *preference) {
  return make<Preference>("preference", preference);
}
BlasStatus cublasLtMatmulPreferenceDestroy(cu::BlasPreference preference) {
  return destroy<Preference>("preference", preference);
}

BlasStatus cublasLtMatrixLayoutCreate(cu::BlasLayout *layout, int type, uint64_t rows,
                                      uint64_t columns, int64_t pitch) {
  if (rows == 0 || columns == 0 || pitch < static_cast<int64_t>(rows))
    return cu::blasInvalidValue;
  BlasStatus status = make<Layout>("matrix layout", layout);
  if (status == 0)
    *static_cast<Layout *>(*layout) = {type, rows, columns, pitch, 1, 0};
  return status;
}

// Sets `field` from a value of its size.
template <typename T> BlasStatus set(T &field, const void *value, size_t bytes) {
  if (bytes != sizeof(T))
    return cu::blasInvalidValue;
  std::memcpy(&field, value, bytes);
  return 0;
}

BlasStatus cublasLtMatmulDescSetAttribute(cu::BlasDesc desc, int attribute, const void *value,
                                          size_t bytes) {
  DTC_FAKE_ENTER
  auto &of = *static_cast<Desc *>(desc);
  switch (attribute) {
  case cu::blasDescTransA:
    return set(of.transposeA, value, bytes);
  case cu::blasDescTransB:
    return set(of.transposeB, value, bytes);
  case cu::blasDescEpilogue:
    return set(of.epilogue, value, bytes);
  case cu::blasDescBias:
    return set(of.bias, value, bytes);
  case cu::blasDescAux:
    return set(of.aux, value, bytes);
  case cu::blasDescAuxPitch:
    return set(of.auxPitch, value, bytes);
  case cu::blasDescBiasType:
    return set(of.biasType, value, bytes);
  case cu::blasDescAuxType:
    return set(of.auxType, value, bytes);
  default:
    return cu::blasNotSupported;
  }
}

BlasStatus cublasLtMatrixLayoutSetAttribute(cu::BlasLayout layout, int attribute, const void *value,
                                            size_t bytes) {
  DTC_FAKE_ENTER
  auto &of = *static_cast<Layout *>(layout);
  return attribute == cu::blasLayoutBatches       ? set(of.batches, value, bytes)
         : attribute == cu::blasLayoutBatchStride ? set(of.batchStride, value, bytes)
                                                  : cu::blasNotSupported;
}

BlasStatus cublasLtMatmulPreferenceSetAttribute(cu::BlasPreference preference, int attribute,
                                                const void *value, size_t bytes) {
  DTC_FAKE_ENTER
  if (attribute == cu::blasPreferWorkspace)
    return set(static_cast<Preference *>(preference)->workspace, value, bytes);
  if (attribute == cu::blasPreferReduction)
    return set(static_cast<Preference *>(preference)->reductions, value, bytes);
  uint32_t alignment = 0;
  BlasStatus status = set(alignment, value, bytes);
  bool isPower = alignment != 0 && (alignment & (alignment - 1)) == 0;
  return status != 0 || isPower ? status : cu::blasInvalidValue;
}

// Returns the rows and columns of op(matrix).
std::pair<uint64_t, uint64_t> sizesOf(const Layout &layout, int32_t transposed) {
  return transposed ? std::pair(layout.columns, layout.rows)
                    : std::pair(layout.rows, layout.columns);
}

// Checks an epilogue by the documented rules, and no more: 16-bit results, one product, addresses
// and pitches of 16 bytes.
BlasStatus checkEpilogue(const Desc &desc, const Layout &d) {
  constexpr uintptr_t vectorBytes = 16;
  constexpr int64_t vectorElements = 8;
  if (desc.epilogue == cu::blasEpilogueNone)
    return 0;
  if ((!desc.hasBias() && !desc.hasAux()) || d.type == cu::blasF32 || d.batches != 1)
    return cu::blasNotSupported;
  auto isTyped = [&](int32_t type) { return type == -1 || type == d.type; };
  auto isAligned = [](const void *at) {
    return at && reinterpret_cast<uintptr_t>(at) % vectorBytes == 0;
  };
  if (desc.hasBias() && (!isTyped(desc.biasType) || !isAligned(desc.bias)))
    return cu::blasInvalidValue;
  if (desc.hasAux() &&
      (!isTyped(desc.auxType) || !isAligned(desc.aux) || desc.auxPitch % vectorElements != 0 ||
       desc.auxPitch < static_cast<int64_t>(d.rows)))
    return cu::blasInvalidValue;
  return 0;
}

BlasStatus check(const Desc &desc, const Layout &a, const Layout &b, const Layout &c,
                 const Layout &d) {
  auto [m, k] = sizesOf(a, desc.transposeA);
  auto [k2, n] = sizesOf(b, desc.transposeB);
  bool fits = k == k2 && c.rows == m && c.columns == n && d.rows == m && d.columns == n;
  bool isBatch = a.batches == b.batches && a.batches == c.batches && a.batches == d.batches;
  bool isTyped =
      a.type == b.type && c.type == d.type && (c.type == a.type || c.type == cu::blasF32);
  if (!fits || !isBatch || c.pitch != d.pitch)
    return cu::blasInvalidValue;
  return isTyped ? checkEpilogue(desc, d) : cu::blasNotSupported;
}

bool isAlgorithm(const cu::BlasAlgo &algorithm) {
  return algorithm.data[0] >= Slow && algorithm.data[0] < numAlgorithms &&
         std::all_of(std::begin(algorithm.data) + 1, std::end(algorithm.data),
                     [](uint64_t bits) { return bits == 0; });
}

BlasStatus cublasLtMatmulAlgoCheck(cu::BlasHandle, cu::BlasDesc desc, cu::BlasLayout a,
                                   cu::BlasLayout b, cu::BlasLayout c, cu::BlasLayout d,
                                   const cu::BlasAlgo *algorithm, cu::BlasChoice *result) {
  DTC_FAKE_ENTER
  *result = {};
  BlasStatus status =
      check(*static_cast<Desc *>(desc), *static_cast<Layout *>(a), *static_cast<Layout *>(b),
            *static_cast<Layout *>(c), *static_cast<Layout *>(d));
  return status != 0 ? status : isAlgorithm(*algorithm) ? 0 : cu::blasInvalidValue;
}

BlasStatus cublasLtMatmulAlgoGetHeuristic(cu::BlasHandle, cu::BlasDesc desc, cu::BlasLayout a,
                                          cu::BlasLayout b, cu::BlasLayout c, cu::BlasLayout d,
                                          cu::BlasPreference preference, int wanted,
                                          cu::BlasChoice *choices, int *found) {
  DTC_FAKE_ENTER
  BlasStatus status =
      check(*static_cast<Desc *>(desc), *static_cast<Layout *>(a), *static_cast<Layout *>(b),
            *static_cast<Layout *>(c), *static_cast<Layout *>(d));
  // Offers nothing if sums may be in 16 bits. The first choice is not supported.
  const auto &of = *static_cast<Preference *>(preference);
  bool isExact =
      static_cast<Layout *>(d)->type == cu::blasF32 || of.reductions == cu::blasReduceInCompute;
  *found = status == 0 && isExact ? std::min<int>(wanted, Narrow) : 0;
  for (int i = 0; i < *found; ++i) {
    choices[i] = {};
    choices[i].algo.data[0] = static_cast<uint64_t>(i);
    choices[i].workspaceBytes = of.workspace;
    choices[i].state = i == 0 ? cu::blasNotSupported : 0;
  }
  return status;
}

float read(const char *matrix, int type, uint64_t index) {
  if (type == cu::blasF32) {
    float value = 0;
    std::memcpy(&value, matrix + index * sizeof(value), sizeof(value));
    return value;
  }
  uint16_t bits = 0;
  std::memcpy(&bits, matrix + index * sizeof(bits), sizeof(bits));
  return type == cu::blasBf16 ? fromBf16(bits) : fromF16(bits);
}

void write(char *matrix, int type, uint64_t index, float value) {
  if (type == cu::blasF32) {
    std::memcpy(matrix + index * sizeof(value), &value, sizeof(value));
    return;
  }
  uint16_t bits = type == cu::blasBf16 ? toBf16(value) : toF16(value);
  std::memcpy(matrix + index * sizeof(bits), &bits, sizeof(bits));
}

// Computes GELU by tanh, and its derivative.
struct Gelu {
  explicit Gelu(float x)
      : x(x), tanh(std::tanh(scale * (x + cubic * x * x * x))),
        slope(scale * (1 + 3 * cubic * x * x)) {}
  float value() const { return 0.5F * x * (1 + tanh); }
  float derivative() const { return 0.5F * (1 + tanh) + 0.5F * x * (1 - tanh * tanh) * slope; }

  static constexpr float scale = 0.797884560802865F, cubic = 0.044715F; // sqrt(2/pi)
  float x, tanh, slope;
};

struct Product {
  Desc desc;
  Layout aLayout, bLayout, cLayout; // d has the layout of c
  const char *a, *b, *c;
  char *d;
  float alpha, beta;
  bool isReversed;

  uint64_t biasBytes() const { return cLayout.rows * cLayout.elementBytes(); }
  uint64_t auxBytes() const {
    return ((cLayout.columns - 1) * static_cast<uint64_t>(desc.auxPitch) + cLayout.rows) *
           cLayout.elementBytes();
  }

  Status checkOperands(simt::Memory &memory) const {
    DTC_RETURN_IF_ERROR(memory.checkRead(a, aLayout.bytes(), "product operand 'a'"));
    DTC_RETURN_IF_ERROR(memory.checkRead(b, bLayout.bytes(), "product operand 'b'"));
    if (c != d)
      DTC_RETURN_IF_ERROR(memory.checkRead(c, cLayout.bytes(), "product addend"));
    if (desc.hasBias())
      DTC_RETURN_IF_ERROR(memory.checkRead(desc.bias, biasBytes(), "product bias"));
    if (desc.readsAux())
      DTC_RETURN_IF_ERROR(memory.checkRead(desc.aux, auxBytes(), "product operand 'aux'"));
    if (desc.writesAux())
      DTC_RETURN_IF_ERROR(memory.checkWrite(desc.aux, auxBytes(), "product result 'aux'"));
    return memory.checkWrite(d, cLayout.bytes(), "product result");
  }

  float finish(float sum, uint64_t row, uint64_t column) const {
    if (desc.hasBias())
      sum += read(desc.bias, cLayout.type, row);
    uint64_t element = column * static_cast<uint64_t>(desc.auxPitch) + row;
    if (desc.writesAux())
      write(desc.aux, cLayout.type, element, sum);
    if (desc.readsAux())
      return sum * Gelu(read(desc.aux, cLayout.type, element)).derivative();
    return desc.takesGelu() ? Gelu(sum).value() : sum;
  }

  void run() const {
    auto [rows, depth] = sizesOf(aLayout, desc.transposeA);
    uint64_t columns = sizesOf(bLayout, desc.transposeB).second;
    auto at = [](const Layout &layout, bool transposed, uint64_t batch, uint64_t row,
                 uint64_t column) {
      if (transposed)
        std::swap(row, column);
      return batch * static_cast<uint64_t>(layout.batchStride) +
             column * static_cast<uint64_t>(layout.pitch) + row;
    };
    for (uint64_t batch = 0; batch < static_cast<uint64_t>(cLayout.batches); ++batch)
      for (uint64_t column = 0; column < columns; ++column)
        for (uint64_t row = 0; row < rows; ++row) {
          float sum = 0;
          for (uint64_t i = 0; i < depth; ++i) {
            uint64_t k = isReversed ? depth - 1 - i : i;
            sum += read(a, aLayout.type, at(aLayout, desc.transposeA, batch, row, k)) *
                   read(b, bLayout.type, at(bLayout, desc.transposeB, batch, k, column));
          }
          uint64_t element = at(cLayout, false, batch, row, column);
          float before = beta == 0 ? 0 : beta * read(c, cLayout.type, element);
          write(d, cLayout.type, element, finish(alpha * sum + before, row, column));
        }
  }
};

BlasStatus cublasLtMatmul(cu::BlasHandle, cu::BlasDesc desc, const void *alpha, const void *a,
                          cu::BlasLayout aLayout, const void *b, cu::BlasLayout bLayout,
                          const void *beta, const void *c, cu::BlasLayout cLayout, void *d,
                          cu::BlasLayout dLayout, const cu::BlasAlgo *algo, void *workspace,
                          size_t workspaceBytes, cu::Stream stream) {
  DTC_FAKE_ENTER
  Product product{*static_cast<Desc *>(desc),
                  *static_cast<Layout *>(aLayout),
                  *static_cast<Layout *>(bLayout),
                  *static_cast<Layout *>(cLayout),
                  static_cast<const char *>(a),
                  static_cast<const char *>(b),
                  static_cast<const char *>(c),
                  static_cast<char *>(d),
                  *static_cast<const float *>(alpha),
                  *static_cast<const float *>(beta),
                  false};
  BlasStatus status = check(product.desc, product.aLayout, product.bLayout, product.cLayout,
                            *static_cast<Layout *>(dLayout));
  // A c other than d needs a beta, or it would not be read.
  bool isAddend = c == d || product.beta != 0;
  if (status != 0 || !isAddend || !algo || !isAlgorithm(*algo))
    return status != 0 ? status : cu::blasInvalidValue;
  uint64_t algorithm = algo->data[0];
  if (algorithm == Failing)
    return executionFailed;
  product.isReversed = algorithm == FastOnOdd;
  auto &on = *reinterpret_cast<FakeStream *>(stream);
  FakeGpu &gpu = *m.gpus[static_cast<size_t>(on.gpu)];
  ++gpu.products[algorithm];
  double seconds = secondsOf(algorithm, on.gpu);
  cu::Result pushed = m.push(on, [&gpu, product, workspace, workspaceBytes, seconds]() -> Status {
    simt::Memory &memory = gpu.memory;
    DTC_RETURN_IF_ERROR(product.checkOperands(memory));
    DTC_RETURN_IF_ERROR(memory.checkWrite(workspace, workspaceBytes, "product workspace"));
    product.run();
    gpu.clock += seconds;
    if (product.desc.writesAux())
      DTC_RETURN_IF_ERROR(memory.markWritten(product.desc.aux, product.auxBytes()));
    return memory.markWritten(product.d, product.cLayout.bytes());
  });
  return pushed == cu::success ? 0 : internalError;
}

} // namespace

void fillBlasLt(cu::BlasLt &blas) {
#define DTC_BLASLT(name, result, parameters) blas.name = name;
#include "runtime/cuda/BlasLt.def"
#undef DTC_BLASLT
}

} // namespace dtc::rt::fake
