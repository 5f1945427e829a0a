// The one error type of the program: what happened with its values, where, and what to do.
// Thrown in the library, printed once in main. Exit codes: Error 1, UsageError 2, Interrupted 128 + the signal.
#pragma once

#include <stdexcept>
#include <string>

namespace evener {

/// Something failed; the message is complete and meant for the user.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The user asked for something impossible or misspelt.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Ctrl-C, SIGTERM or another stop signal arrived and the work ended in good order.
class Interrupted : public Error {
 public:
  using Error::Error;
};

}  // namespace evener
