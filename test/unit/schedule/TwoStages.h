// A small model as one program and as a pipeline of two stages, for the tests that run both.
//
//   stage 0: h = x S, a = h * h, y = a W1      stage 1: z = y W2, b = z * z, u = b S'
//
// with S in both stages, and a loss of half the squares of u - targets. The gradients of S in both
// stages add up, over the ranks that hold it; products, sums and their order are those of the one
// program, so that all results have the same bits.
#pragma once

#include "compiler/build/emit/Emit.h"
#include "passes/codegen/KernelFunction.h"
#include "passes/codegen/KernelLibrary.h"
#include "passes/schedule/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dtc::test {

// Makes the files of the model in both forms.
class TwoStages {
public:
  static constexpr int64_t width = 16, microBatch = 4, microBatches = 4;

  // `dp` ranks each have a part of the samples. In a pipeline those of stage 0 come first.
  TwoStages(mlir::MLIRContext &context, int64_t dp) : context(context), dp(dp) {}

  // Returns the file of the model as one program.
  std::vector<uint8_t> oneProgram() {
    axis = "0";
    overlaps = false;
    return compile(
        program("step", "mesh [\"dp\"] sizes [" + std::to_string(dp) + "]",
                shared() + first() + boundary() + second() +
                    task("forward", true, firstForward + secondForward) +
                    task("backward", true, secondBackward + firstBackward) + report() +
                    task("update", false,
                         reduce("g1") + reduce("g2") + reduce("gsa") + reduce("gsb") +
                             "exec.copy %gsa to %gsb sizes [256] from [1] at <0> into "
                             "[1] at <0> accumulate\n" +
                             descend("g1", "w1") + descend("g2", "w2") + descend("gsb", "s")) +
                    "exec.entry train order [@forward 0, @backward 0, @forward 1, "
                    "@backward 1, @forward 2, @backward 2, @forward 3, @backward 3, "
                    "@report, @update]\n"
                    "exec.entry evaluate order [@forward 0, @forward 1, @forward 2, "
                    "@forward 3, @report]\n"));
  }

