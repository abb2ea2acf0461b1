// Finds the file that MODEL on the command line names.
#pragma once

#include "compiler/support/Catalogue.h"

namespace dtc {

// Returns the configs of models/configs, by name: "llama-3-8b".
Catalogue configCatalogue();

// Reads the model that `model` names: a file, the config.json of a folder, or else a name of
// configCatalogue(). A file or folder takes precedence over the catalogue. Errors: none of these,
// with the nearest name of the catalogue; a folder without config.json; a file that cannot be read.
// Example: openModel("llama-3-8b") has the path "llama-3-8b.json".
Result<NamedText> openModel(const std::string &model);

} // namespace dtc
