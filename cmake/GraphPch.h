// The headers that files with the dialects use, precompiled once.
#pragma once

#include "cmake/MlirPch.h"

#include "dialects/exec/Exec.h"
#include "dialects/graph/Graph.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
