// Has kernels take the registers that they need.
#include "passes/codegen/PtxCode.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace dtc;

namespace {

// Of a multiprocessor. So many threads may have 128 registers each, which no generated kernel needs more of.
constexpr unsigned leastThreads = 512;

// Says of `symbol` how many blocks a multiprocessor is to hold: ptxas then takes the registers that these leave. Without that it
// rather spills a few bytes than has a block less. False where the PTX says already.
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
