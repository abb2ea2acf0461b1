// Tests several programs that send to each other: each corruption of a good file is named, and the
// verifier decides exactly whether any rank could wait forever.
#include "runtime/format/MeshGroups.h"
#include "runtime/format/Verify.h"
#include "test/unit/format/Sample.h"

#include <gtest/gtest.h>

#include <functional>

namespace dtc::format {
namespace {

using Mesh = std::vector<std::pair<std::string, uint32_t>>;

// Programs built instruction by instruction, all with the same groups.
class Job {
public:
  Job(const Mesh &mesh, std::vector<uint32_t> rankProgram, uint32_t streams = 1)
      : builder(mesh), streams(streams) {
    builder.manifest.rank_program = std::move(rankProgram);
    builder.manifest.programs.clear();
  }

  uint32_t group(uint32_t size, std::vector<uint32_t> ranks) {
    auto group = std::make_unique<GroupT>();
    group->name = "pair";
    group->size = size;
    group->ranks = std::move(ranks);
    builder.manifest.groups.push_back(std::move(group));
    return static_cast<uint32_t>(builder.manifest.groups.size() - 1);
  }
  uint32_t group(const std::vector<uint32_t> &axes) { return builder.group(axes); }

  // Starts a program with one task `name`, to which send, receive and collective() then add.
  void program(const std::string &name) {
    test::ProgramBuilder made({});
    builder.manifest.programs.push_back(std::make_unique<ProgramT>(std::move(made.program())));
    last().tasks[0]->name = name;
    last().num_streams = streams;
    buffer = addBuffer(DType::f32);
  }
  uint32_t addBuffer(DType type) {
    auto made = std::make_unique<BufferT>();
    made->offset = last().arena_bytes;
    made->bytes = 8 * (type == DType::i64 ? 8 : 4);
    made->dtype = type;
    last().arena_bytes += 64;
    last().buffers.push_back(std::move(made));
    return static_cast<uint32_t>(last().buffers.size() - 1);
  }

  TransferT &send(uint32_t group, uint32_t shift, uint8_t stream = 0) {
    return add(test::transfer(TransferKind::send, group, shift, buffer, 8), stream);
  }
  TransferT &receive(uint32_t group, uint32_t shift, uint8_t stream = 0) {
    return add(test::transfer(TransferKind::receive, group, shift, buffer, 8), stream);
  }
  void collective(uint32_t group, uint8_t stream = 0) {
    push(test::collective(CollectiveKind::all_reduce, group, buffer, buffer, 8), stream);
  }

  ProgramT &last() { return *builder.manifest.programs.back(); }
  ManifestT &manifest() { return builder.manifest; }

  std::string verify() {
    builder.file(); // sets what follows from the rest
    flatbuffers::FlatBufferBuilder encoder;
    FinishManifestBuffer(encoder, CreateManifest(encoder, &builder.manifest));
    return verifyManifest(*GetManifest(encoder.GetBufferPointer()), "m.dte").message();
  }

private:
  template <typename OpT> InstructionT &push(OpT op, uint8_t stream) {
    auto instruction = std::make_unique<InstructionT>();
    instruction->op.Set(std::move(op));
    instruction->stream = stream;
    auto &instructions = last().tasks[0]->instructions;
    instructions.push_back(std::move(instruction));
    return *instructions.back();
  }
  TransferT &add(TransferT op, uint8_t stream) {
    return *push(std::move(op), stream).op.AsTransfer();
  }

