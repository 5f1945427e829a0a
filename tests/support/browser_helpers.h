// A page as a browser shows it.
#pragma once

#include <filesystem>
#include <string>

namespace evener::test {

/// Why pages can't be looked at here: no browser, or no Plotly; "" if they can.
std::string why_no_browser();

/// The page as a browser has it after the scripts ran, with what a user would see of it written into its body: what it
/// asked the network for, what the save buttons of the first plot gave, how it draws curves, and whether it is too
/// wide.
std::string dom_of(const std::filesystem::path& page, const std::filesystem::path& profile, int width);

}  // namespace evener::test
