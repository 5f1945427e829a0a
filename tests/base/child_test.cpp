#include "base/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

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

}  // namespace
}  // namespace evener::test
