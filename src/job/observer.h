// Who listens to a job while it works: the command line shows it on a terminal, other programs as they like.
#pragma once

#include <string>

#include "run/metered_run.h"

namespace evener::job {

/// All calls come from the thread that runs the job. Whoever isn't interested overrides nothing.
class Observer : public run::RunObserver {
 public:
  /// A sentence that stays: what the job is about to do, what it noticed.
  virtual void note(const std::string& /*text*/) {}
  /// How far the work is, in place of what was shown before.
  virtual void show(const std::string& /*text*/) {}
  /// The work that was shown is over.
  virtual void finish() {}
  /// Whether show() may be called several times a second; otherwise each text stays, and they are kept rare.
  virtual bool redraws() const { return false; }
  /// Results as they become known, in the format that was asked for with --format; whole lines.
  virtual void tell(const std::string& /*lines*/) {}

  void on_note(const std::string& text) final { note(text); }
  void on_failure() final { finish(); }
};

}  // namespace evener::job
