// Convolution and pooling of images, and their backward ops. Images are [batch, channels, height,
// width], kernels [filters, channels, height, width]: the layouts and names of torch.nn, so that
// parameters can be exchanged unchanged.
include "dialects/graph/GraphOpBase.td"

class Graph_ImageOp<string mnemonic, list<Trait> traits = []> : Graph_Op<mnemonic, [Pure, Graph_Rule] # traits> {
  let hasVerifier = 1;
}

// The movement of the kernel over the image, in pixels, height first.
defvar convWindow = (ins DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$stride,
    DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0}">:$padding,
    DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$dilation);

def Graph_Conv2dOp : Graph_ImageOp<"conv2d", [Graph_Gradient, Graph_ShortForm]> {
  let summary = "Convolves images with a kernel for every filter";
  let description = [{
    y[b, f, i, j] = sum over c, p, q of x[b, c, i * stride - padding + p * dilation, j * ...] * weight[f, c, p, q],
    where pixels outside of the image count as 0: torch.nn.Conv2d. x is [batch, channels, height, width], the weight
    [filters, channels / groups, height, width]; `stride`, `padding` (on both sides) and `dilation` are [height, width].
    The number of groups is the quotient of the channels of x and the weight; filters of group g see the channels of
    group g only. A result is (size + 2 padding - dilation (kernel - 1) - 1) / stride + 1 pixels high and wide, rounded
    down.

    On the mesh batch, groups and filters split into parts of the result; split channels of a group leave a partial sum.
    Height and width are whole.

    Short form: a third operand, the bias [filters], which `dtc-complete-ops` adds by a `graph.add`.

    Constraints:
    - (C1) `x`, the weight and the result have 4 dims, of which only the batch is dynamic.
    - (C2) `stride`, `padding` and `dilation` have two entries, stride and dilation of 1 or more, padding of 0 or more.
    - (C3) the channels of `x` are a multiple of those of the weight, and the filters a multiple of the groups.
    - (C4) the kernel, spread by `dilation`, fits into the padded image.
    - (C5) the result is [batch, filters, height, width].
    - (C6) `x` and the weight have the same element type, (C7) the result has it too, or f32.
    - (C8) a bias has one element per filter, of the element type of the result.

    Example:
    ```mlir
    %y = graph.conv2d %x, %w padding [1, 1] : (tensor<?x3x8x8xf32>, tensor<16x3x3x3xf32>) -> tensor<?x16x8x8xf32>
    %z = graph.conv2d %y, %v, %bias stride [2, 2] : (tensor<?x16x8x8xf32>, tensor<32x8x2x2xf32>, tensor<32xf32>)
        -> tensor<?x32x4x4xf32>
    ```
  }];
  let arguments = !con((ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight, Optional<Graph_FloatTensor>:$bias),
      convWindow);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$x `,` $weight (`,` $bias^)? (`stride` $stride^)? (`padding` $padding^)?
      (`dilation` $dilation^)?
    attr-dict `:` functional-type(operands, results)}];
}

def Graph_ConvTranspose2dOp : Graph_ImageOp<"conv_transpose2d", [Graph_Gradient]> {
  let summary = "Spreads every pixel by a kernel";
  let description = [{
    y[b, c, i * stride - padding + p * dilation, j * ...] += x[b, f, i, j] * weight[f, c, p, q]: the transpose of
    `graph.conv2d`, and torch.nn.ConvTranspose2d. x is [batch, filters, height, width], the weight [filters, channels /
    groups, height, width] as for the convolution that goes the other way. Several sizes of the result have the same x
    (torch's `output_padding`): its type says which.

    On the mesh batch, groups and channels split; split filters of a group leave a partial sum. Height and width are
    whole.

    Constraints: those of `graph.conv2d` for the result as its image, the weight, and `x` as its result.

    Example:
    ```mlir
    %y = graph.conv_transpose2d %x, %w stride [2, 2] : (tensor<?x16x4x4xf32>, tensor<16x8x2x2xf32>)
        -> tensor<?x8x8x8xf32>
    ```
  }];
  let arguments = !con((ins Graph_FloatTensor:$x, Graph_FloatTensor:$weight), convWindow);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$x `,` $weight (`stride` $stride^)? (`padding` $padding^)? (`dilation` $dilation^)?
    attr-dict `:` functional-type(operands, results)}];
}

def Graph_Conv2dInputGradOp : Graph_ImageOp<"conv2d_input_grad"> {
  let summary = "Gradient of conv2d with respect to x";
  let description = [{
    dx[b, c, u, v] = sum over f, i, j of dy[b, f, i, j] * weight[f, c, u - i * stride + padding, v - ...], spread by
    `dilation`. On the mesh batch, groups and channels split; split filters of a group leave a partial sum.

    Constraints: those of `graph.conv2d` for the result, the weight and `dy`.

    Example:
    ```mlir
    %dx = graph.conv2d_input_grad %dy, %w padding [1, 1] : (tensor<?x16x8x8xf32>, tensor<16x3x3x3xf32>)
        -> tensor<?x3x8x8xf32>
    ```
  }];
  let arguments = !con((ins Graph_FloatTensor:$dy, Graph_FloatTensor:$weight), convWindow);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$dy `,` $weight (`stride` $stride^)? (`padding` $padding^)? (`dilation` $dilation^)?
    attr-dict `:` functional-type(operands, results)}];
}

