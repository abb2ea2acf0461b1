// Checks that the programs of a module run together to their ends (pass dtc-verify-programs).
//
// 1. Every rank of the mesh has one program; all programs have the same mesh, micro-batches, entries.
// 2. The lists that an instruction is over have all ranks of its program.
// 3. Rank by rank, every stream of an entry goes as far as it gets. Ranks that meet mean the same; one
//    that has not ended when nothing moves any more would wait forever.
#include "passes/schedule/Passes.h"
#include "passes/schedule/UnrollLayers.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <deque>
#include <map>

namespace dtc {
#define GEN_PASS_DEF_VERIFYPROGRAMS
#include "passes/schedule/Passes.h.inc"
} // namespace dtc

using namespace mlir;
using namespace dtc;

namespace {
// Beyond, ranks are not played one by one; dtc's writer and dtrun prove the same of any number.
constexpr size_t kMaxStops = size_t(1) << 22;

// A record, wait, collective, send or receive, in a run of its task.
struct Stop {
  Operation *op;
  int64_t microBatch; // -1: none
  unsigned records;   // of a wait: how many records of its event must have run
  int64_t event;      // of a record or wait
};

struct ProgramStops {
  std::vector<std::vector<Stop>> streams;
  size_t count = 0;
};

// Where some ranks meet: those of a list on a stream, or one that sends and one that receives.
using Point = std::tuple<const void *, int64_t, int64_t, int64_t>;

struct Rank {
  unsigned program = 0;
  std::vector<size_t> position; // per stream
  std::map<int64_t, unsigned> recorded;
};

// What has been at a point: the first to come to each meeting, and how far each member is.
struct Meetings {
  std::vector<std::pair<Operation *, int64_t>> first; // with its rank
  std::map<int64_t, size_t> arrived;                  // of each rank
};

class Player {
public:
  Player(ArrayRef<exec::ProgramOp> programs, exec::EntryKind kind)
      : programs(programs.begin(), programs.end()), kind(kind) {}

  LogicalResult run() {
    size_t total = 0;
    for (exec::ProgramOp program : programs) {
      stops.push_back(collect(program));
      total += stops.back().count * program.getClass().size();
    }
    if (total > kMaxStops)
      return success();
    int64_t numRanks = programs.front().getNumRanks();
    ranks.resize(numRanks);
    for (auto [index, program] : llvm::enumerate(programs))
      for (int64_t rank : program.getClass())
        ranks[rank] = {
            static_cast<unsigned>(index), std::vector<size_t>(stops[index].streams.size()), {}};
    for (int64_t rank = 0; rank < numRanks; ++rank)
      awake.push_back(rank);
    while (!awake.empty()) {
      int64_t rank = awake.front();
      awake.pop_front();
      if (failed(advance(rank)))
        return failure();
    }
    return checkEnded();
  }

private:
  ProgramStops collect(exec::ProgramOp program);
  LogicalResult advance(int64_t rank);
  // Whether the rank goes on; an error where it meets another that means something else.
  FailureOr<bool> passes(int64_t rank, const Stop &stop);
  std::pair<Point, SmallVector<int64_t>> meetingOf(int64_t rank, const Stop &stop);
  SmallVector<int64_t> listOf(int64_t rank, Operation *op);
  LogicalResult checkEnded();
  const Stop *at(int64_t rank, size_t stream) const {
    const Rank &state = ranks[rank];
    const std::vector<Stop> &all = stops[state.program].streams[stream];
    return state.position[stream] < all.size() ? &all[state.position[stream]] : nullptr;
  }

