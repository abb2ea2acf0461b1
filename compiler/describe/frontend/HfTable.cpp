// The keys of transformers' config classes.
#include "compiler/describe/frontend/HfTable.h"

#include "llvm/ADT/STLExtras.h"

namespace dtc {
namespace {

struct Alias {
  llvm::StringRef type, alias, key;
};
struct RotaryKey {
  llvm::StringRef rotaryType, key;
};

#define DTC_HF_VERSION(version)
#define DTC_HF_KEY(type, key, fallback, nullable, effect)
#define DTC_HF_ALIAS(type, alias, key)
#define DTC_HF_ROTARY(rotaryType, key)

constexpr HfKey kKeys[] = {
#undef DTC_HF_KEY
#define DTC_HF_KEY(type, key, fallback, nullable, effect)                                          \
  {type, key, fallback, nullable, HfEffect::effect},
#include "compiler/describe/frontend/HfTable.inc"
#undef DTC_HF_KEY
#define DTC_HF_KEY(type, key, fallback, nullable, effect)
};

constexpr Alias kAliases[] = {
#undef DTC_HF_ALIAS
#define DTC_HF_ALIAS(type, alias, key) {type, alias, key},
#include "compiler/describe/frontend/HfTable.inc"
#undef DTC_HF_ALIAS
#define DTC_HF_ALIAS(type, alias, key)
};

constexpr RotaryKey kRotaryKeys[] = {
#undef DTC_HF_ROTARY
#define DTC_HF_ROTARY(rotaryType, key) {rotaryType, key},
#include "compiler/describe/frontend/HfTable.inc"
#undef DTC_HF_ROTARY
#define DTC_HF_ROTARY(rotaryType, key)
};

} // namespace

#undef DTC_HF_VERSION
#define DTC_HF_VERSION(version) const char *const kTransformersVersion = version;
#include "compiler/describe/frontend/HfTable.inc"

static const HfKey *findRow(llvm::StringRef type, llvm::StringRef key) {
  const auto *found =
      llvm::find_if(kKeys, [&](const HfKey &each) { return each.type == type && each.key == key; });
  return found == std::end(kKeys) ? nullptr : found;
}

// The row has either name of a key: the one that the class declares.
const HfKey *findHfKey(llvm::StringRef type, llvm::StringRef key) {
  if (const HfKey *row = findRow(type, key))
    return row;
  for (const Alias &each : kAliases)
    if (each.type == type && (each.alias == key || each.key == key))
      return findRow(type, each.alias == key ? each.key : each.alias);
  return nullptr;
}

llvm::StringRef aliasOf(llvm::StringRef type, llvm::StringRef key) {
  for (const Alias &each : kAliases)
    if (each.type == type && each.key == key)
      return each.alias;
  return {};
}

bool needsRotaryKey(llvm::StringRef rotaryType, llvm::StringRef key) {
  return llvm::any_of(kRotaryKeys, [&](const RotaryKey &each) {
    return each.rotaryType == rotaryType && each.key == key;
  });
}

} // namespace dtc
