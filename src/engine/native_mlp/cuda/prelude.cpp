#include "engine/native_mlp/cuda/prelude.h"

namespace evener::engine::native_mlp {

const char* cuda_prelude() {
  return R"(
#define KERNEL extern "C" __global__ void
#define GROUP_OF(x, y) __launch_bounds__((x) * (y))
#define FUNCTION static __device__ __forceinline__
#define GLOBAL
#define LOCAL
#define LOCAL_ARRAY(name, count) __shared__ __align__(64) float name[count]
#define PRIVATE_ARRAY(name, count) __align__(4 * VECTOR) float name[count]
#define BARRIER() __syncthreads()
#define GROUP_X ((int)blockIdx.x)
#define GROUP_Y ((int)blockIdx.y)
#define ITEM_X ((int)threadIdx.x)
#define ITEM_Y ((int)threadIdx.y)
#define PLACE unsigned long long
typedef unsigned char Byte;
struct __align__(4 * VECTOR) Vector { float lanes[VECTOR]; };
FUNCTION Vector operator*(float factor, const Vector& vector) {
  Vector result;
#pragma unroll
  for (int i = 0; i < VECTOR; ++i) result.lanes[i] = factor * vector.lanes[i];
  return result;
}
FUNCTION void operator+=(Vector& sum, const Vector& vector) {
#pragma unroll
  for (int i = 0; i < VECTOR; ++i) sum.lanes[i] += vector.lanes[i];
}
#define LOAD_VECTOR(from) (*(const Vector*)(from))
#define STORE_VECTOR(value, to) (*(Vector*)(to) = (value))
#define ZERO_VECTOR (Vector{})
)";
}

}  // namespace evener::engine::native_mlp
