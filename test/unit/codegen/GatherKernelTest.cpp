// Kernels of gather, scatter_add and top_k against their definitions, along every dim.
#include "CompiledKernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace dtc::test;
using Values = std::vector<double>;

namespace {

constexpr int64_t sizes[] = {1, 5, 16, 31, 33, 1000};

// A tensor of three dims, one of which is gathered along.
struct Dims {
  std::vector<int64_t> shape;
  int64_t dim;

  int64_t count(int64_t begin, int64_t end) const {
    return std::accumulate(shape.begin() + begin, shape.begin() + end, int64_t(1),
                           std::multiplies<>());
  }
  int64_t elements() const { return count(0, 3); }
  int64_t size() const { return shape[dim]; }
  int64_t inner() const { return count(dim + 1, 3); }
  // Returns the same tensor with another size of the dim.
  Dims with(int64_t size) const {
    Dims other = *this;
    other.shape[dim] = size;
    return other;
  }
  // Returns the position of element `i` along the dim in the line of the element at `at`.
  int64_t inLine(int64_t at, int64_t i, const Dims &of) const {
    return (at / of.inner() / of.size() * size() + i) * inner() + at % of.inner();
  }
  std::string type(const std::string &element) const {
    std::string text = "tensor<";
    for (int64_t each : shape)
      text += std::to_string(each) + "x";
    return text + element + ">";
  }
};

// Calls `test` with the dims of a tensor for each dim, with `size` elements along it.
void forEachDim(int64_t size, llvm::function_ref<void(const Dims &)> test) {
  for (int64_t dim = 0; dim < 3; ++dim) {
    std::vector<int64_t> shape = {3, 2, 5};
    shape[dim] = size;
    test({shape, dim});
  }
  test({{size, 1, 1}, 0}); // a single line
}

// Returns indices from -1 to `size`, the ends of which are outside.
Values randomIndices(int64_t count, int64_t size, unsigned seed) {
  Values values = randomValues(count, seed);
  for (double &value : values)
    value = std::floor(std::fabs(value) * 1000);
  for (double &value : values)
    value = std::fmod(value, static_cast<double>(size + 2)) - 1;
  return values;
}

// The ways in which an index is given: for each element or for the dim alone, as integers or f32.
struct IndexKind {
  bool isShared;
  const char *element;
};
constexpr IndexKind indexKinds[] = {{false, "i32"}, {true, "f32"}, {true, "i64"}, {false, "f32"}};

std::string indexType(const IndexKind &kind, const Dims &dims) {
  return kind.isShared ? "tensor<" + std::to_string(dims.size()) + "x" + kind.element + ">"
                       : dims.type(kind.element);
}

// Calls `body` with each element of `dims` that has an index below that of `other`, and with the
// position that the index gives there.
void forEachIndexed(const Dims &dims, const Dims &other, const Values &indices, bool isShared,
                    llvm::function_ref<void(int64_t at, int64_t position)> body) {
  for (int64_t at = 0; at < dims.elements(); ++at) {
    double index = indices[isShared ? at / dims.inner() % dims.size() : at];
    if (index >= 0 && index < static_cast<double>(other.size()))
      body(at, other.inLine(at, static_cast<int64_t>(index), dims));
  }
}

} // namespace

TEST(GatherKernel, ReadsAtIndices) {
  for (int64_t size : sizes)
    forEachDim(size, [&](const Dims &from) {
      for (const IndexKind &kind : indexKinds) {
        Dims to = from.with(7);
        std::string types = "(" + from.type("f32") + ", " + indexType(kind, to) + ")";
        std::string result = to.type("f32");
        std::string text =
            "graph.gather %x, %i dim " + std::to_string(from.dim) + " : " + types + " -> " + result;
        SCOPED_TRACE(text);
        CompiledKernel kernel("(%x: " + from.type("f32") + ", %i: " + indexType(kind, to) +
                                  ") -> " + result,
                              "%0 = " + text, "%0");
        Values x = randomValues(from.elements(), 1);
        Values indices = randomIndices(kind.isShared ? 7 : to.elements(), size, 2);
        Values wanted(to.elements(), 0);
        forEachIndexed(to, from, indices, kind.isShared,
                       [&](int64_t at, int64_t position) { wanted[at] = x[position]; });
        expectNear(kernel.run({x, indices})[0], wanted, 0, 1e-6);
      }
    });
}

