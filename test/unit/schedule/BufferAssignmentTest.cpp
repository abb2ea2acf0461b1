// Tests of passes/schedule/BufferAssignment.
#include "passes/schedule/BufferAssignment.h"

#include <gtest/gtest.h>

using namespace dtc;

namespace {
// A program of 64-byte buffers.
struct Program : AccessList {
  unsigned add(bool persistent = false, int64_t bytes = 64) {
    buffers.push_back({bytes, persistent});
    return buffers.size() - 1;
  }
  unsigned addSum() {
    buffers.push_back({.bytes = 64, .carried = true});
    return buffers.size() - 1;
  }
  Use whole(unsigned buffer) { return {buffer, 0, buffers[buffer].bytes}; }
  unsigned run(std::initializer_list<unsigned> reads, std::initializer_list<unsigned> writes,
               std::initializer_list<std::pair<unsigned, unsigned>> inPlace = {}) {
    Instruction instruction;
    for (unsigned buffer : reads)
      instruction.reads.push_back(whole(buffer));
    for (unsigned buffer : writes)
      instruction.writes.push_back(whole(buffer));
    instruction.inPlace = inPlace;
    instructions.push_back(instruction);
    return instructions.size() - 1;
  }
  unsigned copy(Use from, Use to) {
    Instruction instruction;
    instruction.reads.push_back(from);
    instruction.writes.push_back(to);
    instruction.isCopy = true;
    instructions.push_back(instruction);
    return instructions.size() - 1;
  }
  unsigned copy(unsigned from, unsigned to) { return copy(whole(from), whole(to)); }
};
} // namespace

TEST(BufferAssignment, UpdatesAParameterInPlace) {
  Program program;
  unsigned p = program.add(/*persistent=*/true), g = program.add(), next = program.add();
  program.run({}, {g});
  program.run({p, g}, {next}, {{0, 0}});
  unsigned copy = program.copy(next, p);
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_EQ(assignment.getLocation(next).buffer, p);
  EXPECT_EQ(assignment.getLocation(g).buffer, g);
  EXPECT_TRUE(assignment.isRedundant(copy));
}

TEST(BufferAssignment, KeepsMemoriesApart) {
  Program program;
  unsigned p = program.add(/*persistent=*/true), next = program.add();
  program.buffers[next].host = true;
  program.run({}, {next});
  unsigned copy = program.copy(next, p);
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_EQ(assignment.getLocation(next).buffer, next);
  EXPECT_FALSE(assignment.isRedundant(copy));
}

// Without the pair the producer could write an element before it has read the old values that it
// needs.
TEST(BufferAssignment, KeepsTheCopyWhereTheProducerMayNotOverwrite) {
  Program program;
  unsigned p = program.add(true), next = program.add();
  program.run({p}, {next});
  unsigned copy = program.copy(next, p);
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_EQ(assignment.getLocation(next).buffer, next);
  EXPECT_FALSE(assignment.isRedundant(copy));
}

TEST(BufferAssignment, KeepsTheCopyWhereTheOldValueIsReadLater) {
  Program program;
  unsigned p = program.add(true), next = program.add(), other = program.add();
  program.run({p}, {next}, {{0, 0}});
  program.run({p}, {other});
  unsigned copy = program.copy(next, p);
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_FALSE(assignment.isRedundant(copy));
}

TEST(BufferAssignment, LetsTheSourceBeReadAfterTheCopyWhileNothingChanges) {
  Program program;
  unsigned value = program.add(), sum = program.add(), out = program.add();
  program.run({}, {value});
  unsigned copy = program.copy(value, sum);
  program.run({value}, {out});
  program.run({out}, {sum});
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_TRUE(assignment.isRedundant(copy));
}

TEST(BufferAssignment, KeepsTheCopyWhereTheDestinationChangesFirst) {
  Program program;
  unsigned value = program.add(), sum = program.add(), out = program.add();
  program.run({}, {value});
  unsigned copy = program.copy(value, sum);
  program.run({}, {sum});
  program.run({value}, {out});
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_FALSE(assignment.isRedundant(copy));
}

TEST(BufferAssignment, KeepsTheCopyWhereTheSourceChangesAfterIt) {
  Program program;
  unsigned value = program.add(), saved = program.add(), out = program.add();
  program.run({}, {value});
  unsigned copy = program.copy(value, saved);
  program.run({}, {value});
  program.run({saved, value}, {out});
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_FALSE(assignment.isRedundant(copy));
}

