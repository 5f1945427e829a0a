// Runs the real program (program_path()) as a user would, and gives back its exit code and what it printed.
// Header only, so that the tests of every room can use it. Output goes through files: nothing blocks on a full pipe.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/paths.h"
#include "base/sanitizer.h"
#include "base/test_folder.h"

namespace evener::test {

using TemporaryFolder = TestFolder;

/// How much longer the program may take: under a sanitizer it is slower.
inline const double kSlowdown = is_sanitized() ? 5 : 1;

struct ProgramOptions {
  std::map<std::string, std::string> environment;  // added to, or replacing parts of, this process's
  std::filesystem::path cwd = {};                  // empty = this process's
  double timeout_s = 250 * kSlowdown;              // then the program and its children are killed
};

struct ProgramResult {
  int exit_code = -1;  // 128 + signal if a signal ended it
  bool timed_out = false;
  std::string out, err;
};

/// A program under way, for tests that send it signals or wait for a line. The destructor kills what still runs.
class RunningProgram {
 public:
  RunningProgram(const std::string& program, const std::vector<std::string>& arguments,
                 const ProgramOptions& options = {})
      : timeout_s_(options.timeout_s) {
    std::vector<char*> words = {const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    const std::string out = (folder_ / "out").string(), err = (folder_ / "err").string();
    pid_ = fork();
    if (pid_ != 0) return;
    setpgid(0, 0);  // a group of its own: a timeout ends its children too
    for (const char* share : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"})
      unsetenv(share);  // tests that start themselves
    for (const auto& [name, value] : options.environment) setenv(name.c_str(), value.c_str(), 1);
    const bool ready = std::freopen("/dev/null", "r", stdin) && std::freopen(out.c_str(), "w", stdout) &&
                       std::freopen(err.c_str(), "w", stderr) &&
                       (options.cwd.empty() || chdir(options.cwd.c_str()) == 0);
    if (ready) execvp(words[0], words.data());
    _exit(127);
  }
  ~RunningProgram() {
    if (!reaped_) {
      ::kill(-pid_, SIGKILL);
      ::kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  void send(int signal) const { ::kill(pid_, signal); }
  /// To its children too, as a terminal, timeout and Slurm do.
  void send_to_group(int signal) const { ::kill(-pid_, signal); }
  /// The processes that it has started and that still run.
  std::vector<pid_t> children() const {
    std::ifstream list("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children");
    return {std::istream_iterator<pid_t>(list), {}};
  }
  std::string out() const { return content("out"); }
  std::string err() const { return content("err"); }

  /// Waits until stdout or stderr contains `text`; false if the program ended or the timeout passed before.
  bool wait_for(const std::string& text) {
    while (true) {
      const bool ended = has_ended();
      if (out().find(text) != std::string::npos || err().find(text) != std::string::npos) return true;
      if (ended || past_timeout()) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  /// Waits for the end.
  ProgramResult finish() {
    ProgramResult result;
    while (!has_ended()) {
      if (!result.timed_out && past_timeout()) {
        result.timed_out = true;
        ::kill(-pid_, SIGKILL);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    result.exit_code = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
    result.out = out();
    result.err = err();
    return result;
  }

 private:
  bool has_ended() {
    if (!reaped_) reaped_ = waitpid(pid_, &status_, WNOHANG) == pid_;
    return reaped_;
  }
  bool past_timeout() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() > timeout_s_;
  }
  std::string content(const std::string& name) const {
    std::ifstream in(folder_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TemporaryFolder folder_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  double timeout_s_;
  pid_t pid_ = -1;
  int status_ = 0;
  bool reaped_ = false;
};

/// Runs `evener ARGUMENTS...` to its end.
inline ProgramResult run_program(const std::vector<std::string>& arguments, const ProgramOptions& options = {}) {
  return RunningProgram(program_path(), arguments, options).finish();
}

}  // namespace evener::test
