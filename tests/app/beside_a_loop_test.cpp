// Work beside other programs: who has which CPU when must not change what is learnt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/built_modules.h"
#include "base/busy_loop.h"
#include "base/cpu.h"
#include "base/occurrences.h"
#include "support/run_helpers.h"
#include "support/run_program.h"
#include "weights/safetensors.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using Words = test::Words;
using test::BusyLoop;
using test::joined;
using test::last_weights;
using test::resume_file;

struct BesideWork {
  const char* name;
  const char* engine;
  Words words;
};

const Words kNetwork = {
    "resnet20", "--data", "synth:masks:48", "--size",     "24x24", "--batch", "12", "--split",   "100/0/0", "--epochs",
    "2",        "--lr",   "0.05",           "--momentum", "0.9",   "--seed",  "5",  "--augment", "flip"};
const Words kPerceptron = {
    "mlp:784-64-10", "--data",  "synth:digits:400", "--batch",    "16",  "--epochs", "20", "--lr",
    "0.1",           "--split", "100/0/0",          "--momentum", "0.9", "--seed",   "5"};

/// Of one placement, with shares that are fixed: measured ones follow the speeds, and a sum of other parts has other
/// roundings.
class BesideALoop : public testing::TestWithParam<BesideWork> {
 protected:
  void SetUp() override {
    if (!test::module_is_built(GetParam().engine))
      GTEST_SKIP() << "the " << GetParam().engine << " engine is not built";
  }

  /// Weights, and the optimiser's state, which holds gradients of all steps.
  struct Learnt {
    TensorMap weights, state;
    bool operator==(const Learnt&) const = default;
  };
  Learnt learnt(const std::string& name) const {
    const fs::path out = folder_ / name;
    const Words where = {"--engine", GetParam().engine, "--oversubscribe", "--out", out.string(), "--quiet"};
    const auto result = test::run_program(joined({"train"}, joined(GetParam().words, where)));
    EXPECT_EQ(result.exit_code, 0) << name << ": " << result.err;
    if (result.exit_code != 0) return {};
    return {last_weights(out), weights::read_safetensors(resume_file(out)).tensors};
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_P(BesideALoop, ARunEndsWithTheSameBits) {
  const Learnt quiet = learnt("quiet");
  ASSERT_FALSE(quiet.weights.empty());
  {
    const BusyLoop anywhere;
    EXPECT_TRUE(learnt("anywhere") == quiet);  // no tensors in the message
  }
  const BusyLoop bound(cpu_topology().allowed.front());
  ASSERT_TRUE(bound.is_bound());
  EXPECT_TRUE(learnt("bound") == quiet);
}

INSTANTIATE_TEST_SUITE_P(Works, BesideALoop,
                         testing::Values(BesideWork{"TorchThreads", "torch", joined(kNetwork, {"--on", "cpu/t2"})},
                                         BesideWork{"TorchProcesses", "torch", joined(kNetwork, {"--on", "2xcpu/t1"})},
                                         BesideWork{"NativeThreads", "native", joined(kPerceptron, {"--on", "cpu/t2"})},
                                         BesideWork{"NativeProcesses", "native",
                                                    joined(kPerceptron, {"--on", "2xcpu/t1"})}),
                         [](const auto& info) { return info.param.name; });

/// Beside loops on half of the CPUs at least, however many there are.
std::string told_by(const Words& words) {
  std::vector<std::unique_ptr<BusyLoop>> loops;
  for (std::size_t i = 0; i < cpu_topology().allowed.size(); ++i) loops.push_back(std::make_unique<BusyLoop>());
  const auto result = test::run_program(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.err;
}

/// A run of half a second at least.
class LoadOfOthers : public testing::TestWithParam<BesideWork> {};

TEST_P(LoadOfOthers, IsToldOnce) {
  if (!test::module_is_built(GetParam().engine)) GTEST_SKIP() << "the " << GetParam().engine << " engine is not built";
  // What others use is told from a tenth of all CPUs on, and the loops have half of those that this process may use.
  if (4 * static_cast<long>(cpu_topology().allowed.size()) < sysconf(_SC_NPROCESSORS_ONLN)) {
    GTEST_SKIP() << "needs a quarter of the machine's CPUs";
  }
  const test::TemporaryFolder folder;
  const std::string err = told_by(joined(GetParam().words, {"--out", (folder / "out").string()}));
  EXPECT_EQ(test::occurrences(err, "% of this machine's CPUs meanwhile"), 1U) << err;
}

INSTANTIATE_TEST_SUITE_P(
    Works, LoadOfOthers,
    testing::Values(
        BesideWork{"Training", "torch", joined({"train"}, joined(kNetwork, {"--on", "cpu/t1", "--epochs", "6"}))},
        BesideWork{"Replicas", "torch",
                   joined({"train"}, joined(kNetwork, {"--on", "2xcpu/t1", "--oversubscribe", "--epochs", "6"}))},
        BesideWork{"Inference", "openvino", {"infer", "resnet20", "random:64", "--seconds", "0.5"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace evener
