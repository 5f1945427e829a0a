// evener infer --sort, as a user runs it.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/paths.h"
#include "cli/infer_helpers.h"

namespace evener {
namespace {

namespace fs = std::filesystem;
using test::Infer;
using test::joined;
using test::ProgramResult;
using testing::AllOf;
using testing::HasSubstr;
using Words = test::Words;

/// The folder of each file below `out`.
std::map<std::string, std::string> sorted_in(const fs::path& out) {
  std::map<std::string, std::string> folders;
  for (const auto& file : fs::recursive_directory_iterator(out)) {
    const bool is_mark = file.path().filename() == ".evener-no-class";
    if (!file.is_directory() && !is_mark)
      folders[file.path().filename().string()] = file.path().parent_path().filename().string();
  }
  return folders;
}

class InferSort : public Infer {
 protected:
  ProgramResult sort(const Words& more) const {
    return infer(joined({file("run"), file("pictures"), "--sort", file("sorted"), "--format", "none"}, more));
  }
};

TEST_F(InferSort, PutsLinksIntoAFolderOfEachClassAndKeepsWhatPeoplePutRight) {
  trained();
  pictures({"1.pgm", "2.pgm", "more/2.pgm"});
  const ProgramResult first = sort({"--sort-threshold", "0"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const auto folders = sorted_in(file("sorted"));
  ASSERT_EQ(folders.size(), 3U) << "two of one name have names of their own";
  EXPECT_TRUE(folders.contains("2-2.pgm"));
  const std::string found = folders.at("1.pgm");
  const fs::path link = fs::path(file("sorted")) / found / "1.pgm";
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_TRUE(fs::equivalent(link, file("pictures") + "/1.pgm"));
  EXPECT_THAT(first.out, HasSubstr("3 into " + found));

  fs::create_directories(file("sorted") + "/mine");
  fs::rename(link, file("sorted") + "/mine/1.pgm");
  pictures({"4.pgm"});
  const ProgramResult second = sort({"--sort-threshold", "0"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.out, AllOf(HasSubstr("1 into " + found), HasSubstr("3 were there already")));
  EXPECT_EQ(sorted_in(file("sorted")).size(), 4U);
  EXPECT_EQ(sorted_in(file("sorted")).at("1.pgm"), "mine");
}

TEST_F(InferSort, CopiesWhereAskedAndPutsUnsurePhotosAside) {
  trained();
  pictures({"1.pgm"});
  for (int time = 0; time < 2; ++time) {
    const ProgramResult result = sort({"--sort-by", "copy", "--sort-threshold", "1"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
  }
  EXPECT_EQ(sorted_in(file("sorted")), (std::map<std::string, std::string>{{"1.pgm", "unsure"}}));
  EXPECT_FALSE(fs::is_symlink(file("sorted") + "/unsure/1.pgm"));
  EXPECT_TRUE(fs::exists(file("sorted") + "/unsure/.evener-no-class"));
}

TEST_F(InferSort, RefusesWhatIsNoPhotoAndFoldersAmongThem) {
  trained();
  pictures({"1.pgm"});
  const ProgramResult random = refused({file("run"), "random:3", "--sort", file("sorted")});
  EXPECT_EQ(random.exit_code, 2);
  EXPECT_THAT(random.err, HasSubstr("'#0' is no file"));
  const ProgramResult within = refused({file("run"), file("pictures"), "--sort", file("pictures") + "/sorted"});
  EXPECT_EQ(within.exit_code, 2);
  EXPECT_THAT(within.err, HasSubstr("lies within the photos"));
  const ProgramResult alone = refused({file("run"), file("pictures"), "--sort-by", "copy"});
  EXPECT_THAT(alone.err, HasSubstr("give --sort DIR"));
  EXPECT_FALSE(fs::exists(file("sorted")));
}

TEST_F(InferSort, RefusesAFolderThatCantBeWrittenIntoBeforeAnyWork) {
  pictures({"1.pgm"});
  // /proc takes no files, from whomever; the network isn't there, and is not come to.
  for (const char* place : {"/proc", "/proc/sorted/deep"}) {
    const ProgramResult result = refused({file("none.safetensors"), file("pictures"), "--sort", place});
    EXPECT_EQ(result.exit_code, 1) << place;
    EXPECT_THAT(result.err,
                AllOf(HasSubstr(std::string("--sort '") + place), HasSubstr("can't write into the folder '/proc'")));
  }
}

TEST_F(InferSort, WatchGoesOnWithPhotosThatCome) {
  trained();
  pictures({"1.pgm"});
  test::RunningProgram program(
      test::program_path(),
      {"infer", file("run"), file("pictures"), "--sort", file("sorted"), "--sort-threshold", "1", "--watch"},
      options());
  EXPECT_TRUE(program.wait_for("waiting for more photos"));
  pictures({"2.pgm"});
  EXPECT_TRUE(program.wait_for("2.pgm"));
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted_in(file("sorted")).size(), 2U);
  EXPECT_EQ(refused({file("run"), file("pictures"), "--watch", "--out", file("o")}).exit_code, 2);
}

}  // namespace
}  // namespace evener
