// Files that are copied whole or not at all, and temporary ones that are known by their names.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/files.h"
#include "base/test_folder.h"

namespace evener {
namespace {

namespace fs = std::filesystem;

TEST(CopiedFile, HasTheBytesTheTimeAndThePermissions) {
  const test::TestFolder folder;
  std::string content((1 << 20) + (1 << 19), 'a');  // one and a half of the blocks
  content[0] = 'b';
  content[1 << 20] = 'c';
  content.back() = 'd';
  write_file_atomically(folder / "from", content);
  ASSERT_EQ(chmod((folder / "from").c_str(), 0640), 0);
  const fs::file_time_type time = fs::last_write_time(folder / "from") - std::chrono::hours(5);
  fs::last_write_time(folder / "from", time);
  write_file_atomically(folder / "to", std::string("what was there before"));
  copy_file_atomically(folder / "from", folder / "to");
  EXPECT_EQ(read_file(folder / "to"), content);
  EXPECT_EQ(fs::last_write_time(folder / "to"), time);
  EXPECT_EQ(static_cast<int>(fs::status(folder / "to").permissions()), 0640);
  EXPECT_EQ(test::file_count(folder.path()), 2) << "nothing is left beside";
  write_file_atomically(folder / "empty", std::string());
  copy_file_atomically(folder / "empty", folder / "to");
  EXPECT_EQ(read_file(folder / "to"), "");
}

TEST(CopiedFile, StaysAsItWasWhereNothingCanBeRead) {
  const test::TestFolder folder;
  write_file_atomically(folder / "to", std::string("before"));
  EXPECT_THROW(copy_file_atomically(folder / "gone", folder / "to"), Error);
  EXPECT_EQ(read_file(folder / "to"), "before");
  EXPECT_EQ(test::file_count(folder.path()), 1);
}

TEST(TemporaryNames, AreThoseThatWritingMakes) {
  const test::TestFolder folder;
  std::string name;
  write_file_atomically(folder / "file.txt", [&](std::ostream&) {
    for (const auto& entry : fs::directory_iterator(folder.path())) name = entry.path().filename();
  });
  ASSERT_NE(name, "");
  EXPECT_TRUE(is_temporary_name(name)) << name;
  EXPECT_TRUE(is_temporary_name(folder / name));
  EXPECT_FALSE(is_temporary_name(name + "x"));
  EXPECT_FALSE(is_temporary_name("file.txt"));
  EXPECT_FALSE(is_temporary_name(""));
  write_file_atomically(folder / "kept", std::string("k"));
  for (const std::string& left : {name, name + "0"}) std::ofstream(folder / left) << "left";
  std::ofstream(folder / (name + "x")) << "somebody's";
  remove_left_temporaries(folder.path());
  EXPECT_FALSE(fs::exists(folder / name));
  EXPECT_FALSE(fs::exists(folder / (name + "0")));
  EXPECT_TRUE(fs::exists(folder / (name + "x")));
  EXPECT_TRUE(fs::exists(folder / "kept"));
}

}  // namespace
}  // namespace evener
