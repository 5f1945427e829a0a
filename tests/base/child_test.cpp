#include "base/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/stop.h"
#include "base/test_folder.h"

namespace evener::test {
namespace {

using testing::HasSubstr;

ChildEnd run_shell(const std::string& script) {
  return run_child("/bin/sh", {"sh", "-c", script});
}

/// Waits for something that has to come, up to the test's own limit of time.
void wait_until(const std::function<bool()>& come) {
  while (!come()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

TEST(Child, EndsAreTold) {
  EXPECT_TRUE(run_shell("exit 0").good());
  EXPECT_EQ(run_shell("exit 7").exit_code, 7);
  EXPECT_EQ(end_text(run_shell("exit 7")), "exit code 7");
  const ChildEnd killed = run_shell("kill -9 $$");
  EXPECT_EQ(killed.signal, SIGKILL);
  EXPECT_FALSE(killed.good());
  EXPECT_EQ(end_text(killed), "signal 9 (Killed)");
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a zombie is left";
  EXPECT_EQ(errno, ECHILD);
}

TEST(Child, SharesStderrAlone) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const ChildEnd end = run_shell("echo out; echo err >&2; read line; test -z \"$line\"");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "err\n");
  EXPECT_TRUE(end.good());
}

TEST(Child, ThatCannotBeStartedIsAnError) {
  try {
    run_child("/no/such/program", {"program"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("can't start '/no/such/program': No such file"));
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(Child, GetsAStopRequestOnce) {
  const TestFolder folder;
  const std::string ready = (folder / "ready").string(), seen = (folder / "seen").string();
  std::thread stopper([&] {
    wait_until([&] { return std::filesystem::exists(ready); });
    request_stop();
  });
  const ChildEnd end = run_shell("trap 'echo stop >>" + seen + "; sleep 0.1; exit 3' TERM; : >" + ready +
                                 "; while :; do sleep 0.01; done");
  stopper.join();
  clear_stop_request();
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(read_file(seen), "stop\n");
}

TEST(Child, GetsNoCtrlCOfItsOwn) {
  const TestFolder folder;
  const std::string ready = (folder / "ready").string();
  std::thread stopper([&] {
    wait_until([&] { return std::filesystem::exists(ready) && read_file(ready).ends_with("\n"); });
    kill(std::stoi(read_file(ready)), SIGINT);  // what the terminal does to all processes of the group
    request_stop();
  });
  const ChildEnd end = run_shell("echo $$ >" + ready + "; exec sleep 1000");
  stopper.join();
  clear_stop_request();
  EXPECT_EQ(end.signal, SIGTERM);
}

TEST(Child, ItsLinesCanBeTaken) {
  ChildOptions options;
  std::vector<std::string> lines;
  options.on_stderr_line = [&](const std::string& line) { lines.push_back(line); };
  testing::internal::CaptureStderr();
  run_child("/bin/sh", {"sh", "-c", "echo one >&2; printf 'two\\n\\nthree' >&2"}, options);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_THAT(lines, testing::ElementsAre("one", "two", "", "three"));
}

TEST(Child, ItsLinesDontWaitForWhatItLeavesBehind) {
  ChildOptions options;
  pid_t left_behind = 0;
  options.on_stderr_line = [&](const std::string& line) { left_behind = std::stoi(line); };
  run_child("/bin/sh", {"sh", "-c", "sleep 1000 & echo $! >&2"}, options);  // the sleep holds the pipe open
  EXPECT_EQ(kill(left_behind, SIGKILL), 0) << "it had ended";
}

TEST(Child, CanKeepItsStdout) {
  ChildOptions options;
  options.keep_stdout = true;
  const TestFolder folder;
  const int before = dup(STDOUT_FILENO);
  ASSERT_NE(std::freopen((folder / "out").c_str(), "w", stdout), nullptr);
  run_child("/bin/sh", {"sh", "-c", "echo out"}, options);
  dup2(before, STDOUT_FILENO);
  close(before);
  EXPECT_EQ(read_file(folder / "out"), "out\n");
}

TEST(Child, GetsAStopRequestAsTheSignalItUnderstands) {
  const TestFolder folder;
  const std::string ready = (folder / "ready").string();
  ChildOptions options;
  options.stop_signal = SIGUSR1;
  std::thread stopper([&] {
    wait_until([&] { return std::filesystem::exists(ready); });
    request_stop();
  });
  const ChildEnd end =
      run_child("/bin/sh", {"sh", "-c", "trap 'exit 4' USR1; : >" + ready + "; while :; do sleep 0.01; done"}, options);
  stopper.join();
  clear_stop_request();
  EXPECT_EQ(end.exit_code, 4);
}

TEST(Child, ThatIsGivenUpIsKilled) {
  const TestFolder folder;
  const std::string ready = (folder / "ready").string();
  ChildOptions options;
  options.give_up = [&] { return std::filesystem::exists(ready); };
  const ChildEnd end =
      run_child("/bin/sh", {"sh", "-c", "trap '' TERM; : >" + ready + "; while :; do sleep 0.01; done"}, options);
  EXPECT_EQ(end.signal, SIGKILL);
}

TEST(Child, DiesWithItsParent) {
  const TestFolder folder;
  const std::string ready = (folder / "ready").string();
  const pid_t parent = fork();
  if (parent == 0) {
    run_child("/bin/sh",
              {"sh", "-c", "echo $$ >" + ready + ".new; mv " + ready + ".new " + ready + "; exec sleep 1000"});
    _exit(0);
  }
  wait_until([&] { return std::filesystem::exists(ready); });
  const pid_t child = std::stoi(read_file(ready));
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  // An orphan that nobody collects stays as a zombie where the process 1 is no init.
  wait_until([&] {
    const std::filesystem::path stat = "/proc/" + std::to_string(child) + "/stat";
    return !std::filesystem::exists(stat) || read_file(stat).find(") Z") != std::string::npos;
  });
}

TEST(Child, HasOurEnvironmentWithTheChanges) {
  setenv("EVENER_TEST_KEPT", "kept", 1);
  setenv("EVENER_TEST_CHANGED", "old", 1);
  ChildOptions options;
  options.environment = {{"EVENER_TEST_CHANGED", "new"}, {"EVENER_TEST_ADDED", "a=b"}};
  const ChildEnd end =
      run_child("/bin/sh",
                {"sh", "-c",
                 "test \"$EVENER_TEST_KEPT/$EVENER_TEST_CHANGED/$EVENER_TEST_ADDED\" = kept/new/a=b && "
                 "test $(env | grep -c EVENER_TEST_CHANGED) = 1"},
                options);
  unsetenv("EVENER_TEST_KEPT");
  unsetenv("EVENER_TEST_CHANGED");
  EXPECT_TRUE(end.good());
}

TEST(FindProgram, IsTheFirstOfThePathThatMayBeRun) {
  const TestFolder folder;
  for (const char* name : {"first/tool", "second/tool", "third/tool"}) write_text(folder / name, "#!/bin/sh\n");
  for (const char* name : {"second/tool", "third/tool"}) {
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  }
  const std::string before = getenv("PATH");
  const std::string path =
      (folder / "first").string() + ":" + (folder / "second").string() + ":" + (folder / "third").string();
  setenv("PATH", path.c_str(), 1);
  EXPECT_EQ(find_program("tool"), (folder / "second/tool").string());
  EXPECT_EQ(find_program("other"), std::nullopt);
  setenv("PATH", before.c_str(), 1);
}

using Output = PipedChild::Output;

std::vector<std::string> shell(const std::string& script) {
  return {"sh", "-c", script};
}

TEST(PipedChild, GivesItsLinesItsMessagesAndItsEnd) {
  PipedChild child(shell("printf 'one\\ntwo\\n\\nthree'; echo why >&2; exit 3"), {});
  std::vector<std::string> lines;
  for (std::string line; child.read_line(Output::kStdout, line);) lines.push_back(line);
  EXPECT_THAT(lines, testing::ElementsAre("one", "two", "")) << "a line that has no end is none";
  EXPECT_EQ(child.finish().exit_code, 3);
  EXPECT_EQ(child.messages(), "why\n");
  EXPECT_EQ(child.finish().exit_code, 3) << "asked again";
}

TEST(PipedChild, IsReadByLinesAndByBytesInTurn) {
  PipedChild child(shell("printf 'head\\nabcdefg'"), {});
  std::string line;
  ASSERT_TRUE(child.read_line(Output::kStdout, line));
  EXPECT_EQ(line, "head");
  std::string bytes(3, '?');
  EXPECT_EQ(child.read(Output::kStdout, bytes), 3u);
  EXPECT_EQ(bytes, "abc");
  bytes.assign(10, '?');
  EXPECT_EQ(child.read(Output::kStdout, bytes), 4u) << "the output ends";
  EXPECT_EQ(bytes, "defg??????");
  EXPECT_TRUE(child.finish().good());
}

TEST(PipedChild, TakesMoreThanAPipeHoldsWhileItAnswers) {
  PipedChild child({"cat"}, {.has_input = true});
  child.write(std::string_view("first\n"));
  std::string line;
  ASSERT_TRUE(child.read_line(Output::kStdout, line));
  EXPECT_EQ(line, "first");
  PipedChild counts(shell("wc -c >&2"), {.has_input = true, .reads_errors = true});
  counts.write(std::string(3 << 20, 'x'));
  EXPECT_TRUE(counts.finish().good());
  ASSERT_TRUE(counts.read_line(Output::kStderr, line));
  EXPECT_THAT(line, HasSubstr("3145728"));
}

TEST(PipedChild, ThatEndsOrIsSilentIsAnError) {
  const auto failure = [](auto&& work) -> std::string {
    try {
      work();
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(failure([] { const PipedChild child({"/no/such/program"}, {}); }),
              HasSubstr("can't start '/no/such/program'"));
  PipedChild gone(shell("exit 0"), {.has_input = true});
  EXPECT_THAT(failure([&] {
                while (true) gone.write(std::string(1 << 20, 'x'));
              }),
              HasSubstr("sh takes no more"));
  PipedChild silent(shell("exec sleep 1000"), {.silence_s = 0.05});
  std::string line;
  EXPECT_THAT(failure([&] { silent.read_line(Output::kStdout, line); }), HasSubstr("sh did nothing for 0 s"));
  PipedChild endless(shell("exec tr '\\0' x </dev/zero"), {});
  EXPECT_THAT(failure([&] { endless.read_line(Output::kStdout, line); }), HasSubstr("gives what isn't understood"));
  PipedChild stopped(shell("exec sleep 1000"), {});
  stopped.stop();
  EXPECT_THROW(stopped.read_line(Output::kStdout, line), Interrupted);
}

TEST(PipedChild, KeepsTheLastOfManyMessages) {
  PipedChild child(shell("head -c 300000 /dev/zero | tr '\\0' x >&2; echo end >&2"), {});
  std::string line;
  EXPECT_FALSE(child.read_line(Output::kStdout, line)) << "it isn't kept waiting by what nobody reads";
  EXPECT_TRUE(child.finish().good());
  EXPECT_EQ(child.messages().size(), 4096u);
  EXPECT_THAT(child.messages(), testing::EndsWith("xend\n"));
}

}  // namespace
}  // namespace evener::test
