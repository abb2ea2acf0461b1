#include "compiler/prove/verify/RowCounts.h"

#include "runtime/format/Operands.h"

namespace dtc {

std::set<uint32_t> storagesOfCounts(const format::Program &program) {
  std::set<uint32_t> storages;
  auto add = [&](uint32_t index) {
    const format::Buffer &buffer = *program.buffers()->Get(index);
    storages.insert(buffer.storage());
    for (uint32_t i = 0; i < format::sizeOf(buffer.layer_storages()); ++i)
      storages.insert(buffer.layer_storages()->Get(i));
  };
  bool hasGroups = false;
  for (const format::Task *task : *program.tasks())
    for (const format::Instruction *instruction : *task->instructions()) {
      if (const format::GroupedGemm *op = instruction->op_as_GroupedGemm()) {
        add(op->counts());
        hasGroups = true;
      }
      const format::Collective *sent = instruction->op_as_Collective();
      if (sent && sent->role() == format::CollectiveRole::expert &&
          sent->dtype() == format::DType::i32)
        add(sent->src());
    }
  return hasGroups ? storages : std::set<uint32_t>();
}

} // namespace dtc
