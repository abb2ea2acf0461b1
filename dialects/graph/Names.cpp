// Stores names of values and types in locations.
#include "dialects/graph/Names.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace dtc::graph {

Location nameValues(ArrayRef<StringRef> names, Location at) {
  MLIRContext *context = at.getContext();
  SmallVector<Location> each;
  for (StringRef name : names)
    each.push_back(NameLoc::get(StringAttr::get(context, name), at));
  if (each.empty())
    return at;
  return each.size() == 1 ? each.front() : FusedLoc::get(context, each);
}

SmallVector<StringRef> namesIn(Location location) {
  SmallVector<Location> each{location};
  if (auto fused = dyn_cast<FusedLoc>(location))
    each.assign(fused.getLocations().begin(), fused.getLocations().end());
  SmallVector<StringRef> names;
  for (Location one : each) {
    auto name = dyn_cast<NameLoc>(one);
    if (!name || isa<UnknownLoc>(name.getChildLoc()))
      return {}; // a place in a built model, not the name of a value
    names.push_back(name.getName());
  }
  return names;
}

void setTypeNames(ModuleOp module, const TypeNames &names) {
  SmallVector<NamedAttribute> entries;
  for (const auto &[name, type] : names)
    entries.emplace_back(StringAttr::get(module.getContext(), name), TypeAttr::get(type));
  module->setLoc(FusedLoc::get(module.getContext(), {module.getLoc()},
                               DictionaryAttr::get(module.getContext(), entries)));
}

TypeNames getTypeNames(ModuleOp module) {
  TypeNames names;
  auto fused = dyn_cast<FusedLoc>(module.getLoc());
  auto entries = fused ? dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()) : DictionaryAttr();
  if (!entries)
    return names;
  for (NamedAttribute entry : entries)
    if (auto type = dyn_cast<TypeAttr>(entry.getValue()))
      names[entry.getName().str()] = type.getValue();
  return names;
}

} // namespace dtc::graph
