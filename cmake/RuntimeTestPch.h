// What tests of the runtime need, precompiled once.
#pragma once

#include "cmake/RuntimePch.h"

#include <gtest/gtest.h>
