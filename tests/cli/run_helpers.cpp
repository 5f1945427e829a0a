#include "cli/run_helpers.h"

#include <fstream>

#include "weights/safetensors.h"

namespace evener::test {

namespace fs = std::filesystem;

Words joined(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

nlohmann::json record_in(const fs::path& folder) {
  std::ifstream file(folder / "record.json");
  return nlohmann::json::parse(file);
}

TensorMap last_weights(const fs::path& folder) {
  return weights::read_safetensors(folder / "last.safetensors").tensors;
}

fs::path resume_file(const fs::path& folder) {
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().filename().string().starts_with("last.resume-")) return file.path();
  }
  return {};
}

}  // namespace evener::test
