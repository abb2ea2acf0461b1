#include "runtime/monitor/ProgramNotes.h"

#include "runtime/monitor/Bytes.h"

#include <algorithm>

namespace dtc::rt {
namespace {

constexpr uint32_t kMagic = 0x314e5444; // "DTN1"

void write(ByteWriter &out, const NotedInstruction &each) {
  for (const std::string *text :
       {&each.words, &each.task, &each.kind, &each.name, &each.dtype, &each.file, &each.op})
    out.words(*text);
  for (uint32_t value :
       {each.index, each.layers, static_cast<uint32_t>(each.meets), each.line, each.group})
    out.small(value);
  for (uint64_t value : {each.inElements, each.outElements, each.bytes})
    out.number(value);
}

void read(ByteReader &in, NotedInstruction &each) {
  for (std::string *text :
       {&each.words, &each.task, &each.kind, &each.name, &each.dtype, &each.file, &each.op})
    *text = in.words();
  uint32_t meets = 0;
  for (uint32_t *value : {&each.index, &each.layers, &meets, &each.line, &each.group})
    *value = in.small();
  for (uint64_t *value : {&each.inElements, &each.outElements, &each.bytes})
    *value = in.number();
  in.failed = in.failed || meets > static_cast<uint32_t>(Meets::Receive);
  each.meets = static_cast<Meets>(in.failed ? 0 : meets);
}

} // namespace

std::vector<uint8_t> ProgramNotes::encode() const {
  ByteWriter out;
  out.small(kMagic);
  out.small(static_cast<uint32_t>(groups.size()));
  for (const NotedGroup &group : groups) {
    out.words(group.name);
    out.small(group.size);
    out.small(group.shift);
    out.small(static_cast<uint32_t>(group.ranks.size()));
    for (uint32_t rank : group.ranks)
      out.small(rank);
  }
  out.small(static_cast<uint32_t>(instructions.size()));
  for (const NotedInstruction &each : instructions)
    write(out, each);
  for (const std::vector<NotedIssue> &entry : issues) {
    out.small(static_cast<uint32_t>(entry.size()));
    for (const NotedIssue &issue : entry)
      for (uint32_t value : {issue.instruction, issue.microBatch, issue.layer})
        out.small(value);
  }
  return std::move(out.out);
}

Status ProgramNotes::decode(std::span<const uint8_t> bytes, ProgramNotes &notes) {
  notes = {};
  ByteReader in(bytes);
  in.failed = in.small() != kMagic;
  notes.groups.resize(in.count(16));
  for (NotedGroup &group : notes.groups) {
    group.name = in.words();
    group.size = in.small();
    group.shift = in.small();
    group.ranks.resize(in.count(4));
    for (uint32_t &rank : group.ranks)
      rank = in.small();
    in.failed = in.failed || group.size == 0 || group.ranks.size() % group.size != 0;
  }
  notes.instructions.resize(in.count(7 * 4 + 5 * 4 + 3 * 8));
  for (NotedInstruction &each : notes.instructions)
    read(in, each);
  for (std::vector<NotedIssue> &entry : notes.issues) {
    entry.resize(in.count(12));
    for (NotedIssue &issue : entry) {
      for (uint32_t *value : {&issue.instruction, &issue.microBatch, &issue.layer})
        *value = in.small();
      in.failed = in.failed || issue.instruction >= notes.instructions.size();
    }
  }
  if (!in.failed && in.rest.empty())
    return {};
  notes = {};
  return Status::dataLoss("the notes on the program of a rank are damaged");
}

const NotedInstruction *ProgramNotes::find(uint32_t entry, uint32_t issue) const {
  if (entry >= kEntries || issue >= issues[entry].size())
    return nullptr;
  return &instructions[issues[entry][issue].instruction];
}

std::span<const uint32_t> ProgramNotes::listOf(uint32_t group, uint32_t rank) const {
  if (group >= groups.size())
    return {};
  const NotedGroup &each = groups[group];
  auto found = std::find(each.ranks.begin(), each.ranks.end(), rank);
  if (found == each.ranks.end())
    return {};
  auto list = static_cast<size_t>(found - each.ranks.begin()) / each.size;
  return std::span(each.ranks).subspan(list * each.size, each.size);
}

int ProgramNotes::peerOf(uint32_t group, Meets meets, uint32_t rank) const {
  std::span<const uint32_t> list = listOf(group, rank);
  if (list.empty() || (meets != Meets::Send && meets != Meets::Receive))
    return -1;
  auto position = static_cast<size_t>(std::find(list.begin(), list.end(), rank) - list.begin());
  size_t shift = groups[group].shift % list.size();
  size_t peer = meets == Meets::Send ? position + shift : position + list.size() - shift;
  return static_cast<int>(list[peer % list.size()]);
}

} // namespace dtc::rt
