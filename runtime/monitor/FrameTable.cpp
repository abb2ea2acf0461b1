#include "runtime/monitor/FrameTable.h"

#include "runtime/monitor/DwarfReader.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <sys/uio.h>

namespace dtc::rt {

namespace {

// A common information entry (CIE), shared by the entries of several functions.
struct Common {
  uint64_t codeUnit = 1;
  int64_t dataUnit = 1;
  uint8_t encoding = 0;
  bool hasExtra = false, isSignal = false;
};

bool readCommon(DwarfReader &in, Common &common) {
  uint64_t version = in.number(1);
  std::string augmentation;
  while (char c = static_cast<char>(in.number(1)))
    augmentation += c;
  common.codeUnit = in.leb();
  common.dataUnit = in.signedLeb();
  uint64_t returns = version == 1 ? in.number(1) : in.leb();
  common.hasExtra = augmentation.starts_with('z');
  if (in.failed || (version != 1 && version != 3) || returns != kProgramCounter ||
      (!augmentation.empty() && !common.hasExtra))
    return false;
  if (!common.hasExtra)
    return true;
  uint64_t bytes = in.leb(), begin = in.address();
  DwarfReader extra(in.block(bytes), begin);
  for (char c : augmentation.substr(1)) {
    if (c == 'R')
      common.encoding = static_cast<uint8_t>(extra.number(1));
    else if (c == 'L')
      (void)extra.number(1);
    else if (c == 'P')
      (void)extra.pointer(static_cast<uint8_t>(extra.number(1)) & 0x7f);
    else if (c == 'S')
      common.isSignal = true;
  }
  return !in.failed && !extra.failed;
}

// Runs the instructions of an entry up to the row of an address.
class RowBuilder {
public:
  RowBuilder(const Common &common, FrameRow &row) : common(common), row(row) {}
  // False where they make no sense.
  bool run(DwarfReader in, uint64_t from, uint64_t address);
  void keepInitial() { initial = row.rules; }

private:
  bool step(DwarfReader &in, uint8_t code);
  bool move(DwarfReader &in, uint8_t code);
  bool define(DwarfReader &in, uint8_t code);
  // Multiplies in two's complement, as damaged tables contain arbitrary numbers.
  int64_t inUnits(uint64_t count) const {
    return static_cast<int64_t>(count * static_cast<uint64_t>(common.dataUnit));
  }
  void set(uint64_t number, const RegisterRule &rule) {
    if (number < kRegisters) // vectors and flags are nobody's base
      row.rules[number] = rule;
  }

