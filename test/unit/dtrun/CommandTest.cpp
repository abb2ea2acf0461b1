// Tests what a user sees of dtrun: output, files, exit codes.
#include "test/unit/dtrun/DtrunRunner.h"

namespace dtc::rt {
namespace {

using test::hasMpirun;
using test::linesOf;
using test::Result;

class Dtrun : public test::DtrunTest {};

TEST_F(Dtrun, PrintsOneJsonObjectAStep) {
  Result result = run("s1.dte --data synthetic --steps 3 --format json");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(linesOf(result.output), 4u) << result.output;
  EXPECT_EQ(result.output.rfind("{\"data\":{\"files\":[],\"left_out\":[],\"format\":\"synthetic\","
                                "\"tokens\":null,\"samples\":null,\"epochs\":null}}\n"
                                "{\"step\":1,\"loss\":",
                                0),
            0u)
      << result.output;
  EXPECT_NE(result.output.find("{\"step\":3,"), std::string::npos);
}

TEST_F(Dtrun, SameSeedGivesTheSameParameters) {
  EXPECT_EQ(run("s1.dte --data synthetic --steps 2 --seed 5 --dump-params a").exitCode, 0);
  EXPECT_EQ(run("s1.dte --data synthetic --steps 2 --seed 5 --threads 3 --dump-params b").exitCode,
            0);
  EXPECT_EQ(run("s1.dte --data synthetic --steps 2 --seed 6 --dump-params c").exitCode, 0);
  EXPECT_FALSE(test::readBytes(path("a")).empty());
  EXPECT_EQ(test::readBytes(path("a")), test::readBytes(path("b")));
  EXPECT_NE(test::readBytes(path("a")), test::readBytes(path("c")));
}

TEST_F(Dtrun, EndsWithASummaryForPeople) {
  Result result = shell("$DTRUN s1.dte --data synthetic --steps 3 --checkpoint-dir runs | tail -1");
  EXPECT_EQ(result.output.rfind("3 steps in ", 0), 0u) << result.output;
  EXPECT_NE(result.output.find("; checkpoint runs/step-3\n"), std::string::npos) << result.output;
  // A run with no steps left has no step to sum up.
  result = shell("$DTRUN s1.dte --data synthetic --steps 3 --checkpoint-dir runs --resume");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(result.output.find(" steps in "), std::string::npos) << result.output;
  result =
      shell("$DTRUN s1.dte --data synthetic --steps 100000000 --checkpoint-dir stopped > out & "
            "until grep -q '^step ' out; do sleep 0.05; done; kill -TERM $!; wait $!; code=$?; "
            "tail -1 out; exit $code");
  EXPECT_EQ(result.exitCode, 143) << result.output;
  EXPECT_NE(result.output.find(" saved in stopped/step-"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("; --resume goes on after it ("), std::string::npos)
      << result.output;
}

TEST_F(Dtrun, ReadsAFileForEachInput) {
  writeSamples("t.npy", 9);
  Result result = run("s1.dte --data tokens=t.npy,targets=t.npy --steps 12 --format json");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(linesOf(result.output), 13u) << result.output;
  // 12 steps of 2 samples read 9 samples 2.67 times.
  EXPECT_NE(result.output.find("{\"data\":{\"files\":[\"t.npy\",\"t.npy\"],\"left_out\":[],"
                               "\"format\":\"npy\",\"tokens\":36,\"samples\":9,"
                               "\"epochs\":2.66666667}}\n"),
            std::string::npos)
      << result.output;
}

TEST_F(Dtrun, InitGoesOnFromADump) {
  EXPECT_EQ(run("s1.dte --data synthetic --steps 0 --seed 5 --dump-params a").exitCode, 0);
  EXPECT_EQ(run("s1.dte --data synthetic --steps 0 --seed 6 --init a --dump-params b").exitCode, 0);
  EXPECT_EQ(test::readBytes(path("a")), test::readBytes(path("b")));
}

TEST_F(Dtrun, WritesLogAndTrace) {
  Result result = run("s1.dte --data synthetic --steps 2 --log-dir logs --profile trace.json");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  std::vector<uint8_t> log = test::readBytes(path("logs/rank-0.jsonl"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2);
  EXPECT_FALSE(test::readBytes(path("trace.json")).empty());
}

TEST_F(Dtrun, SaysWhatIsWrongInOneLine) {
  std::ofstream(path("words")) << "abcdefghijklmnop";
  std::ofstream(path("broken.dte")) << "not a program";
  writeSamples("t.npy", 9);
  writeSamples("short.npy", 8);
  test::ProgramBuilder builder = test::sampleProgram(1, test::readBytes(DTC_SAMPLE_KERNELS));
  builder.program().inputs[0]->name = "images";
  ASSERT_TRUE(test::writeBytes(path("image.dte"), builder.file()).ok());
  const struct {
    const char *arguments, *message;
    int exitCode;
  } cases[] = {
      {"none.dte --data synthetic", "none.dte", 1},
      {"broken.dte --data synthetic", "broken.dte: the file has 13 bytes", 1},
      {"s1.dte --data none", "'none'", 1},
      {"s1.dte --data words", "it is text, and the model's tokens are not bytes: it has 16 ", 1},
      {"s1.dte --data bytes:words", "vocabulary size 16", 1},
      {"s1.dte --data t.npy", "it is a NumPy array of uint8 [9, 4]; name the input", 1},
      {"s1.dte --data tokens=t.npy",
       "--data names no file for input 'targets'; the model reads "
       "'tokens' (i32 [4]) and 'targets' (i32 [4]): --data tokens=PATH.npy,targets=PATH.npy",
       1},
      {"s1.dte --data images=t.npy", "--data names 'images', which is no input", 1},
      {"s1.dte --data tokens=t.npy,targets=short.npy",
       "'t.npy' has 9 samples for input 'tokens' and 'short.npy' has 8 for input 'targets'", 1},
      {"s1.dte --data tokens=words,targets=t.npy", "wanted a .npy file", 1},
      {"image.dte --data synthetic",
       "fills inputs 'tokens' and 'targets' of one length, but the "
       "model reads 'images' (i32 [4]) and 'targets' (i32 [4])",
       1},
      {"s2.dte --data synthetic", "compiled for 2 ranks and the job has 1", 1},
      {"s2.dte -n 3 --data synthetic", "compiled for 2 ranks and the job has 3", 1},
      {"s1.dte --data synthetic --init words", "words", 1},
      {"s1.dte --data synthetic --dump-params none/x", "'none/x': No such file", 1},
      {"s1.dte --data synthetic --dump-grads x", "says of no gradient where it is", 1},
      {"s1.dte --data synthetic --dump-grads x --steps 0", "wants at least 1 of --steps", 2},
      {"s1.dte --data synthetic --resume", "--resume requires --checkpoint-dir", 2},
      {"s1.dte", "--data is required", 2},
  };
  for (const auto &each : cases) {
    Result result = run(each.arguments);
    EXPECT_EQ(result.exitCode, each.exitCode) << each.arguments << "\n" << result.output;
    EXPECT_NE(result.output.find(each.message), std::string::npos) << result.output;
    EXPECT_EQ(linesOf(result.output), 1u) << result.output;
  }
}

// A batch of the sample program is two samples of four tokens.
TEST_F(Dtrun, EvaluatesAllOfItsOwnData) {
  writeProgramThatEvaluates("e1.dte", 1);
  writeSamples("t.npy", 9);
  writeSamples("e.npy", 7);
  const std::string data = "e1.dte --data tokens=t.npy,targets=t.npy --eval-data tokens=e.npy,"
                           "targets=e.npy --format json ";
  Result result = run(data + "--steps 5 --eval-every 2");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(linesOf(result.output), 10u) << result.output;
  EXPECT_NE(result.output.find("{\"eval_data\":{\"files\":[\"e.npy\",\"e.npy\"],\"left_out\":[],"
                               "\"format\":\"npy\",\"tokens\":28,\"samples\":7}}\n"),
            std::string::npos)
      << result.output;
  for (const char *step : {"2", "4", "5"})
    EXPECT_NE(result.output.find(std::string("{\"step\":") + step + ",\"eval_loss\":"),
              std::string::npos)
        << result.output;
  result = run(data + "--steps 5");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(linesOf(result.output), 8u) << "after the last step only: " << result.output;
  EXPECT_NE(result.output.find("\"eval_tokens\":28}\n"), std::string::npos) << result.output;
  result = run("e1.dte --data synthetic --eval-data synthetic --steps 0");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_NE(result.output.find(" over 64 tokens\n"), std::string::npos) << result.output;
}

// A log has each evaluation behind the line of its step, once, also after a resume.
TEST_F(Dtrun, LogsEvaluationsLikeSteps) {
  writeProgramThatEvaluates("e1.dte", 1);
  const std::string command =
      "e1.dte --data synthetic --eval-data synthetic --eval-every 2 --steps 6 --checkpoint-dir "
      "saved --checkpoint-every 4 --log-dir logs --format json ";
  Result result = run(command);
  ASSERT_EQ(result.exitCode, 0) << result.output;
  std::filesystem::remove_all(path("saved/step-6"));
  result = run(command + "--resume");
  ASSERT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(shell("sed -E 's/.\"step\":([0-9]+),\"(e?)[a-z_]*\".*/\\1\\2/' logs/rank-0.jsonl | tr "
                  "'\\n' ' '")
                .output,
            "1 2 2e 3 4 4e 5 6 6e ");
}

TEST_F(Dtrun, SaysInOneLineWhyItCannotEvaluate) {
  writeProgramThatEvaluates("e1.dte", 1);
  writeSamples("one.npy", 1); // one sample is less than a batch, but enough
  EXPECT_NE(run("e1.dte --data synthetic --eval-data tokens=one.npy,targets=one.npy --steps 0")
                .output.find(" over 4 tokens\n"),
            std::string::npos);
  std::ofstream(path("words")) << "abcdefghijklmnop";
  std::ofstream(path("few")) << std::string(8, '\1');
  const struct {
    const char *arguments, *message;
    int exitCode;
  } cases[] = {
      {"s1.dte --data synthetic --eval-data synthetic",
       "--eval-data: s1.dte can only train: it has no entry 'evaluate'; compile it anew, or leave "
       "out --eval-data",
       1},
      {"e1.dte --data synthetic --eval-data bytes:words", "vocabulary size 16", 1},
      {"e1.dte --data synthetic --eval-data words", "it is text, and the model's tokens", 1},
      {"e1.dte --data synthetic --eval-data none", "'none'", 1},
      {"e1.dte --data synthetic --eval-data tokens=one.npy",
       "--eval-data names no file for input 'targets'; the model reads 'tokens' (i32 [4]) and "
       "'targets' (i32 [4]): --eval-data tokens=PATH.npy,targets=PATH.npy",
       1},
      {"e1.dte --data synthetic --eval-data few --profile few",
       "--profile and --eval-data are one file, '", 1},
      {"e1.dte --data synthetic --eval-every 3", "--eval-every requires --eval-data", 2},
      {"e1.dte --data synthetic --eval-data few --eval-every 0",
       "--eval-every wants at least 1 step", 2},
  };
  for (const auto &each : cases) {
    Result result = run(each.arguments);
    EXPECT_EQ(result.exitCode, each.exitCode) << each.arguments << "\n" << result.output;
    EXPECT_NE(result.output.find(each.message), std::string::npos) << result.output;
    EXPECT_EQ(linesOf(result.output), 1u) << result.output;
  }
}

// Files are tested before the first step, and a run that ends before it leaves nothing behind.
TEST_F(Dtrun, OpensWhatItWritesBeforeTheFirstStep) {
  std::filesystem::create_directory(path("d"));
  std::ofstream(path("notes")) << "mine";
  const struct {
    const char *arguments, *message;
  } cases[] = {
      {"--dump-params d", "writing 'd': it exists and is not a regular file"},
      {"--dump-params /dev/full", "writing '/dev/full': it exists and is not a regular file"},
      {"--profile d", "writing 'd': it exists and is not a regular file"},
      {"--profile none/x", "'none/x': No such file"},
      {"--log-dir notes", "'notes/rank-0.jsonl': Not a directory"},
      {"--profile d/../s1.dte", "--profile and the program are one file, '"},
      {"--profile x --dump-params d/../x", "--dump-params and --profile are one file, '"},
  };
  for (const auto &each : cases) {
    Result result = run(std::string("s1.dte --data synthetic --steps 3 ") + each.arguments);
    EXPECT_EQ(result.exitCode, 1) << each.arguments << "\n" << result.output;
    EXPECT_NE(result.output.find(each.message), std::string::npos) << result.output;
    EXPECT_EQ(linesOf(result.output), 1u) << "no step: " << result.output;
  }
  EXPECT_EQ(run("s1.dte --data none --log-dir logs --profile x --dump-params y").exitCode, 1);
  for (const char *name : {"logs", "x", "y"})
    EXPECT_FALSE(std::filesystem::exists(path(name))) << name;
}

TEST_F(Dtrun, KeepsTheLogOfTheRunBeforeUntilTheFirstStep) {
  ASSERT_EQ(run("s1.dte --data synthetic --steps 3 --log-dir logs").exitCode, 0);
  ASSERT_EQ(run("s1.dte --data none --log-dir logs").exitCode, 1);
  std::vector<uint8_t> log = test::readBytes(path("logs/rank-0.jsonl"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 3);
  ASSERT_EQ(run("s1.dte --data synthetic --steps 2 --log-dir logs").exitCode, 0);
  log = test::readBytes(path("logs/rank-0.jsonl"));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2);
}

// Two jobs would overwrite each other's lines. The second one reports it and does not change the
// first one's.
TEST_F(Dtrun, LeavesTheLogOfAnotherJobAlone) {
  Result result =
      shell("$DTRUN s1.dte --data synthetic --steps 1000000000 --log-dir logs > out & "
            "for i in $(seq 300); do grep -qs 'step *3 ' out && break; sleep 0.1; done; "
            "$DTRUN s1.dte --data synthetic --steps 2 --log-dir logs; echo exit $?; kill $!; "
            "wait $!; test $(wc -l < logs/rank-0.jsonl) -ge 3 || echo lines are gone");
  EXPECT_EQ(result.output, "dtrun: opening the log 'logs/rank-0.jsonl': another job is writing it; "
                           "name another --log-dir\nexit 1\n");
}

// A full disk does not end training because of the log: it is reported once, and lines that fit are
// complete.
TEST_F(Dtrun, GoesOnWhereItsLogHasNoSpace) {
  Result result = shell("ulimit -f 8; $DTRUN s1.dte --data synthetic --steps 200 --log-dir logs");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  size_t first = result.output.find("dtrun: warning: writing the log 'logs/rank-0.jsonl': File too "
                                    "large; training goes on, and steps are missing in the log");
  EXPECT_NE(first, std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("warning", first + 20), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("step    200"), std::string::npos) << result.output;
  std::vector<uint8_t> log = test::readBytes(path("logs/rank-0.jsonl"));
  EXPECT_GE(std::count(log.begin(), log.end(), '\n'), 1);
  ASSERT_FALSE(log.empty());
  EXPECT_EQ(log.back(), '\n');
}

// A file that is cut while it is read gives an error, and a file that was loaded continues to run.
TEST_F(Dtrun, OutlivesChangesOfItsFiles) {
  writeSamples("t.npy", 9);
  const std::string wait =
      "for i in $(seq 300); do grep -qs '\"step\":3,' out && break; sleep 0.1; "
      "done; ";
  Result result = shell("$DTRUN s1.dte --data tokens=t.npy,targets=t.npy --steps 1000000000 "
                        "--format json > out & " +
                        wait +
                        "head -c 200000 /dev/zero | dd of=s1.dte conv=notrunc status=none; "
                        ": > s1.dte; n=$(wc -l < out); sleep 0.3; test $(wc -l < out) -gt $n || "
                        "echo stopped; truncate --size=100 t.npy; wait $!");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  // The error names the sample that was read next.
  bool isNamed = result.output.rfind("dtrun: reading 't.npy': bytes 100 to ", 0) == 0 ||
                 result.output.rfind("dtrun: reading 't.npy': it has 100 bytes, and had ", 0) == 0;
  EXPECT_TRUE(isNamed) << result.output;
  EXPECT_EQ(linesOf(result.output), 1u) << result.output;
}

// The check at the start does not help if others write to the data in place.
TEST_F(Dtrun, StopsWhereItsDataIsWrittenTo) {
  writeSamples("t.npy", 9);
  Result result =
      shell("$DTRUN s1.dte --data tokens=t.npy,targets=t.npy --steps 1000000000 "
            "--format json > out & "
            "for i in $(seq 300); do grep -qs '\"step\":3,' out && break; sleep 0.1; done; "
            "head -c 4 /dev/zero | dd of=t.npy seek=100 bs=1 conv=notrunc status=none; "
            "wait $!");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_EQ(result.output,
            "dtrun: reading 't.npy': it was written to after it was opened; run on a file "
            "that stays as it is\n");
}

TEST_F(Dtrun, SaysInOneLineThatTheSystemGivesNoMore) {
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer reserves more address space than the limit of this test";
#endif
  Result result =
      shell("ulimit -v 1500000; exec $DTRUN s1.dte --data synthetic --threads 1024 --steps 1");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_NE(result.output.find("dtrun: "), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("use fewer --threads"), std::string::npos) << result.output;
  EXPECT_EQ(linesOf(result.output), 1u) << result.output;
}

// A run ends by itself however little memory there is: OpenBLAS would ask forever.
TEST_F(Dtrun, EndsWhereThereIsHardlyAnyMemory) {
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer reserves more address space than the limit of this test";
#endif
  int refused = 0, trained = 0;
  // Limits are closer where threads and libraries get the last memory, in an order that differs
  // from run to run.
  for (int limit = 100000; limit <= 900000; limit += limit < 400000 ? 50000 : 15000) {
    Result result = shell("ulimit -v " + std::to_string(limit) +
                          "; timeout -s KILL 60 $DTRUN s1.dte --data synthetic --steps 1 "
                          "--threads 2 > out; code=$?; grep -q 'step *1 ' out && echo trained; "
                          "exit $code");
    if (result.exitCode == 0) {
      EXPECT_EQ(result.output, "trained\n") << limit;
      ++trained;
      continue;
    }
    ++refused;
    EXPECT_EQ(result.exitCode, 1) << limit << ": " << result.output;
    EXPECT_EQ(linesOf(result.output), 1u) << limit << ": " << result.output;
    bool isNamed = result.output.rfind("dtrun: memory ran out", 0) == 0 ||
                   result.output.rfind("dtrun: the system refused a thread", 0) == 0 ||
                   result.output.rfind("dtrun: the arena of ", 0) == 0 ||
                   limit < 150000; // the system cannot load the program
    EXPECT_TRUE(isNamed) << limit << ": " << result.output;
  }
  EXPECT_GE(refused, 3);
  EXPECT_GE(trained, 3) << "more is asked for than is needed";
}

TEST_F(Dtrun, FailsWhereNobodyTakesItsSteps) {
  Result result = run("s1.dte --data synthetic --steps 2 --format json > /dev/full");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_EQ(result.output, "dtrun: writing to stdout: No space left on device\n");
}

TEST_F(Dtrun, StopsWithCode4WhenTheLossIsNotFinite) {
  Result result = run("s1.dte --data synthetic --steps 9 --lr 1e30 --format json");
  EXPECT_EQ(result.exitCode, 4) << result.output;
  EXPECT_NE(result.output.find("\"loss\":null"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("training diverged"), std::string::npos) << result.output;
}

TEST_F(Dtrun, StartsLocalRanks) {
  if (!hasMpirun())
    GTEST_SKIP() << "mpirun is not here";
  Result result = run("s2.dte -n 2 --data synthetic --steps 3 --format json --log-dir logs");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(linesOf(result.output), 4u) << result.output;
  EXPECT_FALSE(test::readBytes(path("logs/rank-1.jsonl")).empty());
  int events = 0; // rank 0's only
  for (const auto &entry : std::filesystem::directory_iterator(path("logs")))
    events += entry.path().filename().string().find("tfevents") != std::string::npos ? 1 : 0;
  EXPECT_EQ(events, 1);
  result = run("s2.dte -n 2 --data none");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_EQ(linesOf(result.output), 1u) << result.output;
}

// The line about the data is between the line about the job and the first step.
TEST_F(Dtrun, SaysWhatItReads) {
  writeProgramThatEvaluates("e1.dte", 1);
  std::ofstream(path("ids")) << std::string(80, '\1');
  std::filesystem::create_directory(path("tokens"));
  for (const char *name : {"tokens/train-0.bin", "tokens/train-1.bin", "tokens/val.bin"})
    std::ofstream(path(name)) << std::string(32, name[7] == 't' ? '\0' : '\1');
  Result result = run("e1.dte --data bytes:ids --steps 3");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_NE(result.output.find("tokens a step\ndata: 'ids' (bytes, 1 a token): 80 tokens, 19 "
                               "samples of 4 tokens; 3 steps of 2 read 0.316 epochs\nstep "),
            std::string::npos)
      << result.output;
  // The folder has both parts, and each flag uses its own files.
  result = run("e1.dte --data tokens --eval-data u16:tokens --steps 1");
  EXPECT_EQ(result.exitCode, 1) << "257 is no token: " << result.output;
  EXPECT_NE(result.output.find("reading 'tokens/val.bin': token 0 is 257"), std::string::npos)
      << result.output;
  result = run("e1.dte --data tokens --steps 1 --format json");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(
      result.output.rfind("{\"data\":{\"files\":[\"tokens/train-0.bin\",\"tokens/train-1.bin\"],"
                          "\"left_out\":[\"tokens/val.bin\"],\"format\":\"2-byte ids without "
                          "a header\",\"tokens\":32,\"samples\":7,\"epochs\":0.285714286}}\n",
                          0),
      0u)
      << result.output;
}

TEST_F(Dtrun, ChecksARunAndTrainsNothing) {
  Result result = run("s1.dte --data synthetic --steps 9 --dry-run --log-dir logs --profile x "
                      "--dump-params y --checkpoint-dir c --resume");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_EQ(result.output.find("step  "), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("dry run: nothing was trained; checked: the program for 1 rank of "
                               "device 'cpu', the data of 9 steps, the place of --profile, the "
                               "place of --dump-params, the place of --log-dir, the place of "
                               "--checkpoint-dir\n"),
            std::string::npos)
      << result.output;
  for (const char *name : {"logs", "x", "y", "c"})
    EXPECT_FALSE(std::filesystem::exists(path(name))) << name;
  // A dry run finds the same errors as a run, and changes nothing of an earlier run.
  ASSERT_EQ(run("s1.dte --data synthetic --steps 4 --checkpoint-dir c").exitCode, 0);
  std::filesystem::create_directory(path("c/.writing-9"));
  result = run("s1.dte --data synthetic --steps 9 --dry-run --checkpoint-dir c --resume "
               "--format json");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_NE(result.output.find("\"the checkpoint of step 4 of 'c'\""), std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find("\"resumes_after\":4}}\n"), std::string::npos) << result.output;
  EXPECT_TRUE(std::filesystem::exists(path("c/.writing-9")));
  EXPECT_FALSE(std::filesystem::exists(path("c/step-9")));
  const struct {
    const char *arguments, *message;
  } wrong[] = {
      {"--data none", "'none'"},
      {"--data synthetic --init none", "none"},
      {"--data synthetic --checkpoint-dir c", "has checkpoints of a run up to step 4"},
      {"--data synthetic --checkpoint-dir c/d/e", "is not there; make that first"},
      {"--data synthetic --checkpoint-dir s1.dte", "Not a directory"},
      {"--data synthetic --dump-params none/x", "'none/x': No such file"},
  };
  for (const auto &each : wrong) {
    result = run(std::string("s1.dte --dry-run --steps 9 ") + each.arguments);
    EXPECT_EQ(result.exitCode, 1) << each.arguments << "\n" << result.output;
    EXPECT_NE(result.output.find(each.message), std::string::npos) << result.output;
    EXPECT_EQ(linesOf(result.output), 1u) << result.output;
  }
}

} // namespace
} // namespace dtc::rt
