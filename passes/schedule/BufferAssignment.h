// Decides which buffers of a program can be one.
#pragma once

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace dtc {

// A program as far as sharing memory is concerned: buffers and instructions are numbers, in program
// order.
struct AccessList {
  struct Buffer {
    int64_t bytes;
    bool persistent = false; // contents matter before and after the program
    bool carried = false;    // a sum, live from before the first instruction on
    bool host = false;       // buffers of two memories are never one
  };
  struct Use {
    unsigned buffer;
    int64_t offset, bytes;
  };
  struct Instruction {
    llvm::SmallVector<Use, 4> reads, writes;
    llvm::SmallVector<std::pair<unsigned, unsigned>, 2>
        inPlace;             // (index in writes, index in reads) may be one memory
    bool isCopy = false;     // writes[0] becomes all of reads[0], and nothing else happens
    bool isRepeated = false; // runs several times, in which sums grow
  };
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;
};

// Steps:
// 1. Copies, last first: the source is made a part of the destination, so that its producer writes
//    where the copy would have put it. This needs: no one uses that part of the destination while
//    the source is live (but an in-place operand of the producer), and what is left of the source
//    after the copy is only read, before the destination changes. What is made again in every run
//    does not go where a sum grows.
// 2. In-place pairs, first to last: a result takes the buffer of an operand that dies there.
// 3. Copies whose source has come to be their destination are redundant.
//
// Example: p' = adamw(p, g) in place; copy p' to p. Step 1 gives p' the memory of p; the copy is
// redundant.
class BufferAssignment {
public:
  explicit BufferAssignment(const AccessList &program);
  void run();

  struct Place {
    unsigned buffer; // itself unless it is now part of another
    int64_t offset;
  };
  Place getPlace(unsigned buffer) const;
  bool isRedundant(unsigned instruction) const;

private:
  struct Access {
    unsigned instruction;
    bool write;
    unsigned index; // in reads or writes of the instruction
    int64_t begin, end;
  };

  bool joinCopy(unsigned instruction);
  bool joinInPlace(unsigned instruction, unsigned write, unsigned read);
  bool mayShare(unsigned instruction, const Access &write, const Access &read) const;
  bool inPlaceAt(unsigned instruction, const std::vector<Access> &source,
                 const Access &destination) const;
  // Where a use lies once its buffer's place is followed.
  AccessList::Use resolve(const AccessList::Use &use) const;
  bool inOneMemory(unsigned a, unsigned b) const {
    return program.buffers[a].host == program.buffers[b].host;
  }
  void join(unsigned from, unsigned into, int64_t offset);

  const AccessList &program;
  std::vector<Place> places;
  std::vector<bool> carried;
  std::vector<std::vector<Access>> accesses; // of buffers that are their own place, by instruction
};

} // namespace dtc
