// Ctrl-C, SIGTERM, SIGUSR1 (which mpirun and Slurm pass on) and SIGHUP (the terminal's end, unless nohup has it
// ignored) as a flag that long work looks at between steps.
#pragma once

#include <signal.h>

namespace evener {

/// Installs the handlers: the first signal sets the flag, a second one, but for one that comes with the first, ends the
/// process at once with 128 + its number.
void install_stop_handlers();
/// Whether a signal came, or the job that this thread works for is to stop (base/this_work.h).
bool stop_requested();
/// With what a process ends that was stopped in good order: 128 + the first signal that came, as shells count (Ctrl-C
/// 130, SIGTERM 143, SIGHUP 129); 130 where a stop was asked for without a signal.
int stop_exit_code();
/// Whether a process that ended with this was stopped in good order, by any of the signals.
bool is_stop_exit_code(int exit_code);
/// For tests, and for work that wants to end another part in good order.
void request_stop();
void clear_stop_request();

/// For a child whose parent passes its stop request on: a signal to the whole group (Ctrl-C, timeout, scancel) reaches
/// both, so further signals change nothing here; the parent ends its children where it ends itself. Lets the signals
/// through if they were held back.
void take_stop_signals_as_one();

/// Holds the signals back from this thread, for its lifetime; a child that is forked meanwhile begins with them held
/// back.
class BlockedStopSignals {
 public:
  BlockedStopSignals();
  ~BlockedStopSignals();
  BlockedStopSignals(const BlockedStopSignals&) = delete;
  BlockedStopSignals& operator=(const BlockedStopSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace evener
