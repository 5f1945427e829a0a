#include "support/infer_helpers.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/built_modules.h"
#include "support/in_process_helpers.h"
#include "support/trained_once_helpers.h"

namespace evener::test {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

int port_told(RunningProgram& program) {
  const std::string address = "http://127.0.0.1:";
  if (!program.wait_for("; Ctrl-C ends it")) return 0;
  const std::string out = program.out();
  const std::size_t found = out.find(address);
  return found == std::string::npos ? 0 : std::stoi(out.substr(found + address.size()));
}

void Infer::SetUp() {
  for (const char* name : {"torch", "openvino"}) {
    if (!module_is_built(name)) GTEST_SKIP() << "the " << name << " engine is not built";
  }
}

ProgramResult Infer::infer(const Words& words) const {
  return run_program(joined({"infer"}, words), options());
}

ProgramResult Infer::refused(const Words& words) const {
  return run_in_process(joined({"infer"}, words), options());
}

std::string Infer::trained() const {
  trained_once("digits-mlp",
               {"train", "mlp:784-32-10", "--data", "synth:digits:400", "--split", "60/10/30", "--seed", "3", "--batch",
                "16", "--epochs", "3", "--on", "cpu/t1", "--no-calibration"},
               file("run"));
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
