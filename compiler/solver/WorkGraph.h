// The problem while presolve rewrites it: nodes and edges that come and go, and the way back.
#pragma once

#include "compiler/solver/Network.h"
#include "compiler/solver/Problem.h"

#include <deque>
#include <memory>

namespace dtc::solver {

// Sums of costs stay infinite once they are.
inline int64_t addCosts(int64_t a, int64_t b) {
  return a >= kInfiniteCost || b >= kInfiniteCost ? kInfiniteCost : a + b;
}

// How to find the value of a node that presolve took out from the values of the nodes that stayed
// longer. Values are those of the original problem.
struct Removal {
  int32_t node;
  int32_t a = -1, b = -1;             // the nodes that it depends on; -1: none
  std::vector<int32_t> rowOf = {};    // per value of a
  std::vector<int32_t> columnOf = {}; // per value of b
  std::vector<int32_t> values = {};   // [row * columns + column]
  int32_t columns = 1;
};

struct WorkGraph {
  using Table = std::vector<int64_t>;

  struct Piece {
    int32_t begin, end;
    std::vector<int64_t> usages; // per value
  };
  struct Node {
    bool alive = true;
    bool piecesChanged = true;
    std::vector<int64_t> unary;
    std::vector<int32_t> origin; // the original value of each value
    std::vector<Piece> pieces;
    std::vector<int32_t> edges;
    int32_t numValues() const { return static_cast<int32_t>(unary.size()); }
  };
  struct Edge {
    int32_t a, b;
    bool alive = true, dirty = true;
    std::shared_ptr<const Table> table; // [value of a * values of b + value of b]
    int32_t other(int32_t node) const { return node == a ? b : a; }
  };

  explicit WorkGraph(const Problem &problem);
  // What is left of a network where each value may be taken that is allowed (one flag per entry of
  // Network::unary). Nodes and values count as in the network.
  WorkGraph(const Network &network, std::span<const char> allowed);

  // The entry of edge's table for value x of node and y of the other end.
  int64_t entry(const Edge &edge, int32_t node, int32_t x, int32_t y) const {
    return node == edge.a ? (*edge.table)[static_cast<size_t>(x) * nodes[edge.b].numValues() + y]
                          : (*edge.table)[static_cast<size_t>(y) * nodes[edge.b].numValues() + x];
  }

  // Adds table (rows: a's values) to the edge between a and b, which appears where there is none.
  void addTable(int32_t a, int32_t b, Table table);
  // Takes an edge away from both its ends.
  void dropEdge(int32_t edge);
  // Keeps the values of node that are marked, in all its tables and pieces.
  void keepValues(int32_t node, const std::vector<char> &keep);
  // Takes node out with all its edges; what it cost must have been added elsewhere.
  void dropNode(int32_t node, Removal removal);
  void markDirty(int32_t node);
  // Makes the pieces of node disjoint, least usage 0; what all values use goes into base.
  void tidyPieces(int32_t node);
  // Bytes in use at each point by what is decided.
  std::vector<int64_t> baseUsage() const;
  // The table of an edge with the values of `node` as rows.
  Table rowsFor(const Edge &edge, int32_t node) const;

  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<Removal> removals;
  std::vector<int64_t> baseChange; // bytes in use by what is decided: change at each point
  std::deque<int32_t> queue;       // nodes to look at
  std::vector<char> queued;
  int32_t numTimes = 0;
  std::vector<int32_t> times; // which of the points of the start each one is
  int64_t limit;
  int64_t constant = 0;
  bool infeasible = false;
};

} // namespace dtc::solver
