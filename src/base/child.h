// A program run as a child process: it gets our stop requests and never outlives us.
#pragma once

#include <signal.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace evener {

/// How a child ended: with an exit code, or by a signal.
struct ChildEnd {
  int exit_code = 0;
  int signal = 0;  // 0 = by itself

  bool good() const { return exit_code == 0 && signal == 0; }
};

/// "exit code 1", "signal 9 (Killed)".
std::string end_text(const ChildEnd& end);

struct ChildOptions {
  bool keep_stdout = false;  // it shares ours; otherwise what it writes there is dropped
  /// Gets each line that it writes on stderr, without its end. Empty: it shares our stderr.
  std::function<void(const std::string& line)> on_stderr_line = {};
  std::map<std::string, std::string> environment = {};  // added to ours, or replacing parts of it
  int stop_signal = SIGTERM;                            // that a stop request is passed on as
  /// Asked often; once it says so, the child gets SIGTERM and a second later SIGKILL. May be empty.
  std::function<bool()> give_up = {};
};

/// Runs `program` to its end. `words`: what it sees as its arguments, its own name first. It shares our stderr; its
/// stdin is empty. A stop request (base/stop.h) is passed on to it as one signal, and a
/// Ctrl-C at the terminal reaches it in no other way, so that it is not taken for two. It dies with the calling
/// thread. Throws Error if it can't be started.
ChildEnd run_child(const std::filesystem::path& program, const std::vector<std::string>& words,
                   const ChildOptions& options = {});

}  // namespace evener
