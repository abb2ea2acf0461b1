// RUN: dtc-opt %s --dtc-set-precision=precision=bf16 --verify-each -split-input-file | FileCheck %s
// RUN: dtc-opt %s --dtc-set-precision=precision=f16 -split-input-file | FileCheck %s --check-prefix=F16
// RUN: dtc-opt %s --dtc-set-precision -split-input-file | FileCheck %s --check-prefix=F32

// Parameters, activations and logits are narrow; statistics of the norm, lse and the loss are f32. A repeat carries bf16.
// F16:       graph.state @step.loss_scale : tensor<f32> init constant(6.553600e+04)
// F16:       graph.state @step.good_steps : tensor<f32>
// F32-NOT:   bf16
// F32-NOT:   step.loss_scale
// CHECK-NOT: step.loss_scale
// CHECK:     graph.parameter @"h.{}.w" : tensor<8x8xbf16> init ones repeats 2
// CHECK-LABEL: graph.func private @block
// CHECK-SAME:    (%[[X:.*]]: tensor<2x4x8xbf16>, %[[W:.*]]: tensor<8x8xbf16>, %[[N:.*]]: tensor<8xbf16>) -> tensor<2x4x8xbf16>
// CHECK:         graph.rms_norm %[[X]], %[[N]] : (tensor<2x4x8xbf16>, tensor<8xbf16>) -> (tensor<2x4x8xbf16>, tensor<2x4xf32>)
// CHECK:         graph.linear {{.*}} -> tensor<2x4x8xbf16>
// CHECK-NOT:     graph.cast
// CHECK-LABEL: graph.func @loss
// CHECK:         graph.embedding {{.*}} -> tensor<2x4x8xbf16>
// CHECK:         graph.repeat 2 @block
// CHECK:         graph.cross_entropy {{.*}} : (tensor<2x4x16xbf16>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
// CHECK:         graph.reduce sum {{.*}} : tensor<2x4xf32> -> tensor<f32>
// CHECK-NOT:     graph.cast
module {
  graph.parameter @table : tensor<16x8xf32> init ones
  graph.parameter @"h.{}.w" : tensor<8x8xf32> init ones repeats 2
  graph.parameter @"h.{}.n" : tensor<8xf32> init ones repeats 2
  graph.func private @block(%x: tensor<2x4x8xf32>, %w: tensor<8x8xf32>, %n: tensor<8xf32>) -> tensor<2x4x8xf32> {
    %y, %rstd = graph.rms_norm %x, %n : (tensor<2x4x8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4xf32>)
    %z = graph.linear %y, %w : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    graph.return %z : tensor<2x4x8xf32>
  }
  graph.func @loss(%tokens: tensor<2x4xi32>, %targets: tensor<2x4xi32>) -> tensor<f32> {
    %table = graph.get @table : tensor<16x8xf32>
    %w = graph.get @"h.{}.w" : !graph.stack<2 x tensor<8x8xf32>>
    %n = graph.get @"h.{}.n" : !graph.stack<2 x tensor<8xf32>>
    %x = graph.embedding %table, %tokens : (tensor<16x8xf32>, tensor<2x4xi32>) -> tensor<2x4x8xf32>
    %y = graph.repeat 2 @block(%x, %w, %n) : (tensor<2x4x8xf32>, !graph.stack<2 x tensor<8x8xf32>>, !graph.stack<2 x tensor<8xf32>>) -> tensor<2x4x8xf32>
    %logits = graph.linear %y, %table transposed : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
    %rows, %lse = graph.cross_entropy %logits, %targets : (tensor<2x4x16xf32>, tensor<2x4xi32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
    %loss = graph.reduce sum %rows dims [0, 1] : tensor<2x4xf32> -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}

// -----

// An input stays what it is in the file; products take its rounding. What is made of a sum is f32 until the next product, which takes it
// narrow again; a constant follows what it stands with; the tables of a rotation stay f32; images are f32.
// CHECK-LABEL: graph.func @loss
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>, %[[I:.*]]: tensor<4x1x4x4xf32>)
// CHECK:         %[[W:.*]] = graph.get @w : tensor<8x8xbf16>
// CHECK:         %[[NARROW:.*]] = graph.cast %[[X]] : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK:         %[[Y:.*]] = graph.linear %[[NARROW]], %[[W]]
// CHECK:         %[[HALF:.*]] = graph.constant 5.0
// CHECK:         %[[ROUNDED:.*]] = graph.cast %[[HALF]] : tensor<f32> to tensor<bf16>
// CHECK:         %[[SCALED:.*]] = graph.multiply %[[Y]], %[[ROUNDED]] : (tensor<4x8xbf16>, tensor<bf16>) -> tensor<4x8xbf16>
// CHECK:         %[[SUM:.*]] = graph.reduce sum %[[SCALED]] dims [0] : tensor<4x8xbf16> -> tensor<8xf32>
// CHECK:         %[[WIDE:.*]] = graph.cast %[[SCALED]] : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK:         %[[CENTRED:.*]] = graph.subtract %[[WIDE]], %[[SUM]] : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
// CHECK:         %[[AGAIN:.*]] = graph.cast %[[CENTRED]] : tensor<4x8xf32> to tensor<4x8xbf16>
// CHECK:         graph.linear %[[AGAIN]], %[[W]]
// CHECK:         %[[COS:.*]], %{{.*}} = graph.rotary_table {{.*}} : tensor<4x1xf32>, tensor<4x1xf32>
// CHECK:         graph.rotary %{{.*}}, %[[COS]], {{.*}} : (tensor<1x4x4x2xbf16>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<1x4x4x2xbf16>
// CHECK:         graph.avg_pool2d {{.*}} tensor<4x1x2x2xf32>
// CHECK:         %[[MEAN:.*]] = graph.reduce mean
// CHECK:         graph.return %{{.*}} : tensor<f32>
module {
  graph.parameter @w : tensor<8x8xf32> init ones
  graph.func @loss(%x: tensor<4x8xf32>, %images: tensor<4x1x4x4xf32>) -> tensor<f32> {
    %w = graph.get @w : tensor<8x8xf32>
    %y = graph.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %five = graph.constant 5.0 : tensor<f32>
    %scaled = graph.multiply %y, %five : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %sum = graph.reduce sum %scaled dims [0] : tensor<4x8xf32> -> tensor<8xf32>
    %centred = graph.subtract %scaled, %sum : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    %z = graph.linear %centred, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %heads = graph.reshape %z : tensor<4x8xf32> -> tensor<1x4x4x2xf32>
    %cos, %sin = graph.rotary_table [1.0] : tensor<4x1xf32>, tensor<4x1xf32>
    %turned = graph.rotary %heads, %cos, %sin : (tensor<1x4x4x2xf32>, tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<1x4x4x2xf32>
    %pooled = graph.avg_pool2d %images kernel [2, 2] stride [2, 2] : tensor<4x1x4x4xf32> -> tensor<4x1x2x2xf32>
    %mean = graph.reduce mean %turned dims [0, 1, 2, 3] : tensor<1x4x4x2xf32> -> tensor<f32>
    %other = graph.reduce mean %pooled dims [0, 1, 2, 3] : tensor<4x1x2x2xf32> -> tensor<f32>
    %loss = graph.add %mean, %other : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}

// -----

// Exponentials and logarithms are f32, as a logit in bf16 moves its exponential by more than bf16 rounds it.
// CHECK-LABEL: graph.func @loss
// CHECK:         %[[LOGITS:.*]] = graph.linear {{.*}} -> tensor<4x8xbf16>
// CHECK:         %[[WIDE:.*]] = graph.cast %[[LOGITS]] : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK:         %[[EXP:.*]] = graph.exp %[[WIDE]] : tensor<4x8xf32>
// CHECK:         %[[SUM:.*]] = graph.reduce sum %[[EXP]] dims [1] : tensor<4x8xf32> -> tensor<4xf32>
// CHECK:         graph.log %[[SUM]] : tensor<4xf32>
module {
  graph.parameter @w : tensor<8x8xf32> init ones
  graph.func @loss(%x: tensor<4x8xf32>) -> tensor<f32> {
    %w = graph.get @w : tensor<8x8xf32>
    %y = graph.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %exp = graph.exp %y : tensor<4x8xf32>
    %sum = graph.reduce sum %exp dims [1] : tensor<4x8xf32> -> tensor<4xf32>
    %log = graph.log %sum : tensor<4xf32>
    %loss = graph.reduce mean %log dims [0] : tensor<4xf32> -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}

// -----

// Functions that PyTorch's autocast keeps in f32 are f32, others follow their operand. A mask has no say in the type of
// a choice: that of integers is f32, and both sides stay narrow.
// CHECK-LABEL: graph.func @loss
// CHECK:         %[[Y:.*]] = graph.linear {{.*}} -> tensor<4x8xbf16>
// CHECK:         graph.point mish %[[Y]] : tensor<4x8xbf16>
// CHECK:         %[[ZERO:.*]] = graph.cast {{.*}} : tensor<f32> to tensor<bf16>
// CHECK:         graph.compare gt %{{.*}}, %[[ZERO]] : (tensor<4x8xbf16>, tensor<bf16>) -> tensor<4x8xbf16>
// CHECK:         %[[IDS:.*]] = graph.compare eq {{.*}} : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xf32>
// CHECK:         graph.where %[[IDS]], {{.*}} : (tensor<4x1xf32>, tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
// CHECK:         %[[WIDE:.*]] = graph.cast {{.*}} : tensor<4x8xbf16> to tensor<4x8xf32>
// CHECK:         graph.point softplus [1.000000e+00, 2.000000e+01] %[[WIDE]] : tensor<4x8xf32>
module {
  graph.parameter @w : tensor<8x8xf32> init ones
  graph.func @loss(%x: tensor<4x8xf32>, %ids: tensor<4x1xi32>) -> tensor<f32> {
    %w = graph.get @w : tensor<8x8xf32>
    %y = graph.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %mish = graph.point mish %y : tensor<4x8xf32>
    %zero = graph.constant 0.0 : tensor<f32>
    %positive = graph.compare gt %mish, %zero : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %same = graph.compare eq %ids, %ids : (tensor<4x1xi32>, tensor<4x1xi32>) -> tensor<4x1xf32>
    %chosen = graph.where %same, %positive, %mish : (tensor<4x1xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %soft = graph.point softplus [1.0, 20.0] %chosen : tensor<4x8xf32>
    %loss = graph.reduce mean %soft dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}

// -----

// Routers choose by logits that are not rounded. One that is wide keeps its weight, too, and its product is of f32; the
// bias of a choice is in f32 always. What the weights of experts multiply stays narrow.
// CHECK:     graph.parameter @router : tensor<8x4xbf16>
// CHECK:     graph.parameter @wide : tensor<8x4xf32>
// CHECK:     graph.parameter @bias : tensor<4xf32>
// CHECK-LABEL: graph.func @loss
// CHECK:         graph.linear %{{.*}}, %{{.*}} : (tensor<2x4x8xbf16>, tensor<8x4xbf16>) -> tensor<2x4x4xf32>
// CHECK:         graph.route %{{.*}} top 2 normalised : (tensor<2x4x4xf32>) -> (tensor<2x4x2xf32>, tensor<2x4x2xi32>)
// CHECK:         graph.unpack_rows %{{.*}} : (tensor<4x2x2x8xbf16>, tensor<2x4x2xi32>, tensor<2x4x2xf32>) -> tensor<2x4x8xbf16>
// CHECK:         %[[WIDE:.*]] = graph.cast %{{.*}} : tensor<2x4x8xbf16> to tensor<2x4x8xf32>
// CHECK:         graph.linear %[[WIDE]], %{{.*}} {graph.wide} : (tensor<2x4x8xf32>, tensor<8x4xf32>) -> tensor<2x4x4xf32>
// CHECK:         graph.route %{{.*}} bias %{{.*}} top 2 score "sigmoid" normalised : (tensor<2x4x4xf32>, tensor<4xf32>)
module {
  graph.parameter @router : tensor<8x4xf32> init ones
  graph.parameter @wide : tensor<8x4xf32> init ones
  graph.parameter @bias : tensor<4xf32> init zeros frozen
  graph.parameter @w : tensor<8x8xf32> init ones
  graph.func @loss(%input: tensor<2x4x8xf32>) -> tensor<f32> {
    %router = graph.get @router : tensor<8x4xf32>
    %wide = graph.get @wide : tensor<8x4xf32>
    %bias = graph.get @bias : tensor<4xf32>
    %w = graph.get @w : tensor<8x8xf32>
    %x = graph.linear %input, %w : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %logits = graph.linear %x, %router : (tensor<2x4x8xf32>, tensor<8x4xf32>) -> tensor<2x4x4xf32>
    %weights, %experts = graph.route %logits top 2 normalised
        : (tensor<2x4x4xf32>) -> (tensor<2x4x2xf32>, tensor<2x4x2xi32>)
    %places, %counts = graph.place_rows %experts : (tensor<2x4x2xi32>) -> (tensor<2x4x2xi32>, tensor<2x4xi32>)
    %rows = graph.pack_rows %x at %places : (tensor<2x4x8xf32>, tensor<2x4x2xi32>) -> tensor<4x2x2x8xf32>
    %y = graph.unpack_rows %rows at %places weighted %weights
        : (tensor<4x2x2x8xf32>, tensor<2x4x2xi32>, tensor<2x4x2xf32>) -> tensor<2x4x8xf32>
    %more = graph.linear %y, %wide {graph.wide} : (tensor<2x4x8xf32>, tensor<8x4xf32>) -> tensor<2x4x4xf32>
    %scores, %chosen = graph.route %more bias %bias top 2 score "sigmoid" normalised
        : (tensor<2x4x4xf32>, tensor<4xf32>) -> (tensor<2x4x2xf32>, tensor<2x4x2xi32>)
    %loss = graph.reduce mean %scores dims [0, 1, 2] : tensor<2x4x2xf32> -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}

// -----

// Indices that a parameter holds stay in f32, which has whole numbers up to 2^24: those that are moved about first, and
// those that a block gets.
// CHECK:     graph.parameter @places : tensor<4x6xf32> init zeros frozen
// CHECK:     graph.parameter @"far.{}" : tensor<4xf32> init zeros frozen repeats 2
// CHECK:     graph.parameter @table : tensor<900x8xbf16>
// CHECK-LABEL: graph.func private @layer
// CHECK:         graph.cast %{{.*}} : tensor<4xf32> to tensor<4xi32>
// CHECK-LABEL: graph.func @loss
// CHECK:         graph.cast %{{.*}} : tensor<24xf32> to tensor<24xi32>
module {
  graph.parameter @places : tensor<4x6xf32> init zeros frozen
  graph.parameter @"far.{}" : tensor<4xf32> init zeros frozen repeats 2
  graph.parameter @table : tensor<900x8xf32> init ones
  graph.func private @layer(%x: tensor<4x8xf32>, %far: tensor<4xf32>, %table: tensor<900x8xf32>) -> tensor<4x8xf32> {
    %ids = graph.cast %far : tensor<4xf32> to tensor<4xi32>
    %rows = graph.embedding %table, %ids : (tensor<900x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
    %y = graph.add %x, %rows : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    graph.return %y : tensor<4x8xf32>
  }
  graph.func @loss(%input: tensor<4x8xf32>) -> tensor<f32> {
    %places = graph.get @places : tensor<4x6xf32>
    %fars = graph.get @"far.{}" : !graph.stack<2 x tensor<4xf32>>
    %table = graph.get @table : tensor<900x8xf32>
    %turned = graph.transpose %places by [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
    %flat = graph.reshape %turned : tensor<6x4xf32> -> tensor<24xf32>
    %ids = graph.cast %flat : tensor<24xf32> to tensor<24xi32>
    %rows = graph.embedding %table, %ids : (tensor<900x8xf32>, tensor<24xi32>) -> tensor<24x8xf32>
    %some = graph.slice %rows dim 0 start 0 size 4 : tensor<24x8xf32> -> tensor<4x8xf32>
    %y = graph.repeat 2 @layer(%some, %fars, %table)
        : (tensor<4x8xf32>, !graph.stack<2 x tensor<4xf32>>, tensor<900x8xf32>) -> tensor<4x8xf32>
    %loss = graph.reduce mean %y dims [0, 1] : tensor<4x8xf32> -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}

// -----

// Indices of a gather and of a scatter are read as they are, and may be broadcast before, by a caller, too.
// CHECK:     graph.parameter @columns : tensor<1x6xf32> init zeros frozen
// CHECK:     graph.parameter @sums : tensor<1x6xf32> init zeros frozen
// CHECK:     graph.parameter @ids : tensor<6xf32> init zeros frozen
// CHECK:     graph.parameter @table : tensor<900x6xbf16>
module {
  graph.parameter @columns : tensor<1x6xf32> init zeros frozen
  graph.parameter @sums : tensor<1x6xf32> init zeros frozen
  graph.parameter @ids : tensor<6xf32> init zeros frozen
  graph.parameter @table : tensor<900x6xf32> init ones
  graph.func private @inner(%x: tensor<4x6xf32>, %sums: tensor<4x6xf32>) -> tensor<4x900xf32> {
    %y = graph.scatter_add %x, %sums dim 1 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x900xf32>
    graph.return %y : tensor<4x900xf32>
  }
  graph.func private @outer(%x: tensor<4x6xf32>, %sums: tensor<1x6xf32>) -> tensor<4x900xf32> {
    %flat = graph.reshape %sums : tensor<1x6xf32> -> tensor<6xf32>
    %each = graph.broadcast %flat dims [0] : tensor<6xf32> -> tensor<4x6xf32>
    %y = graph.call @inner(%x, %each) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x900xf32>
    graph.return %y : tensor<4x900xf32>
  }
  graph.func @loss(%input: tensor<4x900xf32>) -> tensor<f32> {
    %columns = graph.get @columns : tensor<1x6xf32>
    %sums = graph.get @sums : tensor<1x6xf32>
    %ids = graph.get @ids : tensor<6xf32>
    %table = graph.get @table : tensor<900x6xf32>
    %one = graph.reshape %columns : tensor<1x6xf32> -> tensor<6xf32>
    %far = graph.broadcast %one dims [0] : tensor<6xf32> -> tensor<4x6xf32>
    %x = graph.gather %input, %far dim 1 : (tensor<4x900xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %each = graph.broadcast %ids dims [0] : tensor<6xf32> -> tensor<4x6xf32>
    %whole = graph.cast %each : tensor<4x6xf32> to tensor<4x6xi32>
    %rows = graph.embedding %table, %whole : (tensor<900x6xf32>, tensor<4x6xi32>) -> tensor<4x6x6xf32>
    %sum = graph.reduce sum %rows dims [2] : tensor<4x6x6xf32> -> tensor<4x6xf32>
    %both = graph.add %x, %sum : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
    %y = graph.call @outer(%both, %sums) : (tensor<4x6xf32>, tensor<1x6xf32>) -> tensor<4x900xf32>
    %loss = graph.reduce mean %y dims [0, 1] : tensor<4x900xf32> -> tensor<f32>
    graph.return %loss : tensor<f32>
  }
}
