// Measures matrix products of cuBLASLt. Each uses the first algorithm of the heuristic, as
// frameworks do.
#include "Pool.h"
#include "Products.h"

#include <algorithm>
#include <memory>

namespace {

cudaDataType_t dataTypeOf(Type type) {
  switch (type) {
  case Type::F32:
  case Type::TF32:
    return CUDA_R_32F;
  case Type::BF16:
    return CUDA_R_16BF;
  case Type::F16:
    return CUDA_R_16F;
  case Type::FP8:
    return CUDA_R_8F_E4M3;
  }
  return CUDA_R_32F;
}

Fill fillOf(Type type) {
  switch (type) {
  case Type::F32:
  case Type::TF32:
    return Fill::F32;
  case Type::BF16:
    return Fill::BF16;
  case Type::F16:
    return Fill::F16;
  case Type::FP8:
    return Fill::FP8;
  }
  return Fill::F32;
}

int64_t resultBytes(Type type) { return type == Type::FP8 ? 2 : bytesOf(type); }

// A product in the form of cuBLASLt: D [n, m] = op(first) [n, k] op(second) [k, m], column-major.
// `first` is our right operand and `second` our left one.
class LtProduct {
public:
  LtProduct(cublasLtHandle_t handle, const Product &product, float *one, size_t workspaceBytes);
  ~LtProduct();
  LtProduct(const LtProduct &) = delete;
  LtProduct &operator=(const LtProduct &) = delete;

  bool isSupported() const { return supported; }
  void run(void *first, void *second, void *result, void *workspace, cudaStream_t stream) const;

private:
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t first = nullptr, second = nullptr, result = nullptr;
  cublasLtMatmulHeuristicResult_t found{};
  bool supported = false;
};

LtProduct::LtProduct(cublasLtHandle_t handle, const Product &product, float *one,
                     size_t workspaceBytes)
    : handle(handle) {
  bool isFp8 = product.type == Type::FP8;
  cublasComputeType_t compute =
      product.type == Type::TF32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  CHECK_LT(cublasLtMatmulDescCreate(&operation, compute, CUDA_R_32F));
  cublasOperation_t firstOp = product.form == Form::Forward ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasOperation_t secondOp = product.form == Form::WeightGrad ? CUBLAS_OP_T : CUBLAS_OP_N;
  auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto &value) {
    CHECK_LT(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)));
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, firstOp);
  set(CUBLASLT_MATMUL_DESC_TRANSB, secondOp);
  if (isFp8) {
    set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, one);
    set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, one);
    // Sums fp8 products in the tensor cores' own precision, as the forward pass of training does.
    int8_t fast = 1;
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
  }
  auto layout = [&](cublasLtMatrixLayout_t *matrix, cudaDataType_t type, int64_t rows,
                    int64_t columns) {
    CHECK_LT(cublasLtMatrixLayoutCreate(matrix, type, uint64_t(rows), uint64_t(columns), rows));
  };
  int64_t m = product.m, n = product.n, k = product.k;
  cudaDataType_t type = dataTypeOf(product.type);
  bool firstIsT = firstOp == CUBLAS_OP_T, secondIsT = secondOp == CUBLAS_OP_T;
  layout(&first, type, firstIsT ? k : n, firstIsT ? n : k);
  layout(&second, type, secondIsT ? m : k, secondIsT ? k : m);
  layout(&result, isFp8 ? CUDA_R_16BF : type, n, m);

  cublasLtMatmulPreference_t preference = nullptr;
  CHECK_LT(cublasLtMatmulPreferenceCreate(&preference));
  CHECK_LT(cublasLtMatmulPreferenceSetAttribute(preference,
                                                CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                &workspaceBytes, sizeof(workspaceBytes)));
  int count = 0;
  cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, operation, first, second, result,
                                                         result, preference, 1, &found, &count);
  CHECK_LT(cublasLtMatmulPreferenceDestroy(preference));
  // The heuristic refuses shapes that the library does not support.
  if (status != CUBLAS_STATUS_SUCCESS && status != CUBLAS_STATUS_NOT_SUPPORTED)
    CHECK_LT(status);
  supported = status == CUBLAS_STATUS_SUCCESS && count > 0 && found.state == CUBLAS_STATUS_SUCCESS;
}

LtProduct::~LtProduct() {
  for (cublasLtMatrixLayout_t matrix : {first, second, result})
    if (matrix)
      (void)cublasLtMatrixLayoutDestroy(matrix);
  if (operation)
    (void)cublasLtMatmulDescDestroy(operation);
}

void LtProduct::run(void *firstData, void *secondData, void *resultData, void *workspace,
                    cudaStream_t stream) const {
  float alpha = 1, beta = 0;
  CHECK_LT(cublasLtMatmul(handle, operation, &alpha, firstData, first, secondData, second, &beta,
                          resultData, result, resultData, result, &found.algo, workspace,
                          found.workspaceSize, stream));
}

struct Entry {
  Product product;
  std::unique_ptr<LtProduct> lt;
  int batch = 1;
  std::vector<double> samples;
};