  // Returns the file of the pipeline, with one forward and one backward in turn. Stage 0 is a
  // micro-batch ahead and has slots for two of them. A send waits for its receive, so an answer is
  // taken before the next message is sent. With `overlaps` transfers have streams of their own, and
  // are placed where their data are made or needed.
  std::vector<uint8_t> pipeline(bool overlaps = false) {
    axis = "1";
    this->overlaps = overlaps;
    std::string lists, mesh = "mesh [\"pp\", \"dp\"] sizes [2, " + std::to_string(dp) + "] ranks [";
    std::string ofFirst, ofSecond;
    for (int64_t rank = 0; rank < dp; ++rank) {
      std::string comma = rank ? ", " : "";
      ofFirst += comma + std::to_string(rank);
      ofSecond += comma + std::to_string(dp + rank);
      lists += comma + std::to_string(rank) + ", " + std::to_string(dp + rank);
    }
    ends = "over <\"ends\", 2, [" + lists + "]>";
    std::string stage0 =
        shared() + first() + boundary() + task("forward", true, firstForward) +
        task("send_y", true, transfer("send", "y")) +
        task("receive_dy", true, transfer("receive", "dy")) +
        task("backward", true, firstBackward) +
        task("update", false,
             reduce("g1") + reduce("gsa") + together("gsa") + descend("g1", "w1") +
                 descend("gsa", "s")) +
        (overlaps
             ? "exec.entry train order [@forward 0, @send_y 0, @forward 1, @send_y 1, "
               "@receive_dy 0, @backward 0, @forward 2, @send_y 2, @receive_dy 1, @backward 1, "
               "@forward 3, @send_y 3, @receive_dy 2, @backward 2, @receive_dy 3, @backward 3, "
               "@update]\n"
             : "exec.entry train order [@forward 0, @send_y 0, @forward 1, @receive_dy 0, "
               "@send_y 1, @backward 0, @forward 2, @receive_dy 1, @send_y 2, "
               "@backward 1, @forward 3, @receive_dy 2, @send_y 3, @backward 2, "
               "@receive_dy 3, @backward 3, @update]\n") +
        "exec.entry evaluate order [@forward 0, @send_y 0, @forward 1, @send_y 1, @forward 2, "
        "@send_y 2, @forward 3, @send_y 3]\n";
    std::string stage1 =
        shared() + boundary() + second() + task("receive_y", true, transfer("receive", "y")) +
        task("forward", true, secondForward) + task("backward", true, secondBackward) +
        task("send_dy", true, transfer("send", "dy")) + report() +
        task("update", false,
             reduce("g2") + reduce("gsb") + together("gsb") + descend("g2", "w2") +
                 descend("gsb", "s")) +
        "exec.entry train order [@receive_y 0, @forward 0, @backward 0, @send_dy 0, "
        "@receive_y 1, @forward 1, @backward 1, @send_dy 1, @receive_y 2, @forward 2, "
        "@backward 2, @send_dy 2, @receive_y 3, @forward 3, @backward 3, @send_dy 3, @report, "
        "@update]\n"
        "exec.entry evaluate order [@receive_y 0, @forward 0, @receive_y 1, @forward 1, "
        "@receive_y 2, @forward 2, @receive_y 3, @forward 3, @report]\n";
    return compile(program("stage_0", mesh + ofFirst + "]", stage0) +
                   program("stage_1", mesh + ofSecond + "]", stage1));
  }

private:
  static std::string program(const std::string &name, const std::string &where,
                             const std::string &body) {
    return "exec.program @" + name + " " + where + " micro_batches 4 {\n" + body + "}\n";
  }
  static std::string task(const std::string &name, bool perMicroBatch, const std::string &body) {
    return "exec.task @" + name + (perMicroBatch ? " per_micro_batch" : "") + " {\n" + body + "}\n";
  }
  std::string transfer(const std::string &op, const std::string &buffer) const {
    std::string channel = std::string(" {exec.channel = ") + (op == "send" ? "1" : "0") + " : i64}";
    return "exec." + op + " %" + buffer + " " + ends + " shift 1 \"" + buffer + "\" pipeline" +
           (overlaps ? channel : "") + "\n";
  }
  std::string reduce(const std::string &gradient) const {
    return "exec.collective all_reduce sum %" + gradient + " to %" + gradient + " axes [" + axis +
           "] count 256 \"" + gradient + "\" gradient\n";
  }
  std::string together(const std::string &gradient) const {
    return "exec.collective all_reduce sum %" + gradient + " to %" + gradient + " " + ends +
           " count 256 \"tied\" gradient\n";
  }
  // Returns the text of w -= lr * g.
  static std::string descend(const std::string &gradient, const std::string &weight) {
    return "exec.gemm %" + gradient + ", %lr to %" + weight +
           " sizes [256, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0\n";
  }
  static std::string parameter(const std::string &id, const std::string &name, int key) {
    return "%" + id + " = exec.buffer \"" + name + "\" parameter f32 1024 bytes persistent\n" +
           "exec.parameter \"" + name + "\" %" + id +
           " global [16, 16] stored [16, 16] local [16, 16] axes [[], []] init normal stddev "
           "2.5e-01 key " +
           std::to_string(key) + "\n";
  }
  static std::string sum(const std::string &id) {
    return "%" + id + " = exec.buffer \"" + id + "\" gradient f32 1024 bytes carried\n";
  }
  static std::string activation(const std::string &id, const std::string &slots = "\n") {
    return "%" + id + " = exec.buffer \"" + id + "\" activation f32 256 bytes " + slots;
  }
  std::string input(const std::string &name) const {
    return "%" + name + ".all = exec.buffer \"" + name + "\" input f32 1024 bytes persistent\n" +
           "exec.input \"" + name + "\" %" + name + ".all shape [4, 4, 16] axes [[], [" + axis +
           "], []]\n%" + name + " = exec.view %" + name + ".all \"" + name +
           ".m\" f32 256 bytes at 0 + 256 * micro_batch\n";
  }

  static std::string shared() {
    return parameter("s", "tied", 1) +
           "%lr = exec.buffer \"lr\" input f32 4 bytes persistent\nexec.scalar base_lr %lr\n"
           "exec.kernel @times buffers [256, 256, 256]\n";
  }
  std::string boundary() const {
    std::string slots = overlaps ? "slots 2\n" : "\n";
    return activation("y", slots) + activation("dy", slots);
  }
  std::string first() const {
    return input("x") + parameter("w1", "w1", 2) + activation("h") + activation("a") +
           activation("da") + activation("dh") + sum("g1") + sum("gsa");
  }
  std::string second() const {
    return input("targets") + parameter("w2", "w2", 3) + activation("z") + activation("b") +
           activation("d") + activation("db") + activation("dz") + sum("g2") + sum("gsb") +
           "%loss_sum = exec.buffer \"loss_sum\" temporary f32 4 bytes carried\n"
           "%loss = exec.buffer \"loss\" output f32 4 bytes persistent\nexec.output loss %loss\n";
  }
  std::string report() const {
    return task("report", false,
                "exec.copy %loss_sum to %loss sizes [1] from [1] at <0> into [1] at <0>\n"
                "exec.collective all_reduce sum %loss to %loss axes [" +
                    axis + "] count 1 \"loss\" control\n");
  }