  test::ProgramBuilder builder;
  uint32_t streams, buffer = 0;
};

// Returns two stages on two ranks each: stage 0 sends to the rank of its position in stage 1, and
// gets an answer.
Job twoStages() {
  Job job({{"pp", 2}, {"dp", 2}}, {0, 0, 1, 1});
  uint32_t pair = job.group(2, {0, 2, 1, 3});
  job.program("first");
  job.send(pair, 1);
  job.receive(pair, 1);
  job.program("second");
  job.receive(pair, 1);
  job.send(pair, 1);
  return job;
}

TransferT &transferOf(ManifestT &m, size_t program, size_t instruction) {
  return *m.programs[program]->tasks[0]->instructions[instruction]->op.AsTransfer();
}

struct Corruption {
  const char *name;
  std::function<void(ManifestT &)> apply;
  const char *message;
};
// Prints the name for GoogleTest. NOLINTNEXTLINE(readability-identifier-naming)
void PrintTo(const Corruption &corruption, std::ostream *out) { *out << corruption.name; }

class TransferCorruption : public testing::TestWithParam<Corruption> {};

TEST_P(TransferCorruption, IsNamed) {
  Job job = twoStages();
  ASSERT_EQ(job.verify(), "");
  GetParam().apply(job.manifest());
  std::string message = job.verify();
  EXPECT_NE(message.find(GetParam().message), std::string::npos) << message;
  EXPECT_EQ(message.find("m.dte: "), 0u) << message;
}

const Corruption corruptions[] = {
    {"Kind", [](ManifestT &m) { transferOf(m, 0, 0).kind = static_cast<TransferKind>(2); },
     "transfer of tensors of stages over pair 'y': kind is 2, role 4; at least one of these is "
     "unknown to this version"},
    {"Role", [](ManifestT &m) { transferOf(m, 0, 0).role = static_cast<CollectiveRole>(9); },
     "send of something over pair 'y': kind is 0, role 9"},
    {"Name", [](ManifestT &m) { transferOf(m, 1, 0).name = "a\nb"; },
     "the name of a transfer contains a control character"},
    {"Group", [](ManifestT &m) { transferOf(m, 0, 0).group = 1; },
     "program 0: task 'first', instruction 0, send of tensors of stages over a group that is not "
     "there 'y': the group is 1, there are 1"},
    {"RankWithoutList",
     [](ManifestT &m) {
       m.groups[0]->ranks = {0, 2};
     },
     "not all ranks of the program are in the group"},
    {"PeerIsItself", [](ManifestT &m) { transferOf(m, 0, 0).shift = 0; },
     "its peer is 0 places further in a list of 2, wanted another rank of the list"},
    {"PeerOutside", [](ManifestT &m) { transferOf(m, 0, 0).shift = 2; },
     "its peer is 2 places further in a list of 2"},
    {"Buffer", [](ManifestT &m) { transferOf(m, 0, 0).buffer = 7; },
     "'buffer' is buffer 7, there are 1"},
    {"Count", [](ManifestT &m) { transferOf(m, 0, 0).count = 9; },
     "of 32 bytes, wanted at least 36"},
    {"CountNone", [](ManifestT &m) { transferOf(m, 0, 0).count = 0; }, "'count' is 0"},
    {"Type", [](ManifestT &m) { transferOf(m, 0, 0).dtype = DType::i32; }, "of f32, wanted i32"},
    {"CountsDiffer", [](ManifestT &m) { transferOf(m, 1, 1).count = 4; },
     "program 0: task 'first', micro-batch 0, instruction 1, receive of tensors of stages over "
     "pair "
     "'y': it moves 8 of f32 between ranks 0 and 2, but what it meets, program 1: task 'second', "
     "micro-batch 0, instruction 1, send of tensors of stages over pair 'y', moves 4 of f32"},
    {"TypesDiffer",
     [](ManifestT &m) {
       m.programs[1]->buffers[0]->dtype = DType::i32;
       transferOf(m, 1, 0).dtype = transferOf(m, 1, 1).dtype = DType::i32;
     },
     "it moves 8 of f32 between ranks 0 and 2"},
    {"NoReceive",
     [](ManifestT &m) {
       auto &instructions = m.programs[1]->tasks[0]->instructions;
       instructions.erase(instructions.begin());
     },
     "in entry 'train' rank 0 of program 0 sends 1 to rank 2 over 'pair', but rank 2 of "
     "program 1 receives 0"},
    {"NoSend", [](ManifestT &m) { m.programs[1]->tasks[0]->instructions.pop_back(); },
     "rank 0 of program 0 receives 1 from rank 2 over 'pair', but rank 2 of program 1 "
     "sends 0"},
    // If one side does something twice, a side that does nothing must notice it, too.
    {"SendTooMuch",
     [](ManifestT &m) {
       m.programs[0]->tasks[0]->instructions.clear();
       m.programs[1]->tasks[0]->instructions.pop_back();
     },
     "rank 2 of program 1 receives 1 from rank 0 over 'pair', but rank 0 of program 0 "
     "sends 0"},
    {"TwoStreams",
     [](ManifestT &m) {
       m.programs[0]->num_streams = 2;
       auto &instructions = m.programs[0]->tasks[0]->instructions;
       instructions.push_back(std::make_unique<InstructionT>(*instructions[0]));
       instructions.back()->stream = 1;
     },
     "instruction 2, send of tensors of stages over pair 'y': it is on stream 1 and one before it "
     "on "
     "stream 0, wanted one stream for all to or from one rank"},
    {"BothSendFirst",
     [](ManifestT &m) {
       auto &instructions = m.programs[1]->tasks[0]->instructions;
       std::swap(instructions[0], instructions[1]);
     },
     "entry 'train', program 0: task 'first', micro-batch 0, instruction 0, send of tensors of "
     "stages over pair 'y': stream 0 of rank 0 would wait here forever for rank 2, which waits in "
     "program 1: task 'second', micro-batch 0, instruction 0, send of tensors of stages over pair "
     "'y'; recompile with dtc"},
};

INSTANTIATE_TEST_SUITE_P(Verify, TransferCorruption, testing::ValuesIn(corruptions),
                         [](const auto &info) { return std::string(info.param.name); });

// Each rank sends to the next one and receives from the one before, all in one program: on one
// stream every rank would wait in its send.
TEST(VerifyTransfers, DecidesRings) {
  auto ring = [](uint8_t streamOfSends) {
    Job job({{"cp", 5}}, {0, 0, 0, 0, 0}, /*streams=*/2);
    uint32_t all = job.group({0});
    job.program("ring");
    job.collective(all);
    job.send(all, 1, streamOfSends);
    job.receive(all, 4);
    return job.verify();
  };
  EXPECT_NE(ring(0).find("stream 0 of rank 0 would wait here forever for rank 0, which waits in"),
            std::string::npos)
      << ring(0);
  EXPECT_EQ(ring(1), "");
}

// Ranks of one program that meet different ranks are told apart: the middle stages of a pipeline
// pass on what they get, and the first one does so earlier than the second.
TEST(VerifyTransfers, TellsStagesOfOneProgramApart) {
  auto pipeline = [](bool sendFirst) {
    Job job({{"pp", 4}, {"dp", 2}}, {0, 0, 1, 1, 1, 1, 2, 2});
    uint32_t all = job.group({0});
    job.program("first");
    job.send(all, 1);
    job.receive(all, 1);
    job.program("middle");
    if (sendFirst)
      job.send(all, 1);
    job.receive(all, 3);
    if (!sendFirst)
      job.send(all, 1);
    job.receive(all, 1);
    job.send(all, 3);
    job.program("last");
    job.receive(all, 3);
    job.send(all, 3);
    return job.verify();
  };
  EXPECT_EQ(pipeline(false), "");
  // The second middle stage can send at once, but the first one's receiver is not ready.
  EXPECT_EQ(pipeline(true), "");
}

// Two programs meet the two ranks of a program in different lists. Only if these ranks are told
// apart is it clear that nobody waits for both.
TEST(VerifyTransfers, WaitsForTheRanksOfItsOwnListAlone) {
  auto job = [](bool crossed) {
    Job job({{"dp", 4}}, {0, 0, 1, 2});
    uint32_t lists = job.group(2, {0, 2, 1, 3}), both = job.group(2, {2, 3});
    job.program("alike");
    job.collective(lists);
    job.program("meets, then both");
    job.collective(crossed ? both : lists);
    job.collective(crossed ? lists : both);
    job.program("both, then meets");
    job.collective(both);
    job.collective(lists);
    return job.verify();
  };
  EXPECT_EQ(job(false), "");
  EXPECT_EQ(job(true), "");
}

// Each of three stages waits for the next one before it answers the last.
TEST(VerifyTransfers, FindsCyclesThroughManyRanks) {
  Job job({{"pp", 3}}, {0, 1, 2});
  uint32_t all = job.group({0});
  for (const char *name : {"a", "b", "c"}) {
    job.program(name);
    job.send(all, 1);
    job.receive(all, 2);
  }
  EXPECT_NE(
      job.verify().find("stream 0 of rank 0 would wait here forever for rank 1, which waits in "
                        "program 1: task 'b', micro-batch 0, instruction 0, send"),
      std::string::npos)
      << job.verify();
  std::swap(job.last().tasks[0]->instructions[0], job.last().tasks[0]->instructions[1]);
  EXPECT_EQ(job.verify(), "");
}

// One stage is two micro-batches ahead. The message names the one that waits.
TEST(VerifyTransfers, NamesTheMicroBatch) {
  Job job({{"pp", 2}}, {0, 1});
  uint32_t all = job.group({0});
  job.manifest().num_micro_batches = 2;
  auto stage = [&](const char *name, bool first, std::vector<format::Run> order) {
    job.program(name);
    job.last().tasks.push_back(std::make_unique<TaskT>());
    job.last().tasks[1]->name = "back";
    if (first)
      job.send(all, 1);
    else
      job.receive(all, 1);
    std::swap(job.last().tasks[0], job.last().tasks[1]);
    if (first)
      job.receive(all, 1);
    else
      job.send(all, 1);
    std::swap(job.last().tasks[0], job.last().tasks[1]);
    job.last().entries[0]->order = std::move(order);
  };
  stage("forth", true,
        {format::Run(0, 0), format::Run(0, 1), format::Run(1, 0), format::Run(1, 1)});
  stage("there", false,
        {format::Run(0, 0), format::Run(1, 0), format::Run(0, 1), format::Run(1, 1)});
  EXPECT_NE(job.verify().find("program 0: task 'forth', micro-batch 1, instruction 0, send"),
            std::string::npos)
      << job.verify();
  job.manifest().programs[0]->entries[0]->order = {format::Run(0, 0), format::Run(1, 0),
                                                   format::Run(0, 1), format::Run(1, 1)};
  EXPECT_EQ(job.verify(), "");
}

// If two programs have a tensor of one name, it must be the same, because it is initialised, saved
// and read once.
TEST(VerifyAcross, ComparesWhatProgramsShare) {
  auto message = [](const std::function<void(ProgramT &)> &change) {
    Job job = twoStages();
    for (std::unique_ptr<ProgramT> &program : job.manifest().programs) {
      test::ProgramBuilder sample({{"pp", 2}, {"dp", 2}});
      sample.parameter("w", {4}, false, 0, 1);
      uint32_t x = sample.buffer("x", 4);
      sample.input("x", x, DType::f32, {1, 2, 2});
      sample.program().inputs[0]->shards.clear();
      auto gradient = std::make_unique<TensorT>(*sample.program().parameters[0]);
      gradient->buffer = 1 + sample.buffer("grad w", 4);
      program->gradients.push_back(std::move(gradient));
      sample.program().parameters.swap(program->parameters);
      sample.program().inputs.swap(program->inputs);
      uint64_t begin = program->arena_bytes;
      for (auto &buffer : sample.program().buffers) {
        buffer->offset += begin;
        program->buffers.push_back(std::move(buffer));
      }
      program->parameters[0]->buffer += 1;
      program->inputs[0]->buffer += 1;
      program->arena_bytes += sample.program().arena_bytes;
    }
    job.manifest().micro_batch = job.manifest().global_batch = 2;
    change(*job.manifest().programs[1]);
    return job.verify();
  };
  EXPECT_EQ(message([](ProgramT &) {}), "");
  EXPECT_NE(message([](ProgramT &p) {
              p.parameters[0]->init_key = 9;
            }).find("parameter 'w' of program 1 is another one than that of program 0"),
            std::string::npos);
  EXPECT_NE(message([](ProgramT &p) {
              p.parameters[0]->stored_shape = {2, 2};
            }).find("parameter 'w' of program 1 is another one"),
            std::string::npos);
  auto narrow = [](ProgramT &p, TensorT &tensor) {
    tensor.dtype = p.buffers[tensor.buffer]->dtype = DType::bf16;
  };
  EXPECT_NE(message([&](ProgramT &p) {
              narrow(p, *p.parameters[0]);
            }).find("parameter 'w' of program 1 is another one"),
            std::string::npos);
  EXPECT_EQ(message([&](ProgramT &p) { narrow(p, *p.gradients[0]); }), "");
  EXPECT_NE(message([](ProgramT &p) {
              p.gradients[0]->stored_shape = {2, 2};
            }).find("gradient 'w' of program 1 is another one"),
            std::string::npos);
  EXPECT_NE(message([](ProgramT &p) {
              p.inputs[0]->sample_shape = {2, 1};
              p.inputs[0]->shape = {1, 2, 2, 1};
            }).find("input 'x' of program 1 is another one than that of program 0"),
            std::string::npos);
}

// The work of the check does not grow with the ranks of a stage.
TEST(VerifyTransfers, TakesAQuarterOfAMillionRanks) {
  constexpr uint32_t stages = 4, width = 1 << 16;
  std::vector<uint32_t> rankProgram;
  for (uint32_t rank = 0; rank < stages * width; ++rank)
    rankProgram.push_back(rank / width);
  Job job({{"pp", stages}, {"dp", width}}, rankProgram);
  uint32_t along = job.group({0}), within = job.group({1});
  for (uint32_t stage = 0; stage < stages; ++stage) {
    job.program("stage");
    if (stage > 0)
      job.receive(along, stages - 1);
    if (stage + 1 < stages)
      job.send(along, 1);
    job.collective(within);
  }
  EXPECT_EQ(job.verify(), "");
}

// In a list in which every rank has another position, there are as many kinds of ranks as ranks.
TEST(VerifyTransfers, GivesUpOnThousandsOfDifferentRanks) {
  auto chain = [](uint32_t ranks) {
    std::vector<uint32_t> rankProgram(ranks, 1);
    rankProgram[0] = 0;
    rankProgram[ranks - 1] = 2;
    Job job({{"pp", ranks}}, rankProgram);
    uint32_t all = job.group({0});
    job.program("first");
    job.send(all, 1);
    job.program("middle");
    job.receive(all, ranks - 1);
    job.send(all, 1);
    job.program("last");
    job.receive(all, ranks - 1);
    return job.verify();
  };
  EXPECT_EQ(chain(200), "");
  EXPECT_NE(chain(2500).find("more than 1024 ranks meet unlike others"), std::string::npos)
      << chain(2500);
}

} // namespace
} // namespace dtc::format
