// Reads the JSON of the IOPDDL contest.
#include "compiler/search/solver/ProblemReader.h"

#include "compiler/search/solver/JsonScanner.h"
#include "compiler/search/solver/Problem.h"

#include <xxhash.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace dtc::solver {
namespace {

// Keeps one copy of equal tables. The files repeat a few thousand tables tens of thousands of
// times.
class TableStore {
public:
  explicit TableStore(std::vector<std::vector<int64_t>> &tables) : tables(tables) {}

  int32_t intern(const std::vector<int64_t> &table) {
    uint64_t hash = XXH3_64bits(table.data(), table.size() * sizeof(int64_t));
    auto [begin, end] = byHash.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (tables[it->second] == table)
        return it->second;
    auto index = static_cast<int32_t>(tables.size());
    tables.push_back(table);
    byHash.emplace(hash, index);
    return index;
  }

private:
  std::vector<std::vector<int64_t>> &tables;
  std::unordered_multimap<uint64_t, int32_t> byHash;
};

class ProblemReader {
public:
  explicit ProblemReader(const std::string &path)
      : path(path), scanner(path), store(problem.tables) {}

  Result<Problem> read() {
    if (scanner.failed() || !readTop() || !scanner.expectEnd())
      return scanner.error();
    std::string error = assemble();
    if (error.empty())
      error = problemError(problem);
    if (!error.empty())
      return UserError("checking the problem: " + error, "", {path, 0, 0});
    return std::move(problem);
  }

private:
  bool readTop();
  bool readProblemObject();
  bool readNodes();
  bool readEdges();
  bool readLists(std::vector<std::vector<int64_t>> &lists);
  std::string assemble();
  std::string addUnary(int64_t node, const std::vector<int64_t> &costs, const std::string &name);

