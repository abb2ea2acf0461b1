// Reads safetensors files without trusting them.
#include "runtime/checkpoint/SafetensorsRead.h"

#include "runtime/base/Checked.h"
#include "runtime/base/NestingDepth.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/Elements.h"
#include "runtime/format/ElementTypes.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

namespace dtc::rt {
using format::text;
using Json = nlohmann::json;
static_assert(std::endian::native == std::endian::little, "safetensors are little endian");

namespace {
constexpr uint64_t kMostHeaderBytes = 100'000'000;

struct Type {
  const char *name;
  uint64_t bits;
};
constexpr Type types[] = {
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
};

// Parses the header into entries; every error names the file.
class HeaderReader {
public:
  HeaderReader(const std::string &path, std::vector<SafetensorsEntry> &entries,
               std::map<std::string, std::string> &metadata)
      : path(path), entries(entries), metadata(metadata) {}

  Status read(std::string_view header);

private:
  Status damaged(const std::string &what) const {
    return Status::dataLoss(text("reading '", path, "': ", what));
  }
  Status readMetadata(const Json &value);
  Status readEntry(const std::string &name, const Json &value);
  Status checkBytes(const SafetensorsEntry &entry) const;

  const std::string &path;
  std::vector<SafetensorsEntry> &entries;
  std::map<std::string, std::string> &metadata;
};
} // namespace

Status HeaderReader::read(std::string_view header) {
  if (header.empty() || header.front() != '{')
    return damaged("its header does not begin with '{'");
  constexpr int kMostLevels = 64; // 3 levels of the format, and those of keys that nobody reads
  if (nestsDeeperThan(header, kMostLevels))
    return damaged("its header nests deeper than a safetensors header does");
  // The parser keeps the last of equal keys; the format forbids them.
  std::vector<std::set<std::string>> keys;
  std::string twice;
  auto watch = [&](int depth, Json::parse_event_t event, Json &parsed) {
    if (event == Json::parse_event_t::object_start) {
      keys.resize(static_cast<size_t>(depth) + 1);
      keys.back().clear();
    } else if (event == Json::parse_event_t::key && depth >= 1) {
      const auto &key = parsed.get_ref<const std::string &>();
      if (!keys[static_cast<size_t>(depth) - 1].insert(key).second && twice.empty())
        twice = key;
    }
    return true;
  };
  Json root = Json::parse(header.begin(), header.end(), watch, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object())
    return damaged("its header is no JSON object");
  if (!twice.empty())
    return damaged(text("its header has the key '", twice, "' twice"));
  for (const auto &[name, value] : root.items())
    DTC_RETURN_IF_ERROR(name == "__metadata__" ? readMetadata(value) : readEntry(name, value));
  return Status::okStatus();
}

Status HeaderReader::readMetadata(const Json &value) {
  if (value.is_null()) // the safetensors library treats null as absent
    return Status::okStatus();
  if (!value.is_object())
    return damaged("its __metadata__ is no object");
  for (const auto &[key, word] : value.items()) {
    if (!word.is_string())
      return damaged(text("its __metadata__ '", key, "' is no string"));
    metadata[key] = word.get_ref<const std::string &>();
  }
  return Status::okStatus();
}

Status HeaderReader::readEntry(const std::string &name, const Json &value) {
  auto bad = [&](const char *what) { return damaged(text("tensor '", name, "' ", what)); };
  if (!value.is_object())
    return bad("is no object");
  auto dtype = value.find("dtype"), shape = value.find("shape"),
       offsets = value.find("data_offsets");
  for (const char *field : {"dtype", "shape", "data_offsets"})
    if (!value.contains(field))
      return bad(text("has no ", field).c_str());
  SafetensorsEntry entry;
  entry.name = name;
  if (!dtype->is_string())
    return bad("has a dtype that is no string");
  entry.dtype = dtype->get_ref<const std::string &>();
  if (!shape->is_array())
    return bad("has a shape that is no list");
  for (const Json &size : *shape) {
    if (!size.is_number_unsigned())
      return bad("has a size that is no whole number of 0 or more");
    entry.shape.push_back(size.get<uint64_t>());
  }
  if (!offsets->is_array() || offsets->size() != 2 || !(*offsets)[0].is_number_unsigned() ||
      !(*offsets)[1].is_number_unsigned())
    return bad("has data_offsets that are no two whole numbers");
  entry.begin = (*offsets)[0].get<uint64_t>();
  entry.end = (*offsets)[1].get<uint64_t>();
  DTC_RETURN_IF_ERROR(checkBytes(entry));
  entries.push_back(std::move(entry));
  return Status::okStatus();
}

Status HeaderReader::checkBytes(const SafetensorsEntry &entry) const {
  const Type *type = std::find_if(std::begin(types), std::end(types),
                                  [&](const Type &t) { return entry.dtype == t.name; });
  if (type == std::end(types))
    return damaged(text("tensor '", entry.name, "' has the unknown dtype '", entry.dtype, "'"));
  format::Checked bits = type->bits;
  for (uint64_t size : entry.shape)
    bits = bits * size;
  bool fits = bits.ok() && bits.value() % 8 == 0 && entry.begin <= entry.end &&
              entry.end - entry.begin == bits.value() / 8;
  if (!fits)
    return damaged(text("tensor '", entry.name, "' is at bytes ", entry.begin, " to ", entry.end,
                        ", which its dtype and shape do not fill exactly"));
  return Status::okStatus();
}

Status SafetensorsFile::open(const std::string &path) {
  *this = SafetensorsFile();
  DTC_RETURN_IF_ERROR(file.open(path));
  auto damaged = [&](const std::string &what) {
    return Status::dataLoss(text("reading '", path, "': ", what));
  };
  uint64_t headerBytes = 0;
  if (file.size() < sizeof(headerBytes))
    return damaged(text("it has ", file.size(), " bytes, too few for a safetensors file"));
  DTC_RETURN_IF_ERROR(
      file.read(0, {reinterpret_cast<uint8_t *>(&headerBytes), sizeof(headerBytes)}));
  if (headerBytes > kMostHeaderBytes)
    return damaged(text("its header would have ", headerBytes, " bytes; wanted at most ",
                        kMostHeaderBytes, "; is it a safetensors file?"));
  if (headerBytes > file.size() - sizeof(headerBytes))
    return damaged(text("its header has ", headerBytes, " bytes, but the file only ", file.size()));
  dataAt = sizeof(headerBytes) + headerBytes;
  std::string header(headerBytes, '\0');
  DTC_RETURN_IF_ERROR(
      file.read(sizeof(headerBytes), {reinterpret_cast<uint8_t *>(header.data()), header.size()}));
  DTC_RETURN_IF_ERROR(HeaderReader(path, tensors, meta).read(header));
  std::sort(tensors.begin(), tensors.end(), [](const auto &a, const auto &b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  uint64_t end = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].begin != end)
      return damaged(text("tensor '", tensors[i].name, "' begins at byte ", tensors[i].begin,
                          "; wanted ", end, ", where the one before it ends"));
    end = tensors[i].end;
    byName[tensors[i].name] = i;
  }
  if (end != file.size() - dataAt)
    return damaged(
        text("its tensors have ", end, " bytes, but ", file.size() - dataAt, " follow the header"));
  return Status::okStatus();
}

