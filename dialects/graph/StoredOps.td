// The forms in which optimizer state takes fewer bits than f32.
include "dialects/graph/GraphOpBase.td"

def Graph_RoundRandomlyOp : Graph_Op<"round_randomly", [Pure, Graph_Rule, Graph_IndexedPointwise,
    Graph_RandomByShape]> {
  let summary = "Rounds to bf16, up or down at random";
  let description = [{
    Each element x between two neighbours a and b of bf16 becomes b with probability (x - a) / (b - a), else a, so that
    its expectation is x: an average that changes by less than half a step of bf16 still follows. Numbers of bf16 stay
    as they are. 16 random bits are added to the bits of x below those of bf16, which are then dropped; infinities and
    NaN are not changed. Element e of the first tensor takes the low half of the first word of Philox4x32-10 with the
    seed as key and counter {lo(e), hi(e), id, step}, that of the second tensor the high half; e is the row-major index
    in `global_shape` (default: the shape of the result). On the mesh every dim may split, and `windows` give this
    rank's part, so that any split gives the same bits. Zeros stay zero.
    Source: Zamirai et al. 2020, arXiv:2010.06192, section 3; Salmon et al. 2011 for Philox.

    Constraints:
    - (C1) there are one or two values, of one type, in f32, and as many results.
    - (C2) the results are in bf16, in the shape of the values.
    - (C3) `global_shape` has as many dims as the values, of 1 or more; there is at least one dim.
    - (C4) `windows` are about dims of the values.

    Example:
    ```mlir
    %m, %v = graph.round_randomly %m1, %v1 id 32769 key(%seed, %step)
        : tensor<8x16xf32>, tensor<8x16xf32> to tensor<8x16xbf16>, tensor<8x16xbf16>
    ```
  }];
  let arguments = (ins Variadic<Graph_FloatTensor>:$values, Graph_Seed:$seed, Graph_Scalar:$step, I64Attr:$id,
    OptionalAttr<DenseI64ArrayAttr>:$global_shape, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Variadic<Graph_FloatTensor>:$rounded);
  let assemblyFormat = "$values `id` $id `key` `(` $seed `,` $step `)` attr-dict `:` type($values) `to` type($rounded)";
  let hasVerifier = 1;
}

def Graph_DecodeMomentsOp : Graph_Op<"decode_moments", [Pure, Graph_Rule, Graph_Pointwise,
    AllTypesMatch<["codes", "codes_sq"]>, AllTypesMatch<["largest", "largest_sq"]>,
    AllTypesMatch<["exp_avg", "exp_avg_sq"]>]> {
  let summary = "Reads both moments of Adam from codes of 8 bits";
  let description = [{
    Elements along the last dim are a block, of which `largest` and `largest_sq` are the largest magnitudes, as
    `graph.encode_moments` was given them. With s the least power of two that is not below the largest magnitude:
    - a code of the first moment has a sign (bit 7), four bits of exponent and three of fraction: 127 is s, 8 codes less
      are half of it, and 1 is 1.25 2^-16 s;
    - a code of the second moment has five bits of exponent and three of fraction: 255 is s, 1 is 1.25 2^-32 s.
    Code 0 is 0. All products are exact, unless they are below 2^-126.

    Constraints:
    - (C1) both largest magnitudes have the shape of the codes with a last dim of 1.
    - (C2) the moments are in f32, in the shape of the codes.

    Example:
    ```mlir
    %m, %v = graph.decode_moments %c, %d largest %lm, %lv : tensor<8x6x128xi8>, tensor<8x6x1xf32> to tensor<8x6x128xf32>
    ```
  }];
  let arguments = (ins Graph_ByteTensor:$codes, Graph_ByteTensor:$codes_sq, Graph_FloatTensor:$largest,
      Graph_FloatTensor:$largest_sq);
  let results = (outs Graph_FloatTensor:$exp_avg, Graph_FloatTensor:$exp_avg_sq);
  let assemblyFormat = "$codes `,` $codes_sq `largest` $largest `,` $largest_sq attr-dict `:` type($codes) `,` "
      "type($largest) `to` type($exp_avg)";
  let hasVerifier = 1;
}

def Graph_EncodeMomentsOp : Graph_Op<"encode_moments", [Pure, Graph_Rule, Graph_IndexedPointwise, Graph_RandomByShape,
    AllTypesMatch<["exp_avg", "exp_avg_sq"]>, AllTypesMatch<["largest", "largest_sq"]>,
    AllTypesMatch<["codes", "codes_sq"]>]> {
  let summary = "Stores both moments of Adam as codes of 8 bits";
  let description = [{
    Chooses one of the two neighbouring codes of `graph.decode_moments` at random, so that the expectation is the
    moment. What a code stands for stays that code, whatever the random number, also where the largest magnitude of the
    block has become less. A second moment above 0 never becomes 0, as the update would then divide by epsilon alone: it
    has code 1 at least. The random bits are those of `graph.round_randomly`, with e the row-major index in
    `global_shape`. On the mesh the blocks may split, and `windows` give this rank's part; the dim within a block does
    not. Zeros stay zero.
    Source: Dettmers et al. 2022, arXiv:2110.02861, for scales by blocks.

    Constraints:
    - (C1) both largest magnitudes have the shape of the moments with a last dim of 1.
    - (C2) the codes have the shape of the moments, which are in f32.
    - (C3) `global_shape` has as many dims as the moments, of 1 or more.
    - (C4) `windows` are about dims of the moments.

    Example:
    ```mlir
    %c, %d = graph.encode_moments %m, %v largest %lm, %lv id 32769 key(%seed, %step)
        : tensor<8x6x128xf32>, tensor<8x6x1xf32> to tensor<8x6x128xi8>
    ```
  }];
  let arguments = (ins Graph_FloatTensor:$exp_avg, Graph_FloatTensor:$exp_avg_sq, Graph_FloatTensor:$largest,
      Graph_FloatTensor:$largest_sq, Graph_Seed:$seed, Graph_Scalar:$step, I64Attr:$id,
    OptionalAttr<DenseI64ArrayAttr>:$global_shape, OptionalAttr<ArrayAttr>:$windows);
  let results = (outs Graph_ByteTensor:$codes, Graph_ByteTensor:$codes_sq);
  let assemblyFormat = "$exp_avg `,` $exp_avg_sq `largest` $largest `,` $largest_sq `id` $id `key` `(` $seed `,` $step "
      "`)` attr-dict `:` type($exp_avg) `,` type($largest) `to` type($codes)";
  let hasVerifier = 1;
}
