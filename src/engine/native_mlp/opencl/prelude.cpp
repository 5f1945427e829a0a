#include "engine/native_mlp/opencl/prelude.h"

namespace evener::engine::native_mlp {

const char* opencl_prelude() {
  return R"(
#define KERNEL __kernel void
#define GROUP_OF(x, y) __attribute__((reqd_work_group_size(x, y, 1)))
#define FUNCTION static inline
#define GLOBAL __global
#define LOCAL __local
#define LOCAL_ARRAY(name, count) __local float name[count] __attribute__((aligned(64)))
#define PRIVATE_ARRAY(name, count) float name[count]
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define GROUP_X ((int)get_group_id(0))
#define GROUP_Y ((int)get_group_id(1))
#define ITEM_X ((int)get_local_id(0))
#define ITEM_Y ((int)get_local_id(1))
#define PLACE size_t
typedef uchar Byte;
#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
typedef JOIN(float, VECTOR) Vector;
#define LOAD_VECTOR(from) JOIN(vload, VECTOR)(0, from)
#define STORE_VECTOR(value, to) JOIN(vstore, VECTOR)(value, 0, to)
#define ZERO_VECTOR ((Vector)(0.0f))
)";
}

}  // namespace evener::engine::native_mlp
