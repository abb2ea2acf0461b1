// Tests names of values and types, which are kept in locations.
#include "dialects/graph/Names.h"

#include "dialects/graph/Declaration.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace dtc::graph;

namespace {

TEST(Names, OfValuesAreInTheirOpsLocation) {
  MLIRContext context;
  Location at = FileLineColLoc::get(&context, "model.mlir", 3, 5);
  Location table = nameValues({"cos", "sin"}, at);
  ASSERT_EQ(namesIn(table).size(), 2u);
  EXPECT_EQ(namesIn(table)[0], "cos");
  EXPECT_EQ(namesIn(table)[1], "sin");
  ASSERT_EQ(namesIn(nameValues({"q"}, at)).size(), 1u);
  EXPECT_EQ(namesIn(nameValues({"q"}, at))[0], "q");
  EXPECT_EQ(nameValues({}, at), at);
}

TEST(Names, AreNoneWhereALocationIsAPlace) {
  MLIRContext context;
  EXPECT_TRUE(namesIn(FileLineColLoc::get(&context, "model.mlir", 3, 5)).empty());
  EXPECT_TRUE(namesIn(NameLoc::get(StringAttr::get(&context, "gpt2"))).empty());
  EXPECT_TRUE(namesIn(UnknownLoc::get(&context)).empty());
}

TEST(Names, OfTypesAreInTheLocationOfTheModule) {
  MLIRContext context;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context));
  EXPECT_TRUE(getTypeNames(*module).empty());
  Type rows = RankedTensorType::get({ShapedType::kDynamic, 8}, Float32Type::get(&context));
  setTypeNames(*module, {{"rows", rows}});
  EXPECT_EQ(getTypeNames(*module), (TypeNames{{"rows", rows}}));
}

// Tests the names under which the states of repeated parameters draw random numbers.
TEST(Names, OfAPartOfAFamilyAreThoseOfTheWhole) {
  using Family = std::pair<std::string, int64_t>;
  EXPECT_EQ(wholeFamily("wte"), Family("wte", 0));
  EXPECT_EQ(wholeFamily("h.{}.w"), Family("h.{0}.w", 0));
  EXPECT_EQ(wholeFamily("h.{6}.w"), Family("h.{0}.w", 6));
  EXPECT_EQ(wholeFamily("h.{:2}.w"), Family("h.{0:2}.w", 0));
  EXPECT_EQ(wholeFamily("h.{1:2}.w"), Family("h.{1:2}.w", 0));
  EXPECT_EQ(wholeFamily("h.{9:2}.w"), Family("h.{1:2}.w", 4));
  EXPECT_EQ(wholeFamily("h.{x}.w"), Family("h.{x}.w", 0));
  // A member of a part is that member of the whole, as many later.
  for (const char *part : {"h.{4}.w", "h.{7:3}.w"}) {
    auto [family, before] = wholeFamily(part);
    EXPECT_EQ(memberName(family, before + 5), memberName(part, 5)) << part;
    EXPECT_EQ(familyFrom(family, before), part);
  }
}

} // namespace
