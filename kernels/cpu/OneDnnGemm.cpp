// Matrix products of bf16 by oneDNN, on processors that multiply bf16 (AVX-512 BF16, AMX): they add
// pairs of products in f32, twice as many per cycle as in f32. oneDNN 2.6 has none for f16 on CPUs.
#include "kernels/cpu/OneDnnGemm.h"

#include "kernels/cpu/IsaKernels.h"
#include "kernels/cpu/OneDnn.h"

#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>

namespace dtc::cpu {

namespace {

using onednn::check;

struct Product {
  dnnl_memory_desc_t a, b, c;
  onednn::Primitive primitive;
};

dnnl_memory_desc_t describe(int64_t rows, int64_t columns, int64_t ld, bool transposed,
                            dnnl_data_type_t type) {
  dnnl_memory_desc_t made;
  const dnnl_dims_t dims = {rows, columns};
  const dnnl_dims_t strides = {transposed ? 1 : ld, transposed ? ld : 1};
  check(dnnl_memory_desc_init_by_strides(&made, 2, dims, type, strides),
        "dnnl_memory_desc_init_by_strides");
  return made;
}

dnnl_data_type_t libraryType(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return dnnl_f32;
  case ElementType::BF16:
    return dnnl_bf16;
  case ElementType::F16:
    return dnnl_f16;
  }
  return dnnl_data_type_undef;
}

Product makeProduct(const NarrowGemmArgs &args) {
  Product made;
  made.a = describe(args.m, args.k, args.lda, args.transA, libraryType(args.type));
  made.b = describe(args.k, args.n, args.ldb, args.transB, libraryType(args.type));
  made.c = describe(args.m, args.n, args.ldc, false, libraryType(args.resultType));
  dnnl_primitive_attr_t attributes;
  check(dnnl_primitive_attr_create(&attributes), "dnnl_primitive_attr_create");
  check(dnnl_primitive_attr_set_output_scales(attributes, 1, 0, &args.alpha),
        "dnnl_primitive_attr_set_output_scales");
  dnnl_post_ops_t after;
  check(dnnl_post_ops_create(&after), "dnnl_post_ops_create");
  if (args.beta != 0)
    check(dnnl_post_ops_append_sum(after, args.beta), "dnnl_post_ops_append_sum");
  check(dnnl_primitive_attr_set_post_ops(attributes, after), "dnnl_primitive_attr_set_post_ops");
  dnnl_matmul_desc_t wanted;
  check(dnnl_matmul_desc_init(&wanted, &made.a, &made.b, nullptr, &made.c),
        "dnnl_matmul_desc_init");
  made.primitive = onednn::make(&wanted, attributes, nullptr);
  dnnl_post_ops_destroy(after);
  dnnl_primitive_attr_destroy(attributes);
  return made;
}

// Returns the primitive of a shape, created at its first use.
const Product &findProduct(const NarrowGemmArgs &args) {
  using Key = std::array<int64_t, 12>;
  static std::mutex mutex;
  static auto &all = *new std::map<Key, Product>; // not destroyed: threads may still run
  Key key = {args.m,
             args.n,
             args.k,
             args.lda,
             args.ldb,
             args.ldc,
             args.transA,
             args.transB,
             static_cast<int64_t>(args.type),
             static_cast<int64_t>(args.resultType),
             std::bit_cast<int32_t>(args.alpha),
             std::bit_cast<int32_t>(args.beta)};
  std::lock_guard lock(mutex);
  auto found = all.find(key);
  return found != all.end() ? found->second : all.emplace(key, makeProduct(args)).first->second;
}

} // namespace

bool hasLibraryProducts(ElementType type) {
  static const bool hasBf16 = (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core_bf16) ==
                              dnnl_cpu_isa_avx512_core_bf16;
  return type == ElementType::BF16 && hasBf16 && std::strcmp(isaKernels().name, "avx512") == 0;
}

bool libraryNarrowGemm(const NarrowGemmArgs &args) {
  const Product &product = findProduct(args);
  if (!product.primitive.primitive)
    return false;
  onednn::run(product.primitive, {{DNNL_ARG_SRC, &product.a, args.a},
                                  {DNNL_ARG_WEIGHTS, &product.b, args.b},
                                  {DNNL_ARG_DST, &product.c, args.c}});
  return true;
}

} // namespace dtc::cpu
