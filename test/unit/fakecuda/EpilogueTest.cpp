// Tests the epilogues of cuBLASLt: operations on results of matrix products before they are
// rounded.
#include "runtime/format/Operands.h"
#include "test/unit/fakecuda/CudaTestSupport.h"

#include "runtime/base/HalfFloats.h"
#include "runtime/base/Text.h"
#include "runtime/cuda/GemmPlan.h"

#include <cmath>

namespace dtc::rt {
namespace {

using format::DType;
using format::Epilogue;
using test::CudaRank;
using test::ProgramBuilder;

constexpr uint64_t m = 5, n = 16, k = 8;

struct Kind {
  Epilogue epilogue;
  bool addend;
};
constexpr Kind kinds[] = {{Epilogue::none, true},           {Epilogue::bias, false},
                          {Epilogue::bias, true},           {Epilogue::gelu_bias, false},
                          {Epilogue::gelu_aux_bias, false}, {Epilogue::dgelu, false}};

bool hasBias(Epilogue epilogue) {
  return epilogue != Epilogue::none && epilogue != Epilogue::dgelu;
}
bool hasAux(Epilogue epilogue) {
  return epilogue == Epilogue::gelu_aux_bias || epilogue == Epilogue::dgelu;
}

// One matrix product with all operands of its epilogue, and matrices of distinct numbers.
struct OneProduct {
  OneProduct(const Kind &kind, DType type, bool transposed)
      : kind(kind), type(type), transposed(transposed), builder(test::simtProgram({{"dp", 1}})) {
    a = builder.buffer("a", m * k, type);
    b = builder.buffer("b", k * n, type);
    c = builder.buffer("c", m * n, type);
    addend = builder.buffer("addend", m * n, type);
    bias = builder.buffer("bias", n, type);
    aux = builder.buffer("aux", m * n, type);
    format::GemmT op;
    op.a = a;
    op.b = b;
    op.c = c;
    op.m = m;
    op.n = op.ldc = n;
    op.k = op.lda = k;
    op.trans_b = transposed;
    op.ldb = transposed ? k : n;
    op.dtype = op.result_dtype = type;
    op.epilogue = kind.epilogue;
    op.addend = kind.addend ? addend : format::noBuffer;
    op.bias = hasBias(kind.epilogue) ? bias : format::noBuffer;
    op.aux = hasAux(kind.epilogue) ? aux : format::noBuffer;
    builder.add(op);
  }

  float rounded(float value) const {
    return type == DType::f32    ? value
           : type == DType::bf16 ? fromBf16(toBf16(value))
                                 : fromF16(toF16(value));
  }
  void put(CudaRank at, uint32_t buffer, const std::vector<float> &values) const {
    if (type == DType::f32)
      return at.put(buffer, values);
    std::vector<uint16_t> bits;
    for (float value : values)
      bits.push_back(type == DType::bf16 ? toBf16(value) : toF16(value));
    ASSERT_TRUE(at.device.copyIn(at.executor.address(buffer), bits.data(), 2 * bits.size()).ok());
  }
  std::vector<float> get(CudaRank at, uint32_t buffer, size_t count) const {
    if (type == DType::f32)
      return at.get(buffer);
    std::vector<uint16_t> bits(count);
    EXPECT_TRUE(at.device.copyOut(bits.data(), at.executor.address(buffer), 2 * bits.size()).ok());
    std::vector<float> values;
    for (uint16_t each : bits)
      values.push_back(type == DType::bf16 ? fromBf16(each) : fromF16(each));
    return values;
  }
  // Multiples of 1/16 are exact in all types.
  static std::vector<float> numbers(uint64_t count, uint64_t seed) {
    std::vector<float> values;
    for (uint64_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>((i * 7 + seed * 13) % 33) / 16 - 1);
    return values;
  }

