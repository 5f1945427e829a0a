// Fuzz target: arbitrary bytes as a safetensors file. Whatever they are, it is read or refused with an Error, and both
// ways of reading the metadata agree, whose values are JSON or refused as none.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "weights/metadata_json.h"
#include "weights/safetensors.h"

namespace {

void read_value(const std::string& text) {
  try {
    evener::weights::metadata_value(text);
  } catch (const nlohmann::json::exception&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("evener-fuzz-" + std::to_string(getpid()) + ".safetensors")).string();
  static const int at_exit = std::atexit([] { std::remove(path.c_str()); });
  if (at_exit != 0) std::abort();
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) std::abort();
  const bool written = std::fwrite(data, 1, size, file) == size;
  std::fclose(file);
  if (!written) std::abort();
  try {
    const evener::weights::SafetensorsFile whole = evener::weights::read_safetensors(path);
    if (evener::weights::read_safetensors_metadata(path) != whole.metadata) std::abort();
    for (const auto& [key, text] : whole.metadata) read_value(text);
  } catch (const evener::Error&) {
  }
  return 0;
}
