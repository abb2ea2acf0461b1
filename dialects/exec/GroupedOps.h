// The instructions of GroupedOps.td.
#pragma once

#include "dialects/exec/Exec.h"

#define GET_OP_CLASSES
#include "dialects/exec/GroupedOps.h.inc"
