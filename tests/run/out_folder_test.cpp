// The folder of a run that was given none.
#include "run/out_folder.h"

#include <gtest/gtest.h>

#include <set>

#include "base/test_folder.h"

namespace evener::run {
namespace {

namespace fs = std::filesystem;

// Jobs of one process may be done within a second, from which their folders have their names.
TEST(DefaultOut, IsNeverThatOfAnotherRun) {
  const test::TestFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  std::set<fs::path> all;
  for (int run = 0; run < 20; ++run) {
    const fs::path out = default_out("mlp:4-2");
    EXPECT_TRUE(out.string().starts_with("runs/mlp-4-2-20")) << out;
    EXPECT_TRUE(all.insert(out).second) << out;
    fs::create_directories(out);
  }
  fs::current_path(before);
}

}  // namespace
}  // namespace evener::run