  Kind kind;
  DType type;
  bool transposed;
  ProgramBuilder builder;
  uint32_t a = 0, b = 0, c = 0, addend = 0, bias = 0, aux = 0;
};

// Computes GELU by another formula than the stand-in, and the derivative by differences.
double gelu(double x) {
  return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double geluGrad(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

void expectRight(const OneProduct &product, CudaRank at) {
  std::vector<float> a = OneProduct::numbers(m * k, 1), b = OneProduct::numbers(k * n, 2),
                     addend = OneProduct::numbers(m * n, 3), bias = OneProduct::numbers(n, 4),
                     before = OneProduct::numbers(m * n, 5);
  std::vector<float> c = product.get(at, product.c, m * n),
                     aux = product.get(at, product.aux, m * n);
  Epilogue epilogue = product.kind.epilogue;
  double tolerance = product.type == DType::f32    ? 1e-6
                     : product.type == DType::bf16 ? 1.0 / 256
                                                   : 1.0 / 2048;
  auto near = [&](double found, double wanted) {
    EXPECT_NEAR(found, wanted, tolerance * std::max(1.0, std::abs(wanted)));
  };
  for (uint64_t row = 0; row < m; ++row)
    for (uint64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (uint64_t i = 0; i < k; ++i)
        sum += static_cast<double>(a[row * k + i]) *
               static_cast<double>(product.transposed ? b[column * k + i] : b[i * n + column]);
      uint64_t position = row * n + column;
      if (product.kind.addend)
        sum += static_cast<double>(addend[position]);
      if (hasBias(epilogue))
        sum += static_cast<double>(bias[column]);
      if (epilogue == Epilogue::gelu_aux_bias)
        near(static_cast<double>(aux[position]), sum);
      else
        EXPECT_EQ(aux[position], before[position]);
      double wanted =
          epilogue == Epilogue::dgelu ? sum * geluGrad(static_cast<double>(before[position]))
          : epilogue == Epilogue::gelu_bias || epilogue == Epilogue::gelu_aux_bias ? gelu(sum)
                                                                                   : sum;
      near(static_cast<double>(c[position]), wanted);
    }
}

Status runOnce(const OneProduct &product, CudaRank at) {
  product.put(at, product.a, OneProduct::numbers(m * k, 1));
  product.put(at, product.b, OneProduct::numbers(k * n, 2));
  product.put(at, product.addend, OneProduct::numbers(m * n, 3));
  product.put(at, product.bias, OneProduct::numbers(n, 4));
  product.put(at, product.aux, OneProduct::numbers(m * n, 5));
  StepResult step;
  return at.executor.runStep(step);
}

Status run(OneProduct &product, double tuningSeconds, uint64_t seed) {
  auto fake = makeFakeCuda({.seed = seed});
  auto worlds = makeLoopbackWorld(1);
  CudaOptions options;
  options.tuning.seconds = tuningSeconds;
  Status status = test::onCuda(*fake, product.builder.file(), *worlds[0], {}, options,
                               [&](CudaRank at) -> Status {
                                 DTC_RETURN_IF_ERROR(runOnce(product, at));
                                 expectRight(product, at);
                                 return {};
                               });
  EXPECT_EQ(fake->leaks(), "");
  return status;
}

TEST(Epilogues, ComputeWhatTheirNamesSay) {
  for (const Kind &kind : kinds)
    for (DType type : {DType::f32, DType::bf16, DType::f16})
      for (bool transposed : {false, true}) {
        // cuBLASLt's own epilogues are used in 16 bits only.
        if (type == DType::f32 && kind.epilogue != Epilogue::none)
          continue;
        SCOPED_TRACE(format::text(EnumNameEpilogue(kind.epilogue), kind.addend ? " plus" : "", " ",
                                  EnumNameDType(type), transposed ? " transposed" : ""));
        OneProduct product(kind, type, transposed);
        for (double seconds : {0.0, 60.0}) {
          Status status = run(product, seconds, 3);
          EXPECT_TRUE(status.ok()) << status.message();
        }
      }
}

// Layers differ only in addresses: one plan serves both, with the addresses of each.
TEST(Epilogues, GoWithTheAddressesOfEachProduct) {
  OneProduct product({Epilogue::gelu_aux_bias, false}, DType::bf16, false);
  ProgramBuilder &builder = product.builder;
  format::GemmT second = *builder.instructions()[0]->op.AsGemm();
  uint32_t bias = builder.buffer("bias of the second", n, DType::bf16);
  uint32_t aux = builder.buffer("aux of the second", m * n, DType::bf16);
  second.c = builder.buffer("c of the second", m * n, DType::bf16);
  second.bias = bias;
  second.aux = aux;
  builder.add(second);
  auto fake = makeFakeCuda({});
  auto worlds = makeLoopbackWorld(1);
  Status status = test::onCuda(
      *fake, builder.file(), *worlds[0], {}, CudaOptions(), [&](CudaRank at) -> Status {
        product.put(at, bias, std::vector<float>(n, 64));
        DTC_RETURN_IF_ERROR(runOnce(product, at));
        expectRight(product, at);
        std::vector<float> first = product.get(at, product.aux, m * n),
                           other = product.get(at, aux, m * n);
        for (uint64_t i = 0; i < m * n; ++i)
          EXPECT_NEAR(other[i] - 64, first[i] - OneProduct::numbers(n, 4)[i % n], 0.5) << i;
        return {};
      });
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Epilogues, AreRefusedWhereTheyAreNotDocumented) {
  OneProduct product({Epilogue::gelu_aux_bias, false}, DType::f32, false);
  EXPECT_NE(run(product, 0, 1).message().find("the functionality requested is not supported"),
            std::string::npos);
  OneProduct odd({Epilogue::bias, false}, DType::bf16, false);
  odd.builder.program().buffers[odd.bias]->offset += 2;
  EXPECT_NE(run(odd, 0, 1).message().find("an unsupported value or parameter"), std::string::npos);
  OneProduct shifted({Epilogue::dgelu, false}, DType::bf16, false);
  shifted.builder.program().buffers[shifted.aux]->offset += 8;
  shifted.builder.program().arena_bytes += 64; // The buffer aux is last.
  EXPECT_NE(run(shifted, 0, 1).message().find("an unsupported value or parameter"),
            std::string::npos);
}

// Algorithms are chosen for a product with its epilogue, and for the alignment of its operands.
TEST(Epilogues, ArePartOfWhatIsMeasured) {
  std::vector<std::string> words;
  for (const Kind &kind : kinds)
    for (uint32_t alignment : {16u, 256u}) {
      OneProduct product(kind, DType::bf16, false);
      flatbuffers::FlatBufferBuilder bytes;
      bytes.Finish(format::CreateGemm(bytes, product.builder.instructions()[0]->op.AsGemm()));
      GemmCase which{.alignments = {256, 256, 256, kind.addend ? alignment : 0,
                                    hasBias(kind.epilogue) ? alignment : 0,
                                    hasAux(kind.epilogue) ? alignment : 0}};
      words.push_back(
          describeProduct(*flatbuffers::GetRoot<format::Gemm>(bytes.GetBufferPointer()), which));
    }
  std::sort(words.begin(), words.end());
  EXPECT_EQ(std::adjacent_find(words.begin(), words.end()), words.end());
}

} // namespace
} // namespace dtc::rt
