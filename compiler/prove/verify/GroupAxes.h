// Mesh axes along which the collectives of a group make values equal.
#pragma once

#include "compiler/prove/verify/Accesses.h"
#include "runtime/format/RankMesh.h"

#include <map>
#include <string>
#include <vector>

namespace dtc {

// Relates the communication groups of a file to the mesh axes of its programs.
class GroupAxes {
public:
  explicit GroupAxes(const format::Manifest &manifest);

  // Axes on which ranks of a program differ.
  AxisSet varying(uint32_t program) const { return ofPrograms[program]; }
  // Axes that every list of the group has all coordinates of, as far as ranks of the program go:
  // what is the same on all ranks of each list is the same along these axes.
  AxisSet joined(uint32_t group, uint32_t program) const;
  // Axes on which ranks of the program differ within a list.
  AxisSet spread(uint32_t group, uint32_t program) const;
  // Programs of which a list has ranks, where it has one of `program`, ascending.
  const std::vector<uint32_t> &met(uint32_t group, uint32_t program) const;
  // Programs of the ranks that those of `program` send to by `shift`.
  const std::vector<uint32_t> &peers(uint32_t group, uint32_t shift, uint32_t program) const {
    return waysOf(group, shift)[program].peers;
  }
  // Axes on which ranks of a program and those that they send to by `shift` differ.
  AxisSet crossed(uint32_t group, uint32_t shift, uint32_t program) const {
    return waysOf(group, shift)[program].crossed;
  }
  // Returns true if every list of the group has its ranks in ascending mesh order.
  bool ascends(uint32_t group) const { return factsOf(group).ascends; }

private:
  struct OfProgram {
    AxisSet joined = 0, spread = 0;
    bool any = false;
    std::vector<uint32_t> met;
  };
  struct Facts {
    std::vector<OfProgram> programs;
    bool ascends = true;
  };
  // The receivers of a program's ranks for one shift.
  struct Way {
    std::vector<uint32_t> peers;
    AxisSet crossed = 0;
  };
  const Facts &factsOf(uint32_t group) const;
  const std::vector<Way> &waysOf(uint32_t group, uint32_t shift) const; // per program
  AxisSet differing(uint32_t a, uint32_t b) const;

  const format::Manifest &manifest;
  format::RankMesh mesh;
  std::vector<AxisSet> ofPrograms;
  // Computed on first use, as each entry takes a pass over all ranks.
  mutable std::map<uint32_t, Facts> groups;
  mutable std::map<std::pair<uint32_t, uint32_t>, std::vector<Way>> ways; // key: group and shift
};

// "dp and tp"
std::string axisNames(const format::Manifest &manifest, AxisSet axes);

} // namespace dtc
