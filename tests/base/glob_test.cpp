#include "base/glob.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace evener {
namespace {

struct Row {
  const char *pattern, *path;
  bool matches;
};

void expect(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(glob_matches(row.pattern, row.path), row.matches) << "'" << row.pattern << "' and '" << row.path << "'";
  }
}

TEST(Glob, StarsStayWithinAFolderAndDoubleStarsDont) {
  expect({{"*.png", "a.png", true},
          {"*.png", "x/a.png", false},
          {"**.png", "x/y/a.png", true},
          {"Bream GT/**", "Bream GT/1.png", true},
          {"Bream GT/**", "Bream GT/deep/1.png", true},
          {"Bream GT/**", "Bream/1.png", false},
          {"Bream/**", "Bream GT/1.png", false},
          {"Bream", "Bream/1.png", false}});
}

TEST(Glob, FoldersInTheMiddleMayBeMissing) {
  expect({{"a/**/b.png", "a/b.png", true},
          {"a/**/b.png", "a/x/y/b.png", true},
          {"a/**/b.png", "a/xb.png", false},
          {"**/GT/*", "GT/1", true},
          {"**/GT/*", "x/y/GT/1", true},
          {"**/GT/*", "x/noGT/1", false}});
}

TEST(Glob, TakesSingleCharactersAndSets) {
  expect({{"cat_?.jpg", "cat_1.jpg", true},
          {"cat_?.jpg", "cat_12.jpg", false},
          {"a?b", "a/b", false},
          {"[a-c]x", "bx", true},
          {"[!a-c]x", "bx", false},
          {"[]-]", "]", true},
          {"a[!x]b", "a/b", false},
          {"a[b", "a[b", true},
          {"", "", true},
          {"", "a", false}});
}

TEST(Glob, ManyStarsDontTakeForever) {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  EXPECT_FALSE(glob_matches(pattern + "b", std::string(200, 'a')));
}

}  // namespace
}  // namespace evener
