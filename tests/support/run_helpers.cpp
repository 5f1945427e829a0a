#include "support/run_helpers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "support/trained_once_helpers.h"
#include "weights/safetensors.h"

namespace evener::test {

namespace fs = std::filesystem;

Words joined(const Words& words, const Words& more) {
  constexpr std::array kRepeated = {"--class", "--data", "--freeze", "--keep", "--meter"};
  const auto is_given_anew = [&](const std::string& word) {
    return word.starts_with("--") && std::ranges::find(kRepeated, word) == kRepeated.end() &&
           std::ranges::find(more, word) != more.end();
  };
  Words all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_given_anew(words[i])) {
      all.push_back(words[i]);
    } else if (i + 1 < words.size() && !words[i + 1].starts_with("--")) {
      ++i;  // its value
    }
  }
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Words from_digits(const fs::path& folder) {
  trained_once(
      "digits-resnet20",
      {"train", "resnet20", "--data", "synth:digits:200", "--size", "20x20", "--epochs", "2", "--on", "cpu/t1"},
      folder);
  return {"--weights", (folder / "best.safetensors").string()};
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
