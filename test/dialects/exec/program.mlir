// What declarations and rank scalars look like.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s -mlir-print-op-generic | dtc-opt | FileCheck %s
exec.program @split mesh ["dp", "cp", "tp"] sizes [2, 4, 2] {
  // Axis 2 outside of axis 0.
  // CHECK: exec.parameter "w" %w global [30, 4] stored [120] local [8, 4] axes {{\[\[}}2, 0], []] init zeros
  %w = exec.buffer "w" parameter f32 128 bytes persistent
  exec.parameter "w" %w global [30, 4] stored [120] local [8, 4] axes [[2, 0], []] init zeros
  // Two pieces of ceil(60 / 16) each.
  // CHECK: exec.state "p" %p global [60] stored [60] local [8] axes {{\[\[}}1, 2]] zigzag [1] init zeros
  %p = exec.buffer "p" optimizer f32 32 bytes persistent
  exec.state "p" %p global [60] stored [60] local [8] axes [[1, 2]] zigzag [1] init zeros
  // CHECK: exec.input "tokens" %tokens shape [1, 2, 16] axes {{\[\[}}], [0], [1]] zigzag [1]
  %tokens = exec.buffer "tokens" input i32 128 bytes persistent
  exec.input "tokens" %tokens shape [1, 2, 16] axes [[], [0], [1]] zigzag [1]

  // Terms stand in the order of the axes; those of one axis add up, and those that add up to 0 go.
  %x = exec.buffer "x" temporary f32 512 bytes
  %y = exec.buffer "y" temporary f32 16 bytes
  exec.task @step {
    // CHECK: exec.copy %x to %y sizes [4] from [1] at <56 + 4 * axis 0 - 8 * axis 1> into [1] at <0>
    exec.copy %x to %y sizes [4] from [1] at <56 - 8 * axis 1 + 3 * axis 0 + 1 * axis 0> into [1] at <0>
    // CHECK: exec.copy %x to %y sizes [4] from [1] at <4> into [1] at <0>
    exec.copy %x to %y sizes [4] from [1] at <4 + 5 * axis 2 - 5 * axis 2> into [1] at <0>
  }
}