  const Common &common;
  FrameRow &row;
  uint64_t at = 0;
  std::array<RegisterRule, kRegisters> initial = {};
  std::vector<FrameRow> kept;
};

bool RowBuilder::run(DwarfReader in, uint64_t from, uint64_t address) {
  at = from;
  while (!in.isAtEnd()) {
    auto code = static_cast<uint8_t>(in.number(1));
    FrameRow before = row;
    if (!step(in, code) || in.failed)
      return false;
    if (at > address) { // it has moved on
      row = before;
      return true;
    }
  }
  return true;
}

bool RowBuilder::step(DwarfReader &in, uint8_t code) {
  uint64_t low = code & 0x3f;
  switch (code & 0xc0) {
  case 0x40: // advance_loc
    at += low * common.codeUnit;
    return true;
  case 0x80: // offset
    set(low, {RegisterRule::At, inUnits(in.leb())});
    return true;
  case 0xc0: // restore
    if (low < kRegisters)
      row.rules[low] = initial[low];
    return true;
  default:
    return code < 0x05 ? move(in, code) : define(in, code);
  }
}

bool RowBuilder::move(DwarfReader &in, uint8_t code) {
  switch (code) {
  case 0x00: // nop
    return true;
  case 0x01: // set_loc
    at = in.pointer(common.encoding);
    return true;
  default: // advance_loc1, 2, 4
    at += in.number(size_t(1) << (code - 0x02)) * common.codeUnit;
    return true;
  }
}

bool RowBuilder::define(DwarfReader &in, uint8_t code) {
  constexpr size_t mostKept = 64;
  uint64_t number = 0;
  switch (code) {
  case 0x05: // offset_extended
    number = in.leb();
    set(number, {RegisterRule::At, inUnits(in.leb())});
    return true;
  case 0x06: // restore_extended
    number = in.leb();
    set(number, number < kRegisters ? initial[number] : RegisterRule());
    return true;
  case 0x07: // undefined
    set(in.leb(), {RegisterRule::Undefined});
    return true;
  case 0x08: // same_value
    set(in.leb(), {});
    return true;
  case 0x09: // register
    number = in.leb();
    set(number, {RegisterRule::InRegister, static_cast<int64_t>(in.leb())});
    return true;
  case 0x0a: // remember_state
    kept.push_back(row);
    return kept.size() <= mostKept;
  case 0x0b: // restore_state
    if (kept.empty())
      return false;
    row = kept.back();
    kept.pop_back();
    return true;
  case 0x0c: // def_cfa
  case 0x12: // def_cfa_sf
    row.base = in.leb();
    row.offset = code == 0x0c ? static_cast<int64_t>(in.leb()) : inUnits(in.leb(true));
    row.expression = {};
    return row.base < kRegisters;
  case 0x0d: // def_cfa_register
    row.base = in.leb();
    return row.base < kRegisters;
  case 0x0e: // def_cfa_offset
    row.offset = static_cast<int64_t>(in.leb());
    return true;
  case 0x13: // def_cfa_offset_sf
    row.offset = inUnits(in.leb(true));
    return true;
  case 0x0f: // def_cfa_expression
    row.expression = in.block(in.leb());
    return !row.expression.empty();
  case 0x10: // expression
  case 0x16: // val_expression
    number = in.leb();
    set(number, {code == 0x10 ? RegisterRule::AtExpression : RegisterRule::IsExpression, 0,
                 in.block(in.leb())});
    return true;
  case 0x11: // offset_extended_sf
  case 0x15: // val_offset_sf
    number = in.leb();
    set(number, {code == 0x11 ? RegisterRule::At : RegisterRule::Is, inUnits(in.leb(true))});
    return true;
  case 0x14: // val_offset
    number = in.leb();
    set(number, {RegisterRule::Is, inUnits(in.leb())});
    return true;
  case 0x2e: // GNU_args_size, which handlers of exceptions want
    (void)in.leb();
    return true;
  default:
    return false;
  }
}

} // namespace

// The table of .eh_frame_hdr: where functions begin, in order, and their entries, 4 bytes each from
// its beginning.
bool FrameTable::findEntry(uint64_t address, uint64_t &entry) const {
  struct {
    uint8_t version, frame, count, table;
    int32_t frameAt;
    uint32_t entries;
  } header;
  if (module.unwindAt == 0 || !memory.read(module.unwindAt, header) || header.version != 1 ||
      header.frame != 0x1b || header.count != 0x03 || header.table != 0x3b || header.entries == 0)
    return false;
  struct Line {
    int32_t begin, entry;
  } line;
  auto wanted = static_cast<int64_t>(address - module.unwindAt);
  uint64_t low = 0, high = header.entries, lines = module.unwindAt + sizeof(header);
  while (high - low > 1) {
    uint64_t middle = (low + high) / 2;
    if (!memory.read(lines + middle * sizeof(line), line))
      return false;
    (line.begin <= wanted ? low : high) = middle;
  }
  if (!memory.read(lines + low * sizeof(line), line))
    return false;
  entry = module.unwindAt + static_cast<uint64_t>(static_cast<int64_t>(line.entry));
  return true;
}

// Reads an entry, excluding its length field.
bool FrameTable::readEntry(uint64_t at, std::vector<uint8_t> &bytes) const {
  constexpr uint32_t most = 1 << 16;
  uint32_t length = 0;
  if (!memory.read(at, length) || length < 4 || length > most)
    return false;
  bytes.resize(length);
  return memory.read(at + sizeof(length), bytes.data(), length);
}

bool FrameTable::find(uint64_t address, FrameRow &row) {
  uint64_t at = 0;
  if (!findEntry(address, at) || !readEntry(at, own))
    return false;
  DwarfReader in(own, at + 4);
  uint64_t back = in.number(4), commonAt = at + 4 - back;
  if (back == 0 || !readEntry(commonAt, common))
    return false;
  DwarfReader shared(common, commonAt + 4);
  Common known;
  if (shared.number(4) != 0 || !readCommon(shared, known))
    return false;
  uint64_t begin = in.pointer(known.encoding), bytes = in.pointer(known.encoding & 0x0f);
  if (known.hasExtra)
    (void)in.block(in.leb());
  if (in.failed || address < begin || address - begin >= bytes)
    return false;
  row = {};
  row.isSignal = known.isSignal;
  RowBuilder builder(known, row);
  if (!builder.run(shared, 0, ~uint64_t(0)))
    return false;
  builder.keepInitial();
  return builder.run(in, begin, address);
}

} // namespace dtc::rt
