#include "kernels/cpu/OneDnn.h"

#include "kernels/cpu/Gemm.h"
#include "kernels/cpu/OutOfMemory.h"
#include "kernels/cpu/Scratch.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace dtc::cpu::onednn {

namespace {

// More bytes than the code of a primitive takes, and than the allocator keeps in reserve.
constexpr size_t codeBytes = size_t(64) << 20;

dnnl_stream_t stream() {
  struct Own {
    Own() { check(dnnl_stream_create(&made, engine(), dnnl_stream_default_flags), "stream"); }
    ~Own() { dnnl_stream_destroy(made); }
    dnnl_stream_t made;
  };
  thread_local const Own own;
  return own.made;
}

} // namespace

void check(dnnl_status_t status, const char *call) {
  if (status == dnnl_success)
    return;
  if (status == dnnl_out_of_memory)
    endWithoutMemory();
  std::fprintf(stderr, "%s of oneDNN gives status %d\n", call, static_cast<int>(status));
  std::abort();
}

dnnl_engine_t engine() {
  static const dnnl_engine_t cpu = [] {
    dnnl_engine_t made;
    check(dnnl_engine_create(&made, dnnl_cpu, 0), "dnnl_engine_create");
    return made;
  }();
  return cpu;
}

Primitive make(const_dnnl_op_desc_t operation, dnnl_primitive_attr_t attributes,
               const_dnnl_primitive_desc_t hint) {
  Primitive made{};
  keepLibrariesOnThisThread();
  needMemory(codeBytes);
  check(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user),
        "dnnl_primitive_attr_set_scratchpad_mode");
  dnnl_primitive_desc_t described = nullptr;
  dnnl_status_t status =
      dnnl_primitive_desc_create(&described, operation, attributes, engine(), hint);
  if (status == dnnl_unimplemented)
    return made;
  check(status, "dnnl_primitive_desc_create");
  made.scratch = *dnnl_primitive_desc_query_md(described, dnnl_query_scratchpad_md, 0);
  check(dnnl_primitive_create(&made.primitive, described), "dnnl_primitive_create");
  dnnl_primitive_desc_destroy(described);
  return made;
}

Primitive makeReorder(const dnnl_memory_desc_t &from, const dnnl_memory_desc_t &to, bool adds) {
  Primitive made{};
  keepLibrariesOnThisThread();
  needMemory(codeBytes);
  dnnl_primitive_attr_t attributes;
  check(dnnl_primitive_attr_create(&attributes), "dnnl_primitive_attr_create");
  check(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user),
        "dnnl_primitive_attr_set_scratchpad_mode");
  dnnl_post_ops_t sum;
  check(dnnl_post_ops_create(&sum), "dnnl_post_ops_create");
  if (adds) {
    check(dnnl_post_ops_append_sum(sum, 1.0F), "dnnl_post_ops_append_sum");
    check(dnnl_primitive_attr_set_post_ops(attributes, sum), "dnnl_primitive_attr_set_post_ops");
  }
  dnnl_primitive_desc_t described = nullptr;
  check(dnnl_reorder_primitive_desc_create(&described, &from, engine(), &to, engine(), attributes),
        "dnnl_reorder_primitive_desc_create");
  made.scratch = *dnnl_primitive_desc_query_md(described, dnnl_query_scratchpad_md, 0);
  check(dnnl_primitive_create(&made.primitive, described), "dnnl_primitive_create");
  dnnl_primitive_desc_destroy(described);
  dnnl_post_ops_destroy(sum);
  dnnl_primitive_attr_destroy(attributes);
  return made;
}

dnnl_memory_desc_t layoutOf(const Primitive &primitive, dnnl_query_t which) {
  const_dnnl_primitive_desc_t described = nullptr;
  check(dnnl_primitive_get_primitive_desc(primitive.primitive, &described),
        "dnnl_primitive_get_primitive_desc");
  return *dnnl_primitive_desc_query_md(described, which, 0);
}

void run(const Primitive &primitive, std::initializer_list<Argument> arguments) {
  keepLibrariesOnThisThread();
  thread_local Scratch scratch;
  auto floats =
      static_cast<int64_t>(dnnl_memory_desc_get_size(&primitive.scratch) / sizeof(float)) + 1;
  std::array<dnnl_exec_arg_t, 8> given;
  int count = 0;
  auto give = [&](const Argument &argument) {
    dnnl_exec_arg_t &next = given[static_cast<size_t>(count++)];
    next.arg = argument.index;
    check(dnnl_memory_create(&next.memory, argument.description, engine(),
                             const_cast<void *>(argument.data)),
          "dnnl_memory_create");
  };
  for (const Argument &argument : arguments)
    give(argument);
  give({DNNL_ARG_SCRATCHPAD, &primitive.scratch, scratch.reserve(floats)});
  check(dnnl_primitive_execute(primitive.primitive, stream(), count, given.data()),
        "dnnl_primitive_execute");
  check(dnnl_stream_wait(stream()), "dnnl_stream_wait");
  for (int i = 0; i < count; ++i)
    dnnl_memory_destroy(given[static_cast<size_t>(i)].memory);
}

} // namespace dtc::cpu::onednn