  SmallVector<exec::ProgramOp> programs;
  exec::EntryKind kind;
  std::vector<ProgramStops> stops;
  std::vector<Rank> ranks;
  std::map<Point, Meetings> points;
  // Which meeting of its point a rank, stream and position is.
  std::map<std::tuple<int64_t, int64_t, size_t>, size_t> ordinals;
  std::deque<int64_t> awake;
};

ProgramStops Player::collect(exec::ProgramOp program) {
  ProgramStops result;
  result.streams.resize(program.getStreams());
  auto entries = program.getBody().getOps<exec::EntryOp>();
  auto entry = llvm::find_if(entries, [&](exec::EntryOp each) { return each.getKind() == kind; });
  llvm::DenseMap<Attribute, size_t> left;
  for (Attribute task : (*entry).getTasks())
    ++left[task];
  // What of a task can hold up a stream, in order: looked for once, however many micro-batches run it.
  struct MayStop {
    exec::InstructionOpInterface instruction;
    int64_t layer;
  };
  llvm::DenseMap<Attribute, std::vector<MayStop>> ofTask;
  for (auto &[symbol, unused] : left)
    visitInstructions(
        cast<exec::TaskOp>(program.lookupSymbol(cast<FlatSymbolRefAttr>(symbol).getValue())),
        [&, list = &ofTask[symbol]](exec::InstructionOpInterface instruction, int64_t layer) {
          if (isa<exec::RecordOp, exec::WaitOp, exec::CollectiveOp, exec::SendOp, exec::ReceiveOp>(
                  *instruction))
            list->push_back({instruction, layer});
        });
  std::map<int64_t, unsigned> records;
  for (auto [symbol, microBatch] : llvm::zip((*entry).getTasks(), (*entry).getMicroBatches())) {
    bool isLast = --left[symbol] == 0;
    for (const MayStop &each : ofTask[symbol]) {
      exec::InstructionOpInterface instruction = each.instruction;
      if (instruction.runsLastOnly() && !isLast)
        continue;
      Stop stop{instruction, microBatch, 0, getEvent(instruction, each.layer, microBatch)};
      if (isa<exec::RecordOp>(*instruction))
        ++records[stop.event];
      else if (isa<exec::WaitOp>(*instruction))
        stop.records = records[stop.event];
      result.streams[instruction.getInstructionStream()].push_back(stop);
      ++result.count;
    }
  }
  return result;
}

// The ranks of the list that `rank` is in, in order.
SmallVector<int64_t> Player::listOf(int64_t rank, Operation *op) {
  if (auto over = op->getAttrOfType<exec::RanksAttr>("over")) {
    ArrayRef<int64_t> members = over.getMembers();
    auto place = llvm::find(members, rank) - members.begin();
    return SmallVector<int64_t>(
        members.slice(place / over.getSize() * over.getSize(), over.getSize()));
  }
  exec::ProgramOp program = programs[ranks[rank].program];
  SmallVector<int64_t> list{rank};
  int64_t stride = 1;
  ArrayRef<int64_t> axes = cast<exec::CollectiveOp>(op).getAxes();
  for (auto axis = static_cast<int64_t>(program.getAxisSizes().size()); axis-- > 0;) {
    int64_t size = program.getAxisSizes()[axis];
    if (llvm::is_contained(axes, axis)) {
      SmallVector<int64_t> all;
      for (int64_t coordinate = 0; coordinate < size; ++coordinate)
        for (int64_t member : list)
          all.push_back(member + (coordinate - rank / stride % size) * stride);
      list = std::move(all);
    }
    stride *= size;
  }
  return list;
}

std::pair<Point, SmallVector<int64_t>> Player::meetingOf(int64_t rank, const Stop &stop) {
  SmallVector<int64_t> list = listOf(rank, stop.op);
  if (auto collective = dyn_cast<exec::CollectiveOp>(stop.op)) {
    Attribute group = collective.getOver() ? Attribute(*collective.getOver())
                                           : Attribute(collective.getAxesAttr());
    return {Point(group.getAsOpaquePointer(), list.front(), -1,
                  static_cast<int64_t>(collective.getStream())),
            list};
  }
  auto shift = stop.op->getAttrOfType<IntegerAttr>("shift").getInt();
  auto place = llvm::find(list, rank) - list.begin();
  int64_t peer = list[(place + shift) % static_cast<int64_t>(list.size())];
  bool sends = isa<exec::SendOp>(stop.op);
  Point point(stop.op->getAttr("over").getAsOpaquePointer(), sends ? rank : peer,
              sends ? peer : rank, -1);
  return {point, {rank, peer}};
}

// Whether ranks that meet in `a` and `b` mean the same.
bool agree(Operation *a, Operation *b) {
  auto x = dyn_cast<exec::CollectiveOp>(a), y = dyn_cast<exec::CollectiveOp>(b);
  if (x && y)
    return x.getKind() == y.getKind() && x.getReduce() == y.getReduce() &&
           x.getCount() == y.getCount() && exec::getDtype(x.getSrc()) == exec::getDtype(y.getSrc());
  Value mine = a->getOperand(0), theirs = b->getOperand(0);
  return !x && !y && exec::getBytes(mine) == exec::getBytes(theirs) &&
         exec::getDtype(mine) == exec::getDtype(theirs);
}

FailureOr<bool> Player::passes(int64_t rank, const Stop &stop) {
  Rank &state = ranks[rank];
  if (isa<exec::RecordOp>(stop.op)) {
    ++state.recorded[stop.event];
    return true;
  }
  if (isa<exec::WaitOp>(stop.op))
    return stop.records > 0 && state.recorded[stop.event] >= stop.records;
  auto [point, members] = meetingOf(rank, stop);
  Meetings &meetings = points[point];
  // It comes once to each: a stream that stands still is looked at again.
  size_t &mine = meetings.arrived[rank];
  auto stream = cast<exec::InstructionOpInterface>(stop.op).getInstructionStream();
  auto [entry, isNew] = ordinals.try_emplace({rank, stream, state.position[stream]}, mine + 1);
  size_t ordinal = entry->second;
  if (isNew) {
    mine = ordinal;
    if (meetings.first.size() < ordinal)
      meetings.first.emplace_back(stop.op, rank);
    auto [other, otherRank] = meetings.first[ordinal - 1];
    if (!agree(stop.op, other)) {
      InFlightDiagnostic diagnostic = stop.op->emitOpError()
                                      << "of rank " << rank << " meets one of rank " << otherRank
                                      << " that moves something else";
      diagnostic.attachNote(other->getLoc()) << "the other one";
      return diagnostic;
    }
    for (int64_t member : members)
      if (member != rank)
        awake.push_back(member);
  }
  return llvm::all_of(members, [&](int64_t member) { return meetings.arrived[member] >= ordinal; });
}

LogicalResult Player::advance(int64_t rank) {
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t stream = 0; stream < ranks[rank].position.size(); ++stream)
      while (const Stop *stop = at(rank, stream)) {
        FailureOr<bool> goesOn = passes(rank, *stop);
        if (failed(goesOn))
          return failure();
        if (!*goesOn)
          break;
        ++ranks[rank].position[stream];
        moved = true;
      }
  }
  return success();
}

