#include "job/infer/compile_cache.h"

#include "job/cache_folder.h"

namespace evener::job {

std::filesystem::path compile_cache() {
  return cache_folder("openvino");
}

}  // namespace evener::job
