// The folder of a run: one of its own, one that was given, one that holds a run already.
#include "measure/run/out_folder.h"

#include <gmock/gmock.h>

#include <fstream>
#include <latch>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/test_folder.h"
#include "base/thrown.h"

namespace evener::measure {
namespace {

namespace fs = std::filesystem;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class NewFolder : public testing::Test {
 protected:
  NewFolder() { fs::current_path(folder_.path()); }
  ~NewFolder() override { fs::current_path(before_); }

 private:
  const fs::path before_ = fs::current_path();
  const test::TestFolder folder_;
};

TEST_F(NewFolder, IsNeverThatOfARunThatBeginsAtTheSameMoment) {
  constexpr int kRuns = 16;
  std::vector<std::unique_ptr<OutFolder>> folders(kRuns);
  std::latch all_here(kRuns);
  std::vector<std::jthread> runs;
  for (auto& folder : folders) {
    runs.emplace_back([&] {
      all_here.arrive_and_wait();
      folder = std::make_unique<OutFolder>(OutFolderOptions{.name = "mlp:4/2"});
    });
  }
  runs.clear();
  std::set<fs::path> paths;
  for (const auto& folder : folders) {
    EXPECT_THAT(folder->path().string(), StartsWith("runs/mlp-4-2-20"));
    paths.insert(folder->path());
  }
  EXPECT_EQ(paths.size(), folders.size());
}

TEST_F(NewFolder, GoesWithARunThatComesToNothing) {
  fs::path path;
  {
    const OutFolder folder({.name = "mlp:4-2"});
    path = folder.path();
    EXPECT_TRUE(fs::is_directory(path));
  }
  EXPECT_FALSE(fs::exists(path));
  {
    OutFolder folder({.name = "mlp:4-2"});
    path = folder.path();
    folder.begin();
  }
  EXPECT_TRUE(fs::is_directory(path));
}

class GivenFolder : public testing::Test {
 protected:
  std::string refusal(const OutFolderOptions& options) {
    return test::thrown_by([&] { const OutFolder folder(options); }, "taken");
  }

  const test::TestFolder folder_;
  const fs::path out_ = folder_ / "out";
};

TEST_F(GivenFolder, WithARunIsTakenOnlyToReplaceItOrToGoOnWithIt) {
  test::write_text(out_ / "record.json", "{}");
  EXPECT_THAT(refusal({.path = out_, .can_resume = true}),
              EndsWith("out holds a run already. Give another --out, or --overwrite to replace it"));
  EXPECT_THAT(refusal({.path = out_, .resume = true, .can_resume = true}),
              HasSubstr("ended before its first checkpoint, which is written after its first epoch"));
  test::write_text(out_ / "last.safetensors", "");
  EXPECT_THAT(refusal({.path = out_, .can_resume = true}), EndsWith("Give another --out, --resume " + out_.string() +
                                                                    " to go on with it, or --overwrite to "
                                                                    "replace it"));
  EXPECT_THAT(refusal({.path = out_}), Not(HasSubstr("--resume"))) << "this command can't";
  EXPECT_EQ(refusal({.path = out_, .resume = true, .can_resume = true}), "taken");
  EXPECT_EQ(refusal({.path = out_, .overwrite = true}), "taken");
  EXPECT_TRUE(fs::exists(out_ / "record.json")) << "nothing has begun";
  EXPECT_THAT(refusal({.path = folder_ / "empty", .resume = true}), HasSubstr("nothing to resume: "));
  EXPECT_FALSE(fs::exists(folder_ / "empty"));
}

TEST_F(GivenFolder, GoesOnlyIfThisRunHasMadeIt) {
  { const OutFolder made({.path = out_}); }
  EXPECT_FALSE(fs::exists(out_));
  fs::create_directory(out_);
  {
    const OutFolder given({.path = out_});
    test::write_text(out_ / kNewSamples, "0,1");
  }
  EXPECT_TRUE(fs::exists(out_)) << "it was there before";
  EXPECT_FALSE(fs::exists(out_ / kNewSamples));
}

TEST_F(GivenFolder, OfAnotherRunKeepsThatOnesSamplesUntilTheWorkBegins) {
  test::write_text(out_ / "record.json", "{}");
  test::write_text(out_ / kSamples, "of the first");
  for (const bool begins : {false, true}) {
    OutFolder folder({.path = out_, .overwrite = true});
    test::write_text(out_ / kNewSamples, "of the second");
    if (begins) folder.begin();
    EXPECT_EQ(read_file(out_ / kSamples), begins ? "of the second" : "of the first");
  }
  EXPECT_FALSE(fs::exists(out_ / kNewSamples));
}

TEST_F(GivenFolder, OfAResumedRunLosesTheLinesOfASessionThatCameToNothing) {
  test::write_text(out_ / "last.safetensors", "");
  test::write_text(out_ / kSamples, "0,1\n2,3\n");
  const auto after = [&](bool begins, bool withdraws) {
    {
      OutFolder folder({.path = out_, .resume = true, .can_resume = true});
      std::ofstream(out_ / kSamples, std::ios::app) << "4,5\n";
      if (begins) folder.begin();
      if (withdraws) folder.withdraw();
    }
    return read_file(out_ / kSamples);
  };
  EXPECT_EQ(after(false, false), "0,1\n2,3\n");
  EXPECT_EQ(after(true, true), "0,1\n2,3\n");
  EXPECT_EQ(after(true, false), "0,1\n2,3\n4,5\n");
}

TEST_F(GivenFolder, LosesWhatKilledProcessesLeftHalfWritten) {
  test::write_text(out_ / "record.json.tmp-4194305", "half");
  test::write_text(out_ / "record.tmp", "a user's");
  { const OutFolder folder({.path = out_}); }
  EXPECT_FALSE(fs::exists(out_ / "record.json.tmp-4194305"));
  EXPECT_TRUE(fs::exists(out_ / "record.tmp"));
}

}  // namespace
}  // namespace evener::measure
