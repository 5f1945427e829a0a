// The page that follows a run, as a browser asks for it, and how far work is, as people read it.
#include "job/follow/follow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/names.h"
#include "base/test_folder.h"
#include "job/progress.h"
#include "record/record.h"

namespace evener::job {
namespace {

using testing::HasSubstr;

HttpRequest asking_for(const std::string& path) {
  HttpRequest request;
  request.method = "GET";
  request.path = path;
  return request;
}

TEST(Follower, AnswersItsThreeAddresses) {
  const test::TestFolder folder;
  record::Record record;
  record.status = record::Status::kRunning;
  record::write_record(folder.path(), record);
  FollowedPage page({folder.path()});
  const HttpResponse frame = answer_follower(page, "my run", asking_for("/"));
  EXPECT_EQ(frame.status, 200);
  EXPECT_THAT(frame.content_type, HasSubstr("text/html"));
  EXPECT_THAT(frame.body, HasSubstr("my run"));
  const HttpResponse version = answer_follower(page, "my run", asking_for("/version"));
  EXPECT_THAT(version.content_type, HasSubstr("text/plain"));
  EXPECT_EQ(version.body.size(), 16u);
  const HttpResponse whole = answer_follower(page, "my run", asking_for("/page"));
  EXPECT_THAT(whole.body, HasSubstr("<html"));
  for (const HttpResponse* each : {&frame, &version, &whole}) {
    EXPECT_THAT(each->headers, testing::Contains(testing::Pair("Cache-Control", "no-store")));
  }
  EXPECT_EQ(answer_follower(page, "my run", asking_for("/else")).status, 404);
}

TEST(Follower, HasAnotherVersionOnceTheFolderSaysSomethingElse) {
  const test::TestFolder folder;
  record::Record record;
  record.times.total = 1;
  record::write_record(folder.path(), record);
  FollowedPage page({folder.path()});
  const std::string before = page.version(), shown = page.page();
  EXPECT_EQ(page.version(), before);
  EXPECT_EQ(FollowedPage({folder.path()}).version(), before) << "of what is there, not of who looks";
  record.times.total = 2222;
  record.engine = "another-engine";
  record::write_record(folder.path(), record);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (page.version() == before && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_NE(page.version(), before);
  EXPECT_NE(page.page(), shown);
}

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
