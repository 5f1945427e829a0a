// evener infer where something is in its way: the user, the disk, a quota, the data.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/paths.h"
#include "cli/infer_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::joined;
using test::ProgramResult;
using test::record_in;
using test::RunningProgram;
using test::Words;
using testing::AllOf;
using testing::HasSubstr;

const Words kTiny = {"mlp:4-3-2", "--on", "cpu/t1", "--seconds", "0"};

class InferTrouble : public test::Infer {
 protected:
  /// `script` of bash, in which $evener is the program.
  ProgramResult bash(const std::string& script) const {
    auto with_program = options();
    with_program.environment["evener"] = test::program_path();
    return RunningProgram("/bin/bash", {"-c", script}, with_program).finish();
  }
};

TEST_F(InferTrouble, CtrlCEndsEachScenarioInGoodOrder) {
  for (const char* scenario : {"single-stream", "multi-stream", "server", "offline"}) {
    SCOPED_TRACE(scenario);
    const Words words = {"--scenario", scenario, "--min-duration", "60", "--out", file(scenario)};
    RunningProgram program(test::program_path(), joined({"infer", "mlp:4-3-2", "random:20", "--on", "cpu/t1"}, words),
                           options());
    ASSERT_TRUE(program.wait_for("random weights")) << program.err();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    program.send(SIGINT);
    const ProgramResult result = program.finish();
    EXPECT_EQ(result.exit_code, 130) << result.err;
    EXPECT_THAT(result.err, HasSubstr("evener: interrupted; the record says what is known until then"));
    EXPECT_THAT(result.out, HasSubstr("INVALID"));
    EXPECT_EQ(record_in(file(scenario))["status"], "interrupted");
    EXPECT_TRUE(fs::exists(file(scenario) + "/latencies.csv"));
  }
}

TEST_F(InferTrouble, CtrlCKeepsTheAnswersSoFar) {
  RunningProgram program(
      test::program_path(),
      joined({"infer"}, joined(kTiny, {"random:100000000", "--format", "csv", "--out", file("out")})), options());
  ASSERT_TRUE(program.wait_for("#20,1,"));
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, HasSubstr("interrupted after "));
  EXPECT_EQ(record_in(file("out"))["status"], "interrupted");
  std::ifstream csv(file("out/predictions.csv"));
  EXPECT_GT(std::count(std::istreambuf_iterator<char>(csv), {}, '\n'), 20);
}

TEST_F(InferTrouble, AFullDiskEndsItEarly) {
  const ProgramResult answers =
      bash("exec $evener infer mlp:4-3-2 random:5000 --on cpu/t1 --seconds 0 --format table > /dev/full");
  EXPECT_EQ(answers.exit_code, 1);
  EXPECT_THAT(answers.err, HasSubstr("can't write to standard output: No space left on device"));
  const test::SmallDisk disk("size=64k");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  const ProgramResult folder =
      infer(joined(kTiny, {"random:100000000", "--out", (disk.path() / "run").string(), "--format", "none"}));
  EXPECT_EQ(folder.exit_code, 1);
  EXPECT_THAT(folder.err, AllOf(HasSubstr("predictions.csv"), HasSubstr("is the disk full?")));
}

TEST_F(InferTrouble, WhoeverReadsTheAnswersMayStop) {
  const ProgramResult result =
      bash("set -o pipefail; $evener infer mlp:4-3-2 random:100000000 --on cpu/t1 --format jsonl | head -n 2");
  EXPECT_EQ(result.exit_code, 128 + SIGPIPE);
  EXPECT_EQ(test::lines_of(result.out).size(), 2u);
}

TEST_F(InferTrouble, AFolderThatCannotBeWrittenIsSaidBeforeTheWork) {
  const ProgramResult result =
      refused(joined(kTiny, {"random:100000000", "--features", "/proc/none/features.safetensors"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("/proc/none"));
}

TEST_F(InferTrouble, WithoutAPlaceForCompiledNetworksTheyAreNotKept) {
  auto nowhere = options();
  nowhere.environment["XDG_CACHE_HOME"] = "/proc/none";
  const ProgramResult result = test::run_program(joined({"infer"}, joined(kTiny, {"random:3"})), nowhere);
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(InferTrouble, ClassesOfTheDataThatTheNetworkDoesNotKnow) {
  const std::string run = trained();
  const ProgramResult some = refused({run, pictures({"3/a.pgm", "seven/b.pgm"})});
  EXPECT_EQ(some.exit_code, 2);
  EXPECT_THAT(some.err,
              AllOf(HasSubstr("class 'seven', which mlp:784-32-10 doesn't know (it knows 0, 1, 2"), HasSubstr("/**'")));
  const ProgramResult other = refused({run, "synth:masks:20"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("the classes of 'synth:masks:20' are not those that mlp:784-32-10 knows"));
}

TEST_F(InferTrouble, PicturesThatStopInTheMiddle) {
  const std::string folder = pictures({"a.pgm", "b.pgm"});
  for (const char* name : {"a.pgm", "b.pgm"}) fs::resize_file(fs::path(folder) / name, 100);
  const ProgramResult answers = infer({"resnet20", folder, "--random", "--on", "cpu/t1"});
  EXPECT_EQ(answers.exit_code, 1);
  EXPECT_THAT(answers.err, AllOf(HasSubstr("2 images could not be read"), HasSubstr("b.pgm: "),
                                 HasSubstr("none of the images could be read")));
  const ProgramResult scenario = infer({"resnet20", folder, "--on", "cpu/t1", "--scenario", "offline"});
  EXPECT_EQ(scenario.exit_code, 1);
  EXPECT_THAT(scenario.err, HasSubstr("a scenario needs images that can be"));
}

/// A control group of half a core, where we may make one.
class HalfACore {
 public:
  HalfACore() {
    const std::string name = "evener-test-" + std::to_string(getpid());
    for (const fs::path root : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"}) {
      if (!fs::exists(root / "cgroup.procs") || mkdir((root / name).c_str(), 0755) != 0) continue;
      group_ = root / name;
      if (write("cpu.max", "50000 100000") || write("cpu.cfs_quota_us", "50000")) return;
      rmdir(group_.c_str());
      group_.clear();
    }
  }
  ~HalfACore() {
    if (!group_.empty()) rmdir(group_.c_str());
  }
  HalfACore(const HalfACore&) = delete;
  HalfACore& operator=(const HalfACore&) = delete;

  /// Empty where none could be made.
  const fs::path& group() const { return group_; }

 private:
  bool write(const char* name, const char* value) const {
    if (!fs::exists(group_ / name)) return false;
    std::ofstream file(group_ / name);
    file << value << std::flush;
    return file.good();
  }

  fs::path group_;
};

TEST_F(InferTrouble, AQuotaOfHalfACoreLeavesOneThread) {
  const HalfACore half;
  if (half.group().empty()) GTEST_SKIP() << "no control group can be made here";
  const ProgramResult result =
      bash("echo $$ > " + half.group().string() +
           "/cgroup.procs && exec $evener infer resnet20 random:20 --format none --seconds 0 --out " + file("out"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("1 thread (a quota allows 0.5 CPUs), 1 stream"));
  EXPECT_EQ(record_in(file("out"))["config"]["streams"], 1);
}

}  // namespace
}  // namespace evener
