// Finds buffers of a program that can share memory.
#pragma once

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace dtc {

// The accesses of a program: buffers and instructions are numbers, in program order.
struct AccessList {
  // A buffer of the program.
  struct Buffer {
    int64_t bytes;
    bool persistent = false; // contents matter before and after the program
    bool carried = false;    // a sum, live from before the first instruction
    bool host = false;       // in host memory; buffers of two memories are never merged
  };
  // A range of bytes of a buffer.
  struct Use {
    unsigned buffer;
    int64_t offset, bytes;
  };
  // An instruction and its accesses.
  struct Instruction {
    llvm::SmallVector<Use, 4> reads, writes;
    llvm::SmallVector<std::pair<unsigned, unsigned>, 2>
        inPlace;             // pairs (index in writes, index in reads) that may share memory
    bool isCopy = false;     // writes[0] becomes all of reads[0], and nothing else happens
    bool isRepeated = false; // runs several times; sums grow in each run
  };
  std::vector<Buffer> buffers;
  std::vector<Instruction> instructions;
};

// Finds for each buffer the location in which it can live. Steps:
// 1. Copies, last first: the source becomes a part of the destination, so that its producer writes
// directly to the destination. Requirements: that part of the destination is unused while the
// source is live (except as an in-place operand of the producer), and after the copy the source is
// only read, before the destination changes. A source that every run makes again does not go into a
// growing sum.
// 2. In-place pairs, first to last: a result takes the buffer of an operand that is not read later.
// 3. Copies whose source and destination are now the same are redundant.
//
// Example: p' = adamw(p, g) in place; copy p' to p. Step 1 gives p' the memory of p; the copy is
// redundant.
class BufferAssignment {
public:
  explicit BufferAssignment(const AccessList &program);
  // Runs the steps above; must be called once, before the getters.
  void run();

  // The location of a buffer: an offset in bytes in another buffer.
  struct Location {
    unsigned buffer; // the buffer itself unless it is now part of another
    int64_t offset;
  };
  // Returns the location of a buffer.
  Location getLocation(unsigned buffer) const;
  // True if the instruction is a copy whose source and destination are the same.
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
  // Returns a use as one of the buffer that holds it, with its offset there.
  AccessList::Use resolve(const AccessList::Use &use) const;
  bool inOneMemory(unsigned a, unsigned b) const {
    return program.buffers[a].host == program.buffers[b].host;
  }
  void join(unsigned from, unsigned into, int64_t offset);

  const AccessList &program;
  std::vector<Location> locations;
  std::vector<bool> carried;
  // per buffer that is its own location, ordered by instruction
  std::vector<std::vector<Access>> accesses;
};

} // namespace dtc