LogicalResult Player::checkEnded() {
  auto words = [&](int64_t rank, const Stop &stop) {
    std::string text = "rank " + std::to_string(rank);
    if (stop.microBatch >= 0)
      text += ", micro-batch " + std::to_string(stop.microBatch);
    return text;
  };
  for (bool meets : {true, false}) // those that wait for other ranks say more
    for (int64_t rank = 0; rank < static_cast<int64_t>(ranks.size()); ++rank)
      for (size_t stream = 0; stream < ranks[rank].position.size(); ++stream) {
        const Stop *stop = at(rank, stream);
        if (!stop || isa<exec::WaitOp>(stop->op) == meets)
          continue;
        InFlightDiagnostic diagnostic = stop->op->emitOpError() << "waits forever in entry '"
                                                                << exec::stringifyEntryKind(kind)
                                                                << "', " << words(rank, *stop);
        if (!meets)
          return diagnostic;
        auto [point, members] = meetingOf(rank, *stop);
        Meetings &meetings = points[point];
        for (int64_t member : members) {
          if (meetings.arrived[member] >= meetings.arrived[rank])
            continue;
          const Stop *other = nullptr;
          for (size_t i = 0; !other && i < ranks[member].position.size(); ++i)
            other = at(member, i);
          diagnostic << ", for rank " << member << (other ? "" : ", which has ended");
          if (other)
            diagnostic.attachNote(other->op->getLoc())
                << "where that one waits: " << words(member, *other);
          break;
        }
        return diagnostic;
      }
  return success();
}

