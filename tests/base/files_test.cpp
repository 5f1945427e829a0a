// Files that are written or copied whole or not at all.
#include "base/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/test_folder.h"

namespace evener {
namespace {

using test::file_count;
using test::SmallDisk;
using test::TestFolder;
using testing::AllOf;
using testing::HasSubstr;

namespace fs = std::filesystem;

template <typename Work>
std::string message_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(WriteFile, WritesAndReplacesAndLeavesNothingBeside) {
  const TestFolder folder;
  const fs::path file = folder / "a.txt";
  write_file_atomically(file, "one");
  EXPECT_EQ(read_file(file), "one");
  write_file_atomically(file, [](std::ostream& out) { out << "two " << 2; });
  EXPECT_EQ(read_file(file), "two 2");
  write_file_atomically(file, "");
  EXPECT_EQ(read_file(file), "");
  EXPECT_EQ(file_count(folder.path()), 1);
}

TEST(WriteFile, LargeAndSmallPiecesStayInOrder) {
  const TestFolder folder;
  const std::string large(3 << 20, 'b');
  write_file_atomically(folder / "f",
                        [&](std::ostream& out) { out << 'a' << large << 'c' << std::string(1 << 19, 'd') << large; });
  EXPECT_EQ(read_file(folder / "f"), 'a' + large + 'c' + std::string(1 << 19, 'd') + large);
}

TEST(ReadFile, TakesNoMoreMemoryThanTheFileNeeds) {
  const TestFolder folder;
  const std::string large(5 << 20, 'b');
  write_file_atomically(folder / "f", large);
  const std::string content = read_file(folder / "f");
  EXPECT_EQ(content, large);
  EXPECT_LT(content.capacity(), large.size() + (1 << 20));
}

TEST(WriteFile, AFailureInsideLeavesTheOldFile) {
  const TestFolder folder;
  write_file_atomically(folder / "a", "old");
  EXPECT_THROW(write_file_atomically(folder / "a",
                                     [](std::ostream& out) {
                                       out << "half";
                                       out.flush();
                                       throw Error("stop");
                                     }),
               Error);
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_EQ(file_count(folder.path()), 1);
}

TEST(WriteFile, NamesAMissingFolderAndAFolderInItsPlace) {
  const TestFolder folder;
  EXPECT_THAT(message_of([&] { write_file_atomically(folder / "no/a.txt", "x"); }), HasSubstr("no' does not exist"));
  fs::create_directory(folder / "dir");
  EXPECT_THAT(message_of([&] { write_file_atomically(folder / "dir", "x"); }), HasSubstr("it is a folder"));
}

TEST(WriteFile, DevicesAreWrittenToNotReplaced) {
  const TestFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  write_file_atomically(pipe, "through");
  char text[16] = {};
  EXPECT_EQ(read(reader, text, sizeof text), 7);
  EXPECT_STREQ(text, "through");
  close(reader);
  EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST(WriteFile, AFullDiskLeavesTheOldFileAndSaysWhatToDo) {
  const SmallDisk disk("size=256k");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  write_file_atomically(disk.path() / "a", "old");
  const std::string message = message_of([&] { write_file_atomically(disk.path() / "a", std::string(1 << 20, 'x')); });
  EXPECT_THAT(message, AllOf(HasSubstr("the disk is full"), HasSubstr("free some space"), HasSubstr("/a'")));
  EXPECT_EQ(read_file(disk.path() / "a"), "old");
  EXPECT_EQ(file_count(disk.path()), 1);
}

TEST(WriteFile, AReadOnlyDiskIsNamed) {
  const SmallDisk disk("ro");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  EXPECT_THAT(message_of([&] { write_file_atomically(disk.path() / "a", "x"); }), HasSubstr("read-only"));
  EXPECT_THAT(message_of([&] { require_writable_directory(disk.path()); }), HasSubstr("read-only"));
  EXPECT_THAT(message_of([&] { require_writable_directory(disk.path() / "new"); }), HasSubstr("read-only"));
}

TEST(WriteFile, AFolderWithoutRightsIsNamed) {
  const TestFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  // Root may write everywhere, so root becomes somebody else meanwhile.
  const bool is_root = geteuid() == 0;
  constexpr uid_t nobody = 65534;
  if (is_root) {
    ASSERT_EQ(seteuid(nobody), 0);
  }
  EXPECT_THAT(message_of([&] { write_file_atomically(folder / "a", "x"); }), HasSubstr("no permission"));
  EXPECT_THAT(message_of([&] { require_writable_directory(folder.path()); }), HasSubstr("no permission"));
  if (is_root) {
    ASSERT_EQ(seteuid(0), 0);
  }
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(ReadFile, SaysWhyItCannot) {
  const TestFolder folder;
  EXPECT_THAT(message_of([&] { read_file(folder / "none"); }), AllOf(HasSubstr("none"), HasSubstr("does not exist")));
  EXPECT_THAT(message_of([&] { read_file(folder.path()); }), HasSubstr("it is a folder"));
}

TEST(ReadFile, HoldsItsLimit) {
  const TestFolder folder;
  test::write_text(folder / "a", std::string(1001, 'x'));
  EXPECT_EQ(read_file(folder / "a", 1001).size(), 1001U);
  EXPECT_THAT(message_of([&] { read_file(folder / "a", 1000); }), HasSubstr("more than 1 kB is not accepted"));
}

TEST(ReadFile, ReadsFilesWhoseSizeTheSystemDoesNotSay) {
  const std::string status = read_file("/proc/self/status");  // has size 0
  EXPECT_THAT(status, HasSubstr("VmRSS"));
  EXPECT_THAT(message_of([] { read_file("/dev/zero", 100000); }), HasSubstr("not accepted"));
}

TEST(RequireWritableDirectory, CreatesItAndLeavesItEmpty) {
  const TestFolder folder;
  require_writable_directory(folder / "a/b/c");
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  EXPECT_EQ(file_count(folder / "a/b/c"), 0);
}

TEST(RequireWritableDirectory, RefusesFilesAndTooLittleSpace) {
  const TestFolder folder;
  test::write_text(folder / "file", "x");
  EXPECT_THAT(message_of([&] { require_writable_directory(folder / "file"); }), HasSubstr("file"));
  EXPECT_THAT(message_of([&] { require_writable_directory(folder / "file/below"); }), HasSubstr("not a folder"));
  EXPECT_THAT(message_of([&] { require_writable_directory(folder.path(), std::uint64_t{1} << 62); }),
              AllOf(HasSubstr("4.61 EB are needed"), HasSubstr("are free")));
  require_writable_directory(folder.path(), 1);
}

TEST(RequireWritableDirectory, NoticesAFullDisk) {
  const SmallDisk disk("size=64k");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  test::write_text(disk.path() / "filler", std::string(60 << 10, 'x'));
  test::write_text(disk.path() / "more", std::string(8 << 10, 'x'));
  EXPECT_THAT(message_of([&] { require_writable_directory(disk.path()); }), HasSubstr("the disk is full (0 B free)"));
}

TEST(WriteFile, NobodysLinkIsFollowed) {
  const TestFolder folder;
  write_file_atomically(folder / "precious", "mine");
  fs::create_symlink(folder / "precious", folder / ("a.txt.tmp-" + std::to_string(getpid())));
  write_file_atomically(folder / "a.txt", "new");
  EXPECT_EQ(read_file(folder / "precious"), "mine");
  EXPECT_EQ(read_file(folder / "a.txt"), "new");
}

TEST(RequireWritableFile, ProvesItAndTouchesNothing) {
  const TestFolder folder;
  write_file_atomically(folder / "there", "old");
  require_writable_file(folder / "there");
  require_writable_file(folder / "new");
  require_writable_file("/dev/null");
  EXPECT_EQ(read_file(folder / "there"), "old");
  EXPECT_EQ(file_count(folder.path()), 1u);
  EXPECT_THAT(message_of([&] { require_writable_file(folder / "none/new"); }), HasSubstr("does not exist"));
  EXPECT_THAT(message_of([&] { require_writable_file(folder.path()); }), HasSubstr("can't write"));
}

TEST(LeftTemporaries, GoAndNothingElse) {
  const TestFolder folder;
  for (const char* name :
       {"last.safetensors.tmp-123", ".write-test-77", "a.tmp-", "b.tmp-12x", "tmp-5", "c.tmp-5.csv"}) {
    write_file_atomically(folder / name, "x");
  }
  remove_left_temporaries(folder.path());
  EXPECT_EQ(file_count(folder.path()), 4u);
  EXPECT_FALSE(fs::exists(folder / "last.safetensors.tmp-123"));
  EXPECT_FALSE(fs::exists(folder / ".write-test-77"));
}

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
