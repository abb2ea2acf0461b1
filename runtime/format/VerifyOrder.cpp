// Checks that every entry ends: plays the streams of all programs against each other, with waits and
// collectives that block and nothing else. Also checks that the ranks of a group issue the same
// collectives.
//
// 1. Go through the runs of the entry and number the records of each event and the collectives of
//    each group.
// 2. Ranks that meet in a group must have the same collectives on it: find which programs meet.
// 3. Move every stream as far as it gets, until none moves. A stream that has not ended would hang.
#include "runtime/format/VerifyContext.h"

#include <algorithm>
#include <map>
#include <set>

namespace dtc::format {
namespace {

// The ranks of a list of a group share a communicator on `stream`.
struct GroupKey {
  uint32_t group = 0;
  uint32_t stream = 0;
  auto operator<=>(const GroupKey &) const = default;
};

// A record, wait or collective: what can hold up a stream.
struct Stop {
  enum Kind { Record, Wait, Join } kind;
  uint32_t task, instruction;
  uint32_t event = 0;   // Record, Wait
  uint32_t ordinal = 0; // Wait: how many records must have run; Join: number of this collective in
                        // its group, from 1
  GroupKey group = {};  // Join
};

struct ProgramStops {
  std::vector<std::vector<Stop>> streams;
  std::map<GroupKey, std::vector<const Collective *>> collectives;
};

class OrderVerifier {
public:
  OrderVerifier(const VerifyContext &context, EntryKind entry) : context(context), kind(entry) {}

  rt::Status verify() {
    for (uint32_t p = 0; p < context.manifest.programs()->size(); ++p)
      DTC_RETURN_IF_ERROR(collectStops(p));
    findMeetings();
    DTC_RETURN_IF_ERROR(compareCollectives());
    return play();
  }

private:
  rt::Status collectStops(uint32_t p);
  rt::Status addStops(uint32_t p, const Run &run, bool isLast, ProgramStops &out);
  void findMeetings();
  rt::Status compareCollectives() const;
  rt::Status play() const;
  std::string place(uint32_t p, uint32_t task, uint32_t instruction) const;

