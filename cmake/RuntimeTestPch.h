// The headers that tests of the runtime use, precompiled once.
#pragma once

#include "cmake/RuntimePch.h"

#include <gtest/gtest.h>
