// IMAGES that stand in a list.
#pragma once

#include <string>
#include <vector>

namespace evener::job {

/// The words with lists in place of those that name one: a .txt file, or - for stdin, with a name on each line. Throws
/// UsageError where nothing is left.
std::vector<std::string> with_lists(const std::vector<std::string>& words);

}  // namespace evener::job
