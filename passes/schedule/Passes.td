// Passes of the schedule phase: from the partitioned step to a planned exec.program.
include "mlir/Pass/PassBase.td"

def InlineBlocks : Pass<"dtc-inline-blocks", "::mlir::ModuleOp"> {
  let summary = "Puts blocks in place of their calls, once for each execution";
  let description = [{
    Unrolls every `graph.repeat` and inlines every `graph.call`; parameters and state with `repeats` become as many symbols,
    values that are stacks as many values. Random ops get the instance of their block, numbered through all executions. What
    is left are `@microbatch` and `@update` without calls.
    ```mlir
    // Before: %y = graph.repeat 2 @block(%x, %all) : (tensor<4x8xf32>, !graph.stack<2 x tensor<8x8xf32>>) -> tensor<4x8xf32>
    // After:  %0 = graph.linear %x, %w_0 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    //         %1 = graph.linear %0, %w_1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

def OffloadUpdate : Pass<"dtc-offload-update", "::mlir::ModuleOp"> {
  let summary = "Lets the host do what reads state in its memory";
  let description = [{
    An op of `@update` that reads state marked `graph.host`, or what such an op makes, is marked so itself, and gets what else it
    reads by `graph.to_host`. What the rest reads of its results, ops that move data between ranks first of all, it gets by
    `graph.to_device`. Gradients are reduced, and their norm is taken, where they are made. Runs on the local, inlined step,
    so that what goes to the host is what this rank updates.
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
    Makes tasks of `@microbatch` (forward, backward) and `@update` (loss, update), which go, gives every tensor a buffer and
    every op its instructions, adds up gradients and loss over micro-batches, and says in which order the tasks run.
    Kernel functions stay for code generation.

    In the module of a pipeline's stage (`graph.stage`) the order is that of `graph.order`, the tasks are those of its
    chunks (`@forward.2`, `@backward.2`, and `@weight_gradients.2` where the order has them), and what stages send each
    other are tasks, too, right before or behind the one that needs or makes it.
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
    For programs of GPUs. Where all that is read of a product is read by one launch, and its kernel does nothing but add a bias or
    a matrix, take GELU (by tanh) of the sum with a bias, or multiply by the derivative of GELU, the product does that on what it
    holds in f32, and the launch goes: what lay between them is neither written nor read again. The product stands where the
    launch stood.

    Only what NVIDIA documents to be there for every shape is asked for: bf16 or f16, rows of a multiple of 8 elements, a bias that
    lies where parameters do. Addends are taken in f32, too. GELU by erf, dropout, and what several products or ranks have parts
    of stay kernels.
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
    Producers add to a sum themselves where they can; the source of a copy is made where the copy would put it; results
    of in-place kernels and all-reduces take the memory of an operand that ends there.
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
    Gradient reductions move to right after their gradient is complete, in the last micro-batch or, where every
    micro-batch reduces its own, in each; neighbours of one kind over the same axes become one collective over one buffer.
    What micro-batches reduce travels with what the same block made, so that no gradient is whole beyond its block. Gradients of all-reduces lie in it from the start, without copies; what is scattered
    or gathered is packed and unpacked, as part of the copies that do so already where there are some.
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
    Of parameters that rest split, in every task of a micro-batch: the gathers of one execution of a block (or of what lies
    between two) come to its begin and become few large ones; with `ahead` they come to the begin of the block before it
    in that task. So the parameters of two blocks are whole at most. A gather that something before it depends on stays.
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
    Collectives that are `async`, with the copies that unpack what they gather or add what they reduce, go to stream 1;
    those that gather parameters for a micro-batch, to stream 2, where they start when compute has come to where they
    stand. Events keep every dependence between streams. Stream 0 waits for all at the end, and for what every run of a
    task does at the end of each run.
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
      "Collectives with buffers of their own that may be under way before stream 0 waits for the oldest; 0: any number">,
    Option<"once", "once", "bool", /*default=*/"true", "Also what a step sends once, not in every micro-batch">];
}

def OverlapTransfers : Pass<"dtc-overlap-transfers", "::dtc::exec::ProgramOp"> {
  let summary = "Moves transfers between stages to streams of their own";
  let description = [{
    Transfers that name an `exec.channel` go to a stream for each channel. Events of as many slots as their buffers have
    order them: compute waits for what it receives, a send for what it sends, and whoever writes a slot again for those
    who have read it. So compute waits for a send only where all slots of what it sends are full. A task `@begin` records
    every event once, as nothing is under way when a step begins.
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
    What is kept between steps lies first; the rest is placed so that buffers share bytes only when one is over before
    the other begins, on all streams. Sums over micro-batches are live from the start. What a micro-batch keeps from task to
    task while the order runs others gets `slots`, as many as the order wants, which share no byte with anything. The memory of
    the host has an arena of its own. The program's attribute `exec.lower_bound_bytes` is what no plan of these live ranges can
    do without, in both arenas.
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
    Within each task: where the same instructions follow each other several times, in memory that moves on by one stride
    each time, as those of alike layers do, one time is left, in an `exec.repeat`. What may differ besides memory are
    rank scalars and events, each by a stride, and names. What gains most is rolled first; what is not alike stays as it is.
    The pass takes itself back, instruction by instruction, before it is done, and fails where that is not what it was given.
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
    Every buffer has a place; buffers that share bytes are never live together; what is read was written; instructions of
    different streams that need an order have one; every event is recorded before it is waited for. Tasks are checked
    once, over the last micro-batch, with rules under which that holds for all: only sums go from one run of a task to
    the next, and only adding writes them, from the run on that starts them; other streams start behind stream 0 and are
    waited for by it within each run, but for what the last run has alone, and transfers; slots are disjoint and enough.
    What other streams touch is followed through all runs of all entries, until micro-batches alike leave what those
    before them left and are skipped: each use comes after those before it that it must not meet, and reads what its own
    micro-batch has left. Of an `exec.repeat` every layer is checked.
    ```mlir
    // Before and after: the same program.
    ```
  }];
}

def MergeStages : Pass<"dtc-merge-stages", "::mlir::ModuleOp"> {
  let summary = "Brings the programs of a pipeline's stages together in one module";
  let description = [{
    Each nested module has the program of one stage and its kernels. The programs go to the outer module, as `@stage_0` and so
    on, each for the ranks of its stage; kernels of equal bodies are there once.
    ```mlir
    // Before: module { module @stage_0 attributes {graph.stage = 0 : i64} { exec.program @step .. } .. }
    // After:  module { exec.program @stage_0 .. ranks [0, 1] .. }
    ```
  }];
  let statistics = [Statistic<"shared", "shared", "Number of kernels that another stage has, too">];
  let dependentDialects = ["::dtc::exec::ExecDialect", "::dtc::graph::GraphDialect", "::mlir::shard::ShardDialect"];
}
