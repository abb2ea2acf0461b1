// An instruction of the exec dialect as its table of dte.fbs, by the names that both have.
#include "compiler/build/emit/InstructionWriter.h"

#include "runtime/format/Instructions.h"

#include "flatbuffers/minireflect.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace dtc {

namespace {
using flatbuffers::ElementaryType;
using flatbuffers::TypeTable;

class TableWriter {
public:
  TableWriter(exec::InstructionOpInterface op, const FieldValues &values) : op(op), values(values) {
    builder.ForceDefaults(true); // the default value of a field is not known here
    for (auto [name, buffer] : op.getNamedBuffers())
      buffers.insert({name, buffer});
  }

  // Returns the element type of the op's floats, if it has any: indices are always i32.
  Type dtypeOfOp() const {
    for (const auto &[name, buffer] : buffers)
      if (buffer && isa<FloatType>(exec::getDtype(buffer)))
        return exec::getDtype(buffer);
    return exec::getDtype(buffers.front().second);
  }

  const uint8_t *write(const TypeTable &table) {
    builder.Finish(flatbuffers::Offset<void>(writeTable(table)));
    return builder.GetBufferPointer();
  }

private:
  flatbuffers::uoffset_t writeTable(const TypeTable &table);
  // Writes a field that is stored outside of its table, a vector or a table; returns 0 if it has
  // its default.
  flatbuffers::uoffset_t writeOutside(const TypeTable &table, size_t field, StringRef name);
  void writeInside(ElementaryType type, flatbuffers::voffset_t voffset, StringRef name);

  Attribute attribute(StringRef name) { return op->getInherentAttr(name).value_or(Attribute()); }

  exec::InstructionOpInterface op;
  const FieldValues &values;
  llvm::SmallMapVector<StringRef, Value, 8> buffers;
  flatbuffers::FlatBufferBuilder builder;
};

// "table_" stands for "table", a word of the schema's language.
StringRef nameOf(const TypeTable &table, size_t field) {
  return StringRef(table.names[field]).rtrim('_');
}

bool isOutside(const flatbuffers::TypeCode &code) {
  return code.is_repeating || code.base_type == flatbuffers::ET_SEQUENCE;
}

flatbuffers::uoffset_t TableWriter::writeTable(const TypeTable &table) {
  SmallVector<flatbuffers::uoffset_t> outside(table.num_elems);
  for (size_t field = 0; field < table.num_elems; ++field)
    if (isOutside(table.type_codes[field]))
      outside[field] = writeOutside(table, field, nameOf(table, field));
  flatbuffers::uoffset_t start = builder.StartTable();
  for (size_t field = 0; field < table.num_elems; ++field) {
    auto voffset = flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(field));
    const flatbuffers::TypeCode &code = table.type_codes[field];
    if (!isOutside(code))
      writeInside(static_cast<ElementaryType>(code.base_type), voffset, nameOf(table, field));
    else if (outside[field])
      builder.AddOffset(voffset, flatbuffers::Offset<void>(outside[field]));
  }
  return builder.EndTable(start);
}

flatbuffers::uoffset_t TableWriter::writeOutside(const TypeTable &table, size_t field,
                                                 StringRef name) {
  const flatbuffers::TypeCode &code = table.type_codes[field];
  Attribute value = attribute(name);
  if (code.is_repeating) {
    if (!value)
      return 0;
    ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(value).asArrayRef();
    return builder.CreateVector(numbers.data(), numbers.size()).o;
  }
  const TypeTable *type = table.type_refs[code.sequence_ref]();
  if (type != format::RankScalarTypeTable())
    return writeTable(*type); // a part of the same op: the forward of a gradient
  std::unique_ptr<format::RankScalarT> scalar =
      value ? values.scalar(cast<exec::RankScalarAttr>(value)) : nullptr;
  return scalar ? CreateRankScalar(builder, scalar.get()).o : 0;
}

void TableWriter::writeInside(ElementaryType type, flatbuffers::voffset_t voffset, StringRef name) {
  if (auto buffer = buffers.find(name); buffer != buffers.end()) {
    if (buffer->second)
      builder.AddElement<uint32_t>(voffset, values.buffer(buffer->second), 0);
    return;
  }
  if (name == "dtype") {
    auto dtype = values.dtype(dtypeOfOp());
    return builder.AddElement<uint8_t>(voffset, static_cast<uint8_t>(dtype), 0);
  }
  if (name == "result_dtype") {
    auto dtype = values.dtype(exec::getDtype(op.getWrittenBuffers()[0]));
    return builder.AddElement<uint8_t>(voffset, static_cast<uint8_t>(dtype), 0);
  }
  Attribute value = attribute(name);
  if (!value)
    return;
  if (type == flatbuffers::ET_BOOL)
    return builder.AddElement<uint8_t>(voffset, 1, 0); // a unit attribute that is there
  if (type == flatbuffers::ET_FLOAT)
    return builder.AddElement<float>(
        voffset, static_cast<float>(cast<FloatAttr>(value).getValueAsDouble()), 0);
  int64_t number = cast<IntegerAttr>(value).getInt();
  if (type == flatbuffers::ET_UINT)
    return builder.AddElement<uint32_t>(voffset, static_cast<uint32_t>(number), 0);
  if (type == flatbuffers::ET_INT)
    return builder.AddElement<int32_t>(voffset, static_cast<int32_t>(number), 0);
  assert((type == flatbuffers::ET_ULONG || type == flatbuffers::ET_LONG) &&
         "fields of instructions are bool, float, int32, uint32, int64 or uint64");
  builder.AddElement<int64_t>(voffset, number, 0);
}
} // namespace

format::Op instructionKindOf(StringRef mnemonic) {
  if (mnemonic == "send" || mnemonic == "receive")
    return format::Op::Transfer;
  for (format::Op op : format::EnumValuesOp())
    if (op != format::Op::NONE && mnemonic == format::opName(op))
      return op;
  return format::Op::NONE;
}

format::OpUnion writeInstruction(exec::InstructionOpInterface op, const FieldValues &values) {
  format::Op kind = instructionKindOf(op->getName().stripDialect());
  assert(kind != format::Op::NONE && "every exec instruction is a kind of dte.fbs of its name");
  const TypeTable *all = format::OpTypeTable();
  auto code = all->type_codes[static_cast<size_t>(kind)];
  TableWriter writer(op, values);
  const uint8_t *bytes = writer.write(*all->type_refs[code.sequence_ref]());
  format::OpUnion result;
  result.type = kind;
  result.value = format::OpUnion::UnPack(flatbuffers::GetRoot<flatbuffers::Table>(bytes), kind,
                                         /*resolver=*/nullptr);
  return result;
}

} // namespace dtc
