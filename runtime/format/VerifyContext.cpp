#include "runtime/format/VerifyContext.h"

#include "runtime/format/Limits.h"

#include <algorithm>

namespace dtc::format {

rt::Status VerifyContext::checkName(const char *what, const flatbuffers::String *name) const {
  if (!name)
    return {};
  if (name->size() > maxStringBytes)
    return fail(what, " has ", name->size(), " bytes, wanted at most ", maxStringBytes);
  auto isControl = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(name->begin(), name->end(), isControl))
    return fail(what, " contains a control character");
  return {};
}

std::string ProgramContext::bufferName(uint32_t i) const {
  const flatbuffers::String *name = buffer(i).name();
  return name && name->size() > 0 ? text("'", name->string_view(), "' (buffer ", i, ")")
                                  : text("buffer ", i);
}

Checked elementsOf(const flatbuffers::Vector<uint64_t> *shape) {
  Checked elements = 1;
  for (uint32_t i = 0; i < sizeOf(shape); ++i)
    elements = elements * shape->Get(i);
  return elements;
}

} // namespace dtc::format
