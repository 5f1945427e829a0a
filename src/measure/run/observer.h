// Receives the messages of a job while it works. The command line prints them; other programs do as they like.
#pragma once

#include <string>

#include "measure/run/metered_run.h"

namespace evener::measure {

/// All calls come from the thread that runs the job. Functions that aren't overridden ignore the message.
class Observer : public RunObserver {
 public:
  /// A message that stays: what the job is about to do, or what it noticed.
  virtual void note(const std::string& /*text*/) {}
  /// The progress of the work, in place of the progress shown before.
  virtual void show(const std::string& /*text*/) {}
  /// The work that was shown is over.
  virtual void finish() {}
  /// Whether show() may be called several times a second; false where each text stays, so that jobs call it rarely.
  virtual bool redraws() const { return false; }
  /// Results as they become known, in the format of --format; whole lines.
  virtual void tell(const std::string& /*lines*/) {}

  void on_note(const std::string& text) final { note(text); }
  void on_failure() final { finish(); }
};

}  // namespace evener::measure
