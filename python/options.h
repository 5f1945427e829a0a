// Options between Python and C++.
#pragma once

#include <nanobind/nanobind.h>

#include "evener/evener.h"

/// Keyword arguments as options: None is left out, a name may end with '_' where it is a word of Python's ("class_").
/// Throws TypeError for a value that is no text, path, number, truth, or several of them.
evener::Options options_from(const nanobind::dict& keywords);

/// A dict for each option: name, kind ("switch", "value", "values", "switch or value"), value, value_kind, help,
/// default (None: there is none), choices, required.
nanobind::list options_of(const std::string& job);
