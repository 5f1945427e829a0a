// Several locations of data in one text, as in options, records and checkpoints.
#pragma once

#include <string>
#include <vector>

namespace evener::data {

/// Separates the locations: "photos + corrected".
constexpr const char* kLocationJoint = " + ";

/// The locations that a text names. The whole text is one location where it exists on disk, or where none of its parts
/// exists or is synthetic.
std::vector<std::string> locations_in(const std::string& text);

/// Whether all locations in `text` exist on disk.
bool are_on_disk(const std::string& text);

/// The same text with absolute paths.
std::string absolute_locations(const std::string& text);

/// Whether both texts name the same locations, however they are spelt.
bool are_same_locations(const std::string& a, const std::string& b);

}  // namespace evener::data
