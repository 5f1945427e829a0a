// Programs as child processes: one that runs to its end, gets this process's stop requests and never outlives it; one
// that works beside this process, whose output is read or its input written meanwhile; and the children that this
// process is waiting for.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"

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

struct PipedChildOptions {
  bool has_input = false;          // write() reaches its stdin, which is empty otherwise
  bool reads_errors = false;       // its stderr is an output that is read, and messages() stays empty
  std::uint64_t memory_bytes = 0;  // of data that it may hold; 0 = as many as there are
  double silence_s = 0;            // while it is waited for it has to give or take a byte within that time; 0 = needn't
};

/// The program doesn't outlive the object. A Ctrl-C at the terminal doesn't reach it. For one thread, but for stop().
class PipedChild {
 public:
  enum class Output { kStdout, kStderr };

  /// `words`: its argv; the first one is looked for in PATH. Throws Error where it can't be started.
  PipedChild(const std::vector<std::string>& words, const PipedChildOptions& options);
  ~PipedChild();
  PipedChild(const PipedChild&) = delete;
  PipedChild& operator=(const PipedChild&) = delete;

  /// Reads until `target` is full or the output ends; returns the number of bytes. Throws Error where the program is
  /// silent for too long, Interrupted after stop() or a stop request.
  std::size_t read(Output output, std::span<char> target);
  /// Reads a line, without its end; false at the end of the output. Throws as read(), and Error for an endless line.
  bool read_line(Output output, std::string& line);
  /// Throws Error where the program takes no more; else as read().
  void write(std::span<const char> bytes);
  /// Ends its input and waits for its end; to be called when its outputs have ended. Throws as read().
  ChildEnd finish();
  /// Makes a call that waits give up. Thread-safe.
  void stop() { stopped_ = true; }

  /// The last lines that it wrote to stderr.
  std::string messages() const { return stderr_.rest.substr(stderr_.at); }

 private:
  struct Stream {
    Descriptor descriptor;
    std::string rest;    // read, and not asked for yet
    std::size_t at = 0;  // where that begins
  };

  Stream& stream(Output output) { return output == Output::kStdout ? stdout_ : stderr_; }
  std::size_t read_some(Stream& from, std::span<char> target);
  void wait_for(int descriptor, short events);
  /// After a read() that failed: waits for more, or throws.
  void wait_after_error(const Stream& from);
  void read_messages();

  const std::string name_;
  const PipedChildOptions options_;
  pid_t child_ = 0;  // 0 = it has ended
  ChildEnd end_;
  Descriptor input_;
  Stream stdout_, stderr_;
  std::atomic<bool> stopped_ = false;
};

}  // namespace evener
