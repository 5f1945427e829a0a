// What the program says about GPUs, most of it where there are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/built_modules.h"
#include "placement/machine.h"
#include "support/in_process_helpers.h"

namespace evener {
namespace {

using test::ProgramResult;
using test::run_in_process;
using test::run_program;
using test::Words;
using testing::AllOf;
using testing::HasSubstr;

class GpuOptions : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::module_is_built("torch")) GTEST_SKIP() << "the torch engine is not built";
  }

  Words words(const Words& more) const {
    return test::joined({"train", "mlp:784-10", "--data", "synth:digits:200", "--epochs", "1", "--quiet", "--out",
                         (folder_ / "run").string()},
                        more);
  }
  ProgramResult train(const Words& more) const { return run_program(words(more)); }

  std::string usage_error(const Words& more) const {
    const ProgramResult result = run_in_process(words(more));
    EXPECT_EQ(result.exit_code, 2) << result.err;
    return result.err;
  }

  test::TestFolder folder_;
};

TEST_F(GpuOptions, AGpuThatIsNotThereIsExplained) {
  if (!placement::machine().cuda.devices.empty()) GTEST_SKIP() << "there is a GPU";
  EXPECT_THAT(usage_error({"--on", "cuda:0"}),
              AllOf(HasSubstr("placement 'cuda:0' can't be used here: there is no cuda:0: "),
                    HasSubstr(placement::machine().cuda.reason), HasSubstr(placement::machine().cuda.remedy)));
}

TEST_F(GpuOptions, DataStaysOnAGpuOnlyWhereThereIsOne) {
  EXPECT_THAT(usage_error({"--data-on", "device"}), HasSubstr("placement 'cpu' has no GPU"));
  EXPECT_THAT(usage_error({"--data-on", "devise"}), HasSubstr("did you mean 'device'?"));
  EXPECT_THAT(usage_error({"--step-graph", "on"}), HasSubstr("unknown step-graph 'on'. Known: auto, off"));
}

TEST_F(GpuOptions, TheLargestBatchIsThatOfOneReplica) {
  EXPECT_THAT(usage_error({"--batch", "max", "--on", "2xcpu/t1"}), HasSubstr("is found for one replica"));
  EXPECT_THAT(usage_error({"--batch", "max", "--on", "auto"}), HasSubstr("give --batch a number"));
}

TEST_F(GpuOptions, TheLargestBatchIsNoMoreThanTheImages) {
  const ProgramResult result = train({"--batch", "max", "--on", "cpu/t1", "--json", "-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("\"batch\": 160"), HasSubstr("--batch max: 160 images")));
}

TEST_F(GpuOptions, PrecisionsOfGpusAreReplacedOnCpusAndItIsSaid) {
  for (const auto& [precision, said] : {std::pair{"tf32", "tf32 was computed as fp32"}, {"fp16", "as bf16"}}) {
    const ProgramResult result = train({"--precision", precision, "--on", "cpu/t1", "--overwrite", "--json", "-"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr(said), HasSubstr(std::string("\"precision\": \"") + precision)));
  }
}

}  // namespace
}  // namespace evener