TEST(ScatterAddKernel, AddsAtIndices) {
  for (int64_t size : sizes)
    forEachDim(size, [&](const Dims &from) {
      for (const IndexKind &kind : indexKinds) {
        Dims to = from.with(7);
        std::string types = "(" + from.type("f32") + ", " + indexType(kind, from) + ")";
        std::string result = to.type("f32");
        std::string text = "graph.scatter_add %u, %i dim " + std::to_string(from.dim) + " : " +
                           types + " -> " + result;
        SCOPED_TRACE(text);
        CompiledKernel kernel("(%u: " + from.type("f32") + ", %i: " + indexType(kind, from) +
                                  ") -> " + result,
                              "%0 = " + text, "%0");
        Values u = randomValues(from.elements(), 1);
        Values indices = randomIndices(kind.isShared ? size : from.elements(), 7, 2);
        Values wanted(to.elements(), 0);
        double largest = 1;
        forEachIndexed(from, to, indices, kind.isShared, [&](int64_t at, int64_t position) {
          wanted[position] += u[at];
          largest = std::max(largest, std::fabs(wanted[position]));
        });
        // Each addition rounds a sum, which is at most the largest one.
        expectNear(kernel.run({u, indices})[0], wanted, 0,
                   static_cast<double>(size + 1) * largest * 0x1p-24);
      }
    });
}

TEST(TopKKernel, SelectsInOrder) {
  for (int64_t size : {1, 5, 16, 33})
    for (int64_t count : {int64_t(1), (size + 1) / 2, size})
      for (bool smallest : {false, true})
        forEachDim(size, [&](const Dims &from) {
          Dims to = from.with(count);
          std::string results = "(" + to.type("f32") + ", " + to.type("f32") + ")";
          std::string text = "graph.top_k %x dim " + std::to_string(from.dim) +
                             (smallest ? " smallest" : "") + " : " + from.type("f32") + " -> " +
                             results;
          SCOPED_TRACE(text);
          CompiledKernel kernel("(%x: " + from.type("f32") + ") -> " + results, "%0, %1 = " + text,
                                "%0, %1");
          // Many elements are equal.
          Values x = randomValues(from.elements(), 1), values(to.elements()), indices = values;
          for (double &value : x)
            value = std::round(value * 2);
          for (int64_t at = 0; at < to.elements(); ++at) {
            if (at / to.inner() % count != 0)
              continue;
            auto valueOf = [&](int64_t i) { return x[from.inLine(at, i, to)]; };
            std::vector<int64_t> order(size);
            std::iota(order.begin(), order.end(), 0);
            std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
              double x = valueOf(a), y = valueOf(b);
              return x == y ? a < b : (x < y) == smallest;
            });
            for (int64_t j = 0; j < count; ++j) {
              values[at + j * to.inner()] = valueOf(order[j]);
              indices[at + j * to.inner()] = static_cast<double>(order[j]);
            }
          }
          std::vector<Values> got = kernel.run({x});
          expectNear(got[0], values, 0, 0);
          expectNear(got[1], indices, 0, 0);
        });
}

TEST(TopKKernel, HasNanAsTheLargest) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  double infinity = std::numeric_limits<double>::infinity();
  Values x = {1, nan, infinity, -infinity, nan, 0};
  for (bool smallest : {false, true}) {
    CompiledKernel kernel("(%x: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>)",
                          std::string("%0, %1 = graph.top_k %x dim 0") +
                              (smallest ? " smallest" : "") +
                              " : tensor<6xf32> -> (tensor<6xf32>, tensor<6xf32>)",
                          "%0, %1");
    Values indices = kernel.run({x})[1];
    EXPECT_EQ(indices, smallest ? (Values{3, 5, 0, 2, 1, 4}) : (Values{1, 4, 2, 0, 5, 3}));
  }
}

TEST(GatherKernel, TakesNanAsOutside) {
  CompiledKernel kernel("(%x: tensor<2xf32>, %i: tensor<3xf32>) -> tensor<3xf32>",
                        "%0 = graph.gather %x, %i dim 0 : (tensor<2xf32>, tensor<3xf32>) -> "
                        "tensor<3xf32>",
                        "%0");
  double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(kernel.run({{5, 6}, {1, nan, 1e30}})[0], (Values{6, 0, 0}));
}
