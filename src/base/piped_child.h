// A program that works beside this process: its output is read, or its input written, while it runs.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/child.h"
#include "base/clock.h"
#include "base/descriptor.h"

namespace evener {

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
