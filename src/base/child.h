// Runs a program as a child process, which gets this process's stop requests and never outlives it; and the children
// that this process is waiting for.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace evener {

// The child processes that this one is waiting for. Their CPU time belongs to this process's work, but the kernel adds
// it to this process's only after they have ended and were waited for.

/// To be called after forking a child that will be waited for, with remove_live_child() after the wait. Takes no locks,
/// since a child that is forked meanwhile may call it too. Children beyond some hundred at a time are not kept.
void add_live_child(pid_t child);
void remove_live_child(pid_t child);

std::vector<int> live_children();

/// The file of a program that is looked for in PATH; nothing where it isn't there.
std::optional<std::string> find_program(const std::string& name);

/// How a child ended: with an exit code, or by a signal.
struct ChildEnd {
  int exit_code = 0;
  int signal = 0;  // 0 = by itself

  bool good() const { return exit_code == 0 && signal == 0; }
};

/// "exit code 1", "signal 9 (Killed)".
std::string end_text(const ChildEnd& end);

/// Waits for the end of a child that add_live_child() was called for, and removes it there.
ChildEnd await_end(pid_t child);

/// Starts a program beside this process: looked for in PATH where it has no '/', in a process group of its own, so that
/// a Ctrl-C at the terminal doesn't reach it, with no signal blocked. `ours`: by the number of one of its descriptors,
/// that of ours which it is, above 2, or -1 to lead nowhere. Throws Error.
pid_t spawn(const std::string& program, const std::vector<std::string>& words, const std::map<int, int>& ours);

struct ChildOptions {
  bool keep_stdout = false;  // the child writes to our stdout; otherwise its output is dropped
  /// Called with each line that the child writes to stderr, without the line's end. Empty: the child shares our stderr.
  std::function<void(const std::string& line)> on_stderr_line = {};
  std::map<std::string, std::string> environment = {};  // variables to add to ours, or to replace in it
  int stop_signal = SIGTERM;                            // sent to the child for a stop request
  /// Asked often; once it returns true, the child gets SIGTERM and a second later SIGKILL. May be empty.
  std::function<bool()> give_up = {};
};

/// Runs `program` to its end. `words`: its argv, its own name first. Its stdin is empty. A stop request (base/stop.h)
/// is passed on to the child as one signal. SIGINT stays blocked in the child: a Ctrl-C at the terminal, which signals
/// both processes, would otherwise reach it twice and be taken for two requests. It dies with the calling thread.
/// Throws Error if it can't be started.
ChildEnd run_child(const std::filesystem::path& program, const std::vector<std::string>& words,
                   const ChildOptions& options = {});

}  // namespace evener
