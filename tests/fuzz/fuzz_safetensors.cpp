// Fuzz target: arbitrary bytes as a safetensors file. Whatever they are, it is read or refused with an Error.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("evener-fuzz-" + std::to_string(getpid()) + ".safetensors")).string();
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) std::abort();
  const bool written = std::fwrite(data, 1, size, file) == size;
  std::fclose(file);
  if (!written) std::abort();
  try {
    evener::read_safetensors(path);
    evener::read_safetensors_metadata(path);
  } catch (const evener::Error&) {
  }
  return 0;
}
