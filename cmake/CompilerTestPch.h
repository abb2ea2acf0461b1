// The headers that tests of the compiler use, precompiled once.
#pragma once

#include "cmake/GraphPch.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
