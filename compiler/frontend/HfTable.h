// The keys of transformers' config classes. The rows are in HfTable.inc, which
// tools/hf-config-table.py writes.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace dtc {

// The release of transformers whose classes the table has. Example: "5.24.0".
extern const char *const kTransformersVersion;

// Says what becomes of a tiny model when a key gets another value.
enum class HfEffect {
  Nothing,
  Start, // other first weights
  Model  // other parameters, or another loss or other gradients with the same weights
};

// A key of the config class of one model_type.
struct HfKey {
  llvm::StringRef type, key;
  llvm::StringRef fallback; // what the class has where the key is absent, as JSON
  bool nullable;            // whether the class and the model take null
  HfEffect effect;
};

// The key of a type's class, or null where the class has none of that name.
const HfKey *findHfKey(llvm::StringRef type, llvm::StringRef key);

// Another name of a key; empty where it has none. Example: "hidden_size" of gpt2's "n_embd".
llvm::StringRef aliasOf(llvm::StringRef type, llvm::StringRef key);

// Returns true if transformers refuses rotary embedding of a type that lacks the key.
bool needsRotaryKey(llvm::StringRef rotaryType, llvm::StringRef key);

} // namespace dtc