const SafetensorsEntry *SafetensorsFile::find(const std::string &name) const {
  auto at = byName.find(name);
  return at == byName.end() ? nullptr : &tensors[at->second];
}

Status SafetensorsFile::readBytes(const SafetensorsEntry &entry, uint64_t first,
                                  std::span<uint8_t> out) const {
  return file.read(dataAt + entry.begin + first, out);
}

// Widens IEEE half precision (1 sign, 5 exponent (bias 15) and 10 fraction bits), bf16 and f32.
Status SafetensorsFile::readFloats(const SafetensorsEntry &entry, uint64_t first,
                                   std::span<float> out) const {
  std::optional<format::DType> known = format::storedType(entry.dtype);
  std::optional<ElementType> type = known ? elementTypeOf(*known) : std::nullopt;
  if (!type)
    return Status::invalidArgument(text("reading '", path(), "': tensor '", entry.name,
                                        "' has dtype ", entry.dtype, "; wanted F32, BF16 or F16"));
  auto width = static_cast<uint64_t>(bytesOf(*type));
  uint64_t elements = (entry.end - entry.begin) / width;
  if (first > elements || out.size() > elements - first)
    return Status::invalidArgument(text("reading '", path(), "': tensor '", entry.name, "' has ",
                                        elements, " elements; wanted ", out.size(), " from ", first,
                                        " on"));
  std::span<uint8_t> all(reinterpret_cast<uint8_t *>(out.data()), out.size_bytes());
  if (*type == ElementType::F32)
    return readBytes(entry, first * width, all);
  // The 16-bit values lie in the back half of `out`, where widening from the front never overtakes
  // them.
  std::span<uint8_t> narrow = all.last(out.size() * width);
  DTC_RETURN_IF_ERROR(readBytes(entry, first * width, narrow));
  decode(*known, std::as_bytes(narrow), out);
  return Status::okStatus();
}

} // namespace dtc::rt
