// The page of a folder as it is now, for whoever follows a run or a sweep while it goes on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evener::report {

/// The page of these runs, or of one sweep. While there is nothing to be shown yet, a page that says why.
std::string folder_page(const std::vector<std::filesystem::path>& folders);

/// Changes whenever what the page is made of has changed: names, sizes and times of the files, and who writes there.
std::string folder_state(const std::vector<std::filesystem::path>& folders);

/// The page around it: looks at "version" once a second, and shows "page" anew in place of the old one, without a
/// flicker, where the version is another.
std::string following_page(const std::string& title);

}  // namespace evener::report
