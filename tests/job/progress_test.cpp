// How far work is, as people read it.
#include "job/progress.h"

#include <gtest/gtest.h>

#include "base/names.h"

namespace evener::job {
namespace {

TEST(ProgressTexts, TellSharesAndTimes) {
  EXPECT_EQ(progress_bar(0), "[....................]");
  EXPECT_EQ(progress_bar(0.5), "[##########..........]");
  EXPECT_EQ(progress_bar(0.549), "[##########..........]");
  EXPECT_EQ(progress_bar(1), "[####################]");
  EXPECT_EQ(progress_bar(1.5), "[####################]");
  EXPECT_EQ(progress_bar(-1), "[....................]");
  EXPECT_EQ(time_left_text(0.94), "less than 1 s");
  EXPECT_EQ(time_left_text(0.96), "1 s");
  EXPECT_EQ(time_left_text(59.4), "59 s");
  EXPECT_EQ(time_left_text(59.6), duration_text(59.6));
}

}  // namespace
}  // namespace evener::job
