// The headers that the commands of tools/dtc use, precompiled once.
#pragma once

#include "cmake/MlirPch.h"

#include "runtime/format/dte_generated.h"
#include "tools/cli/CommandLine.h"