class ProgramsVerifier {
public:
  explicit ProgramsVerifier(ArrayRef<exec::ProgramOp> programs)
      : programs(programs.begin(), programs.end()) {}

  LogicalResult run() {
    if (programs.empty())
      return success();
    if (failed(checkClasses()))
      return failure();
    for (exec::ProgramOp program : programs)
      if (failed(checkAlike(program)) || failed(checkLists(program)))
        return failure();
    for (exec::EntryKind kind : kKinds)
      if (hasEntry(programs.front(), kind) && failed(Player(programs, kind).run()))
        return failure();
    return success();
  }

private:
  static constexpr exec::EntryKind kKinds[] = {exec::EntryKind::Train, exec::EntryKind::Evaluate};

  static bool hasEntry(exec::ProgramOp program, exec::EntryKind kind) {
    return llvm::any_of(program.getBody().getOps<exec::EntryOp>(),
                        [&](exec::EntryOp entry) { return entry.getKind() == kind; });
  }

  LogicalResult checkAlike(exec::ProgramOp program) {
    exec::ProgramOp first = programs.front();
    if (program.getAxisNames() != first.getAxisNames() ||
        program.getAxisSizes() != first.getAxisSizes() ||
        program.getMicroBatches() != first.getMicroBatches())
      return program.emitOpError()
             << "has another mesh or other micro-batches than '" << first.getSymName() << "'";
    for (exec::EntryKind kind : kKinds)
      if (hasEntry(program, kind) != hasEntry(first, kind))
        return program.emitOpError()
               << (hasEntry(first, kind) ? "lacks" : "has") << " entry '"
               << exec::stringifyEntryKind(kind) << "', which '" << first.getSymName()
               << (hasEntry(first, kind) ? "' has" : "' lacks");
    return success();
  }

  LogicalResult checkClasses() {
    std::vector<exec::ProgramOp> programOf(programs.front().getNumRanks());
    for (exec::ProgramOp program : programs)
      for (int64_t rank : program.getClass()) {
        if (rank >= static_cast<int64_t>(programOf.size()))
          return checkAlike(program);
        if (programOf[rank])
          return program.emitOpError() << "is for rank " << rank << ", which runs '"
                                       << programOf[rank].getSymName() << "'";
        programOf[rank] = program;
      }
    auto idle = llvm::find(programOf, exec::ProgramOp());
    if (idle != programOf.end())
      return programs.front().emitOpError()
             << "is one of " << programs.size() << " programs, none of which is for rank "
             << idle - programOf.begin();
    return success();
  }

  // Once for lists that many instructions are over.
  LogicalResult checkLists(exec::ProgramOp program) {
    llvm::SmallDenseSet<Attribute> checked;
    WalkResult result = program.walk([&](exec::InstructionOpInterface op) {
      auto over = op->getAttrOfType<exec::RanksAttr>("over");
      if (!over || !checked.insert(over).second)
        return WalkResult::advance();
      llvm::DenseSet<int64_t> members(over.getMembers().begin(), over.getMembers().end());
      for (int64_t rank : over.getMembers())
        if (rank >= program.getNumRanks()) {
          op->emitOpError() << "is over '" << over.getName() << "' with rank " << rank
                            << "; the mesh has " << program.getNumRanks();
          return WalkResult::interrupt();
        }
      for (int64_t rank : program.getClass())
        if (!members.contains(rank)) {
          op->emitOpError() << "is over '" << over.getName() << "', in which rank " << rank
                            << " of the program has no list";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  SmallVector<exec::ProgramOp> programs;
};

struct VerifyPrograms : dtc::impl::VerifyProgramsBase<VerifyPrograms> {
  void runOnOperation() override {
    auto programs = llvm::to_vector(getOperation().getOps<exec::ProgramOp>());
    if (failed(ProgramsVerifier(programs).run()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
