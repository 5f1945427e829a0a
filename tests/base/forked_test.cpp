#include "base/forked.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "base/child.h"
#include "base/error.h"

namespace evener {
namespace {

using testing::HasSubstr;

std::string error_of(const std::function<std::string()>& body, double limit_s = 60) {
  try {
    return "no error: " + in_child(body, limit_s);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(InChild, IsAmongTheLiveChildrenWhileItIsWaitedFor) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::vector<int> seen;
  std::thread onlooker([&] {
    while (seen = live_children(), seen.empty()) std::this_thread::yield();
    EXPECT_EQ(write(ends[1], "x", 1), 1);
  });
  const std::string pid = in_child(
      [&] {
        char byte = 0;
        return read(ends[0], &byte, 1) == 1 ? std::to_string(getpid()) : "";
      },
      60);
  onlooker.join();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(std::to_string(seen.front()), pid);
  EXPECT_EQ(live_children().size(), 0u);
  for (const int end : ends) close(end);
}

TEST(InChild, BringsTheAnswerAndNothingElse) {
  int here = 1;
  const std::string pid = in_child(
      [&] {
        here = 2;
        return std::to_string(getpid());
      },
      60);
  EXPECT_NE(pid, std::to_string(getpid()));
  EXPECT_EQ(here, 1);
  EXPECT_EQ(in_child([] { return std::string(); }, 60), "");
  const std::string much(300'000, 'x');
  EXPECT_EQ(in_child([&] { return much; }, 60), much);
}

TEST(InChild, FailsAsTheBodyDid) {
  EXPECT_EQ(error_of([]() -> std::string { throw Error("no driver"); }), "no driver");
  EXPECT_THAT(error_of([]() -> std::string {
                kill(getpid(), SIGKILL);
                return "";
              }),
              HasSubstr("ended with signal 9"));
  EXPECT_THAT(error_of([]() -> std::string { _exit(7); }), HasSubstr("ended with exit code 7"));
}

TEST(InChild, GivesExceptionsBackAsWhatTheyAre) {
  EXPECT_THROW(in_child([]() -> std::string { throw UsageError("--wrong"); }, 60), UsageError);
  EXPECT_THROW(in_child([]() -> std::string { throw Interrupted("stopped"); }, 60), Interrupted);
  EXPECT_EQ(error_of([]() -> std::string { throw UsageError("--wrong"); }), "--wrong");
  EXPECT_EQ(error_of([]() -> std::string { throw Interrupted("stopped"); }), "stopped");
  try {
    in_child([]() -> std::string { throw Error("no driver"); }, 60);
    FAIL();
  } catch (const UsageError&) {
    FAIL() << "it is no mistake of the user";
  } catch (const Error&) {
  }
}

TEST(InChild, IsKilledWhenItTakesTooLong) {
  EXPECT_THAT(error_of(
                  []() -> std::string {
                    std::this_thread::sleep_for(std::chrono::hours(1));
                    return "";
                  },
                  0.05),
              HasSubstr("no answer within"));
}

}  // namespace
}  // namespace evener
