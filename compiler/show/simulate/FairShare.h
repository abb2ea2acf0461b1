// The rates of transfers that share links, kept up to date as transfers come and go.
#pragma once

#include "compiler/show/simulate/SimTask.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace dtc {

// Max-min fair rates by progressive filling. Only transfers that are connected to a change by
// shared links are computed again.
class FairShare {
public:
  FairShare(llvm::ArrayRef<SimLink> links, llvm::ArrayRef<SimTask> tasks);

  // The transfer with this task's route begins or ends. Rates change at update().
  void add(int task);
  // Ends the transfer of a task. Rates change at update().
  void remove(int task);

  // Computes rates again and returns the transfers whose rate is another one, in a deterministic
  // order. A link that is twice in a route counts twice.
  [[nodiscard]] llvm::ArrayRef<int> update();

  // Returns the current rate of a task's transfer.
  double bytesPerSecond(int task) const { return rates[task]; }

private:
  void collect();
  void fill();
  void fix(int task, double rate);

  struct LinkState {
    std::vector<int> transfers; // active ones
    double left = 0;            // capacity, while rates are computed
    int open = 0;               // transfers without a rate, while rates are computed
    bool dirty = false, collected = false;
  };

  llvm::ArrayRef<SimLink> links;
  llvm::ArrayRef<SimTask> tasks;
  std::vector<LinkState> states;
  std::vector<double> rates;
  std::vector<int8_t> phase; // per task: 0 away, 1 active, 2 collected, 3 has its new rate
  std::vector<int> dirtyLinks, component, transfers, changed;
};

} // namespace dtc
