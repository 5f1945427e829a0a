// Stop requests: Ctrl-C, SIGTERM, SIGUSR1 (which mpirun and Slurm pass on) and SIGHUP (the terminal was closed; ignored
// under nohup) set a flag that long work checks between steps.
#pragma once

#include <signal.h>

namespace evener {

/// Installs the handlers. The first signal sets the flag; a second one ends the process at once with exit code 128 +
/// its number, unless it comes together with the first.
void install_stop_handlers();
/// Whether a signal came, or the job that this thread works for is to stop (base/this_work.h).
bool stop_requested();
/// The exit code of a process that was stopped in good order: 128 + the number of the first signal, as shells have it
/// (Ctrl-C 130, SIGTERM 143, SIGHUP 129); 130 where a stop was asked for without a signal.
int stop_exit_code();
/// Whether this exit code is one of those above.
bool is_stop_exit_code(int exit_code);
/// Sets and clears the flag without a signal: for tests, and for work that wants to end another part in good order.
void request_stop();
void clear_stop_request();

/// For a child whose parent passes stop requests on: a signal to the whole process group (Ctrl-C, timeout, scancel)
/// reaches both, so all signals after the first are ignored here, lest they be taken for a second request. The parent
/// kills its children when it is itself ended at once. Unblocks the signals if they were blocked.
void take_stop_signals_as_one();

/// Blocks the stop signals on this thread for the object's lifetime; a child that is forked meanwhile begins with them
/// blocked.
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
