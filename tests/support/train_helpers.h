// A small training as a user runs it, for the tests of evener train.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>

#include "base/built_modules.h"
#include "support/run_helpers.h"
#include "support/run_program.h"

namespace evener::test {

/// A training of a second: 400 digits, a small MLP.
inline Words small_run(const std::filesystem::path& out, const Words& more = {}) {
  Words words = {"train",  "mlp:784-32-10", "--data",    "synth:digits:400", "--on",
                 "cpu/t1", "--batch",       "16",        "--epochs",         "3",
                 "--lr",   "0.1",           "--split",   "70/10/20",         "--momentum",
                 "0.9",    "--out",         out.string()};
  return joined(words, more);
}

/// The same words with another value for an option that is among them.
inline Words with_value(Words words, const std::string& option, const std::string& value) {
  *std::next(std::find(words.begin(), words.end(), option)) = value;
  return words;
}

class TrainCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  }

  std::filesystem::path out() const { return folder_ / "run"; }

  TemporaryFolder folder_;
};

}  // namespace evener::test
