// What tests of the compiler need, precompiled once.
#pragma once

#include "cmake/GraphPch.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
