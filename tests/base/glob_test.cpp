#include "base/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace evener {
namespace {

TEST(Glob, StarsStayWithinAFolderAndDoubleStarsDont) {
  EXPECT_TRUE(glob_matches("*.png", "a.png"));
  EXPECT_FALSE(glob_matches("*.png", "x/a.png"));
  EXPECT_TRUE(glob_matches("**.png", "x/y/a.png"));
  EXPECT_TRUE(glob_matches("Bream GT/**", "Bream GT/1.png"));
  EXPECT_TRUE(glob_matches("Bream GT/**", "Bream GT/deep/1.png"));
  EXPECT_FALSE(glob_matches("Bream GT/**", "Bream/1.png"));
  EXPECT_FALSE(glob_matches("Bream/**", "Bream GT/1.png"));
  EXPECT_FALSE(glob_matches("Bream", "Bream/1.png"));
}

TEST(Glob, FoldersInTheMiddleMayBeMissing) {
  EXPECT_TRUE(glob_matches("a/**/b.png", "a/b.png"));
  EXPECT_TRUE(glob_matches("a/**/b.png", "a/x/y/b.png"));
  EXPECT_FALSE(glob_matches("a/**/b.png", "a/xb.png"));
  EXPECT_TRUE(glob_matches("**/GT/*", "GT/1"));
  EXPECT_TRUE(glob_matches("**/GT/*", "x/y/GT/1"));
  EXPECT_FALSE(glob_matches("**/GT/*", "x/noGT/1"));
}

TEST(Glob, TakesSingleCharactersAndSets) {
  EXPECT_TRUE(glob_matches("cat_?.jpg", "cat_1.jpg"));
  EXPECT_FALSE(glob_matches("cat_?.jpg", "cat_12.jpg"));
  EXPECT_FALSE(glob_matches("a?b", "a/b"));
  EXPECT_TRUE(glob_matches("[a-c]x", "bx"));
  EXPECT_FALSE(glob_matches("[!a-c]x", "bx"));
  EXPECT_TRUE(glob_matches("[]-]", "]"));
  EXPECT_FALSE(glob_matches("a[!x]b", "a/b"));
  EXPECT_TRUE(glob_matches("a[b", "a[b"));
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_FALSE(glob_matches("", "a"));
}

TEST(Glob, ManyStarsDontTakeForever) {
  std::string pattern;
  for (int i = 0; i < 40; ++i) pattern += "*a";
  EXPECT_FALSE(glob_matches(pattern + "b", std::string(200, 'a')));
}

}  // namespace
}  // namespace evener
