// Sums in two steps: assembly.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s

// CHECK-LABEL: graph.func @parts
graph.func @parts(%w: tensor<200x192xf32>, %b: tensor<192xf32>, %x: tensor<8x8x16xbf16>, %s: tensor<8x8xf32>) {
  // CHECK: %[[C:.*]] = graph.chunk_squares %{{.*}}, %{{.*}} chunks [3, 1] : (tensor<200x192xf32>, tensor<192xf32>) -> tensor<4xf32>
  %0 = graph.chunk_squares %w, %b chunks [3, 1] : (tensor<200x192xf32>, tensor<192xf32>) -> tensor<4xf32>
  // CHECK: graph.sum_chunks %[[C]], %[[C]] : tensor<4xf32>, tensor<4xf32>
  %1 = graph.sum_chunks %0, %0 : tensor<4xf32>, tensor<4xf32>
  // CHECK: %[[P:.*]] = graph.row_part_sums %{{.*}} : tensor<8x8x16xbf16> -> tensor<4x16xf32>
  %2 = graph.row_part_sums %x : tensor<8x8x16xbf16> -> tensor<4x16xf32>
  // CHECK: graph.sum_parts %[[P]] scale 5.000000e-01 : (tensor<4x16xf32>) -> tensor<16xbf16>
  %3 = graph.sum_parts %2 scale 0.5 : (tensor<4x16xf32>) -> tensor<16xbf16>
  // CHECK: %[[N:.*]]:2 = graph.norm_param_grad_parts %{{.*}}, %{{.*}}, %{{.*}} mean %{{.*}} : {{.*}} -> (tensor<4x16xf32>, tensor<4x16xf32>)
  %4, %5 = graph.norm_param_grad_parts %x, %s, %x mean %s : (tensor<8x8x16xbf16>, tensor<8x8xf32>, tensor<8x8x16xbf16>, tensor<8x8xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>)
  // CHECK: graph.sum_parts %[[N]]#0, %[[N]]#1 : (tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  %6, %7 = graph.sum_parts %4, %5 : (tensor<4x16xf32>, tensor<4x16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  // CHECK: graph.norm_param_grad_parts %{{.*}}, %{{.*}}, %{{.*}} : {{.*}} -> tensor<4x16xf32>
  %8 = graph.norm_param_grad_parts %x, %s, %x : (tensor<8x8x16xbf16>, tensor<8x8xf32>, tensor<8x8x16xbf16>) -> tensor<4x16xf32>
  graph.return
}
