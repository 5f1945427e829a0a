#include "support/faces_helpers.h"

#include <fstream>
#include <sstream>

#include "base/built_modules.h"
#include "base/random.h"
#include "network/init.h"
#include "network/zoo.h"
#include "support/in_process_helpers.h"
#include "weights/safetensors.h"

namespace evener::test {

namespace fs = std::filesystem;

std::vector<Row> rows_of(const fs::path& path) {
  std::ifstream file(path);
  const auto fields_of = [](const std::string& line) {
    Words fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    return fields;
  };
  std::string line;
  std::getline(file, line);
  const Words headings = fields_of(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const Words fields = fields_of(line);
    Row row;
    for (std::size_t i = 0; i < headings.size(); ++i) row[headings[i]] = i < fields.size() ? fields[i] : "";
    rows.push_back(std::move(row));
  }
  return rows;
}

void Faces::SetUp() {
  if (!module_is_built("openvino")) GTEST_SKIP() << "the openvino engine is not built";
  fs::create_directories(weights());
  for (const char* part : {"pnet", "rnet", "onet"}) {
    const network::Network network = network::build(std::string("mtcnn_") + part, {});
    weights::write_safetensors(weights() / (std::string(part) + ".safetensors"), network::initial_state(network, 1));
  }
}

ProgramResult Faces::run(const Words& words) const {
  return run_program(joined({"faces"}, words), options());
}

ProgramResult Faces::run_here(const Words& words) const {
  return run_in_process(joined({"faces"}, words), options());
}

Words Faces::words(const Words& more) const {
  return joined({"--detector-weights", weights().string(), "--confidence", "0,0,0", "--embedder", "mobilefacenet",
                 "--on", "cpu/t1"},
                more);
}

void Faces::write_photo(const std::string& name, int width, int height) const {
  Random random(1, Purpose::kSynthetic, hash_text(name));
  std::string pixels;
  for (int i = 0; i < width * height; ++i) pixels += static_cast<char>(random.below(256));
  write_text(folder_ / "photos" / name,
             "P5\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n" + pixels);
}

}  // namespace evener::test