def Graph_Conv2dWeightGradOp : Graph_ImageOp<"conv2d_weight_grad"> {
  let summary = "Gradient of conv2d with respect to its weight";
  let description = [{
    dw[f, c, p, q] = sum over b, i, j of dy[b, f, i, j] * x[b, c, i * stride - padding + p * dilation, j * ...]. On the
    mesh groups, filters and channels split; a split batch (data parallelism) leaves a partial sum.

    Constraints: those of `graph.conv2d` for `x`, the result and `dy`.

    Example:
    ```mlir
    %dw = graph.conv2d_weight_grad %x, %dy padding [1, 1] : (tensor<?x3x8x8xf32>, tensor<?x16x8x8xf32>)
        -> tensor<16x3x3x3xf32>
    ```
  }];
  let arguments = !con((ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy), convWindow);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = [{$x `,` $dy (`stride` $stride^)? (`padding` $padding^)? (`dilation` $dilation^)?
    attr-dict `:` functional-type(operands, results)}];
}

defvar poolWindow = (ins DenseI64ArrayAttr:$kernel, DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">:$stride,
    DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0}">:$padding);

// An op on the windows of images: `what` names its reduction, `outside` the treatment of pixels
// outside of the image.
class Graph_PoolOp<string mnemonic, string what, string outside> : Graph_ImageOp<mnemonic, [Graph_Gradient]> {
  let summary = what # " of every window of an image";
  let description = [{
    y[b, c, i, j] is the }] # !tolower(what) # [{ of x[b, c, i * stride - padding + p, j * ...] over the p and q of
    `kernel`, [height, width], for each channel. }] # outside # [{
    A result is (size + 2 padding - kernel) / stride + 1 pixels high and wide, rounded down.

    On the mesh: batch and channels split. Height and width are whole.

    Constraints:
    - (C1) `x` and the result have 4 dims, of which only the batch is dynamic, and the same element type.
    - (C2) `kernel`, `stride` and `padding` have two entries, kernel and stride of 1 or more, padding of 0 or more.
    - (C3) padding is half of the kernel at most, so that every window has a pixel.
    - (C4) the kernel fits into the padded image.
    - (C5) the result is [batch, channels, height, width].

    Example:
    ```mlir
    %y = graph.}] # mnemonic # [{ %x kernel [2, 2] stride [2, 2] : tensor<?x16x8x8xf32> -> tensor<?x16x4x4xf32>
    ```
  }];
  let arguments = !con((ins Graph_FloatTensor:$x), poolWindow);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `kernel` $kernel (`stride` $stride^)? "
      "(`padding` $padding^)? attr-dict `:` type($x) `->` type($result)";
}
def Graph_MaxPool2dOp : Graph_PoolOp<"max_pool2d", "Maximum",
    "Pixels outside of the image are left out (torch.nn.MaxPool2d).">;
def Graph_AvgPool2dOp : Graph_PoolOp<"avg_pool2d", "Mean",
  "Pixels outside of the image are averaged as zeros (torch.nn.AvgPool2d).">;

def Graph_MaxPool2dGradOp : Graph_ImageOp<"max_pool2d_grad"> {
  let summary = "Gradient of max_pool2d";
  let description = [{
    dx[b, c, u, v] = sum of dy over the windows whose first maximum, row by row, is x[b, c, u, v]. The maximum is found
    again in x instead of being saved. On the mesh batch and channels split.

    Constraints: those of `graph.max_pool2d` for `x` and `dy`, and
    - (C1) the result has the type of `x`.

    Example:
    ```mlir
    %dx = graph.max_pool2d_grad %x, %dy kernel [2, 2] stride [2, 2] : (tensor<?x16x8x8xf32>, tensor<?x16x4x4xf32>)
        -> tensor<?x16x8x8xf32>
    ```
  }];
  let arguments = !con((ins Graph_FloatTensor:$x, Graph_FloatTensor:$dy), poolWindow);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$x `,` $dy `kernel` $kernel (`stride` $stride^)? "
      "(`padding` $padding^)? attr-dict `:` functional-type(operands, results)";
}

def Graph_AvgPool2dGradOp : Graph_ImageOp<"avg_pool2d_grad"> {
  let summary = "Gradient of avg_pool2d";
  let description = [{
    dx[b, c, u, v] = sum of dy over the windows that contain the pixel, divided by the number of pixels of `kernel`. On
    the mesh batch and channels split.

    Constraints: those of `graph.avg_pool2d` for the result and `dy`.

    Example:
    ```mlir
    %dx = graph.avg_pool2d_grad %dy kernel [2, 2] stride [2, 2] : tensor<?x16x4x4xf32> -> tensor<?x16x8x8xf32>
    ```
  }];
  let arguments = !con((ins Graph_FloatTensor:$dy), poolWindow);
  let results = (outs Graph_FloatTensor:$result);
  let assemblyFormat = "$dy `kernel` $kernel (`stride` $stride^)? "
      "(`padding` $padding^)? attr-dict `:` type($dy) `->` type($result)";
}
