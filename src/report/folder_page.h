// The report page of a folder in its present state, to follow a run or a sweep that is under way.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace evener::report {

/// The page of these runs, or of one sweep; while there is nothing to show yet, a page that says why.
std::string folder_page(const std::vector<std::filesystem::path>& folders);

/// A text that changes whenever the page's sources change: names, sizes and times of files, and whether a process holds
/// the folder's lock.
std::string folder_state(const std::vector<std::filesystem::path>& folders);

/// The frame around it: a page that fetches "version" once a second and, when that changes, loads "page" and swaps it
/// in without flicker.
std::string following_page(const std::string& title);

}  // namespace evener::report
