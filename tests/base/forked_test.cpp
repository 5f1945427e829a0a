// Questions answered in a child process, and how its answer, its error or its death arrive.
#include "base/forked.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "base/child.h"
#include "base/error.h"

namespace evener {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

/// A child that does `work` with the writing end of a pipe, and what its parent gets to know.
struct ChildOfTest {
  explicit ChildOfTest(const std::function<void(int pipe)>& work) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error("no pipe");
    pid = fork();
    if (pid == 0) {
      ::close(ends[0]);
      work(ends[1]);
      _exit(0);
    }
    ::close(ends[1]);
    reader = Descriptor(ends[0]);
  }

  pid_t pid = 0;
  Descriptor reader;
};

std::string answer_of(const std::function<std::string()>& body, double limit_s = 60) {
  const ChildOfTest child([&](int pipe) { write_answer(body, pipe); });
  return await_answer(child.reader, child.pid, limit_s);
}

/// What `Failure` says.
template <class Failure>
std::string failure_in_child(const std::function<std::string()>& body) {
  try {
    answer_of(body);
  } catch (const Failure& error) {
    return error.what();
  }
  return "none";
}

bool has_ended(pid_t child) {
  return waitpid(child, nullptr, WNOHANG) < 0 && errno == ECHILD;
}

TEST(ChildAnswer, IsTheWholeText) {
  EXPECT_EQ(answer_of([] { return std::string(); }), "");
  EXPECT_EQ(answer_of([] { return std::string("f is no failure here"); }), "f is no failure here");
  std::string large(300'001, 'x');  // more than a pipe holds
  large.back() = 'y';
  EXPECT_EQ(answer_of([&] { return large; }), large);
}

TEST(ChildAnswer, FailuresKeepTheirKind) {
  EXPECT_EQ(failure_in_child<UsageError>([]() -> std::string { throw UsageError("asked wrongly"); }), "asked wrongly");
  EXPECT_EQ(failure_in_child<Interrupted>([]() -> std::string { throw Interrupted("stopped"); }), "stopped");
  const auto plain = []() -> std::string { throw Error("went wrong"); };
  EXPECT_EQ(failure_in_child<Error>(plain), "went wrong");
  EXPECT_THROW(EXPECT_EQ(failure_in_child<UsageError>(plain), ""), Error) << "it is no UsageError";
  EXPECT_EQ(failure_in_child<Error>([]() -> std::string { throw std::runtime_error("of the library"); }),
            "of the library");
}

TEST(ChildAnswer, WithoutOneItsEndIsTold) {
  const auto end_of = [](const std::function<void(int)>& work) -> std::string {
    const ChildOfTest child(work);
    try {
      return "answered " + await_answer(child.reader, child.pid, 60);
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_EQ(end_of([](int) { _exit(7); }), "the process that was asked ended with exit code 7");
  EXPECT_THAT(end_of([](int) { raise(SIGKILL); }), HasSubstr("the process that was asked ended with signal"));
}

TEST(ChildAnswer, OneThatIsLateOrNotWantedAnyMoreIsKilled) {
  const auto sleeps = [](int) { sleep(600); };
  {
    const ChildOfTest late(sleeps);
    try {
      await_answer(late.reader, late.pid, 0.02);
      FAIL() << "an answer of one who sleeps";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "no answer within 0 s");
    }
    EXPECT_TRUE(has_ended(late.pid));
  }
  const ChildOfTest stopped(sleeps);
  int looks = 0;
  EXPECT_THROW(await_answer(stopped.reader, stopped.pid, 600, [&] { return ++looks == 3; }), Interrupted);
  EXPECT_EQ(looks, 3);
  EXPECT_TRUE(has_ended(stopped.pid));
}

TEST(ChildAnswer, TheChildCountsAsLiveUntilItHasEnded) {
  const ChildOfTest child([](int pipe) {
    sleep(600);
    write_answer([] { return "never"; }, pipe);
  });
  EXPECT_THAT(live_children(), Not(Contains(child.pid)));
  EXPECT_THROW(
      await_answer(child.reader, child.pid, 600, [&] { return std::ranges::count(live_children(), child.pid) == 1; }),
      Interrupted);
  EXPECT_THAT(live_children(), Not(Contains(child.pid)));
}

TEST(LiveChildren, AreThoseThatWereAddedAndNotRemoved) {
  for (const pid_t child : {2'000'001, 2'000'002, 2'000'003}) add_live_child(child);
  remove_live_child(2'000'002);
  EXPECT_THAT(live_children(), testing::IsSupersetOf({2'000'001, 2'000'003}));
  EXPECT_THAT(live_children(), Not(Contains(2'000'002)));
  add_live_child(2'000'004);  // in the place that was given back
  EXPECT_THAT(live_children(), testing::IsSupersetOf({2'000'001, 2'000'003, 2'000'004}));
  for (const pid_t child : {2'000'001, 2'000'003, 2'000'004}) remove_live_child(child);
  EXPECT_THAT(live_children(), Not(Contains(testing::Ge(2'000'001))));
}

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

TEST(InChild, IsThisProcessWhereForksAreForbidden) {
  const std::string where = in_child(
      [] {
        forbid_forks();  // of the child: nothing takes it back
        const std::string here = std::to_string(getpid());
        return in_child([] { return std::to_string(getpid()); }) == here ? "here" : "elsewhere";
      },
      60);
  EXPECT_EQ(where, "here");
}

}  // namespace
}  // namespace evener
