// Reads measured.csv.
#include "bench/collectives/Measured.h"

#include "compiler/describe/topology/LoadTopology.h"
#include "compiler/price/cost/CollectiveCost.h"
#include "compiler/support/File.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <map>

namespace dtc {
namespace {

std::optional<CollectiveKind> kindFrom(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<CollectiveKind>>(name)
      .Case("all-reduce", CollectiveKind::AllReduce)
      .Case("all-gather", CollectiveKind::AllGather)
      .Case("reduce-scatter", CollectiveKind::ReduceScatter)
      .Case("all-to-all", CollectiveKind::AllToAll)
      .Case("broadcast", CollectiveKind::Broadcast)
      .Case("send-receive", CollectiveKind::SendRecv)
      .Default(std::nullopt);
}

} // namespace

Result<std::vector<MeasuredCollective>> readMeasured(const std::string &path) {
  Result<std::string> text = readFile(path);
  if (!text)
    return text.error();
  std::vector<MeasuredCollective> rows;
  std::map<std::string, Topology> topologies;
  int64_t line = 0;
  for (llvm::StringRef each : llvm::split(*text, '\n')) {
    ++line;
    if (each.empty() || each.starts_with("#") || each.starts_with("use,"))
      continue;
    llvm::SmallVector<llvm::StringRef> cells;
    each.split(cells, ',');
    MeasuredCollective row;
    SourceLocation location{path, line, 1};
    std::optional<CollectiveKind> kind = cells.size() == 8 ? kindFrom(cells[4]) : std::nullopt;
    if (!kind || (cells[0] != "fit" && cells[0] != "check") ||
        cells[3].getAsInteger(10, row.nodes) || cells[5].getAsInteger(10, row.ranks) ||
        !llvm::to_float(cells[6], row.bytes) || !llvm::to_float(cells[7], row.seconds))
      return UserError("'" + each.str() + "' is not a row of 8 columns",
                       "fit or check,source,system,nodes,collective,ranks,bytes,microseconds",
                       location);
    row.isFitted = cells[0] == "fit";
    row.source = cells[1].str();
    row.system = cells[2].str();
    row.kind = *kind;
    row.seconds *= 1e-6;
    std::string key = row.system + " " + std::to_string(row.nodes);
    if (!topologies.count(key)) {
      llvm::SmallString<128> file(llvm::sys::path::parent_path(path));
      llvm::sys::path::append(file, row.system + ".toml");
      std::vector<std::string> names = catalogueNames();
      bool isKnown = std::find(names.begin(), names.end(), row.system) != names.end();
      Result<Topology> topology = loadTopology(isKnown ? row.system : std::string(file), row.nodes);
      if (!topology)
        return topology.error();
      topologies[key] = *topology;
    }
    row.model = collectiveSeconds(row.kind, row.bytes, {{row.ranks, 1}}, topologies[key]);
    rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace dtc
