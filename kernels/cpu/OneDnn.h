// Helpers for oneDNN's primitives: one engine, a stream for each thread, and calls on the calling
// thread alone. Primitives are created once per shape and live as long as the process.
#pragma once

#include <cstdint>
#include <dnnl.h>
#include <initializer_list>

namespace dtc::cpu::onednn {

// Ends the process if a call failed: by running out of memory (OutOfMemory.h), or with a message
// for errors that must not occur.
void check(dnnl_status_t status, const char *call);

// Returns the CPU engine of the process.
dnnl_engine_t engine();

// A primitive that is ready to run; each call provides its scratchpad.
struct Primitive {
  dnnl_primitive_t primitive;
  dnnl_memory_desc_t scratch;
};

// Creates the primitive of a described operation and its attributes; `hint` is that of oneDNN, or
// null. Returns null if oneDNN has no implementation that supports both.
Primitive make(const_dnnl_op_desc_t operation, dnnl_primitive_attr_t attributes,
               const_dnnl_primitive_desc_t hint);

// Creates the primitive that copies a tensor from one layout to another; adds to what is there if
// `adds` is set.
Primitive makeReorder(const dnnl_memory_desc_t &from, const dnnl_memory_desc_t &to,
                      bool adds = false);

// Returns the layout that a primitive takes or gives a tensor in; `which` is dnnl_query_src_md and
// its kin.
dnnl_memory_desc_t layoutOf(const Primitive &primitive, dnnl_query_t which);

// A tensor that is passed to a primitive.
struct Argument {
  int index;
  const dnnl_memory_desc_t *description;
  const void *data;
};

// Runs a primitive on the calling thread, with a scratchpad of that thread. oneDNN only writes to
// the result among the arguments.
void run(const Primitive &primitive, std::initializer_list<Argument> arguments);

} // namespace dtc::cpu::onednn
