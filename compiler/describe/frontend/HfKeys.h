// Knows the meaning of keys in a Hugging Face config.json that the importer does not read. Internal
// to this folder.
#pragma once

#include "compiler/describe/frontend/HfConfig.h"

namespace dtc {

// Refuses the first key, in the order of the file, that no call has asked for and that may change
// the model. Other keys are accepted: null, keys of the type's class that change nothing
// (HfTable.h), private ones ("_name_or_path"), those of generation, of tokenizers and of how
// transformers loads and saves, and features that are off ("use_qk_norm": false).
void refuseUnreadKeys(HfConfig &config, const std::string &modelType);

// Returns a part of a model_type of transformers that dtc cannot import, or "" if none is known.
// Example: "alibi" of bloom.
std::string unknownPartOf(llvm::StringRef modelType);

// "write the model as graph IR ...", the advice if a config cannot be imported.
extern const char *const kWriteItYourself;

} // namespace dtc
