// The keys of transformers' config classes. The rows are in HfTable.inc, which
// tools/hf-config-table.py writes.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace dtc {

// The release of transformers whose classes are in the table. Example: "5.24.0".
extern const char *const kTransformersVersion;

// The effect of a changed key on a tiny model.
enum class HfEffect {
  Nothing,
  Start, // other initial weights
  Model  // other parameters, or another loss or other gradients with the same weights
};

// A key of the config class of one model_type.
struct HfKey {
  llvm::StringRef type, key;
  llvm::StringRef fallback; // the default of the class, as JSON
  bool nullable;            // the class and the model accept null
  HfEffect effect;
};

// Returns the key of a type's class by any of its names, or null if the class has none of that
// name.
const HfKey *findHfKey(llvm::StringRef type, llvm::StringRef key);

// Returns another name of a key, or "" if it has none. Example: "hidden_size" for gpt2's "n_embd".
llvm::StringRef aliasOf(llvm::StringRef type, llvm::StringRef key);

// Returns true if transformers refuses rotary embedding of a type without the key.
bool needsRotaryKey(llvm::StringRef rotaryType, llvm::StringRef key);

} // namespace dtc
