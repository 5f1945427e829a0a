#include "cli/infer_helpers.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/module.h"

namespace evener::test {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void Infer::SetUp() {
  for (const char* name : {"torch", "openvino"}) {
    if (module_status(name).state == ModuleState::kNotBuilt) GTEST_SKIP() << "the " << name << " engine is not built";
  }
}

ProgramResult Infer::infer(const Words& words) const {
  return run_program(joined({"infer"}, words), options());
}

std::string Infer::trained() const {
  const ProgramResult result =
      run_program({"train", "mlp:784-32-10", "--data", "synth:digits:400", "--split", "60/10/30", "--seed", "3",
                   "--batch", "16", "--epochs", "3", "--on", "cpu/t1", "--out", file("run")});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return file("run");
}

std::string Infer::pictures(const std::vector<std::string>& names) const {
  for (const std::string& name : names) {
    const fs::path path = folder_ / "pictures" / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << "P5\n20 30\n255\n" << std::string(600, static_cast<char>(80));
  }
  return file("pictures");
}

}  // namespace evener::test
