// The reduced problem in the flat form that the bound and the search use.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace dtc::solver {

// A cost-function network with memory. Nodes are in the order of the original problem. Costs are
// doubles that hold whole numbers below 2^53, so they are exact. Time counts only the points that
// can matter (see Presolve.h).
struct Network {
  // One end of an edge: rows[x * values(node) + y] is the cost of the own value x with the
  // neighbour's value y.
  struct Neighbour {
    int32_t node;
    const double *rows;
    const double *columns; // the same table by the neighbour's value: columns[y * own values + x]
  };
  // Value v of the node uses usages[offset + v] bytes at the points begin .. end - 1.
  struct Piece {
    int32_t begin, end;
    int64_t offset;
  };

  // Returns the number of nodes.
  int32_t numNodes() const { return static_cast<int32_t>(first.size()) - 1; }
  // Returns the number of points of time.
  int32_t numTimes() const { return static_cast<int32_t>(capacity.size()); }
  // Returns the number of values of a node.
  int32_t values(int32_t node) const { return first[node + 1] - first[node]; }
  // Returns the edges of a node, by ascending index of the neighbour.
  std::span<const Neighbour> neighboursOf(int32_t node) const {
    return {neighbours.data() + firstNeighbour[node], neighbours.data() + firstNeighbour[node + 1]};
  }
  // Returns the pieces of a node, disjoint and by ascending time.
  std::span<const Piece> piecesOf(int32_t node) const {
    return {pieces.data() + firstPiece[node], pieces.data() + firstPiece[node + 1]};
  }

  // for each node the index of its values in unary; one more entry than nodes
  std::vector<int32_t> first{0};
  std::vector<double> unary;
  std::vector<int32_t> firstNeighbour{0};
  std::vector<Neighbour> neighbours; // those of a node are ordered by ascending index
  std::vector<int32_t> firstPiece{0};
  // those of a node are disjoint and in ascending time; the least usage of each is 0
  std::vector<Piece> pieces;
  std::vector<int64_t> usages;
  std::vector<int64_t> capacity; // bytes left at each point of time for all pieces together
  std::deque<std::vector<double>> tables; // each in both orders
  double constant = 0;                    // cost of what presolve decided
  double forbidden = 0; // the cost that replaces infinity: more than all finite costs together
};

} // namespace dtc::solver
