// What tests of `evener quantize` begin with: a network that a test has trained, and the program itself.
#pragma once

#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "base/built_modules.h"
#include "support/in_process_helpers.h"
#include "support/run_helpers.h"
#include "support/run_program.h"
#include "support/trained_once_helpers.h"

namespace evener::test {

/// The value of a figure in a run's record.
inline double metric(const std::filesystem::path& folder, const std::string& name) {
  const nlohmann::json metrics = record_in(folder)["metrics"];
  if (!metrics.contains(name)) throw std::runtime_error("no figure " + name);
  return metrics[name]["value"].get<double>();
}

class QuantizeCommand : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"torch", "openvino"}) {
      if (!module_is_built(name)) GTEST_SKIP() << name << " is not built";
    }
  }

  ProgramResult run(const Words& words, const std::map<std::string, std::string>& environment = {}) const {
    return run_program(joined(words, {"--on", "cpu/t1"}), {.environment = environment});
  }
  /// An MLP of torch that has learnt some digits.
  std::string trained() const {
    const std::string folder = (folder_ / "float").string();
    trained_once("digits-mlp-torch",
                 {"train", "mlp:784-32-10", "--data", "synth:digits:600", "--split", "60/20/20", "--epochs", "3",
                  "--lr", "0.1", "--engine", "torch", "--on", "cpu/t1"},
                 folder);
    return folder;
  }
  ProgramResult quantize(const Words& words, const std::map<std::string, std::string>& environment = {}) const {
    return run(joined({"quantize", "--seconds", "0.05", "--overwrite", "--out", out_}, words), environment);
  }

  /// `evener quantize` in the test's own process: for what is refused.
  ProgramResult refused(const Words& words) const {
    const Words all = joined({"quantize", "--seconds", "0.05", "--overwrite", "--out", out_}, words);
    return run_in_process(joined(all, {"--on", "cpu/t1"}));
  }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  TemporaryFolder folder_;
  std::string out_ = (folder_ / "int8").string();
};

}  // namespace evener::test
