// Ctrl-C and SIGTERM as a flag that long work looks at between steps.
#pragma once

namespace evener {

/// Installs the handlers: the first signal sets the flag, a second one ends the process at once with 130.
void install_stop_handlers();
bool stop_requested();
/// For tests, and for work that wants to end another part in good order.
void request_stop();
void clear_stop_request();

}  // namespace evener
