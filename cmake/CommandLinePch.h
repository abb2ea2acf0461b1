// The headers that the parsers of command lines use, and dtrun, precompiled once. Unlike the
// runtime, both have exceptions.
#pragma once

#include "cmake/RuntimePch.h"

#include "tools/cli/CommandLine.h"
