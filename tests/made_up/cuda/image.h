// Compiled programs as the made-up NVRTC hands them out and the made-up driver takes them: what a shared object is
// made of, with what it was compiled for. CUBIN is bytes, PTX a text, as the real ones are.
#pragma once

#include <string>

namespace made_up::cuda {

struct Image {
  bool is_ptx = false;
  int capability = 0;    // 90: 9.0
  int cuda_version = 0;  // 13000: of the compiler
  std::string object;    // a shared object
};

std::string cubin_of(const Image& image);
std::string ptx_of(const Image& image);
/// Of what cubin_of() or ptx_of() made. Throws std::runtime_error.
Image read_image(const void* data);

/// A kernel's parameter, as the shared object tells it.
struct Parameter {
  char kind;  // p: a pointer
  unsigned bytes;
};
/// One of the array `made_up_kernels`, which ends with a name that is null.
struct KernelEntry {
  const char* name;
  int most_items;  // of a group; 0: not said
  int parameter_count;
  const Parameter* parameters;
  void (*run)(void** values);
};
struct Place {
  unsigned x, y, z;
};

}  // namespace made_up::cuda