  std::vector<uint8_t> compile(const std::string &programs) {
    std::string text =
        "graph.func private @times(%a: tensor<4x16xf32>, %b: tensor<4x16xf32>) -> "
        "tensor<4x16xf32> attributes {kernel} {\n"
        "  %0 = graph.multiply %a, %b : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>\n"
        "  graph.return %0 : tensor<4x16xf32>\n}\n" +
        programs;
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
    EXPECT_TRUE(module);
    if (!module)
      return {};
    auto kernel = module->lookupSymbol<graph::FuncOp>("times");
    setKernelAttributes(kernel);
    auto range = kernel->getAttrOfType<mlir::IntegerAttr>("kernel_range").getInt();
    module->walk([&](exec::LaunchOp launch) { launch.setRange(range); });
    mlir::PassManager passes(&context);
    passes.nest<exec::ProgramOp>().addPass(createOverlapTransfers());
    passes.nest<exec::ProgramOp>().addPass(createPlanMemory());
    passes.nest<exec::ProgramOp>().addPass(createVerifyExec());
    EXPECT_TRUE(succeeded(passes.run(*module)));
    mlir::FailureOr<KernelLibrary> kernels = lowerKernels(*module);
    EXPECT_TRUE(succeeded(kernels));
    EmitInfo info;
    info.modelName = "two stages";
    info.defaultLearningRate = 1e-3;
    auto all = llvm::to_vector(module->getOps<exec::ProgramOp>());
    dtc::Result<std::vector<uint8_t>> file =
        emitExecutable(all, dtc::ProgramCode::ofCpu(kernels->bytes), info);
    EXPECT_TRUE(file.ok()) << (file ? "" : file.error().text());
    return file ? *file : std::vector<uint8_t>();
  }

  static std::string product(const std::string &a, const std::string &b, const std::string &c,
                             const std::string &options = "") {
    return "exec.gemm %" + a + ", %" + b + " to %" + c +
           " sizes [4, 16, 16] strides [16, 16, 16] " + options + "\n";
  }
  static std::string transposed(const std::string &a, const std::string &b, const std::string &c,
                                const std::string &options = "") {
    return product(a, b + " transposed", c, options);
  }
  // Returns the text of sum += a' b over the micro-batch.
  static std::string addGradient(const std::string &a, const std::string &b, const std::string &sum,
                                 const std::string &alpha = "") {
    return "exec.gemm %" + a + " transposed, %" + b + " to %" + sum +
           " sizes [16, 16, 4] strides [16, 16, 16] " + alpha + " beta 1.0 starts_sum\n";
  }
  static std::string times(const std::string &a, const std::string &b, const std::string &c) {
    return "exec.launch @times(%" + a + ", %" + b + ") to (%" + c + ") range 1\n";
  }

  const std::string firstForward =
      product("x", "s", "h") + times("h", "h", "a") + product("a", "w1", "y");
  const std::string secondForward =
      product("y", "w2", "z") + times("z", "z", "b") + transposed("b", "s", "d") +
      "exec.copy %targets to %d sizes [64] from [1] at <0> into [1] at <0> accumulate\n"
      "exec.gemm %d, %d to %loss_sum sizes [1, 1, 64] strides [64, 1, 1] alpha 5.0e-01 beta 1.0 "
      "starts_sum\n";
  // The derivative of z * z is 2 z. The products contain the factor 2.
  const std::string secondBackward =
      product("d", "s", "db") + addGradient("d", "b", "gsb") + times("db", "z", "dz") +
      addGradient("y", "dz", "g2", "alpha 2.0") + transposed("dz", "w2", "dy", "alpha 2.0");
  const std::string firstBackward = transposed("dy", "w1", "da") + addGradient("a", "dy", "g1") +
                                    times("da", "h", "dh") +
                                    addGradient("x", "dh", "gsa", "alpha 2.0");

  mlir::MLIRContext &context;
  int64_t dp;
  bool overlaps = false;
  std::string axis, ends;
};

} // namespace dtc::test
