// What the runtime's files need above the format of programs, precompiled once: of its own headers only those
// two, as the others change often.
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
