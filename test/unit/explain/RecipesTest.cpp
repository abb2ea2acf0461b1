// Recipes that others publish or teach.
#include "compiler/show/explain/Recipes.h"
#include "compiler/decide/decisions/ReadPins.h"
#include "compiler/describe/topology/LoadTopology.h"

#include "compiler/decide/decisions/Pins.h"

#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

using namespace dtc;

namespace {

std::vector<std::string> namesOf(const std::vector<Recipe> &recipes) {
  std::vector<std::string> names;
  for (const Recipe &recipe : recipes)
    if (names.empty() || names.back() != recipe.name)
      names.push_back(recipe.name);
  return names;
}

} // namespace

TEST(RecipesFor, AreThoseOfTheModelAndTheSystem) {
  Topology nodes = *loadTopology("dgx-h100", 4, 0), node = *loadTopology("dgx-h100", 1, 0),
           one = *loadTopology("dgx-h100", 1, 1);
  EXPECT_EQ(namesOf(recipesFor(80, 8192, 0, nodes)),
            (std::vector<std::string>{"published: Megatron-Bridge, 64 H100",
                                      "data parallelism with ZeRO-1",
                                      "FSDP: ZeRO-3 over all devices", "HSDP: ZeRO-3 within a node",
                                      "tp of a node and FSDP", "tp of a node, then few stages"}));
  EXPECT_EQ(
      namesOf(recipesFor(40, 5120, 8, node)),
      (std::vector<std::string>{"data parallelism with ZeRO-1", "FSDP: ZeRO-3 over all devices",
                                "experts over a node, ZeRO-1", "tp of a node, then few stages"}));
  EXPECT_TRUE(recipesFor(80, 8192, 0, one).empty());
  EXPECT_EQ(recipesFor(80, 8192, 0, nodes).front().pins.at("virtual_stages"), "5");
  // The recipe has as few stages as fit: 1, 2 and 4 of 4 nodes.
  EXPECT_EQ(llvm::count_if(
                recipesFor(80, 8192, 0, nodes),
                [](const Recipe &each) { return each.name == "tp of a node, then few stages"; }),
            3);
}

// The pins of a recipe are those that --fix understands.
TEST(RecipesFor, AreMadeOfPins) {
  Topology nodes = *loadTopology("dgx-h100", 4, 0);
  for (auto [layers, hidden, experts] :
       {std::tuple(32, 4096, 0), {80, 8192, 0}, {126, 16384, 0}, {56, 6144, 8}, {96, 12288, 0}}) {
    std::vector<Recipe> recipes = recipesFor(layers, hidden, experts, nodes);
    EXPECT_EQ(recipes.front().name.rfind("published: ", 0), 0u) << layers;
    for (const Recipe &recipe : recipes) {
      Result<Pins> pins = readPins(recipe.pins);
      EXPECT_TRUE(pins.ok()) << recipe.name << ": " << (pins.ok() ? "" : pins.error().text());
    }
  }
}
