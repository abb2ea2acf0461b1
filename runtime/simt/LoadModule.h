// Loads retargeted code for the emulator.
#pragma once

#include "runtime/simt/Module.h"

#include <cstdint>
#include <memory>
#include <span>

namespace dtc::simt {

// Loads a shared object of compileForSimt. Errors: InvalidArgument if `object` is not one, has
// another version, or calls a function that this emulator does not have.
rt::Status loadModule(std::span<const uint8_t> object, std::unique_ptr<Module> &module);

} // namespace dtc::simt
