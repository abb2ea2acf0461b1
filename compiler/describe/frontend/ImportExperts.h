// Reads the mixture of experts of a config.json. Internal to this folder.
#pragma once

#include "compiler/describe/frontend/Families.h"
#include "compiler/describe/frontend/HfKeys.h"
#include "compiler/describe/frontend/Importers.h"

namespace dtc {

// Reads what a class of transformers says of experts. `model` has its sizes already.
void importExperts(TypedConfig &config, const HfExperts &keys, LlamaConfig &model);

} // namespace dtc
