// What calls of oneDNN's primitives share: one engine, a stream for each thread, and a call on the
// calling thread alone. Primitives are made once a shape and live as long as the process.
#pragma once

#include <cstdint>
#include <dnnl.h>
#include <initializer_list>

namespace dtc::cpu::onednn {

// What remains is running out of memory, which ends the process (OutOfMemory.h), and what must not be.
void check(dnnl_status_t status, const char *call);

dnnl_engine_t engine();

// A primitive made ready, whose scratchpad is given with each call.
struct Primitive {
  dnnl_primitive_t primitive;
  dnnl_memory_desc_t scratch;
};

// Of a described operation and its attributes; `hint` as oneDNN's, or null. Null where oneDNN has no
// implementation that takes both.
Primitive make(const_dnnl_op_desc_t operation, dnnl_primitive_attr_t attributes,
               const_dnnl_primitive_desc_t hint);

struct Argument {
  int index;
  const dnnl_memory_desc_t *description;
  const void *data;
};

// Runs it on the calling thread, with a scratchpad of that thread's. oneDNN writes to the result
// among the arguments only.
void run(const Primitive &primitive, std::initializer_list<Argument> arguments);

} // namespace dtc::cpu::onednn
