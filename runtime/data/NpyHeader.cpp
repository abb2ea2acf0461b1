// Reads the header of a .npy file, without trusting it.
#include "runtime/data/NpyHeader.h"

#include "runtime/base/Checked.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace dtc::rt {
using format::text;

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMostDims = 12;
constexpr size_t kMostHeaderBytes = size_t(1) << 20; // NumPy writes 128 bytes or so

struct KnownType {
  std::string_view descr;
  NpyType type;
  uint64_t bytes;
  const char *name;
};

constexpr KnownType kTypes[] = {
    {"|b1", NpyType::Bool, 1, "bool"},   {"|i1", NpyType::I8, 1, "int8"},
    {"<i2", NpyType::I16, 2, "int16"},   {"<i4", NpyType::I32, 4, "int32"},
    {"<i8", NpyType::I64, 8, "int64"},   {"|u1", NpyType::U8, 1, "uint8"},
    {"<u2", NpyType::U16, 2, "uint16"},  {"<u4", NpyType::U32, 4, "uint32"},
    {"<u8", NpyType::U64, 8, "uint64"},  {"<f2", NpyType::F16, 2, "float16"},
    {"<f4", NpyType::F32, 4, "float32"}, {"<f8", NpyType::F64, 8, "float64"},
};

const KnownType &known(NpyType type) {
  for (const KnownType &each : kTypes)
    if (each.type == type)
      return each;
  return kTypes[0];
}

// The Python literal, from left to right. Every method is false where the text goes on otherwise.
class Literal {
public:
  explicit Literal(std::string_view rest) : rest(rest) {}

  bool take(std::string_view token) {
    skipSpaces();
    if (!rest.starts_with(token))
      return false;
    rest.remove_prefix(token.size());
    return true;
  }

  bool string(std::string_view &value) {
    skipSpaces();
    if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
      return false;
    size_t end = rest.find(rest.front(), 1);
    if (end == std::string_view::npos)
      return false;
    value = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    return true;
  }

  bool number(uint64_t &value) {
    skipSpaces();
    size_t digits = 0;
    format::Checked sum = 0;
    for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9'; ++digits)
      sum = sum * 10 + static_cast<uint64_t>(rest[digits] - '0');
    value = sum.value();
    rest.remove_prefix(digits);
    return digits > 0 && sum.ok();
  }

  // (), (3,), (3, 4) and (3, 4,).
  bool tuple(std::vector<uint64_t> &values) {
    if (!take("("))
      return false;
    while (!take(")")) {
      uint64_t value = 0;
      if (values.size() == kMostDims || !number(value))
        return false;
      values.push_back(value);
      if (take(","))
        continue;
      return values.size() > 1 && take(")");
    }
    return true;
  }

  bool atEnd() {
    skipSpaces();
    return rest.empty();
  }

private:
  void skipSpaces() {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\n'))
      rest.remove_prefix(1);
  }

  std::string_view rest;
};

struct Fields {
  std::string_view descr;
  bool fortranOrder = false;
  std::vector<uint64_t> shape;
};

// {'descr': ..., 'fortran_order': ..., 'shape': ...}, each once, in any order.
bool readFields(Literal literal, Fields &fields) {
  bool descr = false, order = false, shape = false;
  if (!literal.take("{"))
    return false;
  for (int i = 0; i < 3; ++i) {
    std::string_view key;
    if (!literal.string(key) || !literal.take(":"))
      return false;
    bool good = false;
    if (key == "descr" && !descr) {
      good = descr = literal.string(fields.descr);
    } else if (key == "fortran_order" && !order) {
      fields.fortranOrder = literal.take("True");
      good = order = fields.fortranOrder || literal.take("False");
    } else if (key == "shape" && !shape) {
      good = shape = literal.tuple(fields.shape);
    }
    if (!good || (!literal.take(",") && i < 2))
      return false;
  }
  return literal.take("}") && literal.atEnd();
}

Status wrong(const std::string &name, const std::string &what) {
  return Status::invalidArgument(text("opening '", name, "': ", what));
}

// The literal's bytes, after magic, version and length, in a file of `fileBytes` that begins with
// `file`.
Status findLiteral(const std::string &name, std::span<const uint8_t> file, uint64_t fileBytes,
                   size_t &begin, size_t &end) {
  if (file.size() < 10 || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0)
    return wrong(name, "it does not begin with \\x93NUMPY; wanted a .npy file, as numpy.save "
                       "writes one");
  int major = file[6], minor = file[7];
  if ((major != 1 && major != 2) || minor != 0)
    return wrong(name, text("it is of .npy version ", major, ".", minor, "; wanted 1.0 or 2.0"));
  begin = major == 1 ? 10 : 12;
  if (file.size() < begin)
    return wrong(name, text("it ends within its header, after ", file.size(), " bytes"));
  uint32_t length = 0;
  std::memcpy(&length, file.data() + 8, begin - 8); // little endian, as this machine
  end = begin + length;
  if (end > fileBytes)
    return wrong(name,
                 text("its header has ", length, " bytes, beyond the file's end at ", fileBytes));
  if (end > file.size())
    return wrong(
        name, text("its header has ", length, " bytes; wanted at most ", kMostHeaderBytes - begin));
  return {};
}

Status checkSize(const std::string &name, uint64_t fileBytes, const NpyHeader &header) {
  format::Checked bytes = bytesOf(header.type);
  std::string sizes;
  for (uint64_t size : header.shape) {
    bytes = bytes * size;
    sizes += text(sizes.empty() ? "" : ", ", size);
  }
  uint64_t found = fileBytes - header.dataOffset;
  if (!bytes.ok() || bytes.value() != found)
    return Status::dataLoss(text("opening '", name, "': it has ", found, " bytes of elements; ",
                                 nameOf(header.type), " [", sizes, "] takes ",
                                 bytes.ok() ? text(bytes.value()) : "over 2^64"));
  return {};
}

} // namespace

uint64_t bytesOf(NpyType type) { return known(type).bytes; }
const char *nameOf(NpyType type) { return known(type).name; }

Status readNpyHeader(const InputFile &file, NpyHeader &header) {
  const std::string &name = file.path();
  size_t begin = 0, end = 0;
  std::vector<uint8_t> front(std::min<uint64_t>(file.size(), kMostHeaderBytes));
  DTC_RETURN_IF_ERROR(file.read(0, front));
  DTC_RETURN_IF_ERROR(findLiteral(name, front, file.size(), begin, end));
  std::string_view literal(reinterpret_cast<const char *>(front.data()) + begin, end - begin);
  Fields fields;
  if (!readFields(Literal(literal), fields))
    return wrong(name, "its header is not {'descr': ..., 'fortran_order': ..., 'shape': ...} of a "
                       "plain array; save one array of numbers with numpy.save");
  const KnownType *type = nullptr;
  for (const KnownType &each : kTypes)
    if (each.descr == fields.descr)
      type = &each;
  if (!type)
    return wrong(name, "its elements are not little-endian numbers of 1 to 8 bytes; save "
                       "x.astype('<f4') or x.astype('<i4')");
  if (fields.fortranOrder)
    return wrong(name, "it is stored column by column (fortran_order); save "
                       "numpy.ascontiguousarray(x)");
  header.type = type->type;
  header.shape = std::move(fields.shape);
  header.dataOffset = end;
  return checkSize(name, file.size(), header);
}

} // namespace dtc::rt