  std::string path;
  JsonScanner scanner;
  Problem problem;
  TableStore store;
  std::vector<std::vector<int64_t>> intervals, costs, usages, edgeNodes;
  std::vector<int32_t> edgeTables;
};

bool ProblemReader::readTop() {
  std::string key;
  bool found = false;
  scanner.beginObject();
  while (scanner.nextKey(key)) {
    if (key == "problem" && found)
      return scanner.fail("reading the problem: there is a second 'problem'");
    bool isProblem = key == "problem";
    found = found || isProblem;
    if (isProblem ? !readProblemObject() : !scanner.skipValue())
      return false;
  }
  if (!scanner.failed() && !found)
    return scanner.fail("reading the problem: there is no key 'problem'",
                        "wanted the JSON of the IOPDDL contest");
  return !scanner.failed();
}

bool ProblemReader::readProblemObject() {
  std::string key;
  bool nodes = false, edges = false;
  scanner.beginObject();
  while (scanner.nextKey(key)) {
    bool ok = true;
    if (key == "nodes") {
      ok = !nodes ? readNodes() : scanner.fail("reading the problem: there is a second 'nodes'");
      nodes = true;
    } else if (key == "edges") {
      ok = !edges ? readEdges() : scanner.fail("reading the problem: there is a second 'edges'");
      edges = true;
    } else if (key == "usage_limit") {
      ok = scanner.readInteger(problem.usageLimit);
    } else if (key == "name") {
      ok = scanner.readString(problem.name);
    } else {
      ok = scanner.skipValue();
    }
    if (!ok)
      return false;
  }
  if (!scanner.failed() && (!nodes || !edges))
    return scanner.fail(std::string("reading the problem: there is no key '") +
                        (nodes ? "edges" : "nodes") + "' in 'problem'");
  return !scanner.failed();
}

bool ProblemReader::readLists(std::vector<std::vector<int64_t>> &lists) {
  lists.clear();
  scanner.beginArray();
  std::vector<int64_t> list;
  while (scanner.nextElement()) {
    if (!scanner.readIntegers(list))
      return false;
    lists.push_back(list);
  }
  return !scanner.failed();
}

bool ProblemReader::readNodes() {
  std::string key;
  scanner.beginObject();
  while (scanner.nextKey(key)) {
    bool ok = key == "intervals" ? readLists(intervals)
              : key == "costs"   ? readLists(costs)
              : key == "usages"  ? readLists(usages)
                                 : scanner.skipValue();
    if (!ok)
      return false;
  }
  return !scanner.failed();
}

bool ProblemReader::readEdges() {
  std::string key;
  scanner.beginObject();
  std::vector<int64_t> list;
  while (scanner.nextKey(key)) {
    if (key == "nodes") {
      if (!readLists(edgeNodes))
        return false;
    } else if (key != "costs") {
      if (!scanner.skipValue())
        return false;
    } else {
      edgeTables.clear();
      scanner.beginArray();
      while (scanner.nextElement()) {
        if (!scanner.readIntegers(list))
          return false;
        edgeTables.push_back(store.intern(list));
      }
    }
  }
  return !scanner.failed();
}

// Adds the costs of an edge that depend on one node only.
std::string ProblemReader::addUnary(int64_t node, const std::vector<int64_t> &unary,
                                    const std::string &name) {
  std::vector<int64_t> &sums = problem.nodes[node].costs;
  if (unary.size() != sums.size())
    return name + " has " + std::to_string(unary.size()) + " costs, wanted " +
           std::to_string(sums.size()) + ", one for each value of node " + std::to_string(node);
  for (size_t v = 0; v < sums.size(); ++v) {
    if (unary[v] < 0)
      return name + " has a negative cost, wanted 0 or more";
    bool infinite =
        sums[v] >= kInfiniteCost || unary[v] >= kInfiniteCost - std::max<int64_t>(sums[v], 0);
    sums[v] = infinite ? kInfiniteCost : sums[v] + unary[v];
  }
  return "";
}

std::string ProblemReader::assemble() {
  if (costs.size() != intervals.size() || usages.size() != intervals.size())
    return "there are " + std::to_string(intervals.size()) + " intervals, " +
           std::to_string(costs.size()) + " costs and " + std::to_string(usages.size()) +
           " usages of nodes, wanted as many of each";
  if (edgeNodes.size() != edgeTables.size())
    return "there are " + std::to_string(edgeNodes.size()) + " nodes and " +
           std::to_string(edgeTables.size()) + " costs of edges, wanted as many of each";
  problem.nodes.resize(intervals.size());
  for (size_t i = 0; i < intervals.size(); ++i) {
    if (intervals[i].size() != 2)
      return "the interval of node " + std::to_string(i) + " has " +
             std::to_string(intervals[i].size()) + " numbers, wanted 2";
    problem.nodes[i] = {intervals[i][0], intervals[i][1], std::move(costs[i]),
                        std::move(usages[i])};
  }
  for (size_t e = 0; e < edgeNodes.size(); ++e) {
    const std::vector<int64_t> &ends = edgeNodes[e];
    std::string name = "edge " + std::to_string(e);
    if (ends.size() != 1 && ends.size() != 2)
      return name + " has " + std::to_string(ends.size()) + " nodes, wanted 1 or 2";
    for (int64_t end : ends)
      if (end < 0 || end >= static_cast<int64_t>(problem.nodes.size()))
        return name + " is at node " + std::to_string(end) + ", wanted 0 to " +
               std::to_string(static_cast<int64_t>(problem.nodes.size()) - 1);
    if (ends.size() == 2 && ends[0] != ends[1]) {
      problem.edges.push_back(
          {static_cast<int32_t>(ends[0]), static_cast<int32_t>(ends[1]), edgeTables[e]});
      continue;
    }
    std::vector<int64_t> unary = problem.tables[edgeTables[e]];
    size_t values = problem.nodes[ends[0]].costs.size();
    if (ends.size() == 2) { // a node with itself: both ends take the same value
      if (unary.size() != values * values)
        return name + " has " + std::to_string(unary.size()) + " costs, wanted " +
               std::to_string(values * values);
      for (size_t v = 0; v < values; ++v)
        unary[v] = unary[v * values + v];
      unary.resize(values);
    }
    if (std::string error = addUnary(ends[0], unary, name); !error.empty())
      return error;
  }
  return "";
}

} // namespace

Result<Problem> readProblem(const std::string &path) { return ProblemReader(path).read(); }

} // namespace dtc::solver
