// Ways to train that others publish or teach, beside a plan.
#pragma once

#include "compiler/search/planner/Planner.h"

namespace dtc {

// A recipe in words, with the keys of --fix that make a plan of it. The plan decides what no key
// says.
struct Recipe {
  std::string name;
  std::map<std::string, std::string> pins;
};

// Returns the recipes for a model and a system: those that were published for the model, with a
// source, then what textbooks and the software's own documentation teach. A recipe of several
// plans, "as few stages as fit", comes as a run of recipes of one name, of which the first that
// fits counts. Empty on one device.
//   `layers`, `hidden`, `experts`: of the model; experts is 0 or 1 of a dense one.
std::vector<Recipe> recipesFor(int64_t layers, int64_t hidden, int64_t experts,
                               const Topology &topology);

// Costs the recipes of the plan's model on the request's devices, each by a search of its pins and
// those of the request, the fastest first, those that do not fit last. Left out are recipes that
// contradict a pin of the request, that the request's software, batch or number of devices can't
// express, and that make the plan of one before. All searches together have a third of the work of
// one. On CPUs there are none.
std::vector<KnownRecipe> knownRecipes(const PlanRequest &request, const Plan &plan);

} // namespace dtc
