// Tests names of values and types, which are kept in locations.
#include "dialects/graph/Names.h"

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

} // namespace
