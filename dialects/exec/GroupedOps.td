// Instructions on groups of rows, whose numbers are data: those of a mixture's experts.
include "dialects/exec/ExecOpBase.td"

def Exec_GroupedGemmOp : Exec_Instruction<"grouped_gemm",
    (ins Exec_Buffer:$a, Exec_Buffer:$b, Exec_Buffer:$counts), (ins Exec_Buffer:$c),
    (ins I64Attr:$groups, I64Attr:$samples, I64Attr:$rows, I64Attr:$k, I64Attr:$n, UnitAttr:$trans_b,
      UnitAttr:$sums_rows, UnitAttr:$accumulate), ["accumulateInto"]> {
  let summary = "Multiplies groups of rows by a matrix of each, or sums over the rows of each";
  let description = [{
    The rows of a group follow each other, from the sum of the counts of the groups before it; `counts` are i32
    [samples, groups], of which a group has the sum over samples. They are read when the instruction runs; one below 0
    counts as 0, and rows end where `rows` do.

    c[rows, n] = a[rows, k] * op(b[group]): b is [groups, k, n], or [groups, n, k] if `transposed`. Rows of c behind the
    last group become 0. With `sums_rows` c[groups, k, n] = transpose of a[rows, k] * b[rows, n] over the rows of each
    group, and 0 for one without rows; with `accumulate` it is added to c. Sums are in f32, and rounded once if c is
    narrower. Rows behind the last group are not read, nor is b[group] for a group without rows.

    Constraints:
    - (C1) sizes are positive; counts are samples * groups i32.
    - (C2) every buffer has the elements of its shape.
    - (C3) a and b have the same type of f32, bf16 and f16, c has the same or f32.
    - (C4) `sums_rows` excludes `transposed`; `accumulate` requires `sums_rows` and c of f32.
    - (C5) only an accumulating instruction starts a sum.
    - (C6) it does not read what it writes, but to add to it.

    Example:
    ```mlir
    %x = exec.buffer "x" temporary f32 1024 bytes
    %w = exec.buffer "w" parameter f32 2048 bytes persistent
    %n = exec.buffer "n" temporary i32 32 bytes
    %y = exec.buffer "y" temporary f32 2048 bytes
    %g = exec.buffer "g" gradient f32 2048 bytes
    exec.grouped_gemm %x, %w transposed by %n to %y groups 4 samples 2 rows 32 k 8 n 16
    exec.grouped_gemm %x, %y by %n to %g groups 4 samples 2 rows 32 k 8 n 16 sums_rows accumulate
    ```
  }];
  let addsUp = 1;
  let startsSums = 1;
  let assemblyFormat = [{$a `,` $b (`transposed` $trans_b^)? `by` $counts `to` $c `groups` $groups `samples` $samples
      `rows` $rows `k` $k `n` $n (`sums_rows` $sums_rows^)? (`accumulate` $accumulate^)? (`starts_sum` $starts_sum^)?
    (`stream` $stream^)? (`last` $last^)? attr-dict}];
}
