// Passes of the schedule phase: from the partitioned step to a planned exec.program.
include "mlir/Pass/PassBase.td"

def InlineBlocks : Pass<"dtc-inline-blocks", "::mlir::ModuleOp"> {
  let summary = "Puts blocks in place of their calls, once for each execution";
  let description = [{
    Unrolls every `graph.repeat` and inlines every `graph.call`. Parameters and states with `repeats` become as many
    symbols, stacks become as many values. Random ops get the instance of their block, numbered through all executions.
    The result has `@microbatch` and `@update` without calls.
    ```mlir
    // Before: %y = graph.repeat 2 @block(%x, %all)
    //             : (tensor<4x8xf32>, !graph.stack<2 x tensor<8x8xf32>>) -> tensor<4x8xf32>
    // After:  %0 = graph.linear %x, %w_0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    //         %1 = graph.linear %0, %w_1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def OffloadUpdate : Pass<"dtc-offload-update", "::mlir::ModuleOp"> {
  let summary = "Lets the host do what reads state in its memory";
  let description = [{
    Marks the ops of `@update` that read state marked `graph.host`, or results of such ops, with `graph.host`. They get
    their other operands through `graph.to_host`. Other readers of their results, first of all ops that move data
    between ranks, get them through `graph.to_device`. Gradients are reduced, and their norm is computed, on the device.
    Runs on the local, inlined step, so that a rank sends only the shard that it updates to the host.
    ```mlir
    // Before: graph.state @w.momentum of @w : tensor<8xf32> {graph.host}
    //         %m = graph.get @w.momentum : tensor<8xf32>
    //         %n = graph.add %m, %grad : tensor<8xf32>
    //         %p = shard.all_gather %n ...
    // After:  %0 = graph.to_host %grad : tensor<8xf32>
    //         %n = graph.add %m, %0 {graph.host} : tensor<8xf32>
    //         %1 = graph.to_device %n : tensor<8xf32>
    //         %p = shard.all_gather %1 ...
    ```
  }];
  let statistics = [Statistic<"moved", "moved", "Number of ops that run on the host">,
    Statistic<"copies", "copies", "Number of tensors that go from one memory to the other">];
}

def LowerToExec : Pass<"dtc-lower-to-exec", "::mlir::ModuleOp"> {
  let summary = "Turns the partitioned step into an exec.program";
  let description = [{
    Turns `@microbatch` into the tasks forward and backward, and `@update` into loss and update. Gives every tensor a
    buffer and every op its instructions, adds up gradients and loss over micro-batches, and sets the order in which the
    tasks run. Kernel functions stay for code generation.

    In the module of a pipeline stage (`graph.stage`) the order is that of `graph.order`, and the tasks are those of its
    chunks (`@forward.2`, `@backward.2`, and `@weight_gradients.2` if the order has them). Transfers between stages are
    tasks too, right before or after the task that reads or makes the tensor, or where the order has them, as for GPUs.
    ```mlir
    // Before, in @microbatch:
    %y = graph.linear %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    // After, in task @forward of exec.program @step:
    exec.gemm %x, %w to %linear.0 sizes [4, 16, 8] strides [8, 16, 16]
    // At the end of the program, of two micro-batches:
    exec.entry train order [@forward 0, @backward 0, @forward 1, @backward 1, @loss, @update]
    ```
  }];
  let options = [
    Option<"slots", "slots", "int64_t", /*default=*/"1", "Micro-batches under way at once, without a pipeline">,
    Option<"splitBackward", "split-backward", "bool", /*default=*/"false", "Weight gradients are a task of their own">];
  let dependentDialects = ["::dtc::exec::ExecDialect", "::dtc::graph::GraphDialect", "::mlir::shard::ShardDialect"];
}

def FuseEpilogues : Pass<"dtc-fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Lets products do what a kernel does to their results, where cuBLASLt can";
  let description = [{
    For programs of GPUs. Fuses a launch into the matrix product whose result it reads, if nothing else reads this
    result and the kernel only adds a bias or a matrix, applies GELU (by tanh) to the sum with a bias, or multiplies by
    the derivative of GELU. The matrix product computes this on its f32 accumulators, and the launch is removed: the
    tensor between them is neither written nor read. The matrix product takes the place of the launch.

    Restricted to cases that NVIDIA documents for every shape: bf16 or f16, rows of a multiple of 8 elements, a bias
    that is stored as a parameter. Addends are read in f32 too. GELU by erf, dropout, and sums of several matrix
    products or ranks stay kernels.
    ```mlir
    // Before, @kernel_0 being GELU of the sum of both:
    exec.gemm %x, %w to %t sizes [32, 16, 8] strides [8, 16, 16]
    exec.launch @kernel_0(%t, %b) to(%y) range 1
    // After:
    exec.gemm %x, %w bias %b gelu to %y sizes [32, 16, 8] strides [8, 16, 16]
    ```
  }];
  let dependentDialects = ["::dtc::exec::ExecDialect", "::dtc::graph::GraphDialect"];
  let statistics = [Statistic<"fused", "fused", "Number of launches that products took over">];
}

def ReuseBuffers : Pass<"dtc-reuse-buffers", "::dtc::exec::ProgramOp"> {
  let summary = "Removes copies and joins buffers that can be one";
  let description = [{
    Lets producers add to a sum themselves if they can. Makes the source of a copy a part of its destination. Gives
    results of in-place kernels and all-reduces the memory of an operand that is not read later.
    ```mlir
    // Before:
    exec.gemm %a, %b to %t sizes [4, 4, 4] strides [4, 4, 4]
    exec.copy %t to %sum sizes [16] from [1] at <0> into [1] at <0> accumulate
    // After:
    exec.gemm %a, %b to %sum sizes [4, 4, 4] strides [4, 4, 4] beta 1.0
    ```
  }];
  let statistics = [
    Statistic<"foldedSums", "folded-sums", "Number of additions that a producer took over">,
    Statistic<"removedCopies", "removed-copies", "Number of copies removed">,
    Statistic<"joinedBuffers", "joined-buffers", "Number of buffers that became part of another">];
}

def BucketCollectives : Pass<"dtc-bucket-collectives", "::dtc::exec::ProgramOp"> {
  let summary = "Merges reductions of gradients and gathers of parameters into few large ones";
  let description = [{
    Moves gradient reductions right after their gradient is complete, in the last micro-batch or, if every micro-batch
    reduces its own, in each. Merges neighbours of one kind over the same axes into one collective over one buffer.
    Reductions of every micro-batch are merged within one execution of a block, so that no gradient stays whole beyond
    its block. All-reduced gradients are computed in the merged buffer, without copies; scattered or gathered tensors
    are packed and unpacked, by existing copies if there are any.
    ```mlir
    // Before:
    exec.collective all_reduce sum %a to %a axes [0] count 64 "grad a" gradient async
    exec.collective all_reduce sum %b to %b axes [0] count 64 "grad b" gradient async
    // After, %a and %b being views of %gradients.0:
    exec.collective all_reduce sum %gradients.0 to %gradients.0 axes [0] count 128 "grad a +1" gradient async
    ```
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"25 << 20",
      "A bucket is closed before it gets bigger than this, in bytes">,
    Option<"once", "once", "bool", /*default=*/"true", "Also what a step sends once, not in every micro-batch">];
  let statistics = [Statistic<"merged", "merged", "Number of collectives that became part of another">];
}

def PrefetchGathers : Pass<"dtc-prefetch-gathers", "::dtc::exec::ProgramOp"> {
  let summary = "Gathers the parameters of a block together, while the block before it computes";
  let description = [{
    Moves the gathers of split parameters, in every task of a micro-batch: the gathers of one execution of a block (or
    of the code between two) move to its beginning and are merged into few large ones; with `ahead` they move to the
    beginning of the previous block in that task. So the parameters of at most two blocks are whole. A gather stays
    where it is if it conflicts with an instruction that it would have to pass.
    ```mlir
    // Before:
    exec.collective all_gather sum %a to %w0 axes [0] count 16 "a" parameter async {exec.execution = 0}
    exec.gemm %x, %w0 to %y sizes [4, 4, 8] strides [8, 4, 4]
    exec.collective all_gather sum %b to %w1 axes [0] count 16 "b" parameter async {exec.execution = 1}
    exec.gemm %y, %w1 to %z sizes [4, 4, 8] strides [8, 4, 4]
    // After:
    exec.collective all_gather sum %a to %w0 axes [0] count 16 "a" parameter async {exec.execution = 0}
    exec.collective all_gather sum %b to %w1 axes [0] count 16 "b" parameter async {exec.execution = 1}
    exec.gemm %x, %w0 to %y sizes [4, 4, 8] strides [8, 4, 4]
    exec.gemm %y, %w1 to %z sizes [4, 4, 8] strides [8, 4, 4]
    ```
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"25 << 20",
      "A bucket is closed before it gets bigger than this, in bytes">,
    Option<"ahead", "ahead", "bool", /*default=*/"true", "While the block before computes">];
  let statistics = [Statistic<"merged", "merged", "Number of gathers that became part of another">];
}

def AssignStreams : Pass<"dtc-assign-streams", "::dtc::exec::ProgramOp"> {
  let summary = "Moves collectives that may run beside compute to a stream of their own";
  let description = [{
    Moves `async` collectives, with the copies that unpack gathered tensors or add reduced ones, to stream 1. Gathers of
    parameters for a micro-batch go to stream 2, where they start when compute reaches their place. Events keep every
    dependence between streams. Stream 0 waits for all streams at the end, and at the end of each run of a task for the
    instructions that every run has.
    ```mlir
    // Before:
    exec.collective all_reduce sum %g to %g axes [0] count 64 "grad g" gradient async
    // After:
    exec.record 0
    exec.wait 0 stream 1
    exec.collective all_reduce sum %g to %g axes [0] count 64 "grad g" gradient async stream 1
    ```
  }];
  let options = [
    Option<"inFlight", "in-flight", "unsigned", /*default=*/"4",
      "Collectives with buffers of their own that may be under way before stream 0 waits for the oldest; "
      "0: any number">,
    Option<"once", "once", "bool", /*default=*/"true", "Also what a step sends once, not in every micro-batch">];
}

def OverlapTransfers : Pass<"dtc-overlap-transfers", "::dtc::exec::ProgramOp"> {
  let summary = "Moves transfers between stages to streams of their own";
  let description = [{
    Moves transfers that name an `exec.channel` to one stream per channel. Events with as many slots as their buffers
    order them: compute waits for received tensors, a send for the tensor that it sends, and a writer of a slot for all
    earlier readers. So compute waits for a send only if all slots are full. A task `@begin` records every event once,
    because nothing is in flight when a step begins.
    ```mlir
    // Before:
    exec.task @receive_forward.1 per_micro_batch {
      exec.receive %x over <"chunk 0 to 1", 2, [0, 1]> shift 1 "hidden" pipeline {exec.channel = 0 : i64}
    }
    // After, with %x of 2 slots:
    exec.task @receive_forward.1 per_micro_batch {
      exec.wait 0 slots 2 stream 1
      exec.receive %x over <"chunk 0 to 1", 2, [0, 1]> shift 1 "hidden" pipeline stream 1
      exec.record 2 slots 2 stream 1
    }
    ```
  }];
}

def PlanMemory : Pass<"dtc-plan-memory", "::dtc::exec::ProgramOp"> {
  let summary = "Gives every buffer its place in the arena";
  let description = [{
    Places persistent buffers first. Other buffers share bytes only if one is no longer used, on any stream, before the
    other is written. Sums over micro-batches are live from the start. A buffer that a micro-batch keeps from task to
    task while the order runs others gets `slots`, as many as the order requires, which share no byte with other
    buffers. Host memory has a separate arena. The program's attribute `exec.lower_bound_bytes` is a lower bound of the
    total size of both arenas for every plan of these live ranges.
    ```mlir
    // Before: %x = exec.buffer "x" temporary f32 64 bytes
    // After:  %x = exec.buffer "x" temporary f32 64 bytes at 128
    ```
  }];
  let statistics = [
    Statistic<"arenaBytes", "arena-bytes", "Bytes of the arena">,
    Statistic<"hostBytes", "host-bytes", "Bytes of the arena in the host's memory">,
    Statistic<"lowerBoundBytes", "lower-bound-bytes", "Bytes that no plan of these live ranges can do without">];
}

def RollLayers : Pass<"dtc-roll-layers", "::dtc::exec::ProgramOp"> {
  let summary = "Makes one repeat of what stands several times in a row";
  let description = [{
    Replaces repeated sequences of instructions within each task, as equal layers make them, by an `exec.repeat` of one
    of them. Memory, rank scalars and events may advance by one stride each, and names may differ. Rolls the repetition
    that saves most first; instructions that differ otherwise stay as they are. Finally unrolls the result, compares it
    with the original instruction by instruction, and fails if they differ.
    ```mlir
    // Before:
    %x_0 = exec.buffer "x.0" temporary f32 64 bytes at 0
    %x_1 = exec.buffer "x.1" temporary f32 64 bytes at 64
    exec.task @t {
      exec.zero %x_0
      exec.zero %x_1
    }
    // After, with min-saved=1:
    %x.0_x2 = exec.per_layer [%x_0, %x_1] "x.0 x2"
    exec.task @t {
      exec.repeat 2 {
        exec.zero %x.0_x2
      }
    }
    ```
  }];
  let options = [
    Option<"minSaved", "min-saved", "int64_t", "8", "Fewer instructions than this are not worth a repeat">];
  let statistics = [
    Statistic<"repeats", "repeats", "Number of repeats">,
    Statistic<"saved", "saved", "Number of instructions fewer">];
}

def VerifyExec : Pass<"dtc-verify-exec", "::dtc::exec::ProgramOp"> {
  let summary = "Checks that a planned program cannot go wrong";
  let description = [{
    Checks that
    - every buffer has an offset, and buffers that share bytes are never live together;
    - data is written before it is read;
    - instructions of different streams that need an order have one, and every event is recorded before it is waited
      for.

    Tasks are checked once, for the last micro-batch, under rules by which this holds for all: only sums are passed from
    one run of a task to the next, and only accumulation writes them, from the run on that starts them; other streams
    start after stream 0, and it waits for them within each run, except for instructions of the last run alone, and
    transfers; slots are disjoint and enough.

    Accesses of other streams are followed through all runs of all entries. Once a period of equal micro-batches leaves
    the same state as the period before it, the other periods of that stretch are skipped. Each use must follow all
    earlier conflicting ones, and read data of its own micro-batch. Every layer of an `exec.repeat` is checked.
    ```mlir
    // Before and after: the same program.
    ```
  }];
}

def MergeStages : Pass<"dtc-merge-stages", "::mlir::ModuleOp"> {
  let summary = "Brings the programs of a pipeline's stages together in one module";
  let description = [{
    Moves the program of each nested module to the outer module, as `@stage_0` and so on, each for the ranks of its
    stage. Kernels with equal bodies are merged.
    ```mlir
    // Before: module { module @stage_0 attributes {graph.stage = 0 : i64} { exec.program @step .. } .. }
    // After:  module { exec.program @stage_0 .. ranks [0, 1] .. }
    ```
  }];
  let statistics = [Statistic<"shared", "shared", "Number of kernels that another stage has, too">];
  let dependentDialects = ["::dtc::exec::ExecDialect", "::dtc::graph::GraphDialect", "::mlir::shard::ShardDialect"];
}
