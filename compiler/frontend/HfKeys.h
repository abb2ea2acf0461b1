// What keys of a Hugging Face config.json mean that the importer does not read. Internal to this folder.
#pragma once

#include "compiler/frontend/HfConfig.h"

namespace dtc {

// Refuses the first key, in the order of the file, that nobody has asked for and that may change the
// model. Those that can't are left alone: null, those of the type's class that change nothing
// (HfTable.h), private ones ("_name_or_path"), those of generation, of tokenizers and of how
// transformers loads and saves, and features that are off ("use_qk_norm": false).
void refuseUnreadKeys(HfConfig &config, const std::string &modelType);

// What a model_type of transformers' has that dtc can't import; empty where that is not known.
// Example: "alibi" of bloom.
std::string unknownPartOf(llvm::StringRef modelType);

// "write the model as graph IR ...": what is left where a config can't be imported.
extern const char *const kWriteItYourself;

} // namespace dtc
