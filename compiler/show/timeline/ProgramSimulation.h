// A training step of an executable, instruction by instruction, with seconds in place of work.
#pragma once

#include "compiler/show/simulate/Trace.h"
#include "compiler/show/timeline/InstructionCost.h"

namespace dtc {

// An instruction as it ran: which, in what run of its task.
struct SimulatedRun {
  int task = 0; // index of the task in the simulation
  uint32_t ofTask = 0, instruction = 0, layer = 0, microBatch = 0;
  uint8_t stream = 0;
};

// The timeline of one rank that stands for all ranks that behave equally.
struct SimulatedClass {
  uint32_t program = 0, rank = 0;
  uint64_t ranks = 0;
  std::vector<SimulatedRun> runs; // in the order in which the host enqueues them
  double computeSeconds = 0;      // on stream 0
  // Communication, with its packing, that stream 0 does itself or stands still for.
  double exposedSeconds = 0;
  double idleSeconds = 0; // stream 0, for other ranks: the rest of the step
  uint64_t arenaBytes = 0, hostBytes = 0;
  int64_t peakLiveBytes = 0; // live bytes at the peak: at most the arena's
};

// The simulated step of a program.
struct ProgramSimulation {
  Simulation simulation; // a device a class
  SimResult result;
  std::vector<SimulatedClass> classes;
  std::vector<TraceCounter> memory; // a class each
  double bubbleFraction = 0;        // idle share of all ranks' stream 0
  double exposedFraction = 0;
};

// Runs the entry `train` of a verified manifest: its streams, events, rendezvous of sends and
// receives, collectives that begin when all ranks are there, slots and orders. Communication at one
// level of a rank's links shares it fairly. Errors: those of the simulator.
Result<ProgramSimulation> simulateProgram(const format::Manifest &manifest,
                                          const InstructionCost &cost);

} // namespace dtc