TEST(BufferAssignment, MakesThePartsOfAConcatenationInIt) {
  Program program;
  unsigned a = program.add(), b = program.add(), all = program.add(false, 128);
  program.run({}, {a});
  program.run({}, {b});
  program.copy(program.whole(a), {all, 0, 64});
  unsigned copy = program.copy(program.whole(b), {all, 64, 64});
  program.run({all}, {});
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_EQ(assignment.getLocation(a).buffer, all);
  EXPECT_EQ(assignment.getLocation(b).buffer, all);
  EXPECT_EQ(assignment.getLocation(b).offset, 64);
  EXPECT_TRUE(assignment.isRedundant(copy));
}

// One value cannot be in both places.
TEST(BufferAssignment, KeepsOneOfTwoCopiesOfAValue) {
  Program program;
  unsigned value = program.add(), x = program.add(true), y = program.add(true);
  program.run({}, {value});
  unsigned first = program.copy(value, x), second = program.copy(value, y);
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_NE(assignment.isRedundant(first), assignment.isRedundant(second));
}

// A copy from one kept buffer to another has no producer that could write elsewhere.
TEST(BufferAssignment, KeepsACopyOfWhatWasNotMadeHere) {
  Program program;
  unsigned x = program.add(true), y = program.add(true), never = program.add();
  unsigned first = program.copy(x, y), second = program.copy(never, y);
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_FALSE(assignment.isRedundant(first));
  EXPECT_FALSE(assignment.isRedundant(second));
}

TEST(BufferAssignment, ChainsInPlaceResults) {
  Program program;
  unsigned a = program.add(), b = program.add(), c = program.add();
  program.run({}, {a});
  program.run({a}, {b}, {{0, 0}});
  program.run({b}, {c}, {{0, 0}});
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_EQ(assignment.getLocation(b).buffer, a);
  EXPECT_EQ(assignment.getLocation(c).buffer, a);
}

TEST(BufferAssignment, DoesNotOverwriteAnOperandThatLivesOn) {
  Program program;
  unsigned a = program.add(), b = program.add();
  program.run({}, {a});
  program.run({a}, {b}, {{0, 0}});
  program.run({a, b}, {});
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_EQ(assignment.getLocation(b).buffer, b);
}

TEST(BufferAssignment, GivesAnOperandToOneResultOnly) {
  Program program;
  unsigned a = program.add(), b = program.add(), c = program.add();
  program.run({}, {a});
  program.run({a}, {b, c}, {{0, 0}, {1, 0}});
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_EQ(assignment.getLocation(b).buffer, a);
  EXPECT_EQ(assignment.getLocation(c).buffer, c);
}

// The same tensor is also an operand that is read in another order.
TEST(BufferAssignment, LooksAtEveryOperandOfTheInstruction) {
  Program program;
  unsigned a = program.add(), b = program.add();
  program.run({}, {a});
  program.run({a, a}, {b}, {{0, 0}});
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_EQ(assignment.getLocation(b).buffer, b);
}

TEST(BufferAssignment, NeverOverwritesWhatIsKept) {
  Program program;
  unsigned p = program.add(true), b = program.add();
  program.run({p}, {b}, {{0, 0}});
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_EQ(assignment.getLocation(b).buffer, b);
}

// Another run would compute it where the sum has grown.
TEST(BufferAssignment, MakesNoValueOfEveryRunWhereASumGrows) {
  Program program;
  unsigned value = program.add(), sum = program.addSum();
  program.instructions[program.run({}, {value})].isRepeated = true;
  unsigned copy = program.copy(value, sum);
  BufferAssignment assignment(program);
  assignment.run();
  EXPECT_FALSE(assignment.isRedundant(copy));
}

// The runs before the last have left the sum there when the last one starts.
TEST(BufferAssignment, MovesNoSumToWhatIsUsedBeforeItsFirstAddend) {
  for (bool isUsed : {false, true}) {
    Program program;
    unsigned sum = program.addSum(), out = program.add();
    if (isUsed)
      program.run({}, {out});
    program.instructions[program.run({}, {sum})].isRepeated = true;
    unsigned copy = program.copy(sum, out);
    BufferAssignment assignment(program);
    assignment.run();
    EXPECT_EQ(assignment.isRedundant(copy), !isUsed);
  }
}

TEST(BufferAssignment, OverwritesASumWithNothingThatEveryRunMakes) {
  for (bool isRepeated : {false, true}) {
    Program program;
    unsigned sum = program.addSum(), result = program.add();
    program.run({}, {sum});
    program.instructions[program.run({sum}, {result}, {{0, 0}})].isRepeated = isRepeated;
    BufferAssignment assignment(program);
    assignment.run();
    EXPECT_EQ(assignment.getLocation(result).buffer, isRepeated ? result : sum);
  }
}
