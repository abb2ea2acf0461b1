// Rules of rows of experts: they are moved, multiplied and added up in the order of one routing.
#pragma once

#include "compiler/prove/verify/ProgramState.h"

namespace dtc {

// Checks that an instruction reads rows of experts in the order of one routing and of one round,
// with the indices, the numbers of rows and the scores of these; that a product of groups takes all
// rows there is room for, and adds none of them a second time; and that products of tokens read no
// rows.
std::optional<Fault> checkRows(ProgramState &state);

// The operands of a kernel that routings have to do with.
struct RowOperands {
  std::vector<RowOrders::Number> integers;
  std::vector<RowOrders::Number> indices; // some of the integers, ascending
  std::vector<size_t> rows;               // touches of values that are no integers
  bool isUnknown = false;                 // integers are of a choice that is not followed
};

// The orders of the rows, and the numbers of the integers, that an instruction makes of all that it
// has read.
class RowResults {
public:
  // Looks at what the instruction has read. It has written nothing yet.
  explicit RowResults(ProgramState &state);
  // Returns the order or number of the next thing that the instruction writes. `result` counts
  // these.
  RowOrders::Number orderOf(const Touch &touch, uint32_t result);

private:
  void readKernel();
  RowOrders::Number chosen(uint32_t result);

  ProgramState &state;
  RowOperands operands;                           // of a kernel
  RowOrders::Number rows = RowOrders::kNone;      // the order of all rows that it makes
  std::set<RowOrders::Router> routers;            // of the scores that it chooses by
  RowOrders::Kind kind = RowOrders::Kind::Others; // of integers that are no numbers of rows
};

} // namespace dtc
