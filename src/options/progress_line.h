// Shows progress on stderr: one line redrawn in place on a terminal, and elsewhere a new line now and then.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measure/run/observer.h"

namespace evener {

/// Whether lines may be redrawn at `descriptor`: it is a terminal that TERM doesn't call "dumb". Redrawing takes no
/// escape sequences.
bool may_redraw(int descriptor);
/// Whether texts may be coloured there, which takes escape sequences: where lines may be redrawn, unless NO_COLOR is
/// set.
bool may_colour(int descriptor);

/// Prints messages and progress on stderr, and results on stdout.
class ProgressLine : public measure::Observer {
 public:
  /// `quiet`: nothing at all on stderr.
  explicit ProgressLine(bool quiet);

  /// Prints a line that stays. Control characters are removed, as a hostile file name could send commands to the
  /// terminal.
  void note(const std::string& text) override;
  /// Shows the progress: redrawn in place on a terminal, a line that stays elsewhere.
  void show(const std::string& text) override;
  /// Ends a line that is being redrawn, so that what is printed next starts a new one.
  void finish() override;
  bool redraws() const override { return terminal_; }
  /// Throws Error where stdout can't be written to.
  void tell(const std::string& lines) override;

 private:
  const bool quiet_, terminal_;
  bool line_open_ = false;
};

/// Flushes each result at once, for commands that go on afterwards and programs that wait for the line.
class PromptLine final : public ProgressLine {
 public:
  using ProgressLine::ProgressLine;
  void tell(const std::string& lines) override;
};

/// For a command that was given `words` to look at: where one is a camera or a pipe each answer is flushed at once, as
/// whoever reads them waits for it. `quiet`: see ProgressLine.
std::unique_ptr<ProgressLine> progress_for(const std::vector<std::string>& words, bool quiet);

}  // namespace evener