class ProductRuns {
public:
  ProductRuns(const Settings &settings, const DeviceFacts &facts);
  ~ProductRuns();
  ProductRuns(const ProductRuns &) = delete;
  ProductRuns &operator=(const ProductRuns &) = delete;

  std::vector<MeasuredProduct> measure();

private:
  void choose();
  void allocate();
  void run(const Entry &entry);

  const Settings &settings;
  const DeviceFacts &facts;
  cudaStream_t stream = nullptr;
  cublasLtHandle_t handle = nullptr;
  float *one = nullptr; // scale of fp8 operands, on the device
  void *workspace = nullptr;
  size_t workspaceBytes = 0;
  std::vector<Entry> entries;
  std::unique_ptr<Pool> operands[numTypes], results;
};

ProductRuns::ProductRuns(const Settings &settings, const DeviceFacts &facts)
    : settings(settings), facts(facts) {
  CHECK_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK_LT(cublasLtCreate(&handle));
  CHECK_CUDA(cudaMalloc(reinterpret_cast<void **>(&one), sizeof(float)));
  float value = 1;
  CHECK_CUDA(cudaMemcpy(one, &value, sizeof(value), cudaMemcpyHostToDevice));
  // The same workspace as PyTorch gives cuBLASLt: 32 MiB from Hopper on, else 8 MiB and more.
  workspaceBytes = size_t(facts.major >= 9 ? 32 : 8) << 20;
  CHECK_CUDA(cudaMalloc(&workspace, workspaceBytes));
}

ProductRuns::~ProductRuns() {
  entries.clear();
  (void)cudaFree(workspace);
  (void)cudaFree(one);
  if (handle)
    (void)cublasLtDestroy(handle);
  (void)cudaStreamDestroy(stream);
}

// Returns true if tensor cores compute in the type (for f32, other units). On older devices the
// library emulates some types, which no topology file lists for those devices.
bool hasUnitsFor(Type type, const DeviceFacts &facts) {
  int capability = 10 * facts.major + facts.minor;
  switch (type) {
  case Type::F32:
    return true;
  case Type::F16:
    return capability >= 70;
  case Type::TF32:
  case Type::BF16:
    return capability >= 80;
  case Type::FP8:
    return capability >= 89;
  }
  return false;
}

// Keeps the products that the device and its library support, and that fit in memory.
void ProductRuns::choose() {
  int refused[numTypes] = {}, large = 0;
  for (const Product &product : trainingProducts(settings.quick)) {
    if (!hasUnitsFor(product.type, facts))
      continue;
    int64_t size = product.k * (product.m + product.n) * bytesOf(product.type) +
                   product.m * product.n * resultBytes(product.type);
    if (size > settings.mostBytes) {
      ++large;
      continue;
    }
    auto lt = std::make_unique<LtProduct>(handle, product, one, workspaceBytes);
    if (lt->isSupported())
      entries.push_back({product, std::move(lt), 1, {}});
    else
      ++refused[int(product.type)];
  }
  if (large)
    std::fprintf(stderr, "left out: %d products that need more memory than the device has free\n",
                 large);
  for (int type = 0; type < numTypes; ++type)
    if (refused[type])
      std::fprintf(stderr,
                   "left out: %d products of %s, which cuBLASLt has no algorithm for here\n",
                   refused[type], nameOf(Type(type)));
}

void ProductRuns::allocate() {
  int64_t most[numTypes] = {}, mostResult = settings.coldBytes;
  for (const Entry &entry : entries) {
    const Product &product = entry.product;
    int64_t bytes = product.k * (product.m + product.n) * bytesOf(product.type) + 1024;
    int64_t &type = most[int(product.type)];
    type = std::max({type, bytes, settings.coldBytes});
    mostResult = std::max(mostResult, product.m * product.n * resultBytes(product.type) + 256);
  }
  for (int type = 0; type < numTypes; ++type)
    if (most[type])
      operands[type] = std::make_unique<Pool>(most[type], fillOf(Type(type)), stream);
  results = std::make_unique<Pool>(mostResult, Fill::Nothing, stream);
}

void ProductRuns::run(const Entry &entry) {
  const Product &product = entry.product;
  Pool &pool = *operands[int(product.type)];
  void *first = pool.take(product.n * product.k * bytesOf(product.type));
  void *second = pool.take(product.m * product.k * bytesOf(product.type));
  void *result = results->take(product.m * product.n * resultBytes(product.type));
  entry.lt->run(first, second, result, workspace, stream);
}

std::vector<MeasuredProduct> ProductRuns::measure() {
  choose();
  allocate();
  takeSamples(entries, settings, stream, [&](const Entry &entry) { run(entry); });
  std::vector<MeasuredProduct> measured;
  for (Entry &entry : entries)
    measured.push_back({entry.product, summarize(std::move(entry.samples))});
  return measured;
}

} // namespace

std::vector<MeasuredProduct> measureProducts(const Settings &settings, const DeviceFacts &facts) {
  return ProductRuns(settings, facts).measure();
}
