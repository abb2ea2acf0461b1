// Batch norm and the ops about state: they parse and print, and say what splits.
// RUN: dtc-opt %s | dtc-opt | FileCheck %s
// RUN: dtc-opt %s -dtc-print-rules -verify-diagnostics -o /dev/null

!images = tensor<?x6x8x8xf32>
!channels = tensor<6xf32>

// CHECK-LABEL: graph.func @short
graph.func @short(%x: !images, %w: !channels, %b: !channels, %m: !channels, %v: !channels, %n: tensor<f32>) {
  // CHECK: graph.batch_norm %{{.*}}, %{{.*}}, %{{.*}} state %{{.*}}, %{{.*}}, %{{.*}} momentum 1.000000e-01 :
  %0 = graph.batch_norm %x, %w, %b state %m, %v, %n momentum 0.1
      : (!images, !channels, !channels, !channels, !channels, tensor<f32>) -> !images
  // CHECK: graph.batch_norm %{{.*}}, %{{.*}}, %{{.*}} epsilon 1.000000e-03 parts :
  %1 = graph.batch_norm %x, %w, %b epsilon 0.001 parts : (!images, !channels, !channels) -> !images
  graph.return
}

// CHECK-LABEL: graph.func @complete
graph.func @complete(%x: !images, %w: !channels, %b: !channels, %m: !channels, %n: tensor<f32>) {
  // CHECK: graph.batch_normalise %{{.*}}, %{{.*}}, %{{.*}} held %{{.*}}, %{{.*}}, %{{.*}} :
  // expected-remark @+1 {{loops}}
  %y, %mean, %variance, %unbiased = graph.batch_normalise %x, %w, %b held %m, %m, %n
      : (!images, !channels, !channels, !channels, !channels, tensor<f32>)
      -> (!images, !channels, !channels, !channels)
  // CHECK: graph.observe mean %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x6x8x8xf32>, tensor<6xf32>
  // expected-remark @+1 {{loops}}
  %z = graph.observe mean %y, %m, %mean : !images, !channels
  // CHECK: graph.observe sum
  // expected-remark @+1 {{loops}}
  %s = graph.observe sum %z, %n, %n : !images, tensor<f32>
  // CHECK: graph.observe last %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x6x8x8xf32>, tensor<f32>
  // expected-remark @+1 {{loops}}
  %u = graph.observe last %s, %n, %n : !images, tensor<f32>
  // CHECK: graph.observe sum %{{.*}}, %{{.*}}, %{{.*}} rate 1.000000e-03 : tensor<?x6x8x8xf32>, tensor<6xf32>
  // expected-remark @+1 {{loops}}
  %t = graph.observe sum %s, %w, %variance rate 0.001 : !images, !channels
  // CHECK: graph.detach %{{.*}} : tensor<6xf32>
  %old = graph.detach %m : !channels
  // CHECK: graph.finish %{{.*}} : tensor<6xf32>
  // expected-remark @+1 {{loops}}
  %whole = graph.finish %mean : !channels
  graph.return
}