  const VerifyContext &context;
  EntryKind kind;
  std::vector<uint32_t> records, recorder; // per event, of the program that is gone through
  uint64_t numStops = 0;                   // of that program
  std::vector<ProgramStops> stops;
  std::map<uint32_t, std::vector<std::set<uint32_t>>> meetings; // group, program -> programs
};

std::string OrderVerifier::place(uint32_t p, uint32_t task, uint32_t instruction) const {
  const Task &where = *context.manifest.programs()->Get(p)->tasks()->Get(task);
  return text("program ", p, ": task '", where.name()->string_view(), "', instruction ",
              instruction, ", ",
              describe(context.manifest, *where.instructions()->Get(instruction)));
}

rt::Status OrderVerifier::collectStops(uint32_t p) {
  const Program &program = *context.manifest.programs()->Get(p);
  const Entry *entry = findEntry(program, kind);
  if (!entry)
    return context.fail("program ", p, " has no entry '", EnumNameEntryKind(kind),
                        "', which others have");
  ProgramStops &out = stops.emplace_back();
  out.streams.resize(program.num_streams());
  records.assign(program.num_events(), 0);
  recorder.assign(program.num_events(), 0);
  numStops = 0;
  std::vector<uint32_t> left(program.tasks()->size()); // runs of each task
  for (const Run *run : *entry->order())
    ++left[run->task()];
  for (const Run *run : *entry->order())
    DTC_RETURN_IF_ERROR(addStops(p, *run, --left[run->task()] == 0, out));
  return {};
}

rt::Status OrderVerifier::addStops(uint32_t p, const Run &run, bool isLast, ProgramStops &out) {
  const auto &instructions =
      *context.manifest.programs()->Get(p)->tasks()->Get(run.task())->instructions();
  for (uint32_t i = 0; i < instructions.size(); ++i) {
    const Instruction &instruction = *instructions.Get(i);
    if (instruction.runs() == Runs::last && !isLast)
      continue;
    uint32_t stream = instruction.stream(), task = run.task();
    size_t before = out.streams[stream].size();
    if (const Record *op = instruction.op_as_Record()) {
      uint32_t event = op->event();
      if (records[event]++ == 0)
        recorder[event] = stream;
      if (recorder[event] != stream)
        return context.fail(place(p, task, i), ": event ", event, " is recorded on streams ",
                            recorder[event], " and ", stream, ", wanted one");
      out.streams[stream].push_back({Stop::Record, task, i, event});
    } else if (const Wait *op = instruction.op_as_Wait()) {
      uint32_t event = op->event();
      if (records[event] == 0)
        return context.fail(place(p, task, i), ": no record of event ", event,
                            " comes before this wait in entry '", EnumNameEntryKind(kind),
                            "', which would never end");
      out.streams[stream].push_back({Stop::Wait, task, i, event, records[event]});
    } else if (const Collective *op = instruction.op_as_Collective()) {
      GroupKey group{op->group(), stream};
      out.collectives[group].push_back(op);
      auto ordinal = static_cast<uint32_t>(out.collectives[group].size());
      out.streams[stream].push_back({Stop::Join, task, i, 0, ordinal, group});
    }
    numStops += out.streams[stream].size() - before;
    if (numStops > maxStops)
      return context.fail("program ", p, ": entry '", EnumNameEntryKind(kind), "' has more than ",
                          maxStops, " records, waits and collectives");
  }
  return {};
}

// Two programs meet in a group when two of their ranks are in one list.
void OrderVerifier::findMeetings() {
  const Manifest &manifest = context.manifest;
  for (const ProgramStops &program : stops)
    for (const auto &[key, list] : program.collectives)
      meetings[key.group].resize(stops.size());
  for (auto &[index, met] : meetings) {
    const Group &group = *manifest.groups()->Get(index);
    for (uint32_t first = 0; first < group.ranks()->size(); first += group.size()) {
      std::set<uint32_t> programs;
      for (uint32_t member = first; member < first + group.size(); ++member)
        programs.insert(manifest.rank_program()->Get(group.ranks()->Get(member)));
      for (uint32_t p : programs)
        met[p].insert(programs.begin(), programs.end());
    }
  }
}

rt::Status OrderVerifier::compareCollectives() const {
  static const std::vector<const Collective *> none;
  for (const auto &[index, met] : meetings)
    for (uint32_t p = 0; p < met.size(); ++p)
      for (const auto &[group, mine] : stops[p].collectives) {
        if (group.group != index)
          continue;
        for (uint32_t q : met[p]) {
          if (q == p)
            continue;
          auto found = stops[q].collectives.find(group);
          const auto &theirs = found == stops[q].collectives.end() ? none : found->second;
          auto same = [](const Collective *a, const Collective *b) {
            return a->kind() == b->kind() && a->reduce() == b->reduce() &&
                   a->dtype() == b->dtype() && a->count() == b->count();
          };
          if (!std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(), same))
            return context.fail("programs ", p, " and ", q, " run ranks of one group, but their ",
                                mine.size(), " and ", theirs.size(), " collectives on stream ",
                                group.stream, " differ");
        }
      }
  return {};
}

rt::Status OrderVerifier::play() const {
  size_t programs = stops.size();
  std::vector<std::vector<size_t>> position(programs);
  std::vector<std::vector<uint32_t>> recorded(programs);
  std::vector<std::map<GroupKey, uint32_t>> arrived(programs);
  for (size_t p = 0; p < programs; ++p) {
    position[p].resize(stops[p].streams.size());
    recorded[p].resize(context.manifest.programs()->Get(p)->num_events());
  }
  auto passes = [&](uint32_t p, const Stop &stop) {
    if (stop.kind == Stop::Record) {
      ++recorded[p][stop.event];
      return true;
    }
    if (stop.kind == Stop::Wait)
      return recorded[p][stop.event] >= stop.ordinal;
    arrived[p][stop.group] = std::max(arrived[p][stop.group], stop.ordinal);
    const std::set<uint32_t> &met = meetings.at(stop.group.group)[p];
    return std::all_of(met.begin(), met.end(),
                       [&](uint32_t q) { return arrived[q][stop.group] >= stop.ordinal; });
  };
  bool moved = true;
  while (moved) {
    moved = false;
    for (uint32_t p = 0; p < programs; ++p)
      for (size_t s = 0; s < position[p].size(); ++s)
        while (position[p][s] < stops[p].streams[s].size() &&
               passes(p, stops[p].streams[s][position[p][s]])) {
          ++position[p][s];
          moved = true;
        }
  }
  for (uint32_t p = 0; p < programs; ++p)
    for (size_t s = 0; s < position[p].size(); ++s)
      if (position[p][s] < stops[p].streams[s].size()) {
        const Stop &stop = stops[p].streams[s][position[p][s]];
        return context.fail(place(p, stop.task, stop.instruction), ": stream ", s,
                            " would wait here forever");
      }
  return {};
}

} // namespace

rt::Status verifyOrder(const VerifyContext &context) {
  for (EntryKind kind : EnumValuesEntryKind()) {
    bool isThere = false;
    for (const Program *program : *context.manifest.programs())
      isThere |= findEntry(*program, kind) != nullptr;
    if (isThere)
      DTC_RETURN_IF_ERROR(OrderVerifier(context, kind).verify());
  }
  return {};
}

} // namespace dtc::format
