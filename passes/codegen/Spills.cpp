// Lets kernels use as many registers as they need.
#include "passes/codegen/Spills.h"

#include "passes/codegen/Cubin.h"
#include "passes/codegen/PtxCode.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace dtc;

namespace {

// Threads that a multiprocessor should hold at least: each may then have 128 registers, and no
// generated kernel needs more.
constexpr unsigned leastThreads = 512;

// Sets the number of blocks of `symbol` that a multiprocessor should hold: ptxas then uses the
// registers that these leave. By default it prefers to spill a few bytes over having one block
// less. Returns false if the PTX already sets the number.
bool limitBlocks(std::string &ptx, StringRef symbol) {
  size_t entry = ptx.find((".entry " + symbol + "(").str());
  size_t body = ptx.find("\n{", entry);
  if (entry == std::string::npos || body == std::string::npos)
    return false;
  StringRef head = StringRef(ptx).slice(entry, body);
  unsigned threads = 0;
  StringRef said = head.split(".reqntid ").second;
  if (said.consumeInteger(10, threads) || threads == 0 || head.contains(".minnctapersm"))
    return false;
  ptx.insert(body, ("\n.minnctapersm " + Twine(std::max(1U, leastThreads / threads))).str());
  return true;
}

unsigned countSpills(StringRef report) {
  unsigned bytes = 0;
  for (const KernelResources &kernel : readResources(report))
    bytes += kernel.spillBytes;
  return bytes;
}

} // namespace

Expected<std::optional<std::vector<char>>>
dtc::assembleWithoutSpills(std::string &ptx, GpuTarget target, std::string *report) {
  std::string first;
  auto cubin = assembleCubin(ptx, target, &first);
  if (report)
    *report = first;
  if (!cubin || !*cubin)
    return cubin;
  std::string mended = ptx;
  bool isMended = false;
  for (const KernelResources &kernel : readResources(first))
    if (kernel.spillBytes > 0 && limitBlocks(mended, kernel.symbol))
      isMended = true;
  if (!isMended)
    return cubin;
  std::string second;
  auto better = assembleCubin(mended, target, &second);
  if (!better)
    return better;
  if (countSpills(second) >= countSpills(first))
    return cubin;
  ptx = std::move(mended);
  if (report)
    *report = second;
  return better;
}
