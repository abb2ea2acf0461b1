// The headers that the runtime's files use above the format of programs, precompiled once. Only two
// of them are the runtime's own, because the others change often.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/format/dte_generated.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
