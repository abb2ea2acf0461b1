// Tests ranks that should be one job and are not.
#include "test/unit/dtrun/DtrunRunner.h"

#include <cstdlib>
#include <sstream>

namespace dtc::rt {
namespace {

using test::linesOf;
using test::Result;

class Job : public test::DtrunTest {
protected:
  void SetUp() override {
    if (!test::hasMpirun())
      GTEST_SKIP() << "mpirun is not here";
    DtrunTest::SetUp();
  }

  // Runs two ranks with different command lines.
  Result runBoth(const std::string &first, const std::string &second) const {
    return shell("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                 "OMPI_MCA_rmaps_base_oversubscribe=1\n"
                 "export DTC_MPI_LIBRARY=$(ls $(dirname $DTRUN)/{,../lib/}libdtc_mpi.so "
                 "2>/dev/null)\nmpirun -q -n 1 " +
                 first + " : -n 1 " + second);
  }
};

bool hasStep(const Result &result) { return result.output.find("step ") != std::string::npos; }

// Changes the build ids of the libraries in a folder.
void changeBuildIds(const std::string &there) {
  for (const auto &file : std::filesystem::directory_iterator(there)) {
    std::fstream library(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    std::string start(4096, '\0'), note("\4\0\0\0\24\0\0\0\3\0\0\0GNU\0", 16);
    library.read(start.data(), static_cast<std::streamsize>(start.size()));
    size_t id = start.find(note);
    ASSERT_NE(id, std::string::npos) << file.path();
    library.seekp(static_cast<std::streamoff>(id + note.size()));
    library.put(static_cast<char>(start[id + note.size()] ^ 1));
  }
}

// Each difference ends both ranks before the first step, and is printed once.
TEST_F(Job, RefusesRanksThatDiffer) {
  test::ProgramBuilder builder = test::sampleProgram(2, test::readBytes(DTC_SAMPLE_KERNELS));
  builder.manifest.default_lr *= 2;
  ASSERT_TRUE(test::writeBytes(path("other.dte"), builder.file()).ok());
  std::filesystem::create_directory(path("there"));
  std::ofstream(path("t.txt")) << std::string(4000, '\1');
  std::ofstream(path("there/t.txt")) << std::string(2000, '\1') + '\2' + std::string(1999, '\1');
  for (const char *variable : {"OPENBLAS_CORETYPE", "ONEDNN_MAX_CPU_ISA"})
    ::unsetenv(variable); // a machine may have set it for all ranks
  std::filesystem::copy(DTC_DTRUN, path("dtrun"));
  std::ofstream(path("dtrun"), std::ios::app) << "another build";
  ASSERT_EQ(shell("$DTRUN s2.dte -n 2 --data synthetic --steps 0 --dump-params p; "
                  "$DTRUN s2.dte -n 2 --data synthetic --steps 0 --seed 2 --dump-params q")
                .exitCode,
            0);
  std::filesystem::create_directory(path("libraries"));
  ASSERT_EQ(shell("cp -L $(ldd $DTRUN | sed -n 's/.*libdnnl.* => \\([^ ]*\\) .*/\\1/p') libraries")
                .exitCode,
            0);
  changeBuildIds(path("libraries"));
  const struct {
    const char *second, *message;
  } cases[] = {
      {"$DTRUN other.dte --data bytes:t.txt --steps 900", "has program 'other.dte' (hash "},
      {"$DTRUN s2.dte --data bytes:t.txt --steps 900 --seed 2", "has --seed 2, rank 0 on host '"},
      {"$DTRUN s2.dte --data bytes:t.txt --steps 900 --lr 0.5", "has --lr 0.5, rank 0 on host '"},
      {"$DTRUN s2.dte --data bytes:t.txt --steps 901", "has --steps 901, rank 0 on host '"},
      {"$DTRUN s2.dte --data bytes:t.txt --steps 900 --dump-params x",
       "has --dump-params x, rank 0"},
      {"$DTRUN s2.dte --data bytes:t.txt --steps 900 --init p", "has --init 'p' (hash "},
      {"$DTRUN s2.dte --data bytes:there/t.txt --steps 900",
       "has data for input 'tokens': 't.txt' with "},
      {"$DTRUN s2.dte --data synthetic --steps 900",
       "has data for input 'tokens': 'synthetic' with "},
      {"./dtrun s2.dte --data bytes:t.txt --steps 900", "has dtrun dtrun 0.1.0 (build "},
      {"env OPENBLAS_CORETYPE=Haswell $DTRUN s2.dte --data bytes:t.txt --steps 900",
       "has OPENBLAS_CORETYPE Haswell, rank 0 on host '"},
      {"env ONEDNN_MAX_CPU_ISA=SSE41 $DTRUN s2.dte --data bytes:t.txt --steps 900",
       "has ONEDNN_MAX_CPU_ISA SSE41, rank 0 on host '"},
      {"env LD_LIBRARY_PATH=libraries $DTRUN s2.dte --data bytes:t.txt --steps 900",
       "has libdnnl 'libraries/libdnnl.so"},
  };
  for (const auto &each : cases) {
    Result result = runBoth("$DTRUN s2.dte --data bytes:t.txt --steps 900", each.second);
    EXPECT_EQ(result.exitCode, 1) << each.second << "\n" << result.output;
    EXPECT_NE(result.output.find("dtrun: rank 1 on host '"), std::string::npos) << result.output;
    EXPECT_NE(result.output.find(each.message), std::string::npos) << result.output;
    EXPECT_FALSE(hasStep(result)) << result.output;
    size_t first = result.output.find("all ranks of a job must have the same");
    EXPECT_EQ(result.output.find("all ranks of a job", first + 1), std::string::npos)
        << result.output;
  }
  Result result = runBoth("$DTRUN s2.dte --data bytes:t.txt --steps 9 --init p",
                          "$DTRUN s2.dte --data bytes:t.txt --steps 9 --init q");
  EXPECT_NE(result.output.find("has --init 'q' (hash "), std::string::npos) << result.output;
  // Buffers of 4 bytes and more would be sent in another way than rank 0's.
  for (const char *bytes : {"0", "1000000000"}) {
    result = runBoth("$DTRUN s2.dte --data bytes:t.txt --steps 9 --format json",
                     std::string("env DTC_PEER_BYTES=") + bytes +
                         " $DTRUN s2.dte --data bytes:t.txt --steps 9 --format json");
    EXPECT_EQ(result.exitCode, 0) << bytes << result.output;
  }
  // These options may differ between ranks.
  result =
      runBoth("$DTRUN s2.dte --data bytes:t.txt --steps 9 --format json --threads 2",
              "$DTRUN $PWD/s2.dte --data bytes:$PWD/t.txt --steps 9 --profile x --log-dir logs");
  EXPECT_EQ(result.exitCode, 0) << result.output;
}

TEST_F(Job, SaysWhoNeverCame) {
  auto begin = std::chrono::steady_clock::now();
  Result result = runBoth("$DTRUN s2.dte --data synthetic --timeout 2", "sleep 60");
  EXPECT_EQ(result.exitCode, 3) << result.output;
  EXPECT_NE(result.output.find("waited 2 s starting MPI: rank 1 has not started dtrun, or ended"),
            std::string::npos)
      << result.output;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

// The stopped rank is named, not the one that waits. It is stopped at each of its first moments.
TEST_F(Job, SaysWhoIsStoppedWhileTheJobStarts) {
  Result result =
      shell("export DTC_START_TIMEOUT=3\n"
            "parent() { sed 's/.*) . \\([0-9]*\\) .*/\\1/' /proc/$1/stat; }\n"
            "$DTRUN s2.dte -n 2 --data synthetic --steps 10 &\n"
            "for i in $(seq 500); do mpirun=$(pgrep -P $! mpirun); "
            // A rank's socket has its rank and its process in its name, and its parent is its
            // keeper. There may be sockets of other jobs.
            "  for p in $(sed -n 's/.*@dtrun-[0-9]*-1-[0-9]*-//p' /proc/net/unix); do "
            "    test -n \"$mpirun\" && test \"$(parent $(parent $p))\" = \"$mpirun\" && "
            "      kill -STOP $p && break 2; done 2>/dev/null; sleep 0.002; done; wait $!");
  EXPECT_EQ(result.exitCode, 3) << result.output;
  EXPECT_NE(result.output.find(") is stopped by a signal, "), std::string::npos) << result.output;
  EXPECT_NE(result.output.find(": rank 1 (process "), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("rank 0 exited"), std::string::npos) << result.output;
}

TEST_F(Job, SaysWhoIsStoppedWhileItTrains) {
  Result result =
      shell("touch out; $DTRUN s2.dte -n 2 --data synthetic --steps 1000000000 --timeout 2 "
            "--log-dir logs --format json > out & "
            "for i in $(seq 300); do grep -qs '\"step\":3,' out && break; sleep 0.1; done; "
            "rank=$(sed -n 's/.*@dtrun-[0-9]*-1-[0-9]*-//p' /proc/net/unix | while read p; do "
            // There may be sockets of other jobs whose processes have ended.
            "  test \"$(ps -o ppid= -p $(ps -o ppid= -p $p) | tr -d ' ')\" = \"$(pgrep -P $! "
            "mpirun)\" && "
            "echo $p; done 2>/dev/null); "
            "kill -STOP $rank || kill $!; wait $!");
  EXPECT_EQ(result.exitCode, 3) << result.output;
  EXPECT_EQ(result.output.find("dtrun: rank 1 on host '"), 0u) << result.output;
  EXPECT_NE(result.output.find(") is stopped by a signal, and has been in "), std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find("  rank 0 waits in "), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("\n    the host's thread ("), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("    dtrun: main +0x"), std::string::npos) << result.output;
}

TEST_F(Job, RefusesRanksThatEvaluateOtherwise) {
  writeProgramThatEvaluates("e2.dte", 2);
  std::filesystem::create_directory(path("there"));
  std::ofstream(path("e.txt")) << std::string(400, '\1');
  std::ofstream(path("there/e.txt")) << std::string(200, '\1') + '\2' + std::string(199, '\1');
  std::ofstream(path("short.txt")) << std::string(100, '\1');
  const std::string common = "$DTRUN e2.dte --data synthetic --steps 9 ";
  std::filesystem::create_directory(path("libraries"));
  ASSERT_EQ(shell("cp -L $(ldd $DTRUN | sed -n 's/.*libdnnl.* => \\([^ ]*\\) .*/\\1/p') libraries")
                .exitCode,
            0);
  changeBuildIds(path("libraries"));
  const struct {
    const char *second, *message;
  } cases[] = {
      {"", "has --eval-data none, rank 0 on host '"},
      {"--eval-data bytes:e.txt", "has --eval-every none, rank 0 on host '"},
      {"--eval-data bytes:e.txt --eval-every 4", "has --eval-every 4, rank 0 on host '"},
      {"--eval-data bytes:there/e.txt --eval-every 3",
       "has evaluation data for input 'tokens': 'e.txt' with "},
      {"--eval-data bytes:short.txt --eval-every 3",
       "has evaluation data for input 'tokens': 'short.txt' with "},
  };
  for (const auto &each : cases) {
    Result result =
        runBoth(common + "--eval-data bytes:e.txt --eval-every 3", common + each.second);
    EXPECT_EQ(result.exitCode, 1) << each.second << "\n" << result.output;
    EXPECT_NE(result.output.find(each.message), std::string::npos) << result.output;
    EXPECT_FALSE(hasStep(result)) << result.output;
  }
}

// If one rank can no longer read evaluation data, all ranks end alike, between two batches.
TEST_F(Job, EndsAlikeWhereOneRankCannotEvaluate) {
  writeProgramThatEvaluates("e2.dte", 2);
  std::ofstream(path("e.txt")) << std::string(400, '\1');
  Result result = shell(
      "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "OMPI_MCA_rmaps_base_oversubscribe=1\n"
      "export DTC_MPI_LIBRARY=$(ls $(dirname $DTRUN)/{,../lib/}libdtc_mpi.so 2>/dev/null)\n"
      "mkdir a b; cp e.txt a/; cp e.txt b/\n"
      "COMMAND=\"$DTRUN e2.dte --data synthetic --steps 1000000000 --format json --eval-every 1\"\n"
      "mpirun -q -n 1 $COMMAND --eval-data bytes:a/e.txt : -n 1 $COMMAND --eval-data bytes:b/e.txt "
      "> out & "
      "for i in $(seq 300); do grep -qs '\"step\":3,' out && break; sleep 0.1; done; "
      "truncate --size=10 b/e.txt; wait $!");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_NE(result.output.find("dtrun: rank 1: reading 'b/e.txt': "), std::string::npos)
      << result.output;
}

// If only one rank can find that a target is wrong, all end with its error and one exit code.
TEST_F(Job, EndsWithOneCodeWhereADumpFails) {
  for (const char *target : {"/dev/full", "none/x"}) {
    Result result =
        run(std::string("s2.dte -n 2 --data synthetic --steps 1 --dump-params ") + target);
    EXPECT_EQ(result.exitCode, 1) << result.output;
    EXPECT_NE(result.output.find(target), std::string::npos) << result.output;
    EXPECT_EQ(linesOf(result.output), 1u) << result.output;
  }
}

// mpirun itself would continue if stdout accepts nothing, or crash if nobody reads it.
TEST_F(Job, EndsWhereNobodyTakesItsSteps) {
  Result full = run("s2.dte -n 2 --data synthetic --steps 1000000000 --format json > /dev/full");
  EXPECT_EQ(full.exitCode, 1) << full.output;
  EXPECT_EQ(full.output, "dtrun: writing to stdout: No space left on device\n");
  Result head = shell("$DTRUN s2.dte -n 2 --data synthetic --steps 1000000000 --format json | "
                      "head -1 > out; echo ${PIPESTATUS[0]}");
  EXPECT_EQ(head.output, "141\n") << "SIGPIPE, as of one rank, and no words of mpirun's";
  EXPECT_EQ(linesOf(shell("cat out").output), 1u);
}

// A reader that does not read delays the job, but does not keep it from ending.
TEST_F(Job, CanBeEndedWhileNobodyReads) {
  Result result = shell("mkfifo pipe; sleep 100 < pipe & reader=$!; "
                        "$DTRUN s2.dte -n 2 --data synthetic --steps 1000000000 --format json > "
                        "pipe & job=$!; sleep 2; kill $job; wait $job; echo exit $?; kill $reader");
  EXPECT_NE(result.output.find("exit 143"), std::string::npos) << result.output;
}

TEST_F(Job, SaysThatNoRankStarted) {
  Result result = shell("DTC_MPIRUN=true $DTRUN s2.dte -n 2 --data synthetic --steps 1");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_EQ(result.output, "dtrun: 'true' (DTC_MPIRUN) ended with exit code 0, and none of 2 "
                           "ranks has started; name the mpirun of an MPI there\n");
}

// Open MPI's processes of one user share a folder otherwise, which the end of one takes from the
// start of another.
TEST_F(Job, GivesEachMpirunAFolderOfItsOwn) {
  const std::string launch =
      "TMPDIR=$PWD/tmp DTC_MPIRUN=./launcher $DTRUN s2.dte -n 2 --data synthetic --steps 1 "
      "2>/dev/null; ";
  Result result = shell(R"(mkdir tmp
cat > launcher <<'END'
#!/bin/sh
base=${OMPI_MCA_orte_tmpdir_base:-}
echo "[${base%-*}]" >> seen
echo "$base" >> names
touch "$base/left"
END
chmod +x launcher
)" + launch + launch + "OMPI_MCA_orte_default_hostfile=h " +
                        launch + "sed \"s:$PWD/::\" seen; sort -u names | wc -l; ls tmp");
  EXPECT_EQ(result.output, "[tmp/dtrun]\n[tmp/dtrun]\n[]\n3\n");
}

// If only rank 1 cannot write its log, in the middle of the run, no rank ends: it is reported once.
TEST_F(Job, GoesOnWhereOneRankHasNoSpaceForItsLog) {
  std::filesystem::create_directory(path("logs"));
  std::filesystem::create_symlink("/dev/full", path("logs/rank-1.jsonl"));
  Result result = run("s2.dte -n 2 --data synthetic --steps 20 --log-dir logs --format json");
  EXPECT_EQ(result.exitCode, 0) << result.output;
  EXPECT_NE(result.output.find("dtrun: warning: rank 1: writing the log 'logs/rank-1.jsonl': No "
                               "space left on device; training goes on, and steps are missing in "
                               "the log from step 1 on\n"),
            std::string::npos)
      << result.output;
  EXPECT_EQ(linesOf(result.output), 22u) << result.output;
}

// If only rank 1 can no longer read its data, in the middle of the run, all ranks end alike.
TEST_F(Job, EndsAlikeWhereOneRankCannotGoOn) {
  writeSamples("t.npy", 9);
  Result result =
      shell("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
            "OMPI_MCA_rmaps_base_oversubscribe=1\n"
            "export DTC_MPI_LIBRARY=$(ls $(dirname $DTRUN)/{,../lib/}libdtc_mpi.so 2>/dev/null)\n"
            "mkdir a b; cp t.npy a/; cp t.npy b/\n"
            "COMMAND=\"$DTRUN s2.dte --steps 1000000000 --format json\"\n"
            "mpirun -q -n 1 $COMMAND --data tokens=a/t.npy,targets=a/t.npy : "
            "-n 1 $COMMAND --data tokens=b/t.npy,targets=b/t.npy > out & "
            "for i in $(seq 300); do grep -qs '\"step\":3,' out && break; sleep 0.1; done; "
            "truncate --size=100 b/t.npy; wait $!");
  EXPECT_EQ(result.exitCode, 1) << result.output;
  EXPECT_NE(result.output.find("dtrun: rank 1: reading 'b/t.npy': "), std::string::npos)
      << result.output;
}

TEST_F(Job, EndsAlikeWhenTrainingDiverges) {
  Result result =
      run("s2.dte -n 2 --data synthetic --steps 50 --lr 1e30 --timeout 30 --dump-params x "
          "--log-dir logs");
  EXPECT_EQ(result.exitCode, 4) << result.output;
  EXPECT_NE(result.output.find(": training diverged; "), std::string::npos) << result.output;
  EXPECT_FALSE(std::filesystem::exists(path("x")));
  for (const char *record : {"logs/flight-rank-0.json", "logs/flight-rank-1.json"})
    EXPECT_NE(shell(std::string("cat ") + record)
                  .output.find(" exited with code 4, as training diverged\", \"place\""),
              std::string::npos)
        << record;
}

std::vector<std::string> linesWith(const std::string &word, const std::string &text) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    if (line.find(word) != std::string::npos)
      found.push_back(line);
  return found;
}

// The sample program without its sum of losses, so that each rank has the loss of its own samples.
// Token 15 makes it infinite, and one sample of three steps has it.
TEST_F(Job, EndsAlikeWhenOneRankAloneDiverges) {
  test::SampleIndices at;
  test::ProgramBuilder builder = test::sampleProgram(2, test::readBytes(DTC_SAMPLE_KERNELS), &at);
  format::CollectiveT *sum = builder.instructions()[at.allReduce]->op.AsCollective();
  sum->src = sum->dst = builder.buffer("apart", 1);
  ASSERT_TRUE(test::writeBytes(path("own.dte"), builder.file()).ok());
  writeSamples("t.npy", std::string(44, '\1') + std::string(4, '\17'));
  std::vector<float> values(128 + 64, 0.5f);
  std::fill_n(values.begin() + 120, 8, 1e30f);
  const std::string header =
      R"({"embed.weight":{"dtype":"F32","shape":[16,8],"data_offsets":[0,512]},)"
      R"("head.weight":{"dtype":"F32","shape":[8,8],"data_offsets":[512,768]}})";
  std::ofstream init(path("w.safetensors"), std::ios::binary);
  init << static_cast<char>(header.size()) << std::string(7, '\0') << header;
  init.write(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float));
  init.close();
  int onFirst = 0, onSecond = 0;
  for (int seed : {3, 4}) { // the sample is rank 0's, rank 1's
    Result result = run("own.dte -n 2 --data tokens=t.npy,targets=t.npy --init w.safetensors "
                        "--steps 4 --timeout 30 --dump-params x --format json --log-dir logs "
                        "--seed " +
                        std::to_string(seed));
    EXPECT_EQ(result.exitCode, 4) << result.output;
    std::vector<std::string> said = linesWith("dtrun: ", result.output);
    ASSERT_EQ(said.size(), 2u) << result.output;
    EXPECT_EQ(said[1], "dtrun: flight records are in logs/flight-rank-R.json");
    EXPECT_NE(said[0].find("the loss of step "), std::string::npos) << said[0];
    EXPECT_NE(said[0].find(": training diverged; "), std::string::npos) << said[0];
    ++(said[0].find(" on rank 1: ") == std::string::npos ? onFirst : onSecond);
    EXPECT_FALSE(std::filesystem::exists(path("x")));
  }
  EXPECT_EQ(onFirst, 1);
  EXPECT_EQ(onSecond, 1);
}

} // namespace
} // namespace dtc::rt
