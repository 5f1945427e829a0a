// Runs that many tests begin with are made once for a build of the program, and copied.
#pragma once

#include <filesystem>
#include <string>

#include "support/run_helpers.h"

namespace evener::test {

/// What `evener WORDS --out FOLDER` leaves, in `folder` as a copy that its owner may change. Whoever comes first runs
/// it, into build/PRESET/test-data/NAME-KEY, where the key is made of the words and of the program's files: a program
/// that is built anew runs it anew. The paths in the record are those of the first run. Whether that went well; why not
/// is told as a failure of the test.
bool trained_once(const std::string& name, const Words& words, const std::filesystem::path& folder);

}  // namespace evener::test
