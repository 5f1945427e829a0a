// The version has one place, the changelog.
#include "base/version.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <string>

#include "base/paths.h"

namespace evener {
namespace {

TEST(Version, IsTheNewestReleaseOfTheChangelog) {
  std::ifstream changelog(test::source_folder() / "CHANGELOG.md");
  std::string heading;
  while (std::getline(changelog, heading) && !(heading.starts_with("## [") && std::isdigit(heading.at(4)) != 0))
    continue;
  EXPECT_TRUE(heading.starts_with(std::string("## [") + program_version() + "] - ")) << heading;
}

}  // namespace
}  // namespace evener
