// What the commands of tools/dtc need, precompiled once.
#pragma once

#include "cmake/MlirPch.h"

#include "runtime/format/dte_generated.h"
#include "tools/cli/CommandLine.h"
