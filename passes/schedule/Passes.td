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

def LowerToExec : Pass<"dtc-lower-to-exec", "::mlir::ModuleOp"> {
  let summary = "Turns the partitioned step into an exec.program";
  let description = [{
    Makes tasks of `@microbatch` (forward, backward) and `@update` (loss, update), which go, gives every tensor a buffer and
    every op its instructions, adds up gradients and loss over micro-batches, and says in which order the tasks run.
    Kernel functions stay for code generation.
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
    Option<"slots", "slots", "int64_t", /*default=*/"1", "Micro-batches under way at once: each keeps what it needs in a slot">,
    Option<"splitBackward", "split-backward", "bool", /*default=*/"false", "Weight gradients are a task of their own">];
  let dependentDialects = ["::dtc::exec::ExecDialect", "::dtc::graph::GraphDialect", "::mlir::shard::ShardDialect"];
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
    Gradient reductions move to right after their gradient is complete, in the last micro-batch; neighbours of one kind over the same axes become
    one collective over one buffer. Gradients of all-reduces lie in it from the start, without copies; what is scattered
    or gathered is packed and unpacked, as part of the copies that do so already where there are some.
    ```mlir
    // Before:
    exec.collective all_reduce sum %a to %a axes [0] count 64 "grad a" gradient async
    exec.collective all_reduce sum %b to %b axes [0] count 64 "grad b" gradient async
    // After, %a and %b being views of %gradients.0:
    exec.collective all_reduce sum %gradients.0 to %gradients.0 axes [0] count 128 "grad a +1" gradient async
    ```
  }];
  let options = [Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"25 << 20",
    "A bucket is closed before it gets bigger than this, in bytes">];
  let statistics = [Statistic<"merged", "merged", "Number of collectives that became part of another">];
}

def AssignStreams : Pass<"dtc-assign-streams", "::dtc::exec::ProgramOp"> {
  let summary = "Moves collectives that may run beside compute to a stream of their own";
  let description = [{
    Collectives that are `async`, with the copies that unpack what they gather, go to stream 1; events keep every
    dependence between streams, and stream 0 waits for all at the end.
    ```mlir
    // Before:
    exec.collective all_reduce sum %g to %g axes [0] count 64 "grad g" gradient async
    // After:
    exec.record 0
    exec.wait 0 stream 1
    exec.collective all_reduce sum %g to %g axes [0] count 64 "grad g" gradient async stream 1
    ```
  }];
  let options = [Option<"inFlight", "in-flight", "unsigned", /*default=*/"4",
    "Collectives with buffers of their own that may be under way before stream 0 waits for the oldest; 0: any number">];
}

def PlanMemory : Pass<"dtc-plan-memory", "::dtc::exec::ProgramOp"> {
  let summary = "Gives every buffer its place in the arena";
  let description = [{
    What is kept between steps lies first; the rest is placed so that buffers share bytes only when one is over before
    the other begins, on all streams. Sums over micro-batches are live from the start. Where several micro-batches are under
    way at once, what one of them keeps from task to task becomes `per_slot`, all slots as large as one. The program's
    attribute `exec.lower_bound_bytes` is what no plan of these live ranges can do without.
    ```mlir
    // Before: %x = exec.buffer "x" temporary f32 64 bytes
    // After:  %x = exec.buffer "x" temporary f32 64 bytes at 128
    ```
  }];
  let statistics = [
    Statistic<"arenaBytes", "arena-bytes", "Bytes of the arena">,
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
    different streams that need an order have one; every event is recorded once, before it is waited for. Tasks are checked
    once, over the last micro-batch, with rules under which that holds for all: only sums go from one run of a task to
    the next, and only adding writes them; other streams run in the last run; slots are disjoint. Of an `exec.repeat` every
    layer is checked.
    ```mlir
    // Before and after: the same program.
    ```
  }];
}

def VerifyPrograms : Pass<"dtc-verify-programs", "::mlir::ModuleOp"> {
  let summary = "Checks that the programs of a module run together to their ends";
  let description = [{
    Every rank of the mesh has one program, of the same micro-batches and entries as the others. Ranks that meet in a
    collective mean the same; every send has a receive of as many elements of one type. No rank waits forever: all of them
    are played, stream by stream, with sends that wait for their receive; an error says where the rank and the one that it
    waits for are. Beyond 4 million records, waits and meetings of all ranks together that is left to the checks of the
    file, which do not grow with ranks.
    ```mlir
    // Before and after: the same programs.
    ```
  }];
}
