// The one error type of the program: what happened with its values, where, and what to do.
// Thrown in the library, printed once in main. Exit codes: Error 1, UsageError 2, Interrupted 128 + the signal.
#pragma once

#include "evener/error.h"
