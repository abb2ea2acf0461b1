// Small correct programs, for tests that break them.
#pragma once

namespace dtc::test {

// Two ranks with samples of their own and three micro-batches: y = x w, with a loss of the squares
// of y.
inline constexpr const char *kDataParallel = R"(
exec.program @step mesh ["dp"] sizes [2] micro_batches 3 streams 2 events 1 {
  %w = exec.buffer "w" parameter f32 64 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %all = exec.buffer "x" input f32 192 bytes persistent
  exec.input "x" %all shape [3, 4, 4] axes [[], [0], []]
  %x = exec.view %all "x.m" f32 64 bytes at 0 + 64 * micro_batch
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  %y = exec.buffer "y" activation f32 64 bytes
  %t = exec.buffer "t" temporary f32 64 bytes
  %g = exec.buffer "grad w" gradient f32 64 bytes carried
  %part = exec.buffer "part" temporary f32 32 bytes
  exec.gradient "w" %g global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %sum = exec.buffer "loss sum" temporary f32 4 bytes carried
  %loss = exec.buffer "loss" output f32 4 bytes persistent
  exec.output loss %loss
  exec.task @forward per_micro_batch {
    exec.gemm %x, %w to %y sizes [4, 4, 4] strides [4, 4, 4] loc("h.0")
    exec.gemm %y, %y to %sum sizes [1, 1, 16] strides [16, 1, 1] beta 1.0 starts_sum loc("loss")
  }
  exec.task @backward per_micro_batch {
    exec.gemm %x transposed, %y to %g sizes [4, 4, 4] strides [4, 4, 4] beta 1.0 starts_sum
  }
  exec.task @report {
    exec.collective all_reduce sum %sum to %sum axes [0] count 1 "loss" control
    exec.copy %sum to %loss sizes [1] from [1] at <0> into [1] at <0>
  }
  exec.task @gradients {
    exec.collective all_reduce sum %g to %g axes [0] count 16 "grad w" gradient
  }
  exec.task @update {
    exec.gemm %g, %lr to %w sizes [16, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0 loc("h.0.w")
  }
  exec.entry train order [@forward 0, @backward 0, @forward 1, @backward 1, @forward 2, @backward 2,
                          @report, @gradients, @update]
  exec.entry gradients order [@forward 0, @backward 0, @forward 1, @backward 1, @forward 2, @backward 2,
                              @report, @gradients]
}
)";

// Two ranks that each have one row of w and one column of x: p = x w is a sum over both.
inline constexpr const char *kTensorParallel = R"(
exec.program @step mesh ["tp"] sizes [2] {
  %w = exec.buffer "w" parameter f32 32 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [2, 4] axes [[0], []] init zeros
  %x = exec.buffer "x" input f32 32 bytes persistent
  exec.input "x" %x shape [1, 4, 2] axes [[], [], [0]]
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  %p = exec.buffer "p" activation f32 64 bytes
  %t = exec.buffer "t" activation f32 64 bytes
  %u = exec.buffer "u" activation f32 64 bytes
  %lse = exec.buffer "lse" activation f32 16 bytes
  %g = exec.buffer "grad w" gradient f32 32 bytes
  exec.gradient "w" %g global [4, 4] stored [4, 4] local [2, 4] axes [[0], []] init zeros
  %loss = exec.buffer "loss" output f32 4 bytes persistent
  exec.output loss %loss
  exec.task @step {
    exec.gemm %x, %w to %p sizes [4, 4, 2] strides [2, 4, 4]
    exec.collective all_reduce sum %p to %p axes [0] count 16 "p" activation
    exec.gemm %p, %p to %loss sizes [1, 1, 16] strides [16, 1, 1]
    exec.gemm %x transposed, %p to %g sizes [2, 4, 4] strides [2, 4, 4]
  }
  exec.task @update {
    exec.gemm %g, %lr to %w sizes [8, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
  }
  exec.entry train order [@step, @update]
  exec.entry gradients order [@step]
}
)";

// Two ranks along dp times two along tp. Ranks along tp have two rows of w each. Ranks along dp
// store one of these, which is gathered before use. p = x w is a sum along tp, and @norm makes y of
// it.
inline constexpr const char *kGathered = R"(
exec.program @step mesh ["dp", "tp"] sizes [2, 2] {
  %w = exec.buffer "w" parameter f32 16 bytes persistent
  exec.parameter "w" %w global [4, 4] stored [4, 4] local [1, 4] axes [[1, 0], []] init zeros
  %x = exec.buffer "x" input f32 32 bytes persistent
  exec.input "x" %x shape [1, 4, 2] axes [[], [0], [1]]
  %ids = exec.buffer "ids" input i32 16 bytes persistent
  exec.input "ids" %ids shape [1, 4] axes [[], [0]]
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  exec.kernel @norm buffers [64, 64]
  %use = exec.buffer "w in use" temporary f32 32 bytes
  %p = exec.buffer "p" activation f32 64 bytes
  %y = exec.buffer "y" activation f32 64 bytes
  %all = exec.buffer "grad w whole" gradient f32 32 bytes
  %g = exec.buffer "grad w" gradient f32 16 bytes
  %loss = exec.buffer "loss" output f32 4 bytes persistent
  exec.output loss %loss
  exec.task @step {
    exec.collective all_gather sum %w to %use axes [0] count 4 "w" parameter
    exec.gemm %x, %use to %p sizes [4, 4, 2] strides [2, 4, 4]
    exec.collective all_reduce sum %p to %p axes [1] count 16 "p" activation
    exec.launch @norm(%p) to (%y) range 1
    exec.gemm %y, %y to %loss sizes [1, 1, 16] strides [16, 1, 1]
    exec.collective all_reduce sum %loss to %loss axes [0] count 1 "loss" control
    exec.gemm %x transposed, %y to %all sizes [2, 4, 4] strides [2, 4, 4]
    exec.collective reduce_scatter sum %all to %g axes [0] count 4 "grad w" gradient
  }
  exec.task @update {
    exec.gemm %g, %lr to %w sizes [4, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
  }
  exec.entry train order [@step, @update]
}
)";

// Two stages of two ranks each, which share the parameter s: y = x s, z = y s'.
inline constexpr const char *kStages = R"(
exec.program @first mesh ["pp", "dp"] sizes [2, 2] ranks [0, 1] {
  %s = exec.buffer "s" parameter f32 64 bytes persistent
  exec.parameter "s" %s global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %x = exec.buffer "x" input f32 64 bytes persistent
  exec.input "x" %x shape [1, 4, 4] axes [[], [1], []]
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  %y = exec.buffer "y" activation f32 64 bytes
  %dy = exec.buffer "dy" activation f32 64 bytes
  %g = exec.buffer "grad s" gradient f32 64 bytes
  exec.task @step {
    exec.gemm %x, %s to %y sizes [4, 4, 4] strides [4, 4, 4]
    exec.send %y over <"pairs", 2, [0, 2, 1, 3]> shift 1 "y" pipeline
    exec.receive %dy over <"pairs", 2, [0, 2, 1, 3]> shift 1 "dy" pipeline
    exec.gemm %x transposed, %dy to %g sizes [4, 4, 4] strides [4, 4, 4]
    exec.collective all_reduce sum %g to %g axes [1] count 16 "grad s" gradient
    exec.collective all_reduce sum %g to %g over <"ends", 2, [0, 2, 1, 3]> count 16 "tied" gradient
    exec.gemm %g, %lr to %s sizes [16, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
  }
  exec.entry train order [@step]
}
exec.program @second mesh ["pp", "dp"] sizes [2, 2] ranks [2, 3] {
  %s = exec.buffer "s" parameter f32 64 bytes persistent
  exec.parameter "s" %s global [4, 4] stored [4, 4] local [4, 4] axes [[], []] init zeros
  %lr = exec.buffer "lr" input f32 4 bytes persistent
  exec.scalar base_lr %lr
  %y = exec.buffer "y" activation f32 64 bytes
  %z = exec.buffer "z" activation f32 64 bytes
  %dy = exec.buffer "dy" activation f32 64 bytes
  %g = exec.buffer "grad s" gradient f32 64 bytes
  %loss = exec.buffer "loss" output f32 4 bytes persistent
  exec.output loss %loss
  exec.task @step {
    exec.receive %y over <"pairs", 2, [0, 2, 1, 3]> shift 1 "y" pipeline
    exec.gemm %y, %s transposed to %z sizes [4, 4, 4] strides [4, 4, 4]
    exec.gemm %z, %z to %loss sizes [1, 1, 16] strides [16, 1, 1]
    exec.collective all_reduce sum %loss to %loss axes [1] count 1 "loss" control
    exec.gemm %z, %s to %dy sizes [4, 4, 4] strides [4, 4, 4]
    exec.send %dy over <"pairs", 2, [0, 2, 1, 3]> shift 1 "dy" pipeline
    exec.gemm %z transposed, %y to %g sizes [4, 4, 4] strides [4, 4, 4]
    exec.collective all_reduce sum %g to %g axes [1] count 16 "grad s" gradient
    exec.collective all_reduce sum %g to %g over <"ends", 2, [0, 2, 1, 3]> count 16 "tied" gradient
    exec.gemm %g, %lr to %s sizes [16, 1, 1] strides [1, 1, 1] alpha -1.0 beta 1.0
  }
  exec.entry train order [@step]
}
)";

} // namespace dtc::test
