// The folder of a run that was given none.
#include "run/out_folder.h"

#include <gmock/gmock.h>

#include <latch>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "base/test_folder.h"

namespace evener::run {
namespace {

namespace fs = std::filesystem;
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

}  // namespace
}  // namespace evener::run
