// What evener throws. Every message is complete: what happened with its values, where, and what to do.
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

/// A stop was asked for, by a StopFlag, Ctrl-C, SIGTERM or another stop signal, and the work ended in good order.
class Interrupted : public Error {
 public:
  using Error::Error;
};

}  // namespace evener
