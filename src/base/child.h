// A program run as a child process: it gets our stop requests and never outlives us.
#pragma once

#include <filesystem>
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

/// Runs `program` to its end. `words`: what it sees as its arguments, its own name first. It shares our stderr; its
/// stdin is empty and its stdout is dropped. A stop request (base/stop.h) is passed on to it as one SIGTERM, and a
/// Ctrl-C at the terminal reaches it in no other way, so that it is not taken for two. It dies with the calling
/// thread. Throws Error if it can't be started.
ChildEnd run_child(const std::filesystem::path& program, const std::vector<std::string>& words);

}  // namespace evener
