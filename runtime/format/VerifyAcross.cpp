// Checks that programs agree on what they share by name: parameters, state, gradients, inputs.
#include "runtime/format/VerifyAcross.h"

#include "runtime/format/Limits.h"
#include "runtime/format/VerifyContext.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace dtc::format {
namespace {

template <typename T> bool same(const flatbuffers::Vector<T> *a, const flatbuffers::Vector<T> *b) {
  return sizeOf(a) == sizeOf(b) && (sizeOf(a) == 0 || std::equal(a->begin(), a->end(), b->begin()));
}

using Shards = flatbuffers::Vector<flatbuffers::Offset<ShardedDim>>;
bool same(const Shards *a, const Shards *b) {
  if (sizeOf(a) != sizeOf(b))
    return false;
  for (uint32_t i = 0; i < sizeOf(a); ++i)
    if (a->Get(i)->dim() != b->Get(i)->dim() || a->Get(i)->axis() != b->Get(i)->axis() ||
        a->Get(i)->zigzag() != b->Get(i)->zigzag())
      return false;
  return true;
}

std::string_view nameOf(const flatbuffers::String *name) {
  return name ? name->string_view() : std::string_view();
}

bool sameButForType(const Tensor &a, const Tensor &b) {
  return same(a.global_shape(), b.global_shape()) && same(a.stored_shape(), b.stored_shape()) &&
         same(a.shards(), b.shards()) && a.init() == b.init() && a.mean() == b.mean() &&
         a.stddev() == b.stddev() && a.init_key() == b.init_key() &&
         nameOf(a.copy_of()) == nameOf(b.copy_of());
}

bool same(const Tensor &a, const Tensor &b) {
  return a.dtype() == b.dtype() && sameButForType(a, b);
}

bool same(const Input &a, const Input &b) {
  return a.dtype() == b.dtype() && same(a.sample_shape(), b.sample_shape()) &&
         a.below() == b.below() && a.ignored() == b.ignored();
}

// The first declaration of each name, and its program.
template <typename T> using Known = std::map<std::string_view, std::pair<const T *, uint32_t>>;

template <typename T, typename List>
rt::Status compare(const VerifyContext &context, const char *what, uint32_t program,
                   const List *list, Known<T> &known, bool (*same)(const T &, const T &)) {
  for (uint32_t i = 0; i < sizeOf(list); ++i) {
    const T &mine = *list->Get(i);
    std::string_view name = mine.name()->string_view();
    auto [entry, isNew] = known.try_emplace(name, &mine, program);
    if (!isNew && !same(mine, *entry->second.first))
      return context.fail(what, " '", name, "' of program ", program,
                          " is another one than that of program ", entry->second.second);
  }
  return {};
}

} // namespace

rt::Status verifyAcross(const VerifyContext &context) {
  // A sum of gradients that ranks added up in 16 bits may be declared as it is, or widened,
  // whichever the update of the program reads: the numbers are the same, and a dump converts each.
  bool (*sameTensor)(const Tensor &, const Tensor &) = same;
  bool (*sameInput)(const Input &, const Input &) = same;
  Known<Tensor> parameters, state, gradients;
  Known<Input> inputs;
  for (uint32_t p = 0; p < context.manifest.programs()->size(); ++p) {
    const Program &program = *context.manifest.programs()->Get(p);
    DTC_RETURN_IF_ERROR(
        compare(context, "parameter", p, program.parameters(), parameters, sameTensor));
    DTC_RETURN_IF_ERROR(
        compare(context, "optimizer state", p, program.optimizer_state(), state, sameTensor));
    DTC_RETURN_IF_ERROR(
        compare(context, "gradient", p, program.gradients(), gradients, sameButForType));
    DTC_RETURN_IF_ERROR(compare(context, "input", p, program.inputs(), inputs, sameInput));
  }
  return {};
}

} // namespace dtc::format
