// The file that a person means by MODEL.
#pragma once

#include "compiler/support/Catalogue.h"

namespace dtc {

// Returns the configs of models/configs, by name: "llama-3-8b".
Catalogue configCatalogue();

// Reads the model that `model` names: a file, the config.json of a folder, or else a name of
// configCatalogue(); a file or folder of that name comes first. Errors: none of these, with the
// nearest name of the catalogue; a folder without config.json; a file that can't be read.
// Example: openModel("llama-3-8b") has the path "llama-3-8b.json".
Result<NamedText> openModel(const std::string &model);

} // namespace dtc
